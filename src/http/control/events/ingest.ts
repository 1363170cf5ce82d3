/**
 * `POST /v1/events`: the host product posts one event or a batch (docs/contract/events.md#posting).
 *
 * A batch is accepted as a whole or not at all, so that a client can repeat a refused batch as it
 * is. The answer is sent when all events are on disk; no accepted event is lost. No handler is
 * called before the answer.
 */
import { hash, randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { EventAcceptance } from '../../../delivery/accept/event-acceptance.ts';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import { canonicalJson, unpassable } from '../../../model/canonical-json.ts';
import { productEventId } from '../../../model/identifiers.ts';
import { limitClause, limitError, quantity } from '../../../model/limit-met.ts';
import { eventFault, POSTED_TYPES, placeOfEvent, type SoundEvent } from '../../../model/posted-event.ts';
import { mayPostEvents } from '../../../model/principal.ts';
import { nameIn } from '../../../model/schema-fault.ts';
import type { AcceptedEvent, PostedEvent } from '../../../store/deliveries/delivery.ts';
import { principalOf } from '../authenticate.ts';
import { asLimitError } from '../body-limit.ts';
import { ERRORS_VIEW } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';

/**
 * For the description only: validation goes by the type of each event, because errors of a union
 * would not name the fault.
 */
const EventBody = Type.Union(
  [...POSTED_TYPES.values()].map(({ schema }) => schema),
  { title: 'PostedEvent' },
);
const postBody = ({ eventsPerBatch: maxItems }: Pick<Limits, 'eventsPerBatch'>) =>
  Type.Union([EventBody, Type.Object({ events: Type.Array(EventBody, { minItems: 1, maxItems }) })]);

const DELIVERIES =
  'Number of targets that get it. 0 is not an error: no installation has a handler or a webhook for it.';
const PostedView = Type.Object(
  {
    eventId: Type.String(),
    deliveries: Type.Integer({ description: DELIVERIES }),
  },
  { title: 'Posted' },
);
const PostedManyView = Type.Object(
  {
    events: Type.Array(
      Type.Object({
        eventId: Type.String(),
        deliveries: Type.Integer({ description: DELIVERIES }),
        known: Type.Optional(
          Type.Boolean({ description: 'It was accepted before; this is the earlier answer.' }),
        ),
      }),
      { description: 'In the order of the request.' },
    ),
  },
  { title: 'PostedMany' },
);
const View = Type.Union([PostedManyView, PostedView]);

export interface IngestRouteParts {
  readonly acceptance: Pick<EventAcceptance, 'accept'>;
  readonly limits: Pick<Limits, 'eventBytes' | 'eventsPerBatch' | 'requestBodyBytes'>;
  /** Called with each limit that a request met. */
  limitMet(limit: LimitName): void;
}

export function ingestRoutes(app: TypedApp, parts: IngestRouteParts): void {
  const { acceptance, limits, limitMet } = parts;
  app.post(
    '/events',
    {
      bodyLimit: limits.requestBodyBytes,
      // Before the body is read. Attack: ten megabytes with a token that may not post.
      onRequest: async (request) => requirePoster(request),
      validatorCompiler: () => (value) => ({ value }),
      errorHandler(thrown) {
        const error = asLimitError(thrown, { name: 'requestBodyBytes', max: limits.requestBodyBytes });
        if (error instanceof AnnexError && error.limit) limitMet(error.limit.name);
        throw error;
      },
      schema: {
        summary: 'Post one product event, or a batch',
        description:
          'Answered with 202 when the events and their deliveries are stored. An `eventId` that was accepted ' +
          'before is answered as before, with 200, if the event is the same, and with a conflict if it is not. Of a batch, all ' +
          'events are accepted or none.',
        body: postBody(limits),
        'x-idempotent-by': ['events[].eventId', 'eventId'],
        response: { 200: View, 202: View, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { body } = request as { readonly body: unknown };
      const batch = batchIn(body, limits);
      const posted = (batch ?? [body]).map((event, index) =>
        readEvent(event, batch === undefined ? 'body' : `body.events[${index}]`, limits),
      );
      const accepted = await acceptance.accept(posted);
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
  const message = `Posting events needs a platform token; the request came with one of kind ${principal.kind}.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}

/**
 * @returns the events of a batch; undefined for a single event, which is any object with a `type`
 */
function batchIn(body: unknown, { eventsPerBatch: max }: IngestRouteParts['limits']): unknown[] | undefined {
  if (body === undefined || body === null)
    throw invalid('body is missing: send JSON, with "Content-Type: application/json".');
  if (typeof body !== 'object') throw invalid('body must be an event, or an object with "events".');
  if (!('events' in body) || 'type' in body) return undefined;
  const { events, ...others } = body;
  if (!Array.isArray(events) || events.length === 0)
    throw invalid('body.events must be a list of at least one event.');
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`body has "events" and "${nameIn(other)}": members of events belong into each event.`);
  if (events.length <= max) return events;
  throw limitError('REQUEST_TOO_LARGE', { name: 'eventsPerBatch', max, used: events.length });
}

/** @throws AnnexError REQUEST_INVALID or REQUEST_TOO_LARGE, naming the event */
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
  const { organization, installationId, eventId = productEventId(randomBytes), type, ...members } = event;
  return {
    ...{ eventId, organization, type, ...placeOfEvent(event) },
    ...(installationId !== undefined && { installationId }),
    body: bodyOf(eventId, type, members),
    // Hash of the whole event: the same event for another organization is another event.
    bodyHash: hash('sha256', canonical, 'base64url'),
  };
}

/**
 * The event as handlers get it, without the id of the installation: `eventId` and `type` first,
 * then all other members as posted.
 */
function bodyOf(eventId: string, type: string, members: Readonly<Record<string, unknown>>): string {
  const rest = JSON.stringify(members);
  const head = `{"eventId":${JSON.stringify(eventId)},"type":${JSON.stringify(type)}`;
  return rest === '{}' ? `${head}}` : `${head},${rest.slice(1)}`;
}

const invalid = (message: string): AnnexError => new AnnexError('REQUEST_INVALID', message);
