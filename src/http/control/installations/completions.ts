/**
 * `…/completions`: the choices of a setting, from the integration itself (SPEC "Paths named in the
 * manifest", REFERENCE D9).
 *
 * Its `completion_url` is called like any other path of the target's endpoint, as a `fetch` event,
 * with what has been typed so far as `search`; but the answer goes to the host product, so it is
 * checked and not passed on. For whoever may change the installation: the call runs with its
 * configuration and its secrets.
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
import { configurationAt, LEVELS, type TargetName } from '../../../model/installation.ts';
import { limitError, limitSentence } from '../../../model/limit-met.ts';
import type { Target } from '../../../model/target.ts';
import { unknownTarget } from '../../../model/unknown.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { fetchEvent } from '../../public/fetch-event.ts';
import { nestedCaller } from '../nested-call.ts';
import { ERRORS_VIEW } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { visibleTarget } from './installation-rights.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS, targetNameOf } from './target-paths.ts';

const SEARCH_CHARS_MAX = 256;

const CompletionsBody = Type.Object(
  {
    property: Type.String({ minLength: 1, maxLength: 64 }),
    search: Type.Optional(
      Type.String({ description: 'What has been typed so far.', maxLength: SEARCH_CHARS_MAX }),
    ),
  },
  { additionalProperties: false },
);

const CompletionsView = Type.Object({
  options: Type.Array(
    Type.Object({
      label: Type.String({ maxLength: LABEL_CHARS_MAX }),
      value: Type.String({ maxLength: VALUE_CHARS_MAX }),
    }),
    { maxItems: OPTIONS_MAX },
  ),
});

export interface CompletionsRouteParts {
  readonly registry: Pick<Registry, 'targetNamed' | 'version'>;
  readonly installations: Pick<Installations, 'read'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  /** Hears of answers that are not taken. */
  readonly observer: Pick<CallLog, 'log'>;
  readonly limits: Limits;
  limitMet(limit: LimitName): void;
}

export function completionsRoutes(app: TypedApp, parts: CompletionsRouteParts): void {
  const { registry, installations } = parts;
  for (const level of LEVELS) {
    app.post(
      `${TARGET_PATHS[level]}/completions`,
      {
        schema: {
          summary: `Ask the integration for the choices of a setting of ${TARGET_NOUNS[level]}`,
          description:
            'Calls the `completion_url` of the property at the endpoint, with `?search=` where there is one. It answers ' +
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
        const target = await registry.targetNamed(name);
        if (target === undefined) throw unknownTarget(name);
        const path = await pathOf(registry, target, name, property);
        if (target.status === 'paused')
          throw new AnnexError(
            'ENDPOINT_PAUSED',
            'The installation is paused, and with it what completes its settings.',
          );
        const query = search === undefined ? '' : `?search=${encodeURIComponent(search.toWellFormed())}`;
        const options = await ask(request, reply, { target, property, pathAndQuery: path + query }, parts);
        return { options: [...options] };
      },
    );
  }
}

/**
 * The path that completes a property, by the manifest of the version that is called. @throws
 * `PROPERTY_UNKNOWN`
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
  const message = `The configuration has no property "${property}" whose choices the integration supplies.`;
  throw new AnnexError('PROPERTY_UNKNOWN', message);
}

/** What is asked of whom. */
interface Question {
  readonly target: Target;
  readonly property: string;
  readonly pathAndQuery: string;
}

/**
 * @throws `CALL_TOO_DEEP`, `COMPLETIONS_INVALID`, and whatever a call ends with that has no answer
 */
async function ask(
  request: FastifyRequest,
  reply: FastifyReply,
  { target, property, pathAndQuery }: Question,
  parts: CompletionsRouteParts,
): Promise<readonly CompletionOption[]> {
  const { dispatch, observer, limits } = parts;
  // Whoever types on asks anew, and waits for this answer no longer.
  const caller = nestedCaller(request, reply, limits);
  const event = fetchEvent(request.id, target, {
    method: 'GET',
    pathAndQuery,
    headers: { accept: 'application/json' },
  });
  const bounded = bound(target, limits.completionMs);
  const tell = (why: string): void =>
    observer.log(target, request.id, 'error', `The choices of "${property}" were not taken: ${why}`);
  const refuse = (why: string): AnnexError => {
    tell(why);
    return new AnnexError('COMPLETIONS_INVALID', why);
  };
  const late = (): AnnexError => {
    const limit: LimitMet = { name: 'completionMs', max: limits.completionMs };
    parts.limitMet(limit.name);
    tell(limitSentence(limit));
    return limitError('CALL_TIMED_OUT', limit);
  };
  const startedAt = performance.now();
  const envelope = { event, environment: target.environmentJson };
  const result = await dispatch.call(bounded, envelope, request.id, caller);
  if (result.response === undefined) {
    if (result.outcome === 'exceededWallTime' && bounded !== target) throw late();
    throw result.refusal ?? outcomeError(result.outcome, result);
  }
  try {
    const read = await readAnswer(result.response);
    if (!read.ok) throw refuse(`The integration answered with ${read.fault}.`);
    return read.options;
  } catch (cause) {
    if (cause instanceof AnnexError) throw cause;
    if (caller.gone) throw outcomeError('canceled');
    // An answer that breaks off: its call has ended before it did, as a rule because of its time.
    const isLate = performance.now() - startedAt >= limits.completionMs && bounded !== target;
    throw isLate ? late() : refuse('The integration answered with something that breaks off.');
  }
}

/**
 * The same target with less time: somebody types and waits. The target itself where it has no more
 * anyway.
 */
function bound(target: Target, completionMs: number): Target {
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
