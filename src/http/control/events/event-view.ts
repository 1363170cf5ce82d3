/**
 * How events are shown: those of the product with what came of them, and those of the life of installations, of which nothing is
 * shown that they hold: it may be a configuration with credentials.
 */
import Type from 'typebox';
import { LIFECYCLE_EVENT_STATES } from '../../../database/tables.ts';
import type { Delivery } from '../../../store/deliveries/delivery.ts';
import type { StoredEvent } from '../../../store/events/accepted-events.ts';
import type { LifecycleEventEntry } from '../../../store/installations/lifecycle-events.ts';
import { DeliveryView, deliveryView } from '../deliveries/delivery-view.ts';
import { placeView } from '../installations/target-paths.ts';
import { isoTime, Time } from '../schemas.ts';

export const LifecycleEventView = Type.Object(
  {
    id: Type.String({ description: '`eventId` of the event, and the request id of its lines in the log.' }),
    type: Type.String(),
    integration: Type.String(),
    organization: Type.String({ description: 'The one that installed.' }),
    installation: Type.String(),
    space: Type.Optional(Type.String()),
    site: Type.Optional(Type.String()),
    state: Type.Enum([...LIFECYCLE_EVENT_STATES], {
      description:
        '`pending`: to be told, or told again; of a target that is paused, once it is resumed. `delivered`: heard. `unhandled`: no handler. `failed`: its handler failed, or it ' +
        'could not be told; final. `canceled`: the target is gone.',
    }),
    attempts: Type.Integer({ description: 'Calls that were made for it.' }),
    outcome: Type.Optional(Type.String({ description: 'How the last of them ended.' })),
    createdAt: Time,
    finishedAt: Type.Optional(Time),
  },
  { title: 'LifecycleEvent', description: 'An event in the life of an installation.' },
);

const PRODUCT_MEMBERS = {
  id: Type.String({ description: '`eventId` of the event.' }),
  type: Type.String(),
  organization: Type.String(),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  installation: Type.Optional(Type.String({ description: 'Where it is for this one alone.' })),
  deliveries: Type.Integer({ description: 'How many it came to when it was accepted.' }),
  createdAt: Time,
};

export const ProductEventView = Type.Object(PRODUCT_MEMBERS, {
  title: 'ProductEvent',
  description: 'An event that the product has posted.',
});

/** With what it holds, and what became of it. */
export const TracedEventView = Type.Object(
  {
    ...PRODUCT_MEMBERS,
    event: Type.Record(Type.String(), Type.Unknown(), {
      description: 'As handlers get it; each gets the `installationId` of its own beside it.',
    }),
    trace: Type.Array(DeliveryView, {
      description:
        'What became of each delivery. What the integration has logged meanwhile is in its log, under the id of the delivery as ' +
        '`requestId`.',
    }),
  },
  { title: 'TracedEvent', description: 'An event that the product has posted, and its deliveries.' },
);

export function lifecycleEventView({
  eventId,
  target,
  createdAt,
  finishedAt,
  ...event
}: LifecycleEventEntry) {
  const { type, integration, organization, state, attempts, outcome } = event;
  return {
    id: eventId,
    type,
    integration,
    organization,
    installation: target.installationId,
    ...placeView(target),
    state,
    attempts,
    ...(outcome !== undefined && { outcome }),
    createdAt: isoTime(createdAt),
    ...(finishedAt !== undefined && { finishedAt: isoTime(finishedAt) }),
  };
}

export function productEventView(event: StoredEvent) {
  const { eventId, type, organization, installationId, deliveries, createdAt } = event;
  return {
    ...{ id: eventId, type, organization },
    ...placeView(event),
    ...(installationId !== undefined && { installation: installationId }),
    deliveries,
    createdAt: isoTime(createdAt),
  };
}

export const tracedEventView = (event: StoredEvent, deliveries: readonly Delivery[]) => ({
  ...productEventView(event),
  event: JSON.parse(event.body) as Record<string, unknown>,
  trace: deliveries.map(deliveryView),
});
