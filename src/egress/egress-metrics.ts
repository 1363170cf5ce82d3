/** What the operator can measure of outbound fetches, read from the egress when somebody asks. No label names a tenant. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import type { Egress } from './egress.ts';

type Measured = Pick<Egress, 'inFlight' | 'ended' | 'connections' | 'pools'>;

/** Adds the metrics of one egress to a registry. */
export function watchEgress(registry: Registry, egress: Measured): void {
  const registers = [registry];
  new Counter({
    name: 'annex_fetches_total',
    help: 'Outbound fetches that are over, by how they ended.',
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
  gauge('annex_fetches_in_flight', 'Outbound fetches whose answer is not over.', () => egress.inFlight);
  gauge('annex_fetch_connections', 'Outbound connections, open or being made.', () => egress.connections);
  gauge(
    'annex_fetch_pools',
    'Pools of outbound connections, one for each owner and origin.',
    () => egress.pools,
  );
}
