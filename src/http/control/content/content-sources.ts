/**
 * `…/content-sources/{source}/compute`: has an integration compute the pages of a content source,
 * or the document of one page (docs/contract/published-scripts.md#content-sources).
 *
 * The product's members of the event are passed to the code, and the JSON of its answer back. The
 * host reads neither, and keeps nothing.
 */
import Type from 'typebox';
import type { Dispatch } from '../../../calls/dispatch.ts';
import type { Limits } from '../../../limits.ts';
import { jsonForm } from '../../../model/json-text.ts';
import { LEVELS } from '../../../model/level.ts';
import { limitError } from '../../../model/limit-met.ts';
import { eventIds } from '../../../model/target.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS, targetNameOf } from '../installations/target-paths.ts';
import { BOUND_BY_CALLS } from '../order-rate.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { callableTarget } from './callable-target.ts';
import { type IntegrationAnswer, integrationAnswer, invalidAnswer } from './integration-answer.ts';

/** Largest answer: a document of many pages. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

const Source = Type.Object(
  {
    source: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z0-9_.-]+$',
      description: '`sourceId` of a content source.',
    }),
  },
  { title: 'ContentSource' },
);

const anything = (description: string) =>
  Type.Optional(Type.Object({}, { description, additionalProperties: Type.Unknown() }));

const Computation = Type.Object(
  {
    type: Type.Enum(['content_compute_revision', 'content_compute_document']),
    props: anything('Props of the source, or of the page.'),
    dependencies: anything('Values of what the source depends on.'),
  },
  {
    title: 'Computation',
    description: 'Members that are not listed are passed on.',
    additionalProperties: Type.Unknown(),
  },
);

/** Sent as the code has written it. */
const ComputedView = Type.Unsafe<Buffer>(Type.Unknown({ description: "The integration's JSON." }));

export interface ContentSourceRouteParts {
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly targets: Pick<TargetResolver, 'named'>;
  readonly limits: Limits;
}

export function contentSourceRoutes(app: TypedApp, parts: ContentSourceRouteParts): void {
  for (const level of LEVELS) {
    app.post(
      `${TARGET_PATHS[level]}/content-sources/:source/compute`,
      {
        config: BOUND_BY_CALLS,
        bodyLimit: parts.limits.envelopePartBytes,
        schema: {
          summary: `Have ${TARGET_NOUNS[level]} compute content`,
          params: Type.Object({ ...TARGET_PARAMS[level].properties, ...Source.properties }),
          querystring: NoQuery,
          body: Computation,
          response: { 200: ComputedView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const name = targetNameOf(level, request.params);
        const target = await callableTarget(parts.targets, request, name);
        const { source } = request.params;
        // The ids are the host's. Attack: a product's client that names another installation.
        const event = { ...request.body, eventId: request.id, ...eventIds(target), source, sourceId: source };
        const used = Buffer.byteLength(JSON.stringify(event));
        const { envelopePartBytes: max } = target.limits;
        if (used > max) throw limitError('REQUEST_TOO_LARGE', { name: 'envelopePartBytes', max, used });
        const call = { ...parts, bytesMax: ANSWER_BYTES_MAX };
        const answer = await integrationAnswer(call, { request, reply }, target, event);
        return reply.type('application/json; charset=utf-8').send(await json(event.type, answer));
      },
    );
  }
}

/** @returns the body, which is JSON @throws AnnexError ANSWER_INVALID */
async function json(type: string, { status, body }: IntegrationAnswer): Promise<Buffer> {
  if (status !== 200) throw invalidAnswer(type, `has the status ${status}${reasonIn(body)}`);
  const form = await jsonForm(body);
  if (form === 'tooDeep') throw invalidAnswer(type, 'is nested too deep');
  if (form === 'broken') throw invalidAnswer(type, 'is not JSON');
  return body;
}

const REASON_CHARS_MAX = 1_000;
/** A longer body is not parsed. */
const REASON_BYTES_MAX = 16 * 1024;

/** The message of an `ExposableError`, which the author lets callers see. */
function reasonIn(body: Buffer): string {
  if (body.byteLength > REASON_BYTES_MAX) return '';
  try {
    const { error } = JSON.parse(body.toString('utf8')) as { readonly error?: unknown };
    return typeof error === 'string' ? `: ${error.slice(0, REASON_CHARS_MAX)}` : '';
  } catch {
    return '';
  }
}
