/**
 * A tenant that crashes its cell is found within a few crashes and runs alone; other tenants see no
 * further failure.
 */
import { expect, test } from 'vitest';
import type { DEATH_REASONS } from '../../src/host/cells/cell-death.ts';
import { UNTHROTTLED } from '../support/fuzz/fuzz.ts';
import { type Installed, startTestService, type TestService } from '../support/service.ts';

/** Ways to end a cell with one call. */
const BOMBS = `
  const BOMB = {
    // Grows outside of the heap limit, in one built-in that cannot be interrupted.
    fill() { const kept = []; for (;;) kept.push(new Array(2 ** 26).fill(kept.length)); },
    // Reading any property of the rejection hangs the thread that reads it.
    trap() { Promise.reject(new Proxy(new Error('x'), { get() { for (;;); } })); return new Promise(() => {}); },
  };
  export default {
    async fetch(request) {
      const { pathname, search } = new URL(JSON.parse((await request.formData()).get('event')).request.url);
      return BOMB[pathname.split('/').at(-1)]?.() ?? new Response('well' + search);
    },
  };`;

/** Counts each call that it executes, and answers after a few entries. */
const INNOCENT = `
  const seen = new Map();
  export default {
    async fetch(request) {
      const { searchParams } = new URL(JSON.parse((await request.formData()).get('event')).request.url);
      const token = searchParams.get('token');
      seen.set(token, (seen.get(token) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 3));
      return new Response(token + ' ' + seen.get(token));
    },
  };`;

const status = async (response: Promise<Response>) => {
  const settled = await response;
  await settled.text();
  return settled.status;
};

const deaths = async (annex: TestService) => {
  const text = await (await fetch(`${annex.service.controlUrl}/metrics`)).text();
  const counts = [...text.matchAll(/^annex_cell_deaths_total\{reason="(\w+)"\} (\d+)$/gm)];
  return Object.fromEntries(counts.map(([, reason, count]) => [reason, Number(count)])) as Record<
    (typeof DEATH_REASONS)[number],
    number
  >;
};
const total = (counts: Record<string, number>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/**
 * Calls all innocents in turn, without pause, in several streams; `failed` are all answers other
 * than the token and a count of 1.
 */
class Load {
  readonly failed: string[] = [];
  calls = 0;
  #stopped = false;
  readonly #streams: Promise<void>[];

  constructor(innocents: readonly Installed[], streams: number) {
    this.#streams = Array.from({ length: streams }, (_, stream) =>
      this.#run(innocents, stream).catch((cause) => void this.failed.push(String(cause))),
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#streams);
  }

  async #run(innocents: readonly Installed[], stream: number): Promise<void> {
    for (let turn = stream; !this.#stopped; turn++) {
      const token = `${stream}-${turn}`;
      const response = await fetch(`${innocents[turn % innocents.length]?.endpoint}/?token=${token}`);
      const text = await response.text();
      this.calls += 1;
      if (text !== `${token} 1`) this.failed.push(`${response.status} ${text}`);
    }
  }
}

test('a tenant that crashes its cell at every call is alone in quarantine after five crashes, and 30 others under load have no further failure', async () => {
  const annex = await startTestService({
    cells: 2,
    limits: { ...UNTHROTTLED, callWallMs: 25_000, breachesBeforeCoolDown: 1_000 },
  });
  await annex.publish('bomb', { 'index.js': BOMBS });
  await annex.publish('innocent', { 'index.js': INNOCENT });
  const guilty = await annex.install('bomb');
  const innocents = await Promise.all(Array.from({ length: 30 }, () => annex.install('innocent')));
  const load = new Load(innocents, 8);
  await expect.poll(() => load.calls).toBeGreaterThan(60);
  expect(load.failed).toEqual([]);

  let crashes = 0;
  while ((await annex.metric('annex_installations_quarantined')) === 0 && crashes < 6) {
    const before = total(await deaths(annex));
    expect(await status(fetch(`${guilty.endpoint}/trap`))).toBe(503);
    await expect.poll(async () => total(await deaths(annex))).toBeGreaterThan(before);
    crashes += 1;
  }
  expect(crashes).toBeLessThanOrEqual(5);
  // Calls failed only with the cell of a crash.
  expect(load.failed.filter((failure) => !failure.includes('CELL_CRASHED'))).toEqual([]);

  const failed = load.failed.length;
  const from = load.calls;
  expect(await status(fetch(`${guilty.endpoint}/trap`))).toBe(503);
  await expect.poll(async () => status(fetch(`${guilty.endpoint}/fine`)), { interval: 200 }).toBe(503);
  await expect.poll(() => load.calls - from).toBeGreaterThan(200);
  await load.stop();
  expect(load.failed.slice(failed)).toEqual([]);

  const texts = (await annex.log(guilty)).map(({ text }) => text);
  for (const line of ['died while it was executing', 'in quarantine', 'Calls are refused until'])
    expect(texts).toContainEqual(expect.stringContaining(line));
});

const SPINNER = `
  export default {
    async fetch(request) {
      const { pathname } = new URL(JSON.parse((await request.formData()).get('event')).request.url);
      if (pathname.endsWith('/spin')) { console.log('spinning'); for (;;); }
      if (pathname.endsWith('/wait')) await new Promise((resolve) => setTimeout(resolve, 60_000));
      return new Response('well');
    },
  };`;

/** Crashes the cell of an installation while its code executes, as the engine does. */
async function crashUnder(annex: TestService, target: Installed): Promise<number> {
  const lines = (await annex.log(target)).length;
  const spinning = status(fetch(`${target.endpoint}/spin`));
  await expect.poll(async () => (await annex.log(target)).length).toBeGreaterThan(lines);
  const cell = annex.service.pool.cellFor(target.id);
  if (cell instanceof Error || cell.pid === undefined) throw new Error('The installation has no cell.');
  process.kill(cell.pid, 'SIGABRT');
  return spinning;
}

test('an installation that was executing at a crash is kept apart, and cleared once it has worked there', async () => {
  const annex = await startTestService({
    limits: { ...UNTHROTTLED, callCpuMs: 10_000, spareCellIdleMs: 500 },
    // The first process of a namespace ignores signals from outside.
    flags: ['--cell-sandbox', 'off'],
  });
  await annex.publish('spinner', { 'index.js': SPINNER });
  const [blamed, other] = [await annex.install('spinner'), await annex.install('spinner')];
  expect(await status(fetch(`${other.endpoint}/fine`))).toBe(200);
  expect(await crashUnder(annex, blamed)).toBe(503);
  expect(await annex.metric('annex_installations_suspected')).toBe(1);
  const { pool } = annex.service;
  const shared = pool.cellFor(other.id);
  expect(pool.cellFor(blamed.id)).not.toBe(shared);
  const works = async () => {
    expect(await status(fetch(`${blamed.endpoint}/fine`))).toBe(200);
    return annex.metric('annex_installations_suspected');
  };
  await expect.poll(works, { interval: 100 }).toBe(0);
  expect(pool.cellFor(blamed.id)).toBe(shared);
  // The trial cell ends when it is not needed.
  await expect.poll(() => pool.cells.length).toBe(1);
  expect((await annex.log(blamed)).map(({ text }) => text)).toContainEqual(
    expect.stringContaining('no longer kept apart'),
  );
});

test('calls that had not begun when a cell died move to the next, and calls that had begun do not', async () => {
  const annex = await startTestService({ limits: { ...UNTHROTTLED, callCpuMs: 10_000 } });
  await annex.publish('spinner', { 'index.js': SPINNER });
  const [blamed, begun, fresh] = await Promise.all([1, 2, 3].map(() => annex.install('spinner')));
  if (!(blamed && begun && fresh)) throw new Error('The installations are missing.');
  const waits = status(fetch(`${begun.endpoint}/wait`));
  await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(1);
  // The stopped cell takes calls and does not begin them.
  const cell = annex.service.pool.cellFor(fresh.id);
  if (cell instanceof Error || cell.pid === undefined) throw new Error('The installation has no cell.');
  await status(fetch(`${blamed.endpoint}/fine`));
  process.kill(cell.pid, 'SIGSTOP');
  const uploaded = new ReadableStream({
    async start(controller) {
      controller.enqueue(new Uint8Array(100_000).fill(65));
      controller.close();
    },
  });
  const moved = [
    fetch(`${fresh.endpoint}/fine`),
    fetch(`${fresh.endpoint}/fine`, { method: 'POST', body: uploaded, duplex: 'half' } as RequestInit),
  ].map(status);
  await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(3);
  process.kill(cell.pid, 'SIGKILL');
  expect(await Promise.all(moved)).toEqual([200, 200]);
  expect(await waits).toBe(503);
  expect(await annex.metric('annex_calls_moved_total')).toBe(2);
});
