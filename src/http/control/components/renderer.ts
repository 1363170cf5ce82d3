/**
 * Draws components: an order becomes a `ui_render` event and goes the way of every call (REFERENCE
 * 5, D4).
 *
 * What comes back is a tenant's, and the host product is going to show it: so it is read, checked
 * against ContentKit and made anew, never passed on as it came. Nothing of it is kept here. Who may
 * ask, and what becomes of the drawing, is its caller's.
 */
import { LRUCache } from 'lru-cache';
import { boundedBody } from '../../../calls/bounded-body.ts';
import type { Caller, CallResponse } from '../../../calls/call.ts';
import type { CallLog } from '../../../calls/call-log.ts';
import type { Dispatch } from '../../../calls/dispatch.ts';
import { outcomeError } from '../../../calls/outcome.ts';
import { AnnexError } from '../../../errors.ts';
import { RENDERING_BYTES_MAX, readRendering } from '../../../model/contentkit/contentkit-answer.ts';
import type { DrawingProblem } from '../../../model/contentkit/contentkit-problem.ts';
import {
  DATA_DEPTH_MAX,
  isDeeper,
  type JsonObject,
} from '../../../model/contentkit/contentkit-values-check.ts';
import { CREDENTIALS_PROPERTY, configurationAt, LEVELS } from '../../../model/installation.ts';
import { limitError } from '../../../model/limit-met.ts';
import { eventIds, scriptKey, type Target } from '../../../model/target.ts';
import type { Registry } from '../../../store/integrations/registry.ts';

/** Versions whose configuration components are remembered. */
const VERSIONS_REMEMBERED = 1_000;
const EXPOSED_CHARS_MAX = 1_000;
/** Lines of a broken drawing that its log shows. */
const PROBLEMS_LOGGED_MAX = 5;

export interface RendererParts {
  readonly registry: Pick<Registry, 'version'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  /** Hears of drawings that are not taken. */
  readonly observer: Pick<CallLog, 'log'>;
}

/** What is to be drawn. */
export interface Wanted {
  readonly componentId: string;
  readonly props?: JsonObject;
  readonly state?: JsonObject;
  readonly context?: JsonObject;
  readonly action?: JsonObject;
  readonly auth?: { readonly userId: string };
}

/** For whom, under which id. */
export interface DrawnFor {
  readonly requestId: string;
  readonly caller: Caller;
}

/** What has been drawn. */
export interface Drawing {
  /** What the component has answered, checked. */
  readonly rendering: JsonObject;
  /** Seconds for which it may be kept, where the component says. */
  readonly maxAge?: string;
}

export class Renderer {
  readonly #parts: RendererParts;
  /** Ids of components that draw configurations, by version. */
  readonly #configuring = new LRUCache<string, ReadonlySet<string>>({ max: VERSIONS_REMEMBERED });

  constructor(parts: RendererParts) {
    this.#parts = parts;
  }

  /** @throws AnnexError for whatever keeps it from being drawn */
  async draw(target: Target, wanted: Wanted, { requestId, caller }: DrawnFor): Promise<Drawing> {
    const { componentId } = wanted;
    const configuring = await this.#configuringOf(target);
    const props = configuring.has(componentId) ? configurationProps(target) : wanted.props;
    const event = renderEvent(requestId, target, { ...wanted, props: props ?? {} });
    const envelope = { event, environment: target.environmentJson };
    const result = await this.#parts.dispatch.call(target, envelope, requestId, caller);
    if (result.response === undefined) {
      if (result.outcome === 'exception') throw failed(componentId);
      throw result.refusal ?? outcomeError(result.outcome, result);
    }
    const rendering = await this.#read(requestId, target, componentId, result.response);
    const maxAge = maxAgeOf(result.response);
    return { rendering, ...(maxAge !== undefined && { maxAge }) };
  }

  async #configuringOf({ integration, version }: Target): Promise<ReadonlySet<string>> {
    const key = scriptKey(integration, version);
    const known = this.#configuring.get(key);
    if (known !== undefined) return known;
    const manifest = (await this.#parts.registry.version(integration, version))?.manifest;
    const ids = LEVELS.map((level) => manifest && configurationAt(manifest, level)?.componentId);
    const configuring = new Set(ids.filter((id) => id !== undefined));
    if (manifest !== undefined) this.#configuring.set(key, configuring);
    return configuring;
  }

  /** @returns the checked answer @throws `RENDER_INVALID`, `RENDER_FAILED`, `COMPONENT_UNKNOWN` */
  async #read(
    requestId: string,
    target: Target,
    componentId: string,
    response: CallResponse,
  ): Promise<JsonObject> {
    const bytes = await bodyOf(response).catch(() => {
      throw failed(componentId);
    });
    if (response.status !== 200) throw unanswered(componentId, response, bytes?.toString('utf8') ?? '');
    const read = bytes === undefined ? TOO_LARGE : readRendering(bytes);
    if (read.ok) return read.rendering;
    const { observer } = this.#parts;
    const lines = read.problems.slice(0, PROBLEMS_LOGGED_MAX).map(sentence);
    observer.log(target, requestId, 'error', `What "${componentId}" drew was not taken: ${lines.join(' ')}`);
    throw invalid(componentId, read.problems);
  }
}

const bodyOf = (response: CallResponse): Promise<Buffer | undefined> =>
  boundedBody(response.body, RENDERING_BYTES_MAX);

const TOO_LARGE = {
  ok: false,
  problems: [{ path: '', message: `The answer has more than ${RENDERING_BYTES_MAX / 1024} KiB.` }],
} as const;

/** JSON text of the event (REFERENCE D4). @throws `REQUEST_TOO_LARGE`, `REQUEST_INVALID` */
function renderEvent(eventId: string, target: Target, wanted: Wanted): Buffer {
  const { componentId, props, state, context = {}, action, auth } = wanted;
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
 * Props of a configuration component: what is set, and never the caller's word for it. They come
 * back with the answer, so credentials are not among them; the component finds those in its
 * environment.
 */
function configurationProps({ environment }: Target): JsonObject {
  const { installation, spaceInstallation, siteInstallation } = environment;
  return {
    installation: { configuration: shown(installation.configuration) },
    ...(spaceInstallation && {
      spaceInstallation: { configuration: shown(spaceInstallation.configuration) },
    }),
    ...(siteInstallation && { siteInstallation: { configuration: shown(siteInstallation.configuration) } }),
  };
}

function shown({ [CREDENTIALS_PROPERTY]: _, ...configuration }: JsonObject): JsonObject {
  return configuration;
}

const MAX_AGE = /^max-age=(\d{1,8})$/;

/**
 * Seconds, where the component has called `setCache`: what else a script may say of caches is not
 * the host's word.
 */
function maxAgeOf({ headers }: CallResponse): string | undefined {
  const [, value] = headers.find(([name]) => name === 'cache-control') ?? [];
  return MAX_AGE.exec(value ?? '')?.[1];
}

const failed = (componentId: string, exposed?: string): AnnexError =>
  new AnnexError(
    'RENDER_FAILED',
    exposed === undefined
      ? `The component "${componentId}" failed; the log of the installation has the reason.`
      : `The component "${componentId}" failed: ${exposed}`,
  );

/** What the SDK says instead of an error that is not meant to be shown. */
const UNEXPOSED = 'Internal server error';

/** What an answer other than 200 means. */
function unanswered(componentId: string, { status, headers }: CallResponse, text: string): AnnexError {
  if (status === 404 && text === `Component ${componentId} not found`) {
    const [, listed = ''] = headers.find(([name]) => name === 'x-known-components') ?? [];
    const known = listed.slice(0, EXPOSED_CHARS_MAX);
    const there = known === '' ? 'it has none' : `it has ${known}`;
    return new AnnexError(
      'COMPONENT_UNKNOWN',
      `The integration has no component "${componentId}"; ${there}.`,
    );
  }
  // What an `ExposableError` says is meant to be read (REFERENCE D2). That of any other is never in
  // the answer.
  const message = exposedMessage(text);
  return failed(componentId, message === UNEXPOSED ? undefined : message);
}

function exposedMessage(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? error.slice(0, EXPOSED_CHARS_MAX) : undefined;
  } catch {
    return undefined;
  }
}

const sentence = ({ message, hint }: DrawingProblem): string =>
  `${message.endsWith('.') ? message : `${message}.`}${hint === undefined ? '' : ` ${hint}`}`;

function invalid(componentId: string, problems: readonly DrawingProblem[]): AnnexError {
  const [first, ...others] = problems;
  const count = others.length === 1 ? 'is one more problem' : `are ${others.length} more problems`;
  const more = others.length === 0 ? '' : ` There ${count}.`;
  const told = first === undefined ? '' : sentence(first);
  return new AnnexError(
    'RENDER_INVALID',
    `The component "${componentId}" drew what is no ContentKit. ${told}${more}`,
    {
      extra: { problems: problems.map((problem) => ({ severity: 'error', ...problem })) },
    },
  );
}
