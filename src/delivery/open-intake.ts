/**
 * Composes what the API asks of deliveries: acceptance of events and tasks, orders and test events,
 * over an open store and for a worker. It makes no attempt: tests open it without cells and
 * clients.
 */
import type { Limits } from '../limits.ts';
import type { RandomBytes } from '../model/identifiers.ts';
import type { Store } from '../store/store.ts';
import { EventAcceptance } from './accept/event-acceptance.ts';
import { RecipientResolver } from './accept/recipients.ts';
import { TaskAcceptance } from './accept/task-acceptance.ts';
import { TestEvents } from './accept/test-events.ts';
import { DeliveryOrders } from './delivery-orders.ts';
import type { DeliveryWorker } from './delivery-worker.ts';

export interface IntakeParts {
  readonly store: Pick<
    Store,
    'changes' | 'subscriberRows' | 'eventOutbox' | 'taskOutbox' | 'deliveryOrderRows'
  >;
  /** Receives the deliveries that are pending after a commit. */
  readonly worker: Pick<DeliveryWorker, 'add' | 'addLater'>;
  readonly limits: Pick<Limits, 'deliveriesPerReplay' | 'taskGenerations'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
}

/** What the API asks of deliveries. */
export interface DeliveryIntake {
  readonly acceptance: EventAcceptance;
  readonly taskAcceptance: TaskAcceptance;
  readonly deliveryOrders: DeliveryOrders;
  readonly testEvents: TestEvents;
}

/** Call it before the first change of the store: recipients are cached from then on. */
export function openIntake({ store, worker, limits, clock, randomBytes }: IntakeParts): DeliveryIntake {
  const { changes, subscriberRows, eventOutbox: outbox, deliveryOrderRows: rows } = store;
  const recipients = new RecipientResolver(subscriberRows);
  changes.on('version', (integration) => recipients.forgetIntegration(integration));
  changes.on('installation', (_, organization) => recipients.forgetOrganization(organization));
  changes.on('missed', () => recipients.forget());
  const acceptance = new EventAcceptance({ recipients, outbox, worker, clock });
  return {
    acceptance,
    taskAcceptance: new TaskAcceptance({ outbox: store.taskOutbox, worker, limits, clock, randomBytes }),
    deliveryOrders: new DeliveryOrders({ rows, worker, limits }),
    testEvents: new TestEvents({ acceptance, limits, randomBytes }),
  };
}
