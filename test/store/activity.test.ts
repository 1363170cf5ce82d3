/** The activity of the last day: counted by each node, added up over all, and bounded. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { STEP_MS } from '../../src/host/store/activity.ts';
import { openStore } from '../../src/host/store/store.ts';
import { CLOCK, storeOptions, temporaryFolder, temporaryStore } from '../support/store/temporary-store.ts';
import { changeRows, storedRows } from '../support/store/test-engine.ts';

const MINUTE = 60_000;
/** The beginning of a step, wherever the files before have left the clock. */
const BEGIN = Date.UTC(2026, 0, 1);
const before = CLOCK.now;
beforeEach(() => {
  CLOCK.now = BEGIN;
});
afterAll(() => {
  CLOCK.now = before;
});

/** One start of a node: what it counts, and its end. */
async function started(folder: string, calls: number, failed = 0): Promise<void> {
  const { activity, close } = await openStore(storeOptions(folder));
  activity.watch(() => ({ cells: 2, cellBytes: 2 ** 40, contained: 1 }));
  for (let call = 0; call < calls; call += 1) activity.call(true, 3);
  for (let delivery = 0; delivery < failed; delivery += 1) activity.delivery('failed');
  await close();
}

describe('the activity', () => {
  test('has what the node has counted, also before it is written', async () => {
    const { activity } = await temporaryStore();
    for (let call = 0; call < 98; call += 1) activity.call(true, 10);
    activity.call(false, 900);
    activity.call(true, 1_000_000);
    for (const state of ['delivered', 'delivered', 'failed', 'pending', 'held'] as const)
      activity.delivery(state);
    const [point, ...others] = await activity.read();
    expect(others).toEqual([]);
    expect(point).toMatchObject({ at: BEGIN, calls: 100, errors: 1, delivered: 2, failed: 1, waiting: 0 });
    // At most a fifth too high.
    expect(point?.p50Ms).toBeGreaterThanOrEqual(10);
    expect(point?.p50Ms).toBeLessThan(12);
    expect(point?.p99Ms).toBeGreaterThanOrEqual(900);
    expect(point?.p99Ms).toBeLessThan(1_080);
  });

  test('counts a minute once, however often it is written', async () => {
    const { activity } = await temporaryStore();
    activity.call(true, 1);
    await activity.write();
    activity.call(true, 1);
    await activity.write();
    CLOCK.now += MINUTE;
    await activity.write();
    activity.call(true, 1);
    CLOCK.now += STEP_MS;
    expect((await activity.read()).map(({ at, calls }) => [at - BEGIN, calls])).toEqual([[0, 3]]);
  });

  test('adds up the nodes, and survives them', async () => {
    const folder = await temporaryFolder();
    await started(folder, 5, 1);
    await started(folder, 7);
    CLOCK.now += 2 * STEP_MS;
    await started(folder, 1);
    const store = await openStore(storeOptions(folder));
    const points = await store.activity.read();
    await store.close();
    const cells = { cells: 4, cellBytes: 2 ** 41, contained: 2 };
    expect(points).toMatchObject([
      { at: BEGIN, calls: 12, failed: 1, ...cells },
      // Of the node that asks, too, which has no cells.
      { at: BEGIN + 2 * STEP_MS, calls: 1, failed: 0, ...cells, cells: 2, cellBytes: 2 ** 40, contained: 1 },
    ]);
  });

  test('keeps a day, in some hundred bytes a minute', async () => {
    const folder = await temporaryFolder();
    const store = await openStore(storeOptions(folder));
    const { activity } = store;
    for (let minute = 0; minute < 1_500; minute += 1) {
      // Of all durations there are.
      for (let wall = 0.5; wall < 100_000; wall *= 1.15) activity.call(false, wall);
      await activity.write();
      CLOCK.now += MINUTE;
      if (minute % 100 === 0) await activity.prune();
    }
    await activity.prune();
    const rows = await storedRows(folder, 'activity');
    expect(rows.length).toBeLessThanOrEqual(1_440);
    expect(rows.length).toBeGreaterThan(1_430);
    expect(JSON.stringify(rows).length / rows.length).toBeLessThan(700);
    // What was written before a day does not count, also if it is there still.
    CLOCK.now += 1_000 * MINUTE;
    const points = await activity.read();
    expect(points.at(0)?.at).toBeGreaterThan(CLOCK.now - 1_445 * MINUTE);
    await store.close();
  });

  test('reads what is damaged as nothing', async () => {
    const folder = await temporaryFolder();
    await started(folder, 5);
    await changeRows(folder, `update activity set walls = '3: x:7 99:1 -1:4'`);
    const store = await openStore(storeOptions(folder));
    expect(await store.activity.read()).toMatchObject([{ calls: 5 }]);
    await store.close();
  });
});
