/**
 * What can be ordered of deliveries (REFERENCE D32): deliver one again, deliver many again, or give one up.
 *
 * What is delivered again is the same event under the same `eventId`, the same bytes where it is a webhook, with as many attempts
 * as a new one has. For whoever may read the deliveries. Each order is an entry in the audit.
 */
import Type from 'typebox';
import { DELIVERY_STATES } from '../../../database/tables.ts';
import type { LimitName } from '../../../limits.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { mayReadDeliveries } from '../../../model/principal.ts';
import { unknownInstallation } from '../../../model/unknown.ts';
import type { Deliveries } from '../../../store/deliveries/deliveries.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import { actorOf, holderOf } from '../authenticate.ts';
import { cursorOf, keyOf } from '../cursor.ts';
import type { EditRate } from '../installations/edit-rate.ts';
import { ERRORS_VIEW, Name, NoQuery, PAGE_QUERY } from '../schemas.ts';
import { timeRange } from '../time-range.ts';
import type { TypedApp } from '../typed-routes.ts';
import { DELIVERY_FILTERS, placeFilter, readableDelivery } from './deliveries.ts';
import { DELIVERY_ID, DeliveryId, DeliveryView, deliveryView } from './delivery-view.ts';

/** What is over can be delivered again. */
const OVER = DELIVERY_STATES.filter((state) => state !== 'pending');

const ReplayBody = Type.Object(
  {
    installation: Name,
    ...DELIVERY_FILTERS,
    state: Type.Optional(Type.Enum(OVER, { default: 'failed' })),
    cursor: PAGE_QUERY.cursor,
  },
  { additionalProperties: false },
);

const ReplayView = Type.Object({
  replayed: Type.Integer({ description: 'How many wait to be delivered again.' }),
  next: Type.Optional(
    Type.String({
      description: 'There may be more: ask again with this as `cursor`, and all else the same.',
    }),
  ),
});

export interface DeliveryOrdersRouteParts {
  readonly deliveries: Pick<Deliveries, 'read' | 'redeliver' | 'cancel' | 'replay'>;
  readonly installations: Pick<Installations, 'read'>;
  /** How often something may be done about each installation. */
  readonly edits: EditRate;
  limitMet(limit: LimitName): void;
}

export function deliveryOrdersRoutes(app: TypedApp, parts: DeliveryOrdersRouteParts): void {
  oneRoute(app, parts, 'redeliver');
  oneRoute(app, parts, 'cancel');
  replayRoute(app, parts);
}

const SUMMARIES = {
  redeliver: 'Deliver again what was delivered, has failed or was canceled',
  cancel: 'Give up a delivery that is pending',
} as const;

function oneRoute(app: TypedApp, parts: DeliveryOrdersRouteParts, order: keyof typeof SUMMARIES): void {
  app.post(
    `/deliveries/:id/${order}`,
    {
      schema: {
        summary: SUMMARIES[order],
        params: Type.Object({ id: DeliveryId }),
        querystring: NoQuery,
        response: { 200: DeliveryView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const delivery = await readableDelivery(parts, request, request.params.id);
      await parts.edits.take(request, delivery);
      return deliveryView(await parts.deliveries[order](delivery.id, actorOf(request)));
    },
  );
}

function replayRoute(app: TypedApp, parts: DeliveryOrdersRouteParts): void {
  app.post(
    '/deliveries/replay',
    {
      schema: {
        summary: 'Deliver many again',
        description:
          'Those of one installation, that have failed unless `state` says otherwise: a bounded number at once, the oldest first.',
        querystring: NoQuery,
        body: ReplayBody,
        response: { 200: ReplayView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { installation: installationId, type, state = 'failed', cursor, ...rest } = request.body;
      const installation = await parts.installations.read(wholeInstallation(installationId));
      if (installation === undefined || !mayReadDeliveries(holderOf(request), installation.organization))
        throw unknownInstallation(installationId);
      const query = {
        ...{ installationId, type, state, cursor: cursor && keyOf(cursor, DELIVERY_ID, 'body') },
        ...placeFilter('body', rest),
        ...timeRange('body', rest),
      };
      await parts.edits.take(request, installation);
      const { replayed, next } = await parts.deliveries.replay(query, actorOf(request));
      return { replayed, ...(next !== undefined && { next: cursorOf(next) }) };
    },
  );
}
