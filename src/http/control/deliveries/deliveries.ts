/**
 * `/v1/deliveries`: deliveries to what an organization has installed, with state and attempts.
 *
 * For the organization, also for installations that it has removed, and for the operator and the
 * host product. Not for the author: payloads are the organization's content, and answers come from
 * servers of its choice.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { DELIVERY_STATES } from '../../../database/tables.ts';
import { AnnexError } from '../../../errors.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { EVENT_ID, POSTED_TYPES } from '../../../model/posted-event.ts';
import { mayReadDeliveries } from '../../../model/principal.ts';
import { TASK } from '../../../model/task.ts';
import { unknownInstallation } from '../../../model/unknown-name-errors.ts';
import type { Delivery } from '../../../store/deliveries/delivery.ts';
import type { DeliveryList } from '../../../store/deliveries/delivery-list.ts';
import type { DeliveryFilter } from '../../../store/deliveries/delivery-search.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import { holderOf } from '../authenticate.ts';
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
import {
  DELIVERY_ID,
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
  },
  { title: 'DeliveriesQuery', additionalProperties: false },
);

const NOT_BOTH = new AnnexError(
  'REQUEST_INVALID',
  'query.installation and query.integration exclude each other: leave one out.',
);

export interface DeliveriesRouteParts {
  readonly deliveryList: Pick<DeliveryList, 'list' | 'read' | 'attempts' | 'payload'>;
  readonly installations: Pick<Installations, 'read'>;
}

export function deliveriesRoutes(app: TypedApp, parts: DeliveriesRouteParts): void {
  const { deliveryList } = parts;
  app.get(
    '/deliveries',
    {
      schema: {
        summary: 'List deliveries, newest first',
        description:
          'An organization sees those to its own installations, and tasks at the own level of integrations that it owns. A page may have fewer than `limit` items, or none, and still have a ' +
          '`next`: each request searches a bounded number of deliveries.',
        querystring: DeliveriesQuery,
        response: { 200: PageOf(DeliveryView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { organization: asked, installation: installationId, event: eventId, ...query } = request.query;
      const { integration } = query;
      if (integration !== undefined && installationId !== undefined) throw NOT_BOTH;
      const organization = organizationRead(holderOf(request), asked, 'deliveries');
      if (installationId !== undefined) await requireReadable(parts, request, installationId);
      const page = await deliveryList.list({
        ...pageRequest(query, DELIVERY_ID),
        ...{ organization, installationId, integration, eventId, type: query.type, state: query.state },
        ...placeFilter('query', query),
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
  if (installation !== undefined && mayReadDeliveries(principal, installation.organization)) return;
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
