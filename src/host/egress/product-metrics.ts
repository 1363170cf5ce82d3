/**
 * Metrics of requests to the product's API, read from its client when they are scraped. No label
 * names a tenant.
 */
import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import type { ProductClient } from './product-client.ts';

/** Registers the metrics of the client. */
export function watchProduct(
  registry: Registry,
  client: Pick<ProductClient, 'inFlight' | 'ended' | 'connections'>,
): void {
  const registers = [registry];
  new Counter({
    name: 'annex_product_requests_total',
    help: "Requests to the product's API that have ended, by result.",
    labelNames: ['result'],
    registers,
    collect() {
      this.reset();
      for (const [result, count] of client.ended) this.inc({ result }, count);
    },
  });
  new Gauge({
    name: 'annex_product_requests_in_flight',
    help: "Requests to the product's API whose answer has not ended.",
    registers,
    collect() {
      this.set(client.inFlight);
    },
  });
  new Gauge({
    name: 'annex_product_connections',
    help: "Open connections to the product's API.",
    registers,
    collect() {
      this.set(client.connections);
    },
  });
}
