/**
 * Composes deliveries over an open store: the intake, the delivery worker with its two kinds of
 * attempt, and the lifecycle worker. A part of the composition root, without decisions of its own.
 */

import type { Registry as MetricsRegistry } from '@prometheus-io/client';
import type { LimitName, Limits } from '../../limits.ts';
import type { RandomBytes } from '../../model/identifiers.ts';
import { headerNames } from '../../model/signature.ts';
import { VERSION } from '../../version.ts';
import type { CallLog } from '../calls/call-log.ts';
import type { Dispatch } from '../calls/dispatch.ts';
import type { WebhookClient } from '../egress/webhook/webhook-client.ts';
import type { Schedules } from '../store/schedules.ts';
import type { Store } from '../store/store.ts';
import type { TargetResolver } from '../targets/target-resolver.ts';
import { EventAcceptance } from './accept/event-acceptance.ts';
import { RecipientResolver } from './accept/recipients.ts';
import { TaskAcceptance } from './accept/task-acceptance.ts';
import { TestEvents } from './accept/test-events.ts';
import { Attempts } from './attempts.ts';
import { DeliveryActions } from './delivery-actions.ts';
import {
  deliveryMetrics,
  eventTypeMetrics,
  lifecycleMetrics,
  scheduleMetrics,
  webhookMetrics,
} from './delivery-metrics.ts';
import { DeliveryWorker } from './delivery-worker.ts';
import { HandlerDelivery } from './handler-delivery.ts';
import { LifecycleWorker } from './lifecycle/lifecycle-worker.ts';
import { NoticeDelivery, type NoticeDeliveryDeps } from './notice-delivery.ts';
import { ScheduleWorker } from './schedule-worker.ts';
import { WebhookDelivery } from './webhook-delivery.ts';

export const USER_AGENT = `Annex-Webhook/${VERSION}`;

export interface DeliveryDeps extends Omit<IntakeDeps, 'store' | 'worker' | 'limits'> {
  readonly store: IntakeDeps['store'] &
    Pick<
      Store,
      | ('lifecycleEvents' | 'deliveryQueue' | 'deliveryClaims' | 'backlog' | 'activity' | 'webhookSecrets')
      | 'webhookHealths'
      | 'eventTypes'
      | ('isShared' | 'announceBacklog' | 'schedules')
    >;
  readonly targets: TargetResolver;
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly webhookClient: Pick<WebhookClient, 'post'>;
  /** Beginning of the names of a webhook's headers. */
  readonly headerPrefix: string;
  readonly notices: Pick<NoticeDeliveryDeps, 'receiver' | 'client' | 'scheme'>;
  readonly callLog: Pick<CallLog, 'log'>;
  readonly metrics: MetricsRegistry;
  readonly limits: Limits;
  /** Milliseconds since 1970, never later than is true. */
  readonly signingClock: () => number;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  limitMet(name: LimitName): void;
  onError(error: unknown, what: string): void;
}

export interface OpenDelivery extends DeliveryIntake {
  /**
   * Delivers what the last process left, and all that is added.
   *
   * @throws if the store cannot be read; it is stopped then
   */
  start(): Promise<void>;
  /** Starts nothing any more; deliveries in flight have this time to end. */
  stop(withinMs: number): Promise<void>;
}

/**
 * Call it before the first change of the store: recipients are cached from then on. Until the
 * start, deliveries are accepted and none is attempted.
 */
export function openDelivery(deps: DeliveryDeps): OpenDelivery {
  const { store, metrics } = deps;
  const { lifecycleEvents, isShared } = store;
  const lifecycle = new LifecycleWorker({
    ...deps,
    events: lifecycleEvents,
    isShared,
    settled: lifecycleMetrics(metrics, lifecycleEvents),
    onError: (error) => deps.onError(error, 'a lifecycle event could not be read or settled'),
  });
  store.changes.on('lifecycle', (installationId) => lifecycle.add(installationId));
  store.changes.on('back', () => lifecycle.retryNow());
  eventTypeMetrics(metrics, store.eventTypes);
  const worker = deliveryWorker(deps);
  const scheduleWorker = new ScheduleWorker({
    ...deps,
    schedules: store.schedules,
    add: (deliveries) => worker.add(deliveries),
    counted: scheduleMetrics(metrics),
    onError: (error) => deps.onError(error, 'a run of a schedule could not begin'),
  });
  store.changes.on('version', () => scheduleWorker.look());
  store.changes.on('back', () => scheduleWorker.look());
  const stop = async (withinMs: number) => {
    await Promise.all([scheduleWorker.stop(), lifecycle.stop(), worker.stop(withinMs)]);
  };
  return {
    ...openIntake({ ...deps, worker }),
    async start() {
      try {
        await Promise.all([lifecycle.start(), worker.start()]);
        scheduleWorker.start();
      } catch (cause) {
        await stop(0);
        throw cause;
      }
    },
    stop,
  };
}

function deliveryWorker(deps: DeliveryDeps): DeliveryWorker {
  const { store } = deps;
  const { deliveryQueue: queue, deliveryClaims: claims, webhookSecrets: secrets, isShared } = store;
  const onError = (error: unknown) => deps.onError(error, 'a delivery could not be claimed or settled');
  const handlers = new HandlerDelivery(deps);
  const posting = { ...deps, userAgent: USER_AGENT, headerNames: headerNames(deps.headerPrefix) };
  const webhooks = new WebhookDelivery({ ...posting, claims, secrets });
  const notices = new NoticeDelivery({ ...posting, ...deps.notices });
  const attempts = new Attempts({ targets: deps.targets, handlers, webhooks, notices, onError });
  const inFlight = () => worker.inFlight;
  const metrics = deliveryMetrics(deps.metrics, store, inFlight);
  const callForHelp = () => void store.announceBacklog().catch(onError);
  const worker: DeliveryWorker = new DeliveryWorker({
    ...deps,
    ...{ queue, claims, attempts, metrics, isShared, callForHelp, onError },
  });
  const countChanges = webhookMetrics(deps.metrics, store.webhookHealths);
  store.changes.on('webhooks', countChanges);
  store.changes.on('notices', (deliveries) => worker.add(deliveries));
  store.changes.on('backlog', () => worker.help());
  store.changes.on('back', () => worker.retryNow());
  return worker;
}

export interface IntakeDeps {
  readonly store: Pick<
    Store,
    'changes' | 'subscriberRows' | 'eventOutbox' | 'taskOutbox' | 'deliveryActionRows' | 'schedules'
  >;
  /** Receives the deliveries that are pending after a commit. */
  readonly worker: Pick<DeliveryWorker, 'add' | 'addLater'>;
  readonly limits: Pick<Limits, 'deliveriesPerReplay' | 'taskGenerations'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
  onError(error: unknown, what: string): void;
}

/** What the API asks of deliveries. */
export interface DeliveryIntake {
  readonly acceptance: EventAcceptance;
  readonly taskAcceptance: TaskAcceptance;
  readonly deliveryActions: DeliveryActions;
  readonly testEvents: TestEvents;
  /** `Schedules.beginNow`; the delivery is in turn at once. */
  readonly runSchedule: Schedules['beginNow'];
}

/**
 * Composes what the API asks of deliveries: acceptance of events and tasks, orders and test events,
 * over an open store and for a worker. It makes no attempt: tests open it without cells and
 * clients.
 *
 * Call it before the first change of the store: recipients are cached from then on.
 */
export function openIntake(deps: IntakeDeps): DeliveryIntake {
  const { store, worker, limits, wallNow, randomBytes } = deps;
  const { changes, subscriberRows, eventOutbox: outbox, deliveryActionRows: rows } = store;
  const recipients = new RecipientResolver(subscriberRows, (error) =>
    deps.onError(error, 'A row is damaged, and its target was left out of the recipients of events.'),
  );
  changes.on('version', (integration) => recipients.forgetIntegration(integration));
  changes.on('installation', (_, organization) => recipients.forgetOrganization(organization));
  changes.on('missed', () => recipients.forget());
  const acceptance = new EventAcceptance({ recipients, outbox, worker, wallNow });
  return {
    acceptance,
    taskAcceptance: new TaskAcceptance({ outbox: store.taskOutbox, worker, limits, wallNow, randomBytes }),
    deliveryActions: new DeliveryActions({ rows, worker, limits }),
    testEvents: new TestEvents({ acceptance, limits, randomBytes, wallNow }),
    async runSchedule(target, schedule, by) {
      const begun = await store.schedules.beginNow(target, schedule, by);
      if (begun !== undefined) worker.add([begun]);
      return begun;
    },
  };
}
