/**
 * `/v1/deliveries`: deliveries to what an organization has installed, with state and attempts;
 * listed, followed, redelivered, replayed and canceled.
 *
 * For the organization, also for installations that it has removed, and for the operator and the
 * host product. Not for the author: payloads are the organization's content, and answers come from
 * servers of its choice.
 *
 * Attack: markup in answers of receivers, which are servers that the host does not know. Answers
 * are sent as text in JSON only, which browsers do not treat as a page.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { EVENT_TYPE } from '../../../model/identifiers.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { EVENT_ID } from '../../../model/posted-event.ts';
import { mayReadDeliveries, mayReadDelivery } from '../../../model/principal.ts';
import { TASK } from '../../../model/task.ts';
import { unknownInstallation } from '../../../model/unknown-name-errors.ts';
import { ATTEMPT_RESULTS, DELIVERY_KINDS, DELIVERY_STATES } from '../../database/tables.ts';
import type { Delivery, DeliveryPayload, RecordedAttempt } from '../../store/deliveries/delivery.ts';
import { CHANGE_ID, type DeliveryChange } from '../../store/deliveries/delivery-change.ts';
import type { DeliveryFeed } from '../../store/deliveries/delivery-feed.ts';
import type { DeliveryFilter } from '../../store/deliveries/delivery-search.ts';
import { actorOf, holderOf, principalOf, tokenOf } from './authenticate.ts';
import type { Control } from './control.ts';
import { requireEventType } from './event-types.ts';
import type { Source } from './following/event-stream.ts';
import { answerWith, beginOf, type Follower, isFollowed } from './following/followers.ts';
import { placeView } from './installations/targets.ts';
import {
  cursorOf,
  keyOf,
  organizationRead,
  PAGE_QUERY,
  PageOf,
  pageAnswer,
  pageRequest,
  TIME_RANGE,
  timeRange,
} from './lists.ts';
import { route } from './route.ts';
import {
  closed,
  isoTime,
  isoTimeIfAny,
  Name,
  NoQuery,
  named,
  Organization,
  optional,
  Place,
  Time,
} from './schemas.ts';

/** The id of the event, of a `Sequence`, and a number. */
const DELIVERY_ID = /^[0-9a-f]{12}-[0-9a-f]{12}-[\w-]{1,32}\.\d{1,9}$/;

/** An id in a path; whether it exists is checked later. */
const DeliveryId = Type.String({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9_.-]+$' });

const Outcome = Type.String({
  description:
    'How an attempt ended, such as `answered 200`, `timeout`, `tls` or `blocked`; for a delivery, its last attempt.',
});

const MEMBERS = {
  id: Type.String({
    description: 'Also the request id of its lines in the log of the installation.',
  }),
  eventId: Type.String({ description: 'By which a receiver recognizes an event that it gets twice.' }),
  type: Type.String(),
  kind: Type.Enum([...DELIVERY_KINDS], {
    description:
      '`handler`: a call of the code. `webhook`: an HTTP post, whose payload and destination the code decides.',
  }),
  integration: Type.String(),
  organization: Type.String({
    description: 'The organization that installed; for a task at the level of the integration, its owner.',
  }),
  installation: optional(Type.String(), 'Absent for a task at the level of the integration.'),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  state: Type.Enum([...DELIVERY_STATES], {
    description:
      '`pending`: not attempted yet, or to be retried. `delivered`: the handler or the receiver accepted it. `unhandled`: the code ' +
      'does not handle it, or is not subscribed. `failed`: final failure, or out of retries. `canceled`: the target was paused or ' +
      'removed, or the delivery was canceled by request. `held`: its webhook is disabled; it is kept for a replay.',
  }),
  attempts: Type.Integer({ description: 'Number of calls or requests made.' }),
  retries: Type.Integer({ description: 'Retries used since it was accepted or last redelivered.' }),
  outcome: Type.Optional(Outcome),
  createdAt: Time,
  dueAt: Type.Optional(
    Type.String({
      ...Time,
      description:
        'Time of the next attempt while pending. If it has passed, the attempt is in flight or waits for its turn.',
    }),
  ),
  finishedAt: Type.Optional(Time),
};

const AttemptView = named('DeliveryAttempt', {
  number: Type.Integer(),
  at: Time,
  durationMs: Type.Integer(),
  result: Type.Enum([...ATTEMPT_RESULTS], {
    description: '`fault`: a failure of Annex itself, which uses up no retry.',
  }),
  outcome: Outcome,
  destination: optional(Type.String(), 'URL of the post, without its query.'),
  status: optional(Type.Integer(), 'Status of the answer.'),
  response: optional(Type.String(), "Beginning of the body of the receiver's answer."),
  truncated: optional(Type.Boolean(), 'Whether the answer was longer than what was read.'),
  reason: optional(
    Type.String(),
    'Of the outcome `tls`: why, such as `the certificate has expired`, where that is known.',
  ),
});

export const DeliveryView = named('Delivery', MEMBERS);

/** An event of followed deliveries, for the description: `textOf` makes its text. */
const DeliveryChangeView = named('DeliveryChange', {
  id: Type.String({ description: 'By which a change that comes twice is recognized.' }),
  change: Type.Enum(
    ['accepted', 'attempted', 'redelivered', 'delivered', 'unhandled', 'failed', 'canceled', 'held'],
    {
      description: '`attempted`: an attempt ended, and the delivery is pending still.',
    },
  ),
  at: Time,
  delivery: DeliveryView,
  attempt: Type.Optional(AttemptView),
});

const WholeDeliveryView = named('WholeDelivery', {
  ...MEMBERS,
  history: Type.Array(AttemptView, { description: 'The latest hundred attempts, in order.' }),
  destination: optional(
    Type.String(),
    'Destination of a webhook, without its query, which may contain a key.',
  ),
  payload: optional(Type.String(), 'Payload of a webhook: the same bytes at each attempt.'),
});

/** Filters of lists and of replays. */
const DELIVERY_FILTERS = {
  space: Type.Optional(Place),
  site: Type.Optional(Place),
  type: Type.Optional(Type.String({ maxLength: 128, pattern: EVENT_TYPE.source })),
  ...TIME_RANGE,
};

const DeliveriesQuery = closed('DeliveriesQuery', {
  ...PAGE_QUERY,
  ...DELIVERY_FILTERS,
  installation: Type.Optional(Name),
  integration: Type.Optional(
    Type.String({ ...Name, description: 'Lists the tasks at the own level of this integration.' }),
  ),
  organization: Type.Optional(Organization),
  event: optional(Type.String({ pattern: EVENT_ID.source }), '`eventId` of an event.'),
  state: Type.Optional(Type.Enum([...DELIVERY_STATES])),
  follow: optional(
    Type.Boolean(),
    'Whether to answer with server-sent events, one for each change. `limit` is the number of deliveries whose changes so far come first, by default none; after `Last-Event-ID` come the changes after that one.',
  ),
});

const NOT_BOTH = new AnnexError(
  'REQUEST_INVALID',
  'query.installation and query.integration exclude each other: leave one out.',
);

const OWN_TARGET = new AnnexError(
  'REQUEST_INVALID',
  'A token of a page lists the deliveries to its target: leave out what names another.',
);

/** What `Last-Event-ID` names. */
const CHANGE = { shape: CHANGE_ID, noun: 'a change of a delivery' };

type DeliveriesRequest = FastifyRequest<{ Querystring: Static<typeof DeliveriesQuery> }>;

/** States of finished deliveries, which can be redelivered. */
const OVER = DELIVERY_STATES.filter((state) => state !== 'pending');

const ReplayBody = closed('Replay', {
  installation: Name,
  ...DELIVERY_FILTERS,
  state: Type.Optional(Type.Enum(OVER, { default: 'failed' })),
  cursor: PAGE_QUERY.cursor,
});

const ReplayView = named('Replayed', {
  replayed: Type.Integer({ description: 'How many were made pending again; with `dryRun`, would be.' }),
  next: optional(Type.String(), 'Present if there may be more: repeat the request with this as `cursor`.'),
});

const SUMMARIES = {
  redeliver: 'Redeliver a finished delivery',
  cancel: 'Cancel a pending delivery',
} as const;

const readRoutes = [
  route({
    name: 'deliveries.list',
    at: 'GET /deliveries',
    forPortal: ['webhooks', 'activity'],
    summary: 'List deliveries, newest first, or follow them',
    description:
      'An organization sees those to its own installations, and tasks at the own level of integrations that it owns. A page may have fewer than `limit` items, or none, and still have a ' +
      '`next`: each request searches a bounded number of deliveries. With "Accept: text/event-stream" or `follow=true`, the answer ' +
      'is server-sent events: one for each change of a delivery, as it is committed.',
    forUi: 'webhook',
    query: DeliveriesQuery,
    streamed: DeliveryChangeView,
    answer: PageOf(DeliveryView),
    async handle(request, control, reply) {
      const { query } = request;
      const { deliveryFeed, deliveryList, followers } = control;
      const filter = await requestedFilter(control, request);
      if (isFollowed(request)) {
        // A token of a page lists, and follows nothing.
        holderOf(request);
        const changes = deliveryEvents(deliveryFeed, filter);
        const stream = followers.follow(changes, followBegin(request), follower(control, request, filter));
        return answerWith(reply, stream);
      }
      const asked = { ...pageRequest(query, DELIVERY_ID), ...filter, ...timeRange('query', query) };
      return pageAnswer(await deliveryList.list(asked), deliveryView);
    },
  }),
  route({
    name: 'deliveries.get',
    at: 'GET /deliveries/:id',
    forPortal: ['webhooks', 'activity'],
    summary: 'Read a delivery with its attempts and its payload',
    forUi: 'webhook',
    params: { id: DeliveryId },
    query: NoQuery,
    answer: WholeDeliveryView,
    async handle(request, control) {
      const { deliveryList } = control;
      const delivery = await readableDelivery(control, request, request.params.id);
      const attempts = await deliveryList.attempts(delivery.id);
      return wholeDeliveryView(delivery, attempts, await deliveryList.payload(delivery.id));
    },
  }),
];

/**
 * Redeliver one, cancel one, replay many (docs/contract/webhooks.md#redelivery-and-replay). A
 * redelivery has the same event and `eventId`, the same bytes if it is a webhook, and as many
 * attempts as a new delivery. Each action is an entry in the audit.
 */
const orderRoutes = [
  ...(['redeliver', 'cancel'] as const).map((action) =>
    route({
      name: `deliveries.${action}`,
      at: `POST /deliveries/:id/${action}`,
      right: 'deliveries',
      summary: SUMMARIES[action],
      ...(action === 'redeliver' && { forUi: 'webhook', forPortal: ['webhooks', 'activity'] as const }),
      rate: 'edits',
      params: { id: DeliveryId },
      query: NoQuery,
      answer: DeliveryView,
      async handle(request, control) {
        const delivery = await readableDelivery(control, request, request.params.id);
        if (action === 'redeliver' && delivery.type === TASK) throw notRepeated(delivery.id);
        control.rates.edit(request, delivery);
        return deliveryView(await control.deliveryActions[action](delivery.id, actorOf(request)));
      },
    }),
  ),
  route({
    name: 'deliveries.replay',
    at: 'POST /deliveries/replay',
    right: 'deliveries',
    summary: 'Replay many deliveries',
    description:
      'Those of one installation that failed, or that have `state`: a bounded number for each request, oldest first.',
    rate: 'edits',
    query: Type.Object(
      { dryRun: optional(Type.Boolean(), 'Count them, and change none.') },
      { additionalProperties: false },
    ),
    body: ReplayBody,
    answer: ReplayView,
    async handle(request, control) {
      const { installations, deliveryActions, rates } = control;
      const { installation: installationId, type, state = 'failed', cursor, ...rest } = request.body;
      await requireEventType(control, 'body.type', { type });
      const installation = await installations.read(wholeInstallation(installationId));
      if (installation === undefined || !mayReadDeliveries(holderOf(request), installation.organization))
        throw unknownInstallation(installationId);
      const query = {
        ...{ installationId, type, state, cursor: cursor && keyOf(cursor, DELIVERY_ID, 'body.cursor') },
        ...placeFilter('body', rest),
        ...timeRange('body', rest),
      };
      rates.edit(request, installation);
      const { replayed, next } = await deliveryActions.replay(query, actorOf(request), request.query.dryRun);
      return { replayed, next: next && cursorOf(next) };
    },
  }),
];

export const DELIVERY_ROUTES = [...readRoutes, ...orderRoutes];

/** The content of a task is not kept once it has ended. */
const notRepeated = (id: string): AnnexError =>
  new AnnexError('DELIVERY_OVER', `Delivery "${id}" is of a task, which is not delivered again.`);

/**
 * What the query selects, within what the caller may see.
 *
 * @throws AnnexError REQUEST_INVALID, TOKEN_FORBIDDEN, INSTALLATION_UNKNOWN
 */
async function requestedFilter(control: Control, request: DeliveriesRequest): Promise<DeliveryFilter> {
  const { organization: asked, installation: installationId, event: eventId, ...query } = request.query;
  const { integration, type, state } = query;
  const principal = principalOf(request);
  if (principal.kind === 'ui') {
    // A page sees the deliveries to its target, and cannot ask for others.
    const { installationId: own, ...place } = principal.target;
    if ([asked, installationId, integration, query.space, query.site].some((one) => one !== undefined))
      throw OWN_TARGET;
    return { organization: principal.organization, installationId: own, place, eventId, type, state };
  }
  if (integration !== undefined && installationId !== undefined) throw NOT_BOTH;
  await requireEventType(control, 'query.type', { type, more: [TASK] });
  const organization = organizationRead(holderOf(request), asked, 'deliveries');
  if (installationId !== undefined) await requireReadable(control, request, installationId);
  return { organization, installationId, integration, eventId, type, state, ...placeFilter('query', query) };
}

/** @throws AnnexError REQUEST_INVALID */
function followBegin(request: DeliveriesRequest) {
  const { from, to } = request.query;
  if (from === undefined && to === undefined) return beginOf(request, CHANGE);
  throw new AnnexError('REQUEST_INVALID', 'query.from and query.to are for lists: a stream begins now.');
}

function follower(
  { tokens }: Control,
  request: DeliveriesRequest,
  { installationId, organization }: DeliveryFilter,
): Follower {
  const token = tokenOf(request) ?? '';
  const whole = organization === undefined ? undefined : `deliveries of ${organization}`;
  return {
    principal: holderOf(request),
    followed: installationId === undefined ? whole : `deliveries to ${installationId}`,
    // What it may read follows from the token alone, whatever is removed.
    refusal: async () => (typeof (await tokens.authenticate(token)) === 'object' ? undefined : 'revoked'),
  };
}

/**
 * A delivery that the caller may see. @throws AnnexError DELIVERY_UNKNOWN, also for one of another
 * tenant
 */
async function readableDelivery(
  { deliveryList }: Control,
  request: FastifyRequest,
  id: string,
): Promise<Delivery> {
  const delivery = await deliveryList.read(id);
  if (delivery !== undefined && mayReadDelivery(principalOf(request), delivery)) return delivery;
  throw new AnnexError('DELIVERY_UNKNOWN', `There is no delivery "${id}".`);
}

/**
 * @throws AnnexError INSTALLATION_UNKNOWN if the caller may not see the installation or any of its
 * deliveries
 */
async function requireReadable(
  { deliveryList, installations }: Control,
  request: FastifyRequest,
  installationId: string,
): Promise<void> {
  const principal = holderOf(request);
  const installation = await installations.read(wholeInstallation(installationId));
  if (installation !== undefined) {
    if (mayReadDeliveries(principal, installation.organization)) return;
    throw unknownInstallation(installationId);
  }
  // Only its deliveries show the organization of a deleted installation.
  const { items, next } = await deliveryList.list({
    installationId,
    organization: principal.organization,
    limit: 1,
  });
  if (items.length === 0 && next === undefined) throw unknownInstallation(installationId);
}

/** @throws AnnexError REQUEST_INVALID if both a space and a site are named */
function placeFilter(
  part: string,
  { space, site }: { readonly space?: string; readonly site?: string },
): Pick<DeliveryFilter, 'place'> {
  if (space !== undefined && site !== undefined) {
    const message = `${part}.space and ${part}.site exclude each other: a delivery is to one of them, so leave one out.`;
    throw new AnnexError('REQUEST_INVALID', message);
  }
  if (space !== undefined) return { place: { level: 'space', place: space } };
  return site === undefined ? {} : { place: { level: 'site', place: site } };
}

export function deliveryView(delivery: Delivery) {
  const { id, eventId, type, kind, integration, organization, target, state } = delivery;
  const { attempts, retries, outcome, createdAt, dueAt, finishedAt } = delivery;
  return {
    ...{ id, eventId, type, kind, integration, organization },
    installation: target.level === 'integration' ? undefined : target.installationId,
    ...placeView(target),
    ...{ state, attempts, retries, outcome },
    createdAt: isoTime(createdAt),
    dueAt: state === 'pending' ? isoTime(dueAt) : undefined,
    finishedAt: isoTimeIfAny(finishedAt),
  };
}

const attemptView = ({ at, ...attempt }: RecordedAttempt) => ({ ...attempt, at: isoTime(at) });

const wholeDeliveryView = (
  delivery: Delivery,
  attempts: readonly RecordedAttempt[],
  payload: DeliveryPayload | undefined,
) => ({
  ...deliveryView(delivery),
  history: attempts.map(attemptView),
  destination: payload && withoutQuery(payload.destination),
  payload: payload?.payload,
});

const withoutQuery = (destination: string): string => destination.split('?', 1)[0] ?? '';

/** Estimated text of a change. */
const CHANGE_BYTES = 900;

const deliveryEvents = (
  feed: Pick<DeliveryFeed, 'follow' | 'newest' | 'changesAfter'>,
  filter: DeliveryFilter,
): Source<DeliveryChange> => ({
  follow(changed, lost) {
    return { begun: undefined, end: feed.follow({ filter, changed, lost }) };
  },
  newest: (count) => feed.newest(filter, count),
  after: (id) => feed.changesAfter(filter, id),
  bytesOf: () => CHANGE_BYTES,
  textOf: (changes) => Buffer.from(changes.map(textOf).join('')),
});

const TEXTS = new WeakMap<DeliveryChange, string>();

function textOf(change: DeliveryChange): string {
  const text = TEXTS.get(change) ?? `id: ${change.id}\ndata: ${JSON.stringify(changeView(change))}\n\n`;
  TEXTS.set(change, text);
  return text;
}

const changeView = ({ at, delivery, attempt, ...rest }: DeliveryChange) => ({
  ...rest,
  at: isoTime(at),
  delivery: deliveryView(delivery),
  attempt: attempt && attemptView(attempt),
});
