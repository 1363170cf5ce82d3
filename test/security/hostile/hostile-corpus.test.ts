/**
 * Every attack of `fixtures/hostile/` against one host, one test each, in random order and several
 * at a time: each gets the answer that its folder states, bystanders in the same cells are served
 * meanwhile, and nothing is left behind.
 *
 * `ANNEX_TEST_SEED` repeats an order; the seed in use is in the names of the tests.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Chance } from '../../support/fuzz/chance.ts';
import { type Attack, CATEGORIES, readAttacks } from '../../support/hostile/hostile-attack.ts';
import { HostileHost, LIMITS } from '../../support/hostile/hostile-host.ts';
import { heldBufferBytes } from '../../support/measure/held-buffers.ts';

vi.mock('../../../src/host/egress/name-resolution.ts', async (original) => {
  const { hostileNames } = await import('../../support/hostile/hostile-peer.ts');
  return { ...(await original<object>()), dnsLookup: hostileNames };
});

const MIB = 1024 * 1024;
/** Sockets that are kept alive for the next request, of this client and of the listeners. */
const DESCRIPTORS_SLACK = 24;
/** How much more memory may be held after the rest of the corpus than after its first half. */
const HOST_SLACK_BYTES = 48 * MIB;
const CELL_SLACK_BYTES = 256 * MIB;
const SETTLED = { timeout: 90_000 };

const SEED = Number(process.env['ANNEX_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ATTACKS = readAttacks();
const shuffled = shuffle(ATTACKS, new Chance(SEED));
const kept = shuffled.filter(({ cell }) => cell === 'kept');
const fatal = shuffled.filter(({ cell }) => cell === 'may be lost');
const half = Math.ceil(kept.length / 2);

function shuffle<T>(items: readonly T[], random: Chance): T[] {
  return items
    .map((item) => ({ item, at: random.below(2 ** 32) }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

let host: HostileHost;
/** Its cells, and the bubblewrap processes around them. */
let children: number;
let held: Holdings;
beforeAll(async () => {
  host = await HostileHost.start();
  children = childProcesses();
});
afterAll(() => host.stop());

/** Runs the attack while bystanders are called, in the attacker's cell and in the others. */
async function runAttack(attack: Attack): Promise<void> {
  const before = host.bystanders.map(({ served }) => served);
  await host.run(attack);
  // Calls of bystanders that began meanwhile are answered.
  for (const [i, bystander] of host.bystanders.entries())
    await vi.waitFor(() => expect(bystander.served).toBeGreaterThan(before[i] ?? 0), SETTLED);
}

const metric = (name: string): Promise<number> => host.annex.metric(name);
const cellsReplaced = () => metric('annex_cell_restarts_total');
const onlyBystandersCall = () =>
  expect
    .poll(() => metric('annex_calls_in_flight'), { interval: 200 })
    .toBeLessThanOrEqual(host.bystanders.length);

/** What the host holds when it is idle but for its bystanders. */
interface Holdings {
  readonly descriptors: number;
  readonly heapBytes: number;
  readonly cellBytes: number;
}

async function holdings(): Promise<Holdings> {
  const { pool } = host.annex.service;
  await onlyBystandersCall();
  await expect.poll(() => host.peer.connections, { interval: 200 }).toBe(0);
  // Cells that were replaced finish their calls, and end.
  await expect.poll(childProcesses, { interval: 200 }).toBe(children);
  // Idle isolates stay, as many as a cell keeps, beside its blank ones.
  const isolatesMax = pool.cells.length * (LIMITS.isolatesPerCell ?? 0);
  await expect.poll(() => metric('annex_isolates'), { interval: 200 }).toBeLessThanOrEqual(isolatesMax);
  const arrayBuffers = heldBufferBytes();
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    heapBytes: process.memoryUsage().heapUsed + arrayBuffers,
    // Idle isolates keep heaps of their own, each within its bound: a cell that was replaced just
    // now has none of them.
    cellBytes: pool.cells.reduce((sum, { rssBytes, heapBytes }) => sum + rssBytes - heapBytes, 0),
  };
}

/** Number of child processes that still run. */
function childProcesses(): number {
  const threads = readdirSync('/proc/self/task');
  const pids = threads.flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'latin1').split(' ').filter(Boolean),
  );
  return pids.length;
}

test('the corpus has attacks of every kind, each with a title of its own', () => {
  expect(ATTACKS.length).toBeGreaterThanOrEqual(60);
  expect(new Set(ATTACKS.map(({ category }) => category))).toEqual(new Set(CATEGORIES));
  expect(new Set(ATTACKS.map(({ title }) => title)).size).toBe(ATTACKS.length);
});

describe(`affects no other call, in the order of seed ${SEED}`, () => {
  describe('the first half', () => {
    test.concurrent.each(kept.slice(0, half))('$category: $title ($name)', runAttack);
    test('ends, and the host is idle', async () => {
      held = await holdings();
    });
  });

  describe('the second half', () => {
    test.concurrent.each(kept.slice(half))('$category: $title ($name)', runAttack);
  });

  test('costs no cell and no call of a bystander', async () => {
    // On a busy machine, a thread that is slow to end looks stuck. Its cell is replaced then, but
    // only when the other calls in it are over.
    expect(await cellsReplaced()).toBeLessThanOrEqual(ATTACKS.length / 10);
    expect(host.bystanders.map(({ lost }) => lost)).toEqual(host.bystanders.map(() => 0));
  });
});

describe(`may end its cell, but not the service, in the order of seed ${SEED}`, () => {
  test.each(fatal)('$category: $title ($name)', async (attack) => {
    const before = await cellsReplaced();
    const lost = host.bystanders.map((bystander) => bystander.lost);
    await runAttack(attack);
    const cells = (await cellsReplaced()) - before;
    // A bystander has one call at a time: it loses at most one for each cell that dies.
    for (const [i, bystander] of host.bystanders.entries())
      expect(bystander.lost - (lost[i] ?? 0)).toBeLessThanOrEqual(cells);
    await onlyBystandersCall();
  });
});

test.skipIf(process.platform !== 'linux')('nothing is left behind', async () => {
  const after = await holdings();
  expect((await fetch(`${host.annex.service.controlUrl}/metrics`)).status).toBe(200);
  expect(after.descriptors).toBeLessThanOrEqual(held.descriptors + DESCRIPTORS_SLACK);
  expect(after.heapBytes).toBeLessThanOrEqual(held.heapBytes + HOST_SLACK_BYTES);
  expect(after.cellBytes).toBeLessThanOrEqual(held.cellBytes + CELL_SLACK_BYTES);
  for (const { served } of host.bystanders) expect(served).toBeGreaterThan(ATTACKS.length);
});
