/** The limits of cells and of the service itself: isolates, memory, heartbeat, the time to stop. */
import ivm from 'isolated-vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../../src/cell/engine.ts';
import { BlankIsolates } from '../../../src/cell/isolates/blank-isolates.ts';
import { buildCell, type CellBuild } from '../../../src/host/launch/cell-build.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';
import { cellSources } from '../../support/built-once.ts';
import { startTestService, type TestService } from '../../support/service.ts';

/** Installs one worker several times and calls each in turn. */
async function callEach(annex: TestService, source: string, installations: number): Promise<string[]> {
  await annex.publish('worker', { 'index.js': source });
  const answers: string[] = [];
  for (let i = 0; i < installations; i += 1) {
    const { endpoint } = await annex.install('worker');
    answers.push(await (await fetch(endpoint)).text());
  }
  return answers;
}

const isolates = (annex: TestService) => annex.metric('annex_isolates');

test('isolatesPerCell: so many are kept, and one more evicts the oldest', async () => {
  const annex = await startTestService({ limits: { isolatesPerCell: 2 } });
  await callEach(annex, `export default { fetch: () => new Response('fine') };`, 2);
  await expect.poll(() => isolates(annex)).toBe(2);
  const { endpoint } = await annex.install('worker');
  expect((await fetch(endpoint)).status).toBe(200);
  await expect.poll(() => isolates(annex)).toBe(2);
});

test('cellHeapMib: heaps that fit are kept, and one more evicts the least recently used', async () => {
  const holding = `const held = Array.from({ length: 16 }, (_, i) => new Array(131_072).fill(i + 0.5));
    export default { fetch: () => new Response(String(held.length)) };`;
  const annex = await startTestService({ limits: { cellHeapMib: 60 } });
  expect(await callEach(annex, holding, 2)).toEqual(['16', '16']);
  await expect.poll(() => annex.metric('annex_isolate_heap_bytes')).toBeGreaterThan(32e6);
  expect(await isolates(annex)).toBe(2);
  for (let more = 0; more < 2; more += 1) {
    const { endpoint } = await annex.install('worker');
    expect(await (await fetch(endpoint)).text()).toBe('16');
  }
  await expect.poll(() => isolates(annex)).toBeLessThanOrEqual(3);
  expect(await isolates(annex)).toBeGreaterThanOrEqual(2);
});

test('cellRssMib: a cell may grow so large, and beyond that the grown isolate is ended, with the cell or without', async () => {
  const annex = await startTestService({
    limits: { cellRssMib: 500, isolateHeapMib: 2_000, callCpuMs: 20_000, callWallMs: 20_000 },
  });
  const { endpoint } = await annex.deploy(
    'growing',
    `const held = []; export default { async fetch(request) {
       const { request: { url } } = JSON.parse((await request.formData()).get('event'));
       for (let mib = Number(url.split('/').pop()); mib > 0; mib -= 10) held.push(new Uint8Array(10 * 2 ** 20).fill(1));
       await new Promise((done) => setTimeout(done, 500));
       return new Response('fine'); } };`,
  );
  const [pid] = annex.cellPids;
  expect(await (await fetch(`${endpoint}/50`)).text()).toBe('fine');
  expect(annex.cellPids).toEqual([pid]);
  expect((await fetch(`${endpoint}/1000`)).status).toBe(503);
  await expect.poll(() => annex.metric('annex_cell_rss_bytes')).toBeLessThan(500 * 2 ** 20);
  await expect.poll(async () => (await fetch(`${endpoint}/0`)).status).toBe(200);
});

describe('warmIsolatesPerCell', () => {
  let build: CellBuild;
  beforeAll(async () => {
    build = await buildCell(await cellSources());
  });
  afterAll(() => build.remove());

  test.each([1, 3])('%i are kept ready, and no more are made', async (warmIsolatesPerCell) => {
    const alive = new Set<ivm.Isolate>();
    const counted = new Proxy(ivm.Isolate, {
      construct(Isolate, [options]: [ivm.IsolateOptions]) {
        const isolate = new Isolate(options);
        alive.add(isolate);
        return isolate;
      },
    });
    const engine: Engine = Object.create(ivm, { Isolate: { value: counted } });
    const limits: Limits = { ...DEFAULT_LIMITS, warmIsolatesPerCell };
    const sources = build.sources.map((bytes) => Buffer.from(bytes).toString('utf8'));
    const blanks = new BlankIsolates({
      engine,
      sources,
      limits,
      inspectable: false,
      onCatastrophe: () => undefined,
    });
    const left = () => [...alive].filter((isolate) => !isolate.isDisposed).length;
    await blanks.refill();
    await blanks.refill();
    expect(left()).toBe(warmIsolatesPerCell);
    for (const isolate of alive) if (!isolate.isDisposed) isolate.dispose();
  });
});

// A stopped process is silent.
test.skipIf(process.platform === 'win32')(
  'cellHeartbeatMs: a cell may be silent for so long, and is then replaced',
  async () => {
    const annex = await startTestService({ limits: { cellHeartbeatMs: 2_000 } });
    const [pid = 0] = annex.cellPids;
    process.kill(pid, 'SIGSTOP');
    await new Promise((later) => setTimeout(later, 500));
    process.kill(pid, 'SIGCONT');
    const worker = await annex.deploy('worker', `export default { fetch: () => new Response('fine') };`);
    expect(await (await fetch(worker.endpoint)).text()).toBe('fine');
    expect(annex.cellPids).toEqual([pid]);
    process.kill(pid, 'SIGSTOP');
    await expect.poll(() => annex.cellPids.includes(pid), { interval: 100 }).toBe(false);
    await expect.poll(async () => (await fetch(worker.endpoint)).status).toBe(200);
  },
);

test('stopMs: calls that end in time are answered, and others are ended', async () => {
  const source = `export default { async fetch(request) {
    const { request: { url } } = JSON.parse((await request.formData()).get('event'));
    await new Promise((done) => { if (url.endsWith('/soon')) setTimeout(done, 300); });
    return new Response('fine'); } };`;
  const annex = await startTestService({ limits: { stopMs: 1_500 } });
  const { endpoint } = await annex.deploy('worker', source);
  const soon = fetch(`${endpoint}/soon`);
  const never = fetch(`${endpoint}/never`);
  await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(2);
  const stopped = annex.stop();
  expect([(await soon).status, await (await soon).text()]).toEqual([200, 'fine']);
  expect((await never).status).toBe(503);
  await stopped;
});
