/**
 * The views of events: product events with their deliveries, and lifecycle events. The content of a
 * lifecycle event is never shown: it may be a configuration with credentials.
 */
import Type from 'typebox';
import { LIFECYCLE_EVENT_STATES } from '../../../database/tables.ts';
import type { Delivery } from '../../../store/deliveries/delivery.ts';
import type { StoredEvent } from '../../../store/events/event-list.ts';
import type { LifecycleEventEntry } from '../../../store/installations/lifecycle-events.ts';
import { DeliveryView, deliveryView } from '../deliveries/delivery-view.ts';
import { placeView } from '../installations/target-paths.ts';
import { isoTime, Time } from '../schemas.ts';

export const LifecycleEventView = Type.Object(
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
    outcome: Type.Optional(Type.String({ description: 'Outcome of the last call.' })),
    createdAt: Time,
    finishedAt: Type.Optional(Time),
  },
  { title: 'LifecycleEvent', description: 'A lifecycle event of an installation.' },
);

const PRODUCT_MEMBERS = {
  id: Type.String({ description: '`eventId` of the event.' }),
  type: Type.String(),
  organization: Type.String(),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  installation: Type.Optional(
    Type.String({ description: 'Present if the event is for this installation only.' }),
  ),
  deliveries: Type.Integer({ description: 'Number of deliveries when it was accepted.' }),
  createdAt: Time,
};

export const ProductEventView = Type.Object(PRODUCT_MEMBERS, {
  title: 'ProductEvent',
  description: 'An event that the host product posted.',
});

/** With its content and its deliveries. */
export const TracedEventView = Type.Object(
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
  { title: 'TracedEvent', description: 'An event that the host product posted, and its deliveries.' },
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
