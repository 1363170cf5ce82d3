/** What the operator can measure of life events. No label names a tenant. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { LifeEvents } from '../store/installations/life-events.ts';
import { LIFE_EVENT_STATES, type LifeEventState } from '../store/tables.ts';

/**
 * Adds the metrics of life events to a registry.
 *
 * @returns what counts an event that is over, or postponed
 */
export function watchLifeEvents(
  registry: Registry,
  events: Pick<LifeEvents, 'waiting'>,
): (state: LifeEventState) => void {
  const registers = [registry];
  const total = new Counter({
    name: 'annex_life_events_total',
    help: 'Life events by what became of them; `pending` counts attempts that were postponed.',
    labelNames: ['state'],
    registers,
  });
  for (const state of LIFE_EVENT_STATES) total.inc({ state }, 0);
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
