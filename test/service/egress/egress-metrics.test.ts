/** Metrics of fetches: each is counted once, by result, without names of tenants. */
import { Registry } from '@prometheus-io/client';
import { expect, test } from 'vitest';
import type { Egress } from '../../../src/host/egress/egress.ts';
import { FETCH_RESULTS } from '../../../src/host/egress/egress-error.ts';
import { watchEgress } from '../../../src/host/egress/egress-metrics.ts';
import { failure, newEgress, send, serve } from '../../support/http/egress.ts';

async function counted(egress: Egress): Promise<Record<string, number>> {
  const registry = new Registry();
  watchEgress(registry, egress);
  const text = await registry.metrics();
  return Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const [, name, result, value] = /^annex_(\w+)(?:\{result="(\w+)"\})? (\d+)$/.exec(line) ?? [];
      return name === undefined ? [] : [[result ?? name, Number(value)]];
    }),
  );
}

const NONE = Object.fromEntries(FETCH_RESULTS.map((result) => [result, 0]));
const AT_REST = { fetches_in_flight: 0, fetch_connections: 0, fetch_pools: 0 };

test('every result starts at zero', async () => {
  expect(await counted(newEgress())).toEqual({ ...NONE, ...AT_REST });
});

test('a fetch is counted once, by result', async () => {
  const base = await serve((request, response) => {
    if (request.url === '/silent') return;
    response.writeHead(200).write('x'.repeat(2_000));
    if (request.url !== '/endless') response.end();
  });
  const egress = newEgress({ limits: { fetchMs: 300, fetchResponseBodyBytes: 2_000 } });
  const small = newEgress({ limits: { fetchResponseBodyBytes: 1_999 } });
  const full = newEgress({ limits: { fetchesInFlightPerInstallation: 1 } });
  const unresolved = newEgress({
    lookup: () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })),
  });
  await (await send(egress, base)).body.toArray();
  await failure(send(egress, 'http://10.0.0.1/'));
  await failure(send(egress, 'ftp://127.0.0.1/'));
  await failure(send(egress, `${base}/silent`));
  await failure(send(egress, base, { signal: AbortSignal.abort() }));
  (await send(egress, `${base}/endless`)).body.destroy();
  await expect.poll(() => egress.inFlight).toBe(0);
  expect(await counted(egress)).toMatchObject({ ...NONE, ok: 1, refused: 2, timeout: 1, canceled: 2 });

  await failure((await send(small, base)).body.toArray());
  expect(await counted(small)).toMatchObject({ ...NONE, tooLarge: 1 });

  await failure(send(unresolved, 'http://nobody.example/'));
  expect(await counted(unresolved)).toMatchObject({ ...NONE, failed: 1 });

  const first = await send(full, `${base}/endless`);
  await failure(send(full, base));
  expect(await counted(full)).toMatchObject({
    ...NONE,
    shed: 1,
    fetches_in_flight: 1,
    fetch_connections: 1,
    fetch_pools: 1,
  });
  first.body.destroy();
});
