/** Metrics of lifecycle events and deliveries. No label names a tenant. */
import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
import {
  ATTEMPT_RESULTS,
  type AttemptResult,
  DELIVERY_KINDS,
  DELIVERY_STATES,
  type DeliveryKind,
  type DeliveryState,
  LIFECYCLE_EVENT_STATES,
  type LifecycleEventState,
} from '../database/tables.ts';
import type { EventTypes } from '../store/event-types.ts';
import type { LifecycleEvents } from '../store/installations/lifecycle-events.ts';
import type { Store } from '../store/store.ts';
import type { WebhookHealths } from '../store/webhooks/webhook-health.ts';
import type { WebhookChange } from '../store/webhooks/webhook-health-rows.ts';
import { RUN_FATES, type RunFate } from './schedule-worker.ts';

const MS_PER_S = 1_000;
const LATENESS_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 300];
const ATTEMPT_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Registers the metrics of lifecycle events.
 *
 * @returns a function that counts an event that ended or was postponed
 */
export function lifecycleMetrics(
  registry: Registry,
  events: Pick<LifecycleEvents, 'waiting'>,
): (state: LifecycleEventState) => void {
  const registers = [registry];
  const total = new Counter({
    name: 'annex_life_events_total',
    help: 'Lifecycle events by state; `pending` counts attempts that were postponed.',
    labelNames: ['state'],
    registers,
  });
  for (const state of LIFECYCLE_EVENT_STATES) total.inc({ state }, 0);
  let waiting = 0;
  new Gauge({
    name: 'annex_life_events_waiting',
    help: 'Lifecycle events that have not been delivered yet.',
    registers,
    async collect() {
      // While the database is away, the other metrics are needed most: the last number stays.
      waiting = await events.waiting().catch(() => waiting);
      this.set(waiting);
    },
  });
  return (state) => total.inc({ state });
}

/**
 * Registers the metrics of webhooks.
 *
 * @returns a function that counts changes of states
 */
export function webhookMetrics(
  registry: Registry,
  healths: Pick<WebhookHealths, 'counts'>,
): (changes: readonly Pick<WebhookChange, 'change'>[]) => void {
  const registers = [registry];
  const total = new Counter({
    name: 'annex_webhook_changes_total',
    help: 'Changes of states of webhooks by answers of their receivers, of this node.',
    labelNames: ['change'],
    registers,
  });
  for (const change of ['failing', 'recovered', 'disabled']) total.inc({ change }, 0);
  let counts: Awaited<ReturnType<WebhookHealths['counts']>> = { failing: 0, disabled: 0 };
  new Gauge({
    name: 'annex_webhooks',
    help: 'Webhooks that are failing or disabled, of all nodes together.',
    labelNames: ['state'],
    registers,
    async collect() {
      // While the database is away, the last numbers stay.
      counts = await healths.counts().catch(() => counts);
      this.set({ state: 'failing' }, counts.failing);
      this.set({ state: 'disabled' }, counts.disabled);
    },
  });
  return (changes) => {
    for (const { change } of changes) total.inc({ change });
  };
}

/** Registers the metrics of the event types that the product declares. No label names one. */
export function eventTypeMetrics(registry: Registry, types: Pick<EventTypes, 'latest' | 'unfit'>): void {
  const registers = [registry];
  new Gauge({
    name: 'annex_event_types',
    help: 'Event types that the product has declared.',
    registers,
    collect() {
      this.set(types.latest.names.length);
    },
  });
  new Counter({
    name: 'annex_events_unfit_total',
    help: 'Events that were refused because their data does not fit the schema of their type, of this node.',
    registers,
    collect() {
      this.reset();
      this.inc(types.unfit);
    },
  });
}

/** Counts and measures deliveries. */
export interface DeliveryMetrics {
  /** An attempt begins. @param lateMs time since it was due */
  begins(lateMs: number): void;
  /** The result of an attempt was written. */
  attempted(kind: DeliveryKind, result: AttemptResult, durationMs: number): void;
  /** The next state of a delivery was written; `pending` if it is retried. */
  settled(kind: DeliveryKind, state: DeliveryState): void;
}

/** Registers the metrics of deliveries. */
export function deliveryMetrics(
  registry: Registry,
  { backlog, activity }: Pick<Store, 'backlog' | 'activity'>,
  inFlight: () => number,
): DeliveryMetrics {
  const registers = [registry];
  const total = new Counter({
    name: 'annex_deliveries_total',
    help: 'Settled deliveries by state; `pending` counts those that are retried.',
    labelNames: ['kind', 'state'],
    registers,
  });
  const attempts = new Counter({
    name: 'annex_delivery_attempts_total',
    help: 'Attempts at deliveries that have ended, by result.',
    labelNames: ['kind', 'result'],
    registers,
  });
  for (const kind of DELIVERY_KINDS) {
    for (const state of DELIVERY_STATES) total.inc({ kind, state }, 0);
    for (const result of ATTEMPT_RESULTS) attempts.inc({ kind, result }, 0);
  }
  new Gauge({
    name: 'annex_deliveries_waiting',
    help: 'Deliveries that are not final, those in flight included.',
    registers,
    collect() {
      this.set(backlog.waiting);
    },
  });
  new Gauge({
    name: 'annex_deliveries_in_flight',
    help: 'Deliveries in flight.',
    registers,
    collect() {
      this.set(inFlight());
    },
  });
  const lateness = new Histogram({
    name: 'annex_delivery_lateness_seconds',
    help: 'Time from the due time of a delivery to the start of its attempt.',
    buckets: LATENESS_BUCKETS_S,
    registers,
  });
  const durations = new Histogram({
    name: 'annex_delivery_attempt_duration_seconds',
    help: 'Wall time of attempts, including the call of the integration.',
    labelNames: ['kind'],
    buckets: ATTEMPT_BUCKETS_S,
    registers,
  });
  return {
    begins: (lateMs) => lateness.observe(lateMs / MS_PER_S),
    attempted(kind, result, durationMs) {
      attempts.inc({ kind, result });
      durations.observe({ kind }, durationMs / MS_PER_S);
    },
    settled(kind, state) {
      total.inc({ kind, state });
      activity.delivery(state);
    },
  };
}

/**
 * Registers the metrics of schedules.
 *
 * @returns a function that counts a run
 */
export function scheduleMetrics(registry: Registry): (fate: RunFate) => void {
  const total = new Counter({
    name: 'annex_schedule_runs_total',
    help: 'Runs of schedules by what became of them: `late` makes up for what was missed, `left out` did not begin.',
    labelNames: ['fate'],
    registers: [registry],
  });
  for (const fate of RUN_FATES) total.inc({ fate }, 0);
  return (fate) => total.inc({ fate });
}
