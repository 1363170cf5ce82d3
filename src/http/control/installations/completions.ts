/**
 * `…/completions`: the options of a property, from the integration itself
 * (docs/contract/configuration.md#completion).
 *
 * Its `completion_url` is called like any other path of the target's endpoint, as a `fetch` event
 * with `search`. The answer goes to the host product, so it is checked and not passed on. For
 * principals that may edit the installation: the call runs with its configuration and secrets.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { boundedBody } from '../../../calls/bounded-body.ts';
import type { CallResponse } from '../../../calls/call.ts';
import type { CallLog } from '../../../calls/call-log.ts';
import type { Dispatch } from '../../../calls/dispatch.ts';
import { outcomeError } from '../../../calls/outcome.ts';
import { AnnexError } from '../../../errors.ts';
import type { LimitMet, LimitName, Limits } from '../../../limits.ts';
import {
  COMPLETIONS_BYTES_MAX,
  type CompletionOption,
  LABEL_CHARS_MAX,
  OPTIONS_MAX,
  readCompletions,
  VALUE_CHARS_MAX,
} from '../../../model/completion-options.ts';
import { completionPath } from '../../../model/configuration-form.ts';
import { configurationAt, type TargetName } from '../../../model/installation.ts';
import { LEVELS } from '../../../model/level.ts';
import { limitError, limitSentence } from '../../../model/limit-met.ts';
import type { Target } from '../../../model/target.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { fetchEvent } from '../../public/fetch-event.ts';
import { nestedCaller } from '../nested-call.ts';
import { BOUND_BY_CALLS } from '../order-rate.ts';
import { ERRORS_VIEW } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { visibleTarget } from './installation-rights.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS, targetNameOf } from './target-paths.ts';

const SEARCH_CHARS_MAX = 256;

const CompletionsBody = Type.Object(
  {
    property: Type.String({ minLength: 1, maxLength: 64 }),
    search: Type.Optional(
      Type.String({ description: 'The text that the user has typed.', maxLength: SEARCH_CHARS_MAX }),
    ),
  },
  { title: 'CompletionsRequest', additionalProperties: false },
);

const CompletionsView = Type.Object(
  {
    options: Type.Array(
      Type.Object({
        label: Type.String({ maxLength: LABEL_CHARS_MAX }),
        value: Type.String({ maxLength: VALUE_CHARS_MAX }),
      }),
      { maxItems: OPTIONS_MAX },
    ),
  },
  { title: 'Completions' },
);

export interface CompletionsRouteParts {
  readonly registry: Pick<Registry, 'version'>;
  readonly targets: Pick<TargetResolver, 'named'>;
  readonly installations: Pick<Installations, 'read'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  /** Logs answers that are refused. */
  readonly observer: Pick<CallLog, 'log'>;
  readonly limits: Limits;
  limitMet(limit: LimitName): void;
}

export function completionsRoutes(app: TypedApp, parts: CompletionsRouteParts): void {
  const { registry, targets, installations } = parts;
  for (const level of LEVELS) {
    app.post(
      `${TARGET_PATHS[level]}/completions`,
      {
        config: BOUND_BY_CALLS,
        schema: {
          summary: `Get the options of a property of ${TARGET_NOUNS[level]} from the integration`,
          description:
            'Calls the `completion_url` of the property at the endpoint, with `?search=` if sent. It must answer ' +
            '`[{"label", "value"}]`.',
          params: TARGET_PARAMS[level],
          body: CompletionsBody,
          response: { 200: CompletionsView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const { property, search } = request.body;
        const name = targetNameOf(level, request.params);
        await visibleTarget(installations, request, request.params.name, name);
        const target = await targets.named(name);
        if (target === undefined) throw unknownTarget(name);
        const path = await pathOf(registry, target, name, property);
        if (target.status === 'paused')
          throw new AnnexError(
            'ENDPOINT_PAUSED',
            'The installation is paused: options cannot be completed until it is resumed.',
          );
        const query = search === undefined ? '' : `?search=${encodeURIComponent(search.toWellFormed())}`;
        const options = await complete(
          request,
          reply,
          { target, property, pathAndQuery: path + query },
          parts,
        );
        return { options: [...options] };
      },
    );
  }
}

/**
 * Path of the property's `completion_url` in the manifest of the version that is called. @throws
 * AnnexError PROPERTY_UNKNOWN
 */
async function pathOf(
  registry: Pick<Registry, 'version'>,
  { integration, version }: Target,
  { level }: TargetName,
  property: string,
): Promise<string> {
  const manifest = (await registry.version(integration, version))?.manifest;
  const path = manifest && completionPath(configurationAt(manifest, level), property);
  if (path !== undefined) return path;
  const message = `The configuration has no property "${property}" with a \`completion_url\`.`;
  throw new AnnexError('PROPERTY_UNKNOWN', message);
}

/** A property to complete, and the path to call. */
interface Completion {
  readonly target: Target;
  readonly property: string;
  readonly pathAndQuery: string;
}

/**
 * @throws AnnexError CALL_TOO_DEEP, COMPLETIONS_INVALID, or the outcome of a call without an answer
 */
async function complete(
  request: FastifyRequest,
  reply: FastifyReply,
  { target, property, pathAndQuery }: Completion,
  parts: CompletionsRouteParts,
): Promise<readonly CompletionOption[]> {
  const { dispatch, observer, limits } = parts;
  // When the user types on, the client disconnects and sends another request.
  const caller = nestedCaller(request, reply, limits);
  const event = fetchEvent(request.id, target, {
    method: 'GET',
    pathAndQuery,
    headers: { accept: 'application/json' },
  });
  const timedTarget = withCompletionTime(target, limits.completionMs);
  const logRefusal = (why: string): void =>
    observer.log(target, request.id, 'error', `The options of "${property}" were refused: ${why}`);
  const refuse = (why: string): AnnexError => {
    logRefusal(why);
    return new AnnexError('COMPLETIONS_INVALID', why);
  };
  const late = (): AnnexError => {
    const limit: LimitMet = { name: 'completionMs', max: limits.completionMs };
    parts.limitMet(limit.name);
    logRefusal(limitSentence(limit));
    return limitError('CALL_TIMED_OUT', limit);
  };
  const startedAt = performance.now();
  const envelope = { event, environment: target.environmentJson };
  const result = await dispatch.call(timedTarget, envelope, request.id, caller);
  if (result.response === undefined) {
    if (result.outcome === 'exceededWallTime' && timedTarget !== target) throw late();
    throw result.refusal ?? outcomeError(result.outcome, result);
  }
  try {
    const read = await readAnswer(result.response);
    if (!read.ok) throw refuse(`The integration answered with ${read.fault}.`);
    return read.options;
  } catch (cause) {
    if (cause instanceof AnnexError) throw cause;
    if (caller.left) throw outcomeError('canceled');
    // The answer broke off: its call has ended, usually because of its time.
    const isLate = performance.now() - startedAt >= limits.completionMs && timedTarget !== target;
    throw isLate ? late() : refuse('The integration answered with an incomplete body.');
  }
}

/**
 * The target with less time for its call, because a user waits; the target itself if its limits are
 * lower already.
 */
function withCompletionTime(target: Target, completionMs: number): Target {
  const { callWallMs, firstByteMs } = target.limits;
  if (firstByteMs <= completionMs && callWallMs <= completionMs) return target;
  const limits = {
    ...target.limits,
    callWallMs: Math.min(callWallMs, completionMs),
    firstByteMs: Math.min(firstByteMs, completionMs),
  };
  return { ...target, limits };
}

async function readAnswer({ status, body }: CallResponse): Promise<ReturnType<typeof readCompletions>> {
  if (status !== 200) {
    if (!Buffer.isBuffer(body)) body.destroy();
    return { ok: false, fault: `status ${status} instead of 200` };
  }
  const bytes = await boundedBody(body, COMPLETIONS_BYTES_MAX);
  if (bytes !== undefined) return readCompletions(bytes);
  return { ok: false, fault: `more than ${COMPLETIONS_BYTES_MAX / 1024} KiB` };
}
