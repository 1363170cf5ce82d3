/** What the operator can measure of events and their deliveries. No label names a tenant. */
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
import type { Deliveries } from '../store/deliveries/deliveries.ts';
import type { LifecycleEvents } from '../store/installations/lifecycle-events.ts';

const MS_PER_S = 1_000;
const LATENESS_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 300];
const ATTEMPT_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Adds the metrics of life events to a registry.
 *
 * @returns what counts an event that is over, or postponed
 */
export function watchLifecycleEvents(
  registry: Registry,
  events: Pick<LifecycleEvents, 'waiting'>,
): (state: LifecycleEventState) => void {
  const registers = [registry];
  const total = new Counter({
    name: 'annex_life_events_total',
    help: 'Life events by what became of them; `pending` counts attempts that were postponed.',
    labelNames: ['state'],
    registers,
  });
  for (const state of LIFECYCLE_EVENT_STATES) total.inc({ state }, 0);
  new Gauge({
    name: 'annex_life_events_waiting',
    help: 'Life events that their integrations have yet to hear of.',
    registers,
    async collect() {
      this.set(await events.waiting());
    },
  });
  return (state) => total.inc({ state });
}

/** Who hears of deliveries. */
export interface DeliveryWatch {
  /** An attempt begins. @param lateMs how long it has been due */
  begins(lateMs: number): void;
  /** An attempt has ended, and was put down. */
  attempted(kind: DeliveryKind, result: AttemptResult, durationMs: number): void;
  /** What became of a delivery was put down; `pending` where it is tried again. */
  settled(kind: DeliveryKind, state: DeliveryState): void;
}

/** Adds the metrics of deliveries to a registry. */
export function watchDeliveries(
  registry: Registry,
  deliveries: Pick<Deliveries, 'waiting'>,
  inFlight: () => number,
): DeliveryWatch {
  const registers = [registry];
  const total = new Counter({
    name: 'annex_deliveries_total',
    help: 'Deliveries by what became of them; `pending` counts those that are tried again.',
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
    help: 'Deliveries that are not over, those under way included.',
    registers,
    async collect() {
      this.set(await deliveries.waiting());
    },
  });
  new Gauge({
    name: 'annex_deliveries_in_flight',
    help: 'Deliveries under way.',
    registers,
    collect() {
      this.set(inFlight());
    },
  });
  const lateness = new Histogram({
    name: 'annex_delivery_lateness_seconds',
    help: 'From when a delivery is due to when its attempt begins.',
    buckets: LATENESS_BUCKETS_S,
    registers,
  });
  const durations = new Histogram({
    name: 'annex_delivery_attempt_duration_seconds',
    help: 'Wall time of attempts, the call of the integration included.',
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
    settled: (kind, state) => total.inc({ kind, state }),
  };
}
