/**
 * `POST /v1/events`: the host product says what has happened, one event or many at once (REFERENCE D4, D27).
 *
 * Many are accepted together or not at all, so that whoever was refused knows that it may send all of them again. The answer is
 * given once everything is on disk; what is not refused is never lost. Nobody is called before the answer.
 */
import { hash, randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import { canonicalJson, unpassable } from '../../../model/canonical-json.ts';
import { productEventId } from '../../../model/identifiers.ts';
import { limitClause, limitError, quantity } from '../../../model/limit-met.ts';
import { eventFault, POSTED_TYPES, placeOfEvent, type SoundEvent } from '../../../model/posted-event.ts';
import { mayPostEvents } from '../../../model/principal.ts';
import { nameIn } from '../../../model/schema-fault.ts';
import type { AcceptedEvent, PostedEvent } from '../../../store/deliveries/delivery.ts';
import type { AcceptedEvents } from '../../../store/events/accepted-events.ts';
import { principalOf } from '../authenticate.ts';
import { ERRORS_VIEW } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';

/** For the description alone: what is wrong with an event is told by its type, which a union of all of them could not. */
const EventBody = Type.Union([...POSTED_TYPES.values()].map(({ schema }) => schema));
const postBody = ({ eventsPerBatch: maxItems }: Pick<Limits, 'eventsPerBatch'>) =>
  Type.Union([EventBody, Type.Object({ events: Type.Array(EventBody, { minItems: 1, maxItems }) })]);

const DELIVERIES =
  'How many targets hear of it; none is no error: nobody has installed anything that listens.';
const PostedView = Type.Object({
  eventId: Type.String(),
  deliveries: Type.Integer({ description: DELIVERIES }),
});
const PostedManyView = Type.Object({
  events: Type.Array(
    Type.Object({
      eventId: Type.String(),
      deliveries: Type.Integer({ description: DELIVERIES }),
      known: Type.Optional(
        Type.Boolean({ description: 'It had been accepted before; this is the answer of then.' }),
      ),
    }),
    { description: 'In the order in which they were posted.' },
  ),
});
const View = Type.Union([PostedManyView, PostedView]);

export interface IngestRouteParts {
  readonly acceptedEvents: Pick<AcceptedEvents, 'accept'>;
  readonly limits: Pick<Limits, 'eventBytes' | 'eventsPerBatch' | 'requestBodyBytes'>;
  /** Told of limits that a request met. */
  limitMet(limit: LimitName): void;
}

export function ingestRoutes(app: TypedApp, parts: IngestRouteParts): void {
  const { acceptedEvents, limits, limitMet } = parts;
  app.post(
    '/events',
    {
      bodyLimit: limits.requestBodyBytes,
      // Before the body is read: who may not post makes nobody hold ten megabytes.
      onRequest: async (request) => requirePoster(request),
      validatorCompiler: () => (value) => ({ value }),
      errorHandler(thrown) {
        const error = inOurWords(thrown, limits);
        if (error instanceof AnnexError && error.limit) limitMet(error.limit.name);
        throw error;
      },
      schema: {
        summary: 'Post events of the product: one, or many at once',
        description:
          'Answered with 202 once the events, and what is to be delivered for them, are stored. An `eventId` that was accepted ' +
          'before is answered as then, with 200, where the event is the same, and is a conflict where it is not. Of many, all ' +
          'are accepted or none.',
        body: postBody(limits),
        response: { 200: View, 202: View, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { body } = request as { readonly body: unknown };
      const batch = batchIn(body, limits);
      const posted = (batch ?? [body]).map((event, index) =>
        readEvent(event, batch === undefined ? 'body' : `body.events[${index}]`, limits),
      );
      const accepted = await acceptedEvents.accept(posted);
      const isNew = accepted.some((event) => event.isNew);
      const [only] = accepted;
      const answer = batch === undefined && only ? viewOf(only) : { events: accepted.map(viewInBatch) };
      return reply.code(isNew ? 202 : 200).send(answer);
    },
  );
}

const viewOf = ({ eventId, deliveries }: AcceptedEvent) => ({ eventId, deliveries });
const viewInBatch = (event: AcceptedEvent) => ({ ...viewOf(event), ...(!event.isNew && { known: true }) });

function requirePoster(request: FastifyRequest): void {
  const principal = principalOf(request);
  if (mayPostEvents(principal)) return;
  const message = `A token of kind ${principal.kind} posts no events: that is for the platform's own.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}

/** The framework refuses a body that is too large before anybody reads it. */
function inOurWords(thrown: unknown, { requestBodyBytes: max }: IngestRouteParts['limits']): unknown {
  const isTooLarge = thrown instanceof Error && 'statusCode' in thrown && thrown.statusCode === 413;
  if (!isTooLarge || thrown instanceof AnnexError) return thrown;
  return limitError('REQUEST_TOO_LARGE', { name: 'requestBodyBytes', max });
}

/** The events of a body that holds many; undefined where it is one. What has a `type` is an event, whatever else it has. */
function batchIn(body: unknown, { eventsPerBatch: max }: IngestRouteParts['limits']): unknown[] | undefined {
  if (body === undefined || body === null)
    throw invalid('body is missing: send JSON, with "Content-Type: application/json".');
  if (typeof body !== 'object') throw invalid('body is no event, and has no "events".');
  if (!('events' in body) || 'type' in body) return undefined;
  const { events, ...others } = body;
  if (!Array.isArray(events) || events.length === 0)
    throw invalid('body.events must be a list of one event at least.');
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`body has "events" and "${nameIn(other)}": what an event says stands in each of them.`);
  if (events.length <= max) return events;
  throw limitError('REQUEST_TOO_LARGE', { name: 'eventsPerBatch', max, used: events.length });
}

/** @throws `REQUEST_INVALID`, `REQUEST_TOO_LARGE` that say which event it is */
function readEvent(value: unknown, at: string, { eventBytes: max }: IngestRouteParts['limits']): PostedEvent {
  const fault = eventFault(value, at);
  if (fault !== undefined) throw invalid(fault);
  const unfit = unpassable(value);
  if (unfit !== undefined) throw invalid(`${at} ${unfit}.`);
  const event = value as SoundEvent;
  const canonical = canonicalJson(event);
  const used = Buffer.byteLength(canonical, 'utf8');
  if (used > max) {
    const limit = { name: 'eventBytes', max, used } as const;
    const message = `${at} has ${quantity('eventBytes', used)}; ${limitClause(limit)}.`;
    throw new AnnexError('REQUEST_TOO_LARGE', message, { limit });
  }
  const { organization, installationId, eventId = productEventId(randomBytes), type, ...said } = event;
  return {
    ...{ eventId, organization, type, ...placeOfEvent(event) },
    ...(installationId !== undefined && { installationId }),
    body: bodyOf(eventId, type, said),
    // Of all that was posted: the same event for another organization is another one.
    bodyHash: hash('sha256', canonical, 'base64url'),
  };
}

/** As handlers get it, but for the id of the installation: what names it comes first, then all else as it was posted. */
function bodyOf(eventId: string, type: string, said: Readonly<Record<string, unknown>>): string {
  const rest = JSON.stringify(said);
  const head = `{"eventId":${JSON.stringify(eventId)},"type":${JSON.stringify(type)}`;
  return rest === '{}' ? `${head}}` : `${head},${rest.slice(1)}`;
}

const invalid = (message: string): AnnexError => new AnnexError('REQUEST_INVALID', message);
