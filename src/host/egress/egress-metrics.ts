/**
 * Metrics of outbound fetches, read from the egress when they are scraped. No label names a tenant.
 */
import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import type { Egress } from './egress.ts';

type Measured = Pick<Egress, 'inFlight' | 'ended' | 'connections' | 'pools'>;

/** Registers the metrics of the egress. */
export function watchEgress(registry: Registry, egress: Measured): void {
  const registers = [registry];
  new Counter({
    name: 'annex_fetches_total',
    help: 'Outbound fetches that have ended, by result.',
    labelNames: ['result'],
    registers,
    collect() {
      this.reset();
      for (const [result, count] of egress.ended) this.inc({ result }, count);
    },
  });
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('annex_fetches_in_flight', 'Outbound fetches whose answer has not ended.', () => egress.inFlight);
  gauge('annex_fetch_connections', 'Outbound connections, open or connecting.', () => egress.connections);
  gauge(
    'annex_fetch_pools',
    'Pools of outbound connections, one for each owner and origin.',
    () => egress.pools,
  );
}
