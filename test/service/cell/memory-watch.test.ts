/**
 * A cell that runs short of memory: the isolate that has grown most is ended first, and it alone is
 * blamed where the cell dies all the same. An isolate that merely executes when memory runs out is
 * neither ended nor blamed.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { MemoryWatch } from '../../../src/cell/isolates/memory-watch.ts';
import { RecentCpuOfIsolates } from '../../../src/cell/isolates/recent-cpu.ts';
import { UNTHROTTLED } from '../../support/fuzz/fuzz.ts';
import { type Installed, startTestService, type TestService } from '../../support/service.ts';

const MIB = 2 ** 20;

describe('growth is charged to the isolates that ran', () => {
  function watch() {
    vi.useFakeTimers();
    const state = {
      peakMib: 100,
      now: 0,
      noted: [] as string[],
      ended: [] as string[],
      idle: ['hoarder'],
      heapMib: {} as Record<string, number>,
      measured: [] as string[],
    };
    const memory = new MemoryWatch({
      rssBytesMax: 1_000 * MIB,
      peakBytes: () => state.peakMib * MIB,
      now: () => state.now,
      note: (key) => state.noted.push(key),
      heapBytes: (key) => (state.heapMib[key] ?? 0) * MIB,
      measure: async (key) => {
        state.measured.push(key);
        if (key === 'hoarder') state.heapMib[key] = 300;
      },
      idle: (key) => state.idle.includes(key),
      end: (key) => {
        state.ended.push(key);
        memory.forget(key);
      },
    });
    const uses = new RecentCpuOfIsolates((use) => memory.ran(use));
    /** One sample: isolates use this CPU while the cell grows. */
    const run = (grownMib: number, usedMs: Record<string, number>) => {
      for (const [key, ms] of Object.entries(usedMs)) uses.of(key).add(ms * 1e6, state.now);
      state.peakMib += grownMib;
      state.now += 1_000;
      vi.advanceTimersByTime(20);
    };
    return { state, memory, run };
  }

  test('by the CPU of each, so that an isolate that grows repeatedly stands out among busy ones', () => {
    const { state, run } = watch();
    for (let turn = 0; turn < 40; turn++) {
      run(0, { busy: 9, 'other-1': 3 });
      run(8, { hoarder: 2, busy: 5 });
      run(8, { hoarder: 2, [`other-${turn}`]: 1 });
    }
    expect(state.noted.at(-1)).toBe('hoarder');
    expect(state.ended).toEqual([]);
    run(80, { hoarder: 5 });
    expect(state.ended).toEqual(['hoarder']);
  });

  test('the holder is ended although it is idle when memory runs out, and an executing isolate is not', () => {
    const { state, run, memory } = watch();
    run(500, { hoarder: 10 });
    run(60, { bystander: 10 });
    run(95, { bystander: 10 });
    expect(state.ended).toEqual(['hoarder']);
    // The memory may take a moment to be returned.
    memory.relieve();
    expect(state.ended).toEqual(['hoarder']);
    state.now += 2_000;
    memory.relieve();
    // The cell has grown by 155 MiB while the bystander ran, which is no proof, and it has calls.
    expect(state.ended).toEqual(['hoarder']);
    state.idle.push('bystander');
    memory.relieve();
    expect(state.ended).toEqual(['hoarder', 'bystander']);
  });

  test('a cell that dies before the memory of an ended isolate is returned is blamed on that isolate', () => {
    const { state, run } = watch();
    run(660, { hoarder: 10 });
    expect(state.ended).toEqual(['hoarder']);
    run(140, { bystander: 10 });
    expect(state.noted).toEqual(['hoarder']);
    // Later, the bystander is noted for its own growth.
    state.now += 2_000;
    run(140, { bystander: 10 });
    expect(state.noted.at(-1)).toBe('bystander');
  });

  test('returned memory is charged to no isolate: a busy isolate is not charged for memory that others held', () => {
    const { state, run, memory } = watch();
    for (let round = 0; round < 10; round++) {
      run(660, { hoarder: 9, busy: 1 });
      expect(state.ended.at(-1)).toBe('hoarder');
      // The peak has been reset, and the hoarder has been disposed of.
      run(-650, { busy: 1 });
      memory.relieve();
    }
    expect(state.ended).toEqual(Array(10).fill('hoarder'));
  });

  test('attack: many that take and return memory in turn do not get a busy neighbour noted or ended', () => {
    const { state, run } = watch();
    for (let one = 0; one < 8; one++) run(50, { [`mallory-${one}`]: 5 });
    for (let round = 0; round < 60; round++) {
      for (let calm = 0; calm < 8; calm++) run(0, { busy: 9 });
      for (let half = 0; half < 2; half++) run(60, { busy: 9, [`mallory-${round % 8}`]: 9 });
      run(-120, { busy: 9 });
    }
    // Two of them grow at once.
    run(380, { busy: 9, 'mallory-1': 9 });
    run(300, { busy: 9, 'mallory-2': 9 });
    expect(state.ended.length).toBeGreaterThan(0);
    expect([...state.ended, ...state.noted]).not.toContain('busy');
  });

  test('an isolate that has not grown much is neither ended nor noted', () => {
    const { state, run, memory } = watch();
    for (let key = 0; key < 20; key++) run(100, { [`key-${key}`]: 1 });
    memory.relieve();
    expect([state.noted, state.ended]).toEqual([[], []]);
  });

  test('a measurement of the engine counts more than charged growth', () => {
    const { state, run, memory } = watch();
    run(300, { busy: 9, hoarder: 3 });
    state.heapMib['hoarder'] = 250;
    memory.relieve();
    expect(state.ended).toEqual(['hoarder']);
  });

  test('an isolate that grows among busy ones is measured at once, and only where memory is scarce', async () => {
    const { state, run } = watch();
    state.idle = [];
    run(300, { busy: 8, hoarder: 2 });
    expect(state.measured).toEqual([]);
    run(380, { busy: 8, hoarder: 2 });
    await Promise.resolve();
    expect([state.measured, state.ended]).toEqual([['busy', 'hoarder'], ['hoarder']]);
    state.ended.length = 0;
    run(0.5, { busy: 8, hoarder: 2 });
    expect(state.measured).toHaveLength(2);
  });

  test('nothing is sampled while nothing runs', () => {
    vi.useFakeTimers();
    const peakBytes = vi.fn(() => 0);
    const parts = {
      rssBytesMax: 1,
      peakBytes,
      now: () => 0,
      note: () => undefined,
      idle: () => true,
      heapBytes: () => 0,
      measure: async () => undefined,
      end: () => undefined,
    };
    const memory = new MemoryWatch(parts);
    expect(vi.getTimerCount()).toBe(0);
    const uses = new RecentCpuOfIsolates((use) => memory.ran(use));
    for (let entry = 0; entry < 100; entry++) uses.of('key').add(1, 0);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1_000);
    expect([peakBytes.mock.calls.length, vi.getTimerCount()]).toEqual([2, 0]);
  });
});

/** Keeps more memory with each call, as many MiB as its path says, and answers well. */
const HOARDER = `
  const kept = [];
  export default {
    async fetch(request) {
      const { pathname } = new URL(JSON.parse((await request.formData()).get('event')).request.url);
      for (let mib = Number(pathname.split('/').at(-1)); mib > 0; mib -= 10) kept.push(new Uint8Array(10 * 2 ** 20).fill(1));
      return new Response('fine');
    },
  };`;
const BYSTANDER = `
  export default {
    async fetch() {
      for (const end = Date.now() + 2; Date.now() < end;);
      return new Response('well');
    },
  };`;

async function start(): Promise<{ annex: TestService; hoarder: Installed; bystanders: Installed[] }> {
  vi.useRealTimers();
  const annex = await startTestService({
    cells: 1,
    limits: { ...UNTHROTTLED, cellRssMib: 600, cellHeapMib: 4_000, isolateHeapMib: 3_000, callCpuMs: 20_000 },
  });
  await annex.publish('hoarder', { 'index.js': HOARDER });
  await annex.publish('bystander', { 'index.js': BYSTANDER });
  const bystanders = await Promise.all(Array.from({ length: 4 }, () => annex.install('bystander')));
  return { annex, hoarder: await annex.install('hoarder'), bystanders };
}

/** Calls all bystanders, each again as soon as it has answered. */
function keepCalling(bystanders: readonly Installed[]) {
  const failed: string[] = [];
  let over = false;
  let served = 0;
  const calling = bystanders.map(async ({ endpoint }) => {
    while (!over) {
      const answer = await fetch(endpoint);
      const text = await answer.text();
      if (text === 'well') served += 1;
      else failed.push(text);
      await wait(2);
    }
  });
  return {
    failed,
    served: () => served,
    stop: async () => {
      over = true;
      await Promise.all(calling);
    },
  };
}

test('attack: a cell that is filled over many successful calls loses the isolate that fills it, and nothing else', async () => {
  const { annex, hoarder, bystanders } = await start();
  const { cellPids } = annex;
  const calls = keepCalling(bystanders);
  await expect.poll(calls.served).toBeGreaterThan(20);
  const outcomes = new Set<string>();
  for (let turn = 0; turn < 60; turn++) {
    const answer = await fetch(`${hoarder.endpoint}/20`);
    outcomes.add(
      answer.ok ? 'fine' : ((await answer.json()) as { error: { outcome: string } }).error.outcome,
    );
    await wait(20);
  }
  await calls.stop();
  expect(calls.failed).toEqual([]);
  expect(annex.cellPids).toEqual(cellPids);
  expect([...outcomes].filter((outcome) => !['fine', 'exceededMemory'].includes(outcome))).toEqual([]);
  expect(await annex.metric('annex_installations_suspected')).toBe(0);
});

test('attack: a cell that grows past its bound at once blames the isolate that grew', async () => {
  const { annex, hoarder, bystanders } = await start();
  const calls = keepCalling(bystanders);
  await expect.poll(calls.served).toBeGreaterThan(20);
  expect((await fetch(`${hoarder.endpoint}/2000`)).status).toBe(503);
  const served = calls.served();
  await expect.poll(calls.served).toBeGreaterThan(served + 20);
  await calls.stop();
  expect(calls.failed.filter((text) => !text.includes('CELL_CRASHED'))).toEqual([]);
  for (const bystander of bystanders) {
    const texts = (await annex.log(bystander)).map(({ text }) => text);
    expect(texts.filter((text) => text.includes('died while it was executing'))).toEqual([]);
  }
});
