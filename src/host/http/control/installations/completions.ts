/**
 * `…/completions`: the options of a property, from the integration itself
 * (docs/contract/configuration.md#completion).
 *
 * Its `completion_url` is called like any other path of the target's endpoint, as a `fetch` event
 * with `search`. The answer goes to the host product, so it is checked and not passed on. For
 * principals that may edit the installation: the call runs with its configuration and secrets.
 */
import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import {
  COMPLETIONS_BYTES_MAX,
  type CompletionOption,
  LABEL_CHARS_MAX,
  OPTIONS_MAX,
  readCompletions,
  VALUE_CHARS_MAX,
} from '../../../../model/completion-options.ts';
import { completionPath } from '../../../../model/configuration-form.ts';
import { configurationAt } from '../../../../model/installation.ts';
import { LEVELS, type Level } from '../../../../model/level.ts';
import { limitError, limitSentence } from '../../../../model/limit-met.ts';
import { type Target, withinTime } from '../../../../model/target.ts';
import { unknownTarget } from '../../../../model/unknown-name-errors.ts';
import { boundedBody } from '../../../calls/bounded-body.ts';
import type { CallResponse } from '../../../calls/call.ts';
import { outcomeError } from '../../../calls/outcome.ts';
import { nestedCaller } from '../../client-caller.ts';
import { fetchEvent } from '../../public/fetch-event.ts';
import type { Control } from '../control.ts';
import { route } from '../route.ts';
import { closed, named, optional } from '../schemas.ts';
import {
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  TARGET_TAGS,
  targetNameOf,
  visibleTarget,
} from './targets.ts';

const SEARCH_CHARS_MAX = 256;

const CompletionsBody = closed('CompletionsRequest', {
  property: Type.String({ minLength: 1, maxLength: 64 }),
  search: optional(Type.String({ maxLength: SEARCH_CHARS_MAX }), 'The text that the user has typed.'),
});

const CompletionsView = named('Completions', {
  options: Type.Array(
    Type.Object({
      label: Type.String({ maxLength: LABEL_CHARS_MAX }),
      value: Type.String({ maxLength: VALUE_CHARS_MAX }),
    }),
    { maxItems: OPTIONS_MAX },
  ),
});

export const COMPLETION_ROUTES = LEVELS.map((level) =>
  route({
    name: `${TARGET_TAGS[level]}.getCompletions`,
    at: `POST ${TARGET_PATHS[level]}/completions`,
    right: 'render',
    summary: `Get the options of a property of ${TARGET_NOUNS[level]} from the integration`,
    description:
      'Calls the `completion_url` of the property at the endpoint, with `?search=` if sent. It must answer ' +
      '`[{"label", "value"}]`.',
    forUi: true,
    rate: 'calls',
    params: TARGET_PARAMS[level],
    body: CompletionsBody,
    answer: CompletionsView,
    async handle(request, control, reply) {
      const { property, search } = request.body;
      await visibleTarget(control, request, level);
      const target = await control.targets.named(targetNameOf(request, level));
      if (target === undefined) throw unknownTarget(targetNameOf(request, level));
      const path = await pathOf(control, target, level, property);
      if (target.status === 'paused')
        throw new AnnexError(
          'ENDPOINT_PAUSED',
          'The installation is paused: options cannot be completed until it is resumed.',
        );
      const query = search === undefined ? '' : `?search=${encodeURIComponent(search.toWellFormed())}`;
      return { options: await complete(control, reply, { target, property, pathAndQuery: path + query }) };
    },
  }),
);

/**
 * Path of the property's `completion_url` in the manifest of the version that is called. @throws
 * AnnexError PROPERTY_UNKNOWN
 */
async function pathOf(
  { registry }: Control,
  { integration, version }: Target,
  level: Level,
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
  { dispatch, observer, limits }: Control,
  reply: FastifyReply,
  { target, property, pathAndQuery }: Completion,
): Promise<readonly CompletionOption[]> {
  const { id } = reply.request;
  // When the user types on, the client disconnects and sends another request.
  const caller = nestedCaller(reply, limits);
  const headers = { accept: 'application/json' };
  const event = fetchEvent(id, target, { method: 'GET', pathAndQuery, headers });
  // A user waits.
  const timedTarget = withinTime(target, limits.completionMs);
  const refused = (why: string, error = new AnnexError('COMPLETIONS_INVALID', why)): AnnexError => {
    observer.log(target, id, 'error', `The options of "${property}" were refused: ${why}`);
    return error;
  };
  const late = (): AnnexError => {
    const limit = { name: 'completionMs', max: limits.completionMs } as const;
    return refused(limitSentence(limit), limitError('CALL_TIMED_OUT', limit));
  };
  const startedAt = performance.now();
  const result = await dispatch.call(timedTarget, { event, environment: target.environmentJson }, id, caller);
  if (result.response === undefined) {
    if (result.outcome === 'exceededWallTime' && timedTarget !== target) throw late();
    throw result.refusal ?? outcomeError(result.outcome, result);
  }
  const read = await readAnswer(result.response).catch(() => {
    if (caller.left) throw outcomeError('canceled');
    // The answer broke off: its call has ended, usually because of its time.
    const isLate = performance.now() - startedAt >= limits.completionMs && timedTarget !== target;
    throw isLate ? late() : refused('The integration answered with an incomplete body.');
  });
  if (read.ok) return read.options;
  throw refused(`The integration answered with ${read.fault}.`);
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
