/**
 * `/v1/deliveries`: deliveries to what an organization has installed, with state and attempts.
 *
 * For the organization, also for installations that it has removed, and for the operator and the
 * host product. Not for the author: payloads are the organization's content, and answers come from
 * servers of its choice.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { DELIVERY_STATES } from '../../../database/tables.ts';
import { AnnexError } from '../../../errors.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { EVENT_ID, POSTED_TYPES } from '../../../model/posted-event.ts';
import { mayReadDeliveries } from '../../../model/principal.ts';
import { TASK } from '../../../model/task.ts';
import { unknownInstallation } from '../../../model/unknown-name-errors.ts';
import type { Delivery } from '../../../store/deliveries/delivery.ts';
import { CHANGE_ID } from '../../../store/deliveries/delivery-change.ts';
import type { DeliveryFeed } from '../../../store/deliveries/delivery-feed.ts';
import type { DeliveryList } from '../../../store/deliveries/delivery-list.ts';
import type { DeliveryFilter } from '../../../store/deliveries/delivery-search.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Tokens } from '../../../store/tokens.ts';
import { bearerToken } from '../../credentials.ts';
import { holderOf } from '../authenticate.ts';
import { answerWith, beginOf, isFollowed } from '../following/follow-request.ts';
import type { Follower, Followers } from '../following/followers.ts';
import { organizationRead } from '../own-organization.ts';
import {
  ERRORS_VIEW,
  Name,
  NoQuery,
  Organization,
  PAGE_QUERY,
  PageOf,
  Place,
  pageAnswer,
  pageRequest,
} from '../schemas.ts';
import { TIME_RANGE, timeRange } from '../time-range.ts';
import type { TypedApp } from '../typed-routes.ts';
import { deliveryEvents } from './delivery-events.ts';
import {
  DELIVERY_ID,
  DeliveryChangeView,
  DeliveryId,
  DeliveryView,
  deliveryView,
  WholeDeliveryView,
  wholeDeliveryView,
} from './delivery-view.ts';

/** Filters of lists and of replays. */
export const DELIVERY_FILTERS = {
  space: Type.Optional(Place),
  site: Type.Optional(Place),
  type: Type.Optional(Type.Enum([...POSTED_TYPES.keys()])),
  ...TIME_RANGE,
};

const DeliveriesQuery = Type.Object(
  {
    ...PAGE_QUERY,
    ...DELIVERY_FILTERS,
    type: Type.Optional(Type.Enum([...POSTED_TYPES.keys(), TASK])),
    installation: Type.Optional(Name),
    integration: Type.Optional(
      Type.String({ ...Name, description: 'Lists the tasks at the own level of this integration.' }),
    ),
    organization: Type.Optional(Organization),
    event: Type.Optional(Type.String({ description: '`eventId` of an event.', pattern: EVENT_ID.source })),
    state: Type.Optional(Type.Enum([...DELIVERY_STATES])),
    follow: Type.Optional(
      Type.Boolean({
        description:
          'Whether to answer with server-sent events, one for each change. `limit` is the number of deliveries whose changes so far come first, by default none; after `Last-Event-ID` come the changes after that one.',
      }),
    ),
  },
  { title: 'DeliveriesQuery', additionalProperties: false },
);

const NOT_BOTH = new AnnexError(
  'REQUEST_INVALID',
  'query.installation and query.integration exclude each other: leave one out.',
);

/** What `Last-Event-ID` names. */
const CHANGE = { shape: CHANGE_ID, noun: 'a change of a delivery' };

type DeliveriesRequest = FastifyRequest<{ Querystring: Static<typeof DeliveriesQuery> }>;

export interface DeliveriesRouteParts {
  readonly deliveryList: Pick<DeliveryList, 'list' | 'read' | 'attempts' | 'payload'>;
  readonly deliveryFeed: Pick<DeliveryFeed, 'follow' | 'newest' | 'changesAfter'>;
  readonly followers: Pick<Followers, 'follow'>;
  readonly tokens: Pick<Tokens, 'authenticate'>;
  readonly installations: Pick<Installations, 'read'>;
}

export function deliveriesRoutes(app: TypedApp, parts: DeliveriesRouteParts): void {
  const { deliveryList } = parts;
  app.get(
    '/deliveries',
    {
      schema: {
        summary: 'List deliveries, newest first, or follow them',
        description:
          'An organization sees those to its own installations, and tasks at the own level of integrations that it owns. A page may have fewer than `limit` items, or none, and still have a ' +
          '`next`: each request searches a bounded number of deliveries. With "Accept: text/event-stream" or `follow=true`, the answer ' +
          'is server-sent events: one for each change of a delivery, as it is committed.',
        querystring: DeliveriesQuery,
        streamed: DeliveryChangeView,
        response: { 200: PageOf(DeliveryView), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { query } = request;
      const filter = await requestedFilter(parts, request);
      if (isFollowed(request)) {
        const changes = deliveryEvents(parts.deliveryFeed, filter);
        const stream = parts.followers.follow(
          changes,
          followBegin(request),
          follower(parts, request, filter),
        );
        return answerWith(reply, stream);
      }
      const page = await deliveryList.list({
        ...pageRequest(query, DELIVERY_ID),
        ...filter,
        ...timeRange('query', query),
      });
      return pageAnswer(page, deliveryView);
    },
  );
  app.get(
    '/deliveries/:id',
    {
      schema: {
        summary: 'Read a delivery with its attempts and its payload',
        params: Type.Object({ id: DeliveryId }),
        querystring: NoQuery,
        response: { 200: WholeDeliveryView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const delivery = await readableDelivery(parts, request, request.params.id);
      const [attempts, payload] = [
        await deliveryList.attempts(delivery.id),
        await deliveryList.payload(delivery.id),
      ];
      return wholeDeliveryView(delivery, attempts, payload);
    },
  );
}

/**
 * What the query selects, within what the caller may see.
 *
 * @throws AnnexError REQUEST_INVALID, TOKEN_FORBIDDEN, INSTALLATION_UNKNOWN
 */
async function requestedFilter(
  parts: DeliveriesRouteParts,
  request: DeliveriesRequest,
): Promise<DeliveryFilter> {
  const { organization: asked, installation: installationId, event: eventId, ...query } = request.query;
  const { integration, type, state } = query;
  if (integration !== undefined && installationId !== undefined) throw NOT_BOTH;
  const organization = organizationRead(holderOf(request), asked, 'deliveries');
  if (installationId !== undefined) await requireReadable(parts, request, installationId);
  return { organization, installationId, integration, eventId, type, state, ...placeFilter('query', query) };
}

/** @throws AnnexError REQUEST_INVALID */
function followBegin(request: DeliveriesRequest) {
  const { from, to } = request.query;
  if (from === undefined && to === undefined) return beginOf(request, CHANGE);
  throw new AnnexError('REQUEST_INVALID', 'query.from and query.to are for lists: a stream begins now.');
}

function follower(
  { tokens }: DeliveriesRouteParts,
  request: DeliveriesRequest,
  { installationId, organization }: DeliveryFilter,
): Follower {
  const token = bearerToken(request.raw) ?? '';
  const whole = organization === undefined ? undefined : `deliveries of ${organization}`;
  return {
    principal: holderOf(request),
    followed: installationId === undefined ? whole : `deliveries to ${installationId}`,
    // What it may read follows from the token alone, whatever is removed.
    refusal: async () => ((await tokens.authenticate(token)) === undefined ? 'revoked' : undefined),
  };
}

/**
 * A delivery that the caller may see. @throws AnnexError DELIVERY_UNKNOWN, also for one of another
 * tenant
 */
export async function readableDelivery(
  { deliveryList }: { readonly deliveryList: Pick<DeliveryList, 'read'> },
  request: FastifyRequest,
  id: string,
): Promise<Delivery> {
  const delivery = await deliveryList.read(id);
  if (delivery !== undefined && mayReadDeliveries(holderOf(request), delivery.organization)) return delivery;
  throw new AnnexError('DELIVERY_UNKNOWN', `There is no delivery "${id}".`);
}

/**
 * @throws AnnexError INSTALLATION_UNKNOWN if the caller may not see the installation or any of its
 * deliveries
 */
async function requireReadable(
  { deliveryList, installations }: DeliveriesRouteParts,
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
export function placeFilter(
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
