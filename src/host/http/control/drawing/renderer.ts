/**
 * Draws components: makes a `ui_render` event and calls the integration with it
 * (docs/contract/components.md#rendering).
 *
 * Attack: an answer of a tenant that the host product shows. So it is parsed, checked against
 * ContentKit and serialized again, never passed on as it came. Nothing is stored here. The routes
 * authorize the request and send the drawing.
 */

import { AnnexError } from '../../../../errors.ts';
import { RENDERING_BYTES_MAX, readRendering } from '../../../../model/contentkit/contentkit-answer.ts';
import type { DrawingProblem, DrawingWarnings } from '../../../../model/contentkit/contentkit-problem.ts';
import {
  DATA_DEPTH_MAX,
  isDeeper,
  type JsonObject,
} from '../../../../model/contentkit/contentkit-values-check.ts';
import { CredentialsMask } from '../../../../model/credentials-mask.ts';
import { entryCache } from '../../../../model/entry-cache.ts';
import { configurationAt } from '../../../../model/installation.ts';
import { LEVELS } from '../../../../model/level.ts';
import { limitError } from '../../../../model/limit-met.ts';
import type { Scope } from '../../../../model/manifest/scope.ts';
import { eventIds, scriptKey, type Target } from '../../../../model/target.ts';
import { boundedBody } from '../../../calls/bounded-body.ts';
import type { Caller, CallResponse } from '../../../calls/call.ts';
import type { CallLog } from '../../../calls/call-log.ts';
import type { Dispatch } from '../../../calls/dispatch.ts';
import { outcomeError } from '../../../calls/outcome.ts';
import type { Registry } from '../../../store/integrations/registry.ts';

/** Versions whose configuration components are cached. */
const VERSIONS_REMEMBERED = 1_000;
const EXPOSED_CHARS_MAX = 1_000;
/** Characters of one warning in the log: a path of the tenant may be long. */
const WARNING_CHARS_MAX = 300;
/** Problems of an invalid drawing that are logged. */
const PROBLEMS_LOGGED_MAX = 5;

export interface RendererDeps {
  readonly registry: Pick<Registry, 'version'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  /** Logs drawings that are refused, and what was left out of others. */
  readonly observer: Pick<CallLog, 'log'>;
}

/** A component to draw, with its input. */
export interface RenderInput {
  readonly componentId: string;
  readonly props?: JsonObject;
  readonly state?: JsonObject;
  readonly context?: JsonObject;
  readonly action?: JsonObject;
  readonly auth?: { readonly userId: string };
}

/** The caller and request id of a drawing. */
export interface RenderContext {
  readonly requestId: string;
  readonly caller: Caller;
}

/** The result of a drawing. */
export interface Drawing {
  /** The answer of the component, checked. */
  readonly rendering: JsonObject;
  /** Seconds for which it may be cached, if the component says so. */
  readonly maxAge?: string;
}

export class Renderer {
  readonly #deps: RendererDeps;
  /** Ids of configuration components, by version. */
  readonly #configurationComponents = entryCache<ReadonlySet<string>>(VERSIONS_REMEMBERED);

  constructor(deps: RendererDeps) {
    this.#deps = deps;
  }

  /** @throws AnnexError if the component cannot be drawn */
  async draw(target: Target, input: RenderInput, { requestId, caller }: RenderContext): Promise<Drawing> {
    const { componentId } = input;
    const isConfiguration = (await this.#configurationComponentsOf(target)).has(componentId);
    const props = isConfiguration ? configurationProps(target) : input.props;
    const mask = isConfiguration ? CredentialsMask.of(target.environment) : undefined;
    const event = renderEvent(requestId, target, { ...input, props: props ?? {} });
    const envelope = { event, environment: target.environmentJson };
    const result = await this.#deps.dispatch.call(target, envelope, requestId, caller);
    if (result.response === undefined) {
      if (result.outcome === 'exception') throw this.#failed(target, requestId, input);
      throw result.refusal ?? outcomeError(result.outcome, result);
    }
    const drawn: Drawn = { requestId, target, componentId, response: result.response, mask };
    const rendering = await this.#read(drawn).catch((cause: unknown) => {
      const isUnexplained = cause instanceof AnnexError && cause.message === failed(componentId).message;
      throw isUnexplained ? this.#failed(target, requestId, input) : cause;
    });
    const maxAge = maxAgeOf(result.response);
    const { canAccessVisitorClaims: claims, ...shown } = mask?.masked(rendering) ?? rendering;
    const isVisited = shown['type'] === 'element' && claims !== false && seesVisitors(target);
    return {
      rendering: isVisited ? { ...shown, canAccessVisitorClaims: true } : shown,
      ...(maxAge !== undefined && { maxAge }),
    };
  }

  /**
   * The caller learns that the log has the reason. There, the exception names a place in the code,
   * and this line the component.
   */
  #failed(target: Target, requestId: string, { componentId, action }: RenderInput): AnnexError {
    const when = action === undefined ? 'while it rendered' : `after the action ${nameOfAction(action)}`;
    const text = `The component "${componentId}" failed ${when}; the line of the same request has the exception.`;
    this.#deps.observer.log(target, requestId, 'error', text);
    return failed(componentId);
  }

  async #configurationComponentsOf({ integration, version }: Target): Promise<ReadonlySet<string>> {
    const key = scriptKey(integration, version);
    const known = this.#configurationComponents.get(key);
    if (known !== undefined) return known;
    const manifest = (await this.#deps.registry.version(integration, version))?.manifest;
    const ids = LEVELS.map((level) => manifest && configurationAt(manifest, level)?.componentId);
    const configurationComponents = new Set(ids.filter((id) => id !== undefined));
    if (manifest !== undefined) this.#configurationComponents.set(key, configurationComponents);
    return configurationComponents;
  }

  /**
   * @returns the checked answer
   * @throws AnnexError RENDER_INVALID, RENDER_REFUSED, RENDER_FAILED, COMPONENT_UNKNOWN
   */
  async #read({ requestId, target, componentId, response, mask }: Drawn): Promise<JsonObject> {
    const bytes = await bodyOf(response).catch(() => {
      throw failed(componentId);
    });
    if (response.status !== 200)
      throw statusError(componentId, response, bytes?.toString('utf8') ?? '', mask);
    const read = bytes === undefined ? TOO_LARGE : await readRendering(bytes);
    const { observer } = this.#deps;
    if (read.ok) {
      const { warnings, unread } = read;
      const warn = (text: string) => observer.log(target, requestId, 'warn', text);
      if (warnings.count > 0) warn(warningText(componentId, warnings));
      if (unread.length > 0) warn(unreadText(componentId, unread));
      return read.rendering;
    }
    const lines = read.problems.slice(0, PROBLEMS_LOGGED_MAX).map(sentence);
    observer.log(
      target,
      requestId,
      'error',
      `The answer of the component "${componentId}" is not valid ContentKit: ${lines.join(' ')}`,
    );
    throw invalid(componentId, mask?.masked(read.problems) ?? read.problems);
  }
}

/** The answer of a component, before it is read. */
interface Drawn {
  readonly requestId: string;
  readonly target: Target;
  readonly componentId: string;
  readonly response: CallResponse;
  /** Present for configuration components: their props have credentials. */
  readonly mask: CredentialsMask | undefined;
}

const bodyOf = (response: CallResponse): Promise<Buffer | undefined> =>
  boundedBody(response.body, RENDERING_BYTES_MAX);

const TOO_LARGE = {
  ok: false,
  problems: [{ path: '', message: `The answer has more than ${RENDERING_BYTES_MAX / 1024} KiB.` }],
} as const;

/**
 * @returns JSON text of the event (docs/contract/components.md#event) @throws AnnexError
 * REQUEST_TOO_LARGE, REQUEST_INVALID
 */
function renderEvent(eventId: string, target: Target, input: RenderInput): Buffer {
  const { componentId, props, state, context = {}, action, auth } = input;
  // Attack: data so deep that writing it as JSON would exhaust the stack.
  if ([props, state, context, action].some((part) => isDeeper(part, DATA_DEPTH_MAX)))
    throw new AnnexError('REQUEST_INVALID', `Data must not be nested deeper than ${DATA_DEPTH_MAX}.`);
  const ids = { eventId, type: 'ui_render', ...eventIds(target), componentId };
  const event = Buffer.from(JSON.stringify({ ...ids, props, state, context, action, auth }));
  const { envelopePartBytes: max } = target.limits;
  if (event.byteLength <= max) return event;
  throw limitError('REQUEST_TOO_LARGE', { name: 'envelopePartBytes', max, used: event.byteLength });
}

/**
 * Props of a configuration component: the stored configuration, never the caller's props. They have
 * the credentials of the integration itself, which the component needs to draw whether an account
 * is connected; `CredentialsMask` takes them out of the answer.
 */
function configurationProps({ environment }: Target): JsonObject {
  const { installation, spaceInstallation, siteInstallation } = environment;
  return {
    installation: { configuration: installation?.configuration ?? {} },
    ...(spaceInstallation && { spaceInstallation: { configuration: spaceInstallation.configuration } }),
    ...(siteInstallation && { siteInstallation: { configuration: siteInstallation.configuration } }),
  };
}

const CLAIMS: Scope = 'site:visitor:claims';

/** Whether the frames of its drawings may get the claims of a visitor. */
const seesVisitors = ({ environment }: Target): boolean => environment.integration.scopes.includes(CLAIMS);

const MAX_AGE = /^max-age=(\d{1,8})$/;

/**
 * Seconds, if the component called `setCache`. Any other `cache-control` of a script is ignored.
 */
function maxAgeOf({ headers }: CallResponse): string | undefined {
  const [, value] = headers.find(([name]) => name === 'cache-control') ?? [];
  return MAX_AGE.exec(value ?? '')?.[1];
}

const ACTION_CHARS_MAX = 80;

const nameOfAction = ({ action }: JsonObject): string =>
  typeof action === 'string' ? JSON.stringify(action.slice(0, ACTION_CHARS_MAX)) : 'without a name';

const failed = (componentId: string, exposed?: string): AnnexError =>
  new AnnexError(
    'RENDER_FAILED',
    exposed === undefined
      ? `The component "${componentId}" failed; the log of the installation has the reason.`
      : `The component "${componentId}" failed: ${exposed}`,
  );

/** The SDK's text for an error that must not be shown. */
const UNEXPOSED = 'Internal server error';

/** The error for an answer with a status other than 200. */
function statusError(
  componentId: string,
  { status, headers }: CallResponse,
  text: string,
  mask: CredentialsMask | undefined,
): AnnexError {
  if (status === 404 && text === `Component ${componentId} not found`) {
    const [, listed = ''] = headers.find(([name]) => name === 'x-known-components') ?? [];
    const known = listed.slice(0, EXPOSED_CHARS_MAX);
    const components = known === '' ? 'it has none' : `it has ${known}`;
    return new AnnexError(
      'COMPONENT_UNKNOWN',
      `The integration has no component "${componentId}"; ${components}.`,
    );
  }
  // Only the text of an `ExposableError` is sent (docs/contract/calls.md#errors).
  const exposed = exposedMessage(text);
  if (exposed === undefined || exposed === UNEXPOSED) return failed(componentId);
  const message = (mask?.masked(exposed) ?? exposed).slice(0, EXPOSED_CHARS_MAX);
  if (status >= 400 && status < 500)
    return new AnnexError('RENDER_REFUSED', message || `The component "${componentId}" refused.`, { status });
  return failed(componentId, message);
}

function exposedMessage(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

const sentence = ({ message, hint }: DrawingProblem): string =>
  `${message.endsWith('.') ? message : `${message}.`}${hint === undefined ? '' : ` ${hint}`}`;

/** One line that lists what was left out of a drawing. */
function warningText(componentId: string, { listed, count }: DrawingWarnings): string {
  const lines = listed.map((warning) => sentence(warning).slice(0, WARNING_CHARS_MAX));
  const more = count > listed.length ? ` There are ${count - listed.length} more.` : '';
  return `The drawing of the component "${componentId}" was changed to fit ContentKit: ${lines.join(' ')}${more}`;
}

const unreadText = (componentId: string, fields: readonly string[]): string =>
  `What is entered in ${fields.map((name) => `"${name}"`).join(', ')} of the component "${componentId}" reaches no code: nothing that it draws dispatches an action, and no binding has the name.`;

function invalid(componentId: string, problems: readonly DrawingProblem[]): AnnexError {
  const [first, ...others] = problems;
  const count = others.length === 1 ? 'is one more problem' : `are ${others.length} more problems`;
  const more = others.length === 0 ? '' : ` There ${count}.`;
  const reason = first === undefined ? '' : sentence(first);
  return new AnnexError(
    'RENDER_INVALID',
    `The component "${componentId}" returned invalid ContentKit. ${reason}${more}`,
    {
      extra: { problems: problems.map((problem) => ({ severity: 'error', ...problem })) },
    },
  );
}
