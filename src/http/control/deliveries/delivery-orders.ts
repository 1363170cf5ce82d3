/**
 * Actions on deliveries: redeliver one, replay many, cancel one
 * (docs/contract/webhooks.md#redelivery-and-replay).
 *
 * A redelivery has the same event and `eventId`, the same bytes if it is a webhook, and as many
 * attempts as a new delivery. For principals that may read the deliveries. Each action is an entry
 * in the audit.
 */
import Type from 'typebox';
import { DELIVERY_STATES } from '../../../database/tables.ts';
import type { DeliveryOrders } from '../../../delivery/delivery-orders.ts';
import { AnnexError } from '../../../errors.ts';
import type { LimitName } from '../../../limits.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { mayReadDeliveries } from '../../../model/principal.ts';
import { TASK } from '../../../model/task.ts';
import { unknownInstallation } from '../../../model/unknown-name-errors.ts';
import type { DeliveryList } from '../../../store/deliveries/delivery-list.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import { actorOf, holderOf } from '../authenticate.ts';
import { cursorOf, keyOf } from '../cursor.ts';
import type { EditRate } from '../installations/edit-rate.ts';
import { BOUND_BY_EDITS } from '../order-rate.ts';
import { ERRORS_VIEW, Name, NoQuery, PAGE_QUERY } from '../schemas.ts';
import { timeRange } from '../time-range.ts';
import type { TypedApp } from '../typed-routes.ts';
import { DELIVERY_FILTERS, placeFilter, readableDelivery } from './deliveries.ts';
import { DELIVERY_ID, DeliveryId, DeliveryView, deliveryView } from './delivery-view.ts';

/** States of finished deliveries, which can be redelivered. */
const OVER = DELIVERY_STATES.filter((state) => state !== 'pending');

const ReplayBody = Type.Object(
  {
    installation: Name,
    ...DELIVERY_FILTERS,
    state: Type.Optional(Type.Enum(OVER, { default: 'failed' })),
    cursor: PAGE_QUERY.cursor,
  },
  { title: 'Replay', additionalProperties: false },
);

const ReplayView = Type.Object(
  {
    replayed: Type.Integer({ description: 'How many were made pending again.' }),
    next: Type.Optional(
      Type.String({
        description: 'Present if there may be more: repeat the request with this as `cursor`.',
      }),
    ),
  },
  { title: 'Replayed' },
);

export interface DeliveryOrdersRouteParts {
  readonly deliveryList: Pick<DeliveryList, 'read'>;
  readonly deliveryOrders: Pick<DeliveryOrders, 'redeliver' | 'cancel' | 'replay'>;
  readonly installations: Pick<Installations, 'read'>;
  /** Rate of actions for each installation. */
  readonly edits: EditRate;
  limitMet(limit: LimitName): void;
}

export function deliveryOrdersRoutes(app: TypedApp, parts: DeliveryOrdersRouteParts): void {
  actionRoute(app, parts, 'redeliver');
  actionRoute(app, parts, 'cancel');
  replayRoute(app, parts);
}

const SUMMARIES = {
  redeliver: 'Redeliver a finished delivery',
  cancel: 'Cancel a pending delivery',
} as const;

function actionRoute(app: TypedApp, parts: DeliveryOrdersRouteParts, action: keyof typeof SUMMARIES): void {
  app.post(
    `/deliveries/:id/${action}`,
    {
      config: BOUND_BY_EDITS,
      schema: {
        summary: SUMMARIES[action],
        params: Type.Object({ id: DeliveryId }),
        querystring: NoQuery,
        response: { 200: DeliveryView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const delivery = await readableDelivery(parts, request, request.params.id);
      if (action === 'redeliver' && delivery.type === TASK) throw notRepeated(delivery.id);
      await parts.edits.take(request, delivery);
      return deliveryView(await parts.deliveryOrders[action](delivery.id, actorOf(request)));
    },
  );
}

/** The content of a task is not kept once it has ended. */
const notRepeated = (id: string): AnnexError =>
  new AnnexError('DELIVERY_OVER', `Delivery "${id}" is of a task, which is not delivered again.`);

function replayRoute(app: TypedApp, parts: DeliveryOrdersRouteParts): void {
  app.post(
    '/deliveries/replay',
    {
      config: BOUND_BY_EDITS,
      schema: {
        summary: 'Replay many deliveries',
        description:
          'Those of one installation that failed, or that have `state`: a bounded number for each request, oldest first.',
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
        ...{ installationId, type, state, cursor: cursor && keyOf(cursor, DELIVERY_ID, 'body.cursor') },
        ...placeFilter('body', rest),
        ...timeRange('body', rest),
      };
      await parts.edits.take(request, installation);
      const { replayed, next } = await parts.deliveryOrders.replay(query, actorOf(request));
      return { replayed, ...(next !== undefined && { next: cursorOf(next) }) };
    },
  );
}
