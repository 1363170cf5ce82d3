/**
 * `/v1/events`: the host product posts one event or a batch (docs/contract/events.md#posting), and
 * reads product events and lifecycle events with their outcomes.
 *
 * A batch is accepted as a whole or not at all, so that a client can repeat a refused batch as it
 * is. The answer is sent when all events are on disk; no accepted event is lost. No handler is
 * called before the answer.
 *
 * Product events are for their organization, with all their content and deliveries. Lifecycle
 * events are for principals that may read the installation's log, also after it is deleted. Their
 * content is never shown: it may be a configuration with credentials.
 */
import { hash, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import { canonicalJson, unpassable } from '../../../model/canonical-json.ts';
import {
  dataFaultText,
  type EventCatalog,
  type EventType,
  NO_EVENT_TYPES,
  reachOf,
} from '../../../model/event-type.ts';
import { EVENT_TYPE, productEventId } from '../../../model/identifiers.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { limitClause, limitError, quantity } from '../../../model/limit-met.ts';
import {
  DECLARED_EVENT,
  EVENT_ID,
  eventFault,
  POSTED_TYPES,
  placeOfEvent,
  type SoundEvent,
} from '../../../model/posted-event.ts';
import {
  type HolderPrincipal,
  mayPostEvents,
  mayReadEvents,
  mayReadLog,
  type Principal,
} from '../../../model/principal.ts';
import { nameIn } from '../../../model/schema-fault.ts';
import { unknownInstallation } from '../../../model/unknown-name-errors.ts';
import { LIFECYCLE_EVENT_STATES } from '../../database/tables.ts';
import type { AcceptedEvent, Delivery, PostedEvent } from '../../store/deliveries/delivery.ts';
import type { StoredEvent } from '../../store/events/event-list.ts';
import type { LifecycleEventEntry } from '../../store/installations/lifecycle-events.ts';
import { holderOf, requires } from './authenticate.ts';
import type { Control } from './control.ts';
import { DeliveryView, deliveryView } from './deliveries.ts';
import { requireEventType } from './event-types.ts';
import { placeView } from './installations/targets.ts';
import {
  organizationRead,
  PAGE_QUERY,
  PageOf,
  pageAnswer,
  pageRequest,
  TIME_RANGE,
  timeRange,
} from './lists.ts';
import { route } from './route.ts';
import { isoTime, isoTimeIfAny, Name, NoQuery, named, Organization, optional, Time } from './schemas.ts';

const LifecycleEventView = named(
  'LifecycleEvent',
  {
    id: Type.String({ description: '`eventId` of the event, and the request id of its lines in the log.' }),
    type: Type.String(),
    integration: Type.String(),
    organization: Type.String({ description: 'The organization that installed.' }),
    installation: Type.String(),
    space: Type.Optional(Type.String()),
    site: Type.Optional(Type.String()),
    state: Type.Enum([...LIFECYCLE_EVENT_STATES], {
      description:
        '`pending`: to be delivered, or retried; for a paused target, after it is resumed. `delivered`: its handler ended well. `unhandled`: no handler. `failed`: its handler failed, or it ' +
        'could not be delivered; final. `canceled`: the target was removed.',
    }),
    attempts: Type.Integer({ description: 'Number of calls made.' }),
    outcome: optional(Type.String(), 'Outcome of the last call.'),
    createdAt: Time,
    finishedAt: Type.Optional(Time),
  },
  { description: 'A lifecycle event of an installation.' },
);

const PRODUCT_MEMBERS = {
  id: Type.String({ description: '`eventId` of the event.' }),
  type: Type.String(),
  organization: Type.String(),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  installation: optional(Type.String(), 'Present if the event is for this installation only.'),
  deliveries: Type.Integer({ description: 'Number of deliveries when it was accepted.' }),
  createdAt: Time,
};

const ProductEventView = named('ProductEvent', PRODUCT_MEMBERS, {
  description: 'An event that the host product posted.',
});

/** With its content and its deliveries. */
const TracedEventView = named(
  'TracedEvent',
  {
    ...PRODUCT_MEMBERS,
    event: Type.Record(Type.String(), Type.Unknown(), {
      description: 'As handlers get it; each also gets its own `installationId`.',
    }),
    trace: Type.Array(DeliveryView, {
      description:
        'Each delivery. Log lines of the integration are in the log of the installation, with the id of the delivery as ' +
        '`requestId`.',
    }),
  },
  { description: 'An event that the host product posted, and its deliveries.' },
);

/** Events of a batch whose data is checked without a pause. */
const CHECKED_AT_ONCE = 5;
/** Key of a page of lifecycle events: the position. */
const LIFECYCLE_PAGE_KEY = /^\d{1,15}$/;
/** Key of a page of product events: the id of a `Sequence`. */
const PAGE_KEY = /^[0-9a-f]{12}-[0-9a-f]{12}-[\w-]{1,32}$/;

const PRODUCT_FILTERS = {
  organization: Type.Optional(Organization),
  type: Type.Optional(Type.String({ maxLength: 128, pattern: EVENT_TYPE.source })),
  ...TIME_RANGE,
};
const EventsQuery = Type.Object(
  {
    ...PAGE_QUERY,
    ...PRODUCT_FILTERS,
    installation: Type.Optional(
      Type.String({
        ...Name,
        description: 'Lists the lifecycle events of this installation instead of product events.',
      }),
    ),
  },
  { additionalProperties: false },
);
type Query = Static<typeof EventsQuery>;

/**
 * For the description only: validation goes by the type of each event, because errors of a union
 * would not name the fault.
 */
const EventBody = Type.Union([...[...POSTED_TYPES.values()].map(({ schema }) => schema), DECLARED_EVENT], {
  title: 'PostedEvent',
});
const postBody = ({ eventsPerBatch: maxItems }: Pick<Limits, 'eventsPerBatch'>) =>
  Type.Union([EventBody, Type.Object({ events: Type.Array(EventBody, { minItems: 1, maxItems }) })]);

const DELIVERIES =
  'Number of targets that get it. 0 is not an error: no installation has a handler or a webhook for it.';
const PostedView = named('Posted', {
  eventId: Type.String(),
  deliveries: Type.Integer({ description: DELIVERIES }),
});
const PostedManyView = named('PostedMany', {
  events: Type.Array(
    Type.Object({
      eventId: Type.String(),
      deliveries: Type.Integer({ description: DELIVERIES }),
      known: optional(Type.Boolean(), 'It was accepted before; this is the earlier answer.'),
    }),
    { description: 'In the order of the request.' },
  ),
});
const View = Type.Union([PostedManyView, PostedView]);

export const EVENT_ROUTES = [
  route({
    name: 'events.post',
    at: 'POST /events',
    right: 'events:post',
    summary: 'Post one product event, or a batch',
    description:
      'Answered with 202 when the events and their deliveries are stored. An `eventId` that was accepted ' +
      'before is answered as before, with 200, if the event is the same, and with a conflict if it is not. Of a batch, all ' +
      'events are accepted or none.',
    // Attack: ten megabytes with a token that may not post.
    rights: requires(mayPostEvents, 'Posting events needs a platform token'),
    bodyBytesMax: ({ requestBodyBytes }) => requestBodyBytes,
    bodyLimit: 'requestBodyBytes',
    checksBody: true,
    schema: (limits) => ({
      body: postBody(limits),
      'x-idempotent-by': ['events[].eventId', 'eventId'],
    }),
    answer: View,
    answers: { 202: View },
    async handle({ body }, { acceptance, limits, eventTypes, wallNow }, reply) {
      const batch = batchIn(body, limits);
      const events = batch ?? [body];
      // Only who posts a declared type waits for the types.
      const catalog = events.every(isDefined) ? NO_EVENT_TYPES : await eventTypes.catalog();
      const createdAt = catalog === NO_EVENT_TYPES ? '' : isoTime(wallNow());
      const posted: PostedEvent[] = [];
      for (const [index, event] of events.entries()) {
        const at = batch === undefined ? 'body' : `body.events[${index}]`;
        const one = readEvent(event, at, { limits, catalog, createdAt, eventTypes });
        posted.push(one);
        // Attack: a batch of a thousand events, each of which takes its check tens of milliseconds.
        if (one.declared !== undefined && index % CHECKED_AT_ONCE === CHECKED_AT_ONCE - 1) await nextTurn();
      }
      const accepted = await acceptance.accept(posted);
      const isNew = accepted.some((event) => event.isNew);
      const [only] = accepted;
      const answer = batch === undefined && only ? viewOf(only) : { events: accepted.map(viewInBatch) };
      return reply.code(isNew ? 202 : 200).send(answer);
    },
  }),
  route({
    name: 'events.list',
    at: 'GET /events',
    summary: 'List events, newest first',
    description:
      'Product events of one organization, or of all. A page may have fewer than `limit` items, or none, and ' +
      'still have a `next`. With `installation`: the lifecycle events of one installation.',
    query: EventsQuery,
    answer: Type.Union([PageOf(LifecycleEventView), PageOf(ProductEventView)]),
    handle: async (request, control) =>
      request.query.installation === undefined
        ? productEvents(control, holderOf(request), request.query)
        : lifecycleEventsOf(control, holderOf(request), request.query.installation, request.query),
  }),
  route({
    name: 'events.get',
    at: 'GET /events/:id',
    summary: 'Read an event and its outcome',
    params: { id: Type.String({ pattern: EVENT_ID.source }) },
    query: NoQuery,
    answer: Type.Union([LifecycleEventView, TracedEventView]),
    async handle(request, control) {
      const { id } = request.params;
      const holder = holderOf(request);
      const event = await control.eventList.read(id);
      if (event !== undefined && mayReadEvents(holder, event.organization))
        return tracedEventView(event, await control.deliveryList.ofEvent(id));
      const lifecycleEvent = await control.lifecycleEvents.read(id);
      if (lifecycleEvent !== undefined && (await mayReadLifecycle(control, holder, lifecycleEvent)))
        return lifecycleEventView(lifecycleEvent);
      throw new AnnexError('EVENT_UNKNOWN', `There is no event "${id}".`);
    },
  }),
];

async function productEvents(
  control: Control,
  holder: HolderPrincipal,
  { organization: asked, type, ...query }: Query,
) {
  const { eventList } = control;
  await requireEventType(control, 'query.type', { type });
  const organization = organizationRead(holder, asked, 'events');
  const page = await eventList.list({
    ...pageRequest(query, PAGE_KEY),
    ...{ organization, type },
    ...timeRange('query', query),
  });
  return pageAnswer(page, productEventView);
}

async function lifecycleEventsOf(
  control: Control,
  holder: HolderPrincipal,
  installationId: string,
  query: Query,
) {
  const [other] = Object.keys(PRODUCT_FILTERS).filter((name) => Object.hasOwn(query, name));
  if (other !== undefined) {
    const message = `query.installation lists lifecycle events, to which "${other}" does not apply: leave one of them out.`;
    throw new AnnexError('REQUEST_INVALID', message);
  }
  const { installations, lifecycleEvents } = control;
  // Only its events show the organization of a deleted installation.
  const owners =
    (await installations.read(wholeInstallation(installationId))) ??
    (await lifecycleEvents.latest(installationId));
  if (owners === undefined || !(await mayReadLifecycle(control, holder, owners)))
    throw unknownInstallation(installationId);
  const page = await lifecycleEvents.list({ ...pageRequest(query, LIFECYCLE_PAGE_KEY), installationId });
  return pageAnswer(page, lifecycleEventView);
}

async function mayReadLifecycle(
  { registry }: Control,
  principal: Principal,
  { integration: name, organization, createdAt }: InstallationOwners,
): Promise<boolean> {
  const integration = await registry.integration(name);
  // Attack: publishing under the name of a deleted integration, to read the events of its former
  // owner's installations.
  const isItsOwn = integration !== undefined && integration.createdAt <= createdAt;
  return mayReadLog(principal, organization, isItsOwn ? integration.organization : organization);
}

/** The owners of an installation that exists or existed. */
type InstallationOwners = Pick<LifecycleEventEntry, 'integration' | 'organization' | 'createdAt'>;

function lifecycleEventView({ eventId: id, target, ...event }: LifecycleEventEntry) {
  const { type, integration, organization, state, attempts, outcome, createdAt, finishedAt } = event;
  return {
    ...{ id, type, integration, organization, installation: target.installationId },
    ...placeView(target),
    ...{ state, attempts, outcome },
    createdAt: isoTime(createdAt),
    finishedAt: isoTimeIfAny(finishedAt),
  };
}

function productEventView(event: StoredEvent) {
  const { eventId: id, type, organization, installationId: installation, deliveries, createdAt } = event;
  return {
    ...{ id, type, organization, ...placeView(event), installation, deliveries },
    createdAt: isoTime(createdAt),
  };
}

const tracedEventView = (event: StoredEvent, deliveries: readonly Delivery[]) => ({
  ...productEventView(event),
  event: JSON.parse(event.body) as Record<string, unknown>,
  trace: deliveries.map(deliveryView),
});

const viewOf = ({ eventId, deliveries }: AcceptedEvent) => ({ eventId, deliveries });
const viewInBatch = (event: AcceptedEvent) => ({ ...viewOf(event), ...(!event.isNew && { known: true }) });

/**
 * @returns the events of a batch; undefined for a single event, which is any object with a `type`
 */
function batchIn(body: unknown, { eventsPerBatch: max }: Limits): unknown[] | undefined {
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

interface Reading {
  readonly limits: Pick<Limits, 'eventBytes'>;
  readonly catalog: EventCatalog;
  /** When events of declared types happen. */
  readonly createdAt: string;
  /** Counts those whose data does not fit. */
  readonly eventTypes: { unfit: number };
}

/** @throws AnnexError REQUEST_INVALID, REQUEST_TOO_LARGE or EVENT_DATA_INVALID, naming the event */
function readEvent(value: unknown, at: string, reading: Reading): PostedEvent {
  const { limits, catalog, createdAt, eventTypes } = reading;
  const { eventBytes: max } = limits;
  const fault = eventFault(value, at, catalog);
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
  const declared = POSTED_TYPES.has(type) ? undefined : catalog.get(type);
  if (declared !== undefined) requireFit(event['data'], at, { ...declared, eventTypes });
  const shown = declared === undefined ? members : declaredMembers(event, declared, createdAt);
  return {
    ...{ eventId, organization, type, ...placeOfEvent(event, declared) },
    ...(declared && { declared: reachOf(declared) }),
    ...(installationId !== undefined && { installationId }),
    body: bodyOf(eventId, type, shown),
    // Hash of the whole event: the same event for another organization is another event.
    bodyHash: hash('sha256', canonical, 'base64url'),
  };
}

/** Whether an event is of a type of the specification. */
const isDefined = (event: unknown): boolean =>
  typeof event === 'object' && event !== null && 'type' in event && POSTED_TYPES.has(String(event.type));

/** @throws AnnexError EVENT_DATA_INVALID */
function requireFit(
  data: unknown,
  at: string,
  { name, check, eventTypes }: EventType & Pick<Reading, 'eventTypes'>,
): void {
  const problems = check(data);
  if (problems.length === 0) return;
  eventTypes.unfit += 1;
  throw new AnnexError('EVENT_DATA_INVALID', dataFaultText(at, problems), {
    extra: {
      type: name,
      problems: problems.map(({ pointer, message }) => ({
        ...{ severity: 'error', pointer, message: `${at}.data${pointer} ${message}.` },
      })),
    },
  });
}

/** The members of a declared type's event, as handlers and receivers get them. */
const declaredMembers = (
  { organization, space, site, data }: SoundEvent,
  { level }: EventType,
  createdAt: string,
): Readonly<Record<string, unknown>> => ({
  organizationId: organization,
  ...(level === 'space' && { spaceId: space }),
  ...(level === 'site' && { siteId: site }),
  createdAt,
  data,
});

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
