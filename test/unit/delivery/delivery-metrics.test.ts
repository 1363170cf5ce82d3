/** The metrics of deliveries and lifecycle events, as a scrape reads them. */
import { Registry } from '@prometheus-io/client';
import { expect, test } from 'vitest';
import { lifecycleMetrics } from '../../../src/host/delivery/delivery-metrics.ts';

test('a scrape while the database is away has the last number of waiting lifecycle events', async () => {
  const registry = new Registry();
  const answers = [
    Promise.resolve(3),
    Promise.reject(new Error('The database is away.')),
    Promise.resolve(1),
  ];
  lifecycleMetrics(registry, { waiting: () => answers.shift() ?? Promise.resolve(0) });
  const scraped = async () => /^annex_life_events_waiting (\d+)$/m.exec(await registry.metrics())?.[1];
  expect([await scraped(), await scraped(), await scraped()]).toEqual(['3', '3', '1']);
});
