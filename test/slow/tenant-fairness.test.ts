/**
 * Fairness: a noisy tenant takes neither the turns nor the places of quiet ones, nor the event loop
 * of the host.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readInTurns } from '../../src/host/cells/cell-pipe.ts';
import { startTestService } from '../support/service.ts';

const NEVER = 1_000_000;

const QUIET = `export default { fetch: () => new Response('ok') };`;
const SPINNER = `export default { fetch() { for (;;); } };`;
/** Spins in the entry that has sent its fetch: a connection to the port shows that it spins. */
const announcedSpinner = (port: number): string => `export default {
  async fetch() {
    fetch('http://127.0.0.1:${port}/').catch(() => undefined);
    for (let turn = 0; turn < 100; turn++) await undefined;
    for (;;);
  },
};`;
/** A stream of single bytes: as many as \`?\` says, or endless, as fast as they are read. */
const BYTES = `export default {
  async fetch(request) {
    const { request: { url } } = JSON.parse((await request.formData()).get('event'));
    const count = Number(url.split('?')[1] ?? Infinity);
    let made = 0;
    return new Response(new ReadableStream({
      pull(controller) {
        if (made >= count) return controller.close();
        made += 1;
        controller.enqueue(Uint8Array.of(120));
      },
    }));
  },
};`;
const HELD = `export default { fetch: () => new Promise((resolve) => setTimeout(() => resolve(new Response('held')), 400)) };`;

describe('four tenants that spin for their whole CPU limit without pause', () => {
  test('cost a quiet one none of its calls', async () => {
    // On a busy machine a call waits for long until it has used its CPU.
    const limits = {
      breachesBeforeCoolDown: NEVER,
      callCpuMs: 150,
      callWallMs: 240_000,
      firstByteMs: 240_000,
    };
    const annex = await startTestService({ limits });
    await annex.publish('spinner', { 'index.js': SPINNER });
    const spinners = await Promise.all([1, 2, 3, 4].map(() => annex.install('spinner')));
    const quiet = await annex.deploy('quiet', QUIET);
    const stop = new AbortController();
    const spinning = spinners.flatMap(({ endpoint }) =>
      [1, 2, 3].map(async () => {
        while (!stop.signal.aborted) {
          await fetch(endpoint, { signal: stop.signal }).then((response) => response.text(), String);
        }
      }),
    );
    const ended = () => annex.metric('annex_calls_total{outcome="exceededCpu"}');
    await expect.poll(ended).toBeGreaterThan(0);
    const answers: string[] = [];
    for (let i = 0; i < 100; i++) answers.push(await (await fetch(quiet.endpoint)).text());
    expect(answers).toEqual(Array(100).fill('ok'));
    // The spinners have not stopped meanwhile.
    const before = await ended();
    await expect.poll(ended).toBeGreaterThan(before);
    stop.abort();
    await Promise.all(spinning);
  });
});

test('a caller that leaves while its call spins does not hide the CPU of the call', async () => {
  const spinning = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void spinning.close());
  await once(spinning, 'listening');
  const { port } = spinning.address() as AddressInfo;
  const flags = ['--egress-allow', `127.0.0.1:${port}`];
  const annex = await startTestService({ flags, limits: { callCpuMs: 300 } });
  const spinner = await annex.deploy('spinner', announcedSpinner(port));
  const client = new AbortController();
  const call = fetch(spinner.endpoint, { signal: client.signal });
  const [announcement] = (await once(spinning, 'connection')) as [Socket];
  client.abort();
  announcement.destroy();
  await expect(call).rejects.toThrow();
  await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(0);
  expect(await annex.metric('annex_calls_total{outcome="exceededCpu"}')).toBe(1);
});

describe('when all places are taken', () => {
  test('an installation with many waiting calls does not delay the first call of another', async () => {
    const annex = await startTestService({ limits: { callsInFlight: 2, callsWaiting: 40 } });
    await annex.publish('held', { 'index.js': HELD });
    const [busy, quiet] = [await annex.install('held'), await annex.install('held')];
    const order: string[] = [];
    const call = async (name: string, endpoint: string) => {
      expect(await (await fetch(endpoint)).text()).toBe('held');
      order.push(name);
    };
    const calls = Array.from({ length: 12 }, () => call('busy', busy.endpoint));
    await expect.poll(() => annex.metric('annex_calls_waiting')).toBe(10);
    calls.push(call('quiet', quiet.endpoint));
    await Promise.all(calls);
    // Two calls ran already; one of the next two free places went to the quiet one.
    expect(order.indexOf('quiet')).toBeLessThanOrEqual(4);
  });

  test('the next call is refused with the name of the limit', async () => {
    const annex = await startTestService({ limits: { callsInFlight: 1, callsWaiting: 1 } });
    const held = await annex.deploy('held', HELD);
    const other = await annex.install('held');
    const calls = [fetch(held.endpoint), fetch(other.endpoint)];
    await expect.poll(() => annex.metric('annex_calls_waiting')).toBe(1);
    const refused = await fetch(other.endpoint);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({
      error: { code: 'CALL_SHED', outcome: 'loadShed', message: expect.stringContaining('callsWaiting') },
    });
    for (const call of calls) expect((await call).status).toBe(200);
  });

  test('a call that waits longer than firstByteMs is refused, and one whose caller leaves gives its place up', async () => {
    const annex = await startTestService({
      limits: { callsInFlightPerInstallation: 1, callsWaitingPerInstallation: 1, firstByteMs: 700 },
    });
    const stuck = await annex.deploy(
      'stuck',
      `export default { fetch(request, env, ctx) {
      ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, 3_000)));
      return new Response('ok');
    } };`,
    );
    expect(await (await fetch(stuck.endpoint)).text()).toBe('ok');
    const client = new AbortController();
    const leaving = fetch(stuck.endpoint, { signal: client.signal });
    await expect.poll(() => annex.metric('annex_calls_waiting')).toBe(1);
    client.abort();
    await expect(leaving).rejects.toThrow();
    await expect.poll(() => annex.metric('annex_calls_waiting')).toBe(0);
    const waiting = await fetch(stuck.endpoint);
    expect(waiting.status).toBe(503);
    expect(await waiting.json()).toMatchObject({
      error: { code: 'CALL_SHED', message: expect.stringContaining('firstByteMs') },
    });
  });
});

describe('a stream of single bytes', () => {
  test('is sent in a few pieces, and arrives complete', async () => {
    const annex = await startTestService();
    const { endpoint } = await annex.deploy('bytes', BYTES);
    const { body } = await fetch(`${endpoint}/?20000`);
    let [pieces, bytes] = [0, 0];
    for await (const piece of body ?? []) {
      pieces += 1;
      bytes += piece.byteLength;
    }
    expect(bytes).toBe(20_000);
    expect(pieces).toBeLessThan(200);
  });

  test('without end blocks neither the event loop of the host nor the answers of a neighbour', async () => {
    const annex = await startTestService({ limits: { callCpuMs: 5_000 } });
    const quiet = await annex.deploy('quiet', QUIET);
    const { endpoint } = await annex.deploy('bytes', BYTES);
    const delayMs = async () => {
      const delay = monitorEventLoopDelay({ resolution: 5 });
      delay.enable();
      for (let i = 0; i < 100; i++) expect(await (await fetch(quiet.endpoint)).text()).toBe('ok');
      delay.disable();
      return delay.percentile(50) / 1e6;
    };
    const before = await delayMs();
    const flood = new AbortController();
    const floods = Array.from({ length: 8 }, async () => {
      const { body } = await fetch(endpoint, { signal: flood.signal });
      for await (const _ of body ?? []);
    });
    const during = await delayMs();
    flood.abort();
    await Promise.allSettled(floods);
    expect(during).toBeLessThan(10 * before);
  });
});

/** Both ends of a connection, like that of a cell and the host. */
async function connection(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const near = connect(port, '127.0.0.1');
  const [far] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => {
    for (const one of [near, far, server]) 'destroy' in one ? one.destroy() : one.close();
  });
  return [near, far];
}

test('a cell that floods the host is read one piece in each turn of its event loop', async () => {
  const [near, far] = await connection();
  const flood = Buffer.alloc(4 * 1024 * 1024);
  let turn = 0;
  const turns = () => {
    turn += 1;
    if (!near.destroyed) setImmediate(turns);
  };
  setImmediate(turns);
  const readIn: number[] = [];
  let bytes = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  // Lets data pile up, which the host would otherwise read at once.
  far.write(flood);
  await new Promise((done) => setTimeout(done, 50));
  readInTurns(near, (piece) => {
    readIn.push(turn);
    bytes += piece.byteLength;
    if (bytes === flood.byteLength) resolve();
  });
  await promise;
  const perTurn = new Map<number, number>();
  for (const one of readIn) perTurn.set(one, (perTurn.get(one) ?? 0) + 1);
  expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(2);
});
