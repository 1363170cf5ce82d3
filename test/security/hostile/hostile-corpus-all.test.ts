/**
 * The whole corpus against one host, in random order and several attacks at a time: bystanders are
 * served all the while, and the attacks leave nothing behind.
 *
 * `ANNEX_TEST_SEED` repeats an order; the seed in use is in the name of the test.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Chance } from '../../support/fuzz/chance.ts';
import { type Attack, readAttacks } from '../../support/hostile/hostile-attack.ts';
import { HostileHost, LIMITS } from '../../support/hostile/hostile-host.ts';
import { heldBufferBytes } from '../../support/measure/held-buffers.ts';

vi.mock('../../../src/host/egress/name-resolution.ts', async (original) => {
  const { hostileNames } = await import('../../support/hostile/hostile-peer.ts');
  return { ...(await original<object>()), dnsLookup: hostileNames };
});

const SEED = Number(process.env['ANNEX_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const AT_ONCE = 3;
const MIB = 1024 * 1024;
/** Sockets that are kept alive for the next request, of this client and of the listeners. */
const DESCRIPTORS_SLACK = 24;
/** How much more memory may be held after the second half of the corpus than after the first. */
const HOST_SLACK_BYTES = 48 * MIB;
const CELL_SLACK_BYTES = 256 * MIB;

function shuffled<T>(items: readonly T[], random: Chance): T[] {
  return items
    .map((item) => ({ item, at: random.below(2 ** 32) }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

/** What the host holds when it is idle. */
interface Holdings {
  readonly descriptors: number;
  readonly heapBytes: number;
  readonly cellBytes: number;
}

let host: HostileHost;
/** Its cells, and the bubblewrap processes around them. */
let children: number;
beforeAll(async () => {
  host = await HostileHost.start();
  children = childProcesses();
});
afterAll(() => host.stop());

/**
 * Several attackers at a time, each taking the next attack as soon as its last has ended. An attack
 * that has lost its cell to another one is run once more: it has lost its call as any other
 * installation would.
 */
async function runAll(attacks: readonly Attack[]): Promise<string[]> {
  const queue = attacks.map((attack) => ({ attack, again: true }));
  const failures: string[] = [];
  const attacker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { attack, again } = next;
      await host.run(attack).catch((cause: unknown) => {
        const isCollateral = again && /cellCrashed|CELL_CRASHED/.test(String(cause));
        if (isCollateral) queue.push({ attack, again: false });
        else failures.push(`${attack.name}: ${String(cause)}`);
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, attacker));
  return failures;
}

const metric = (name: string): Promise<number> => host.annex.metric(name);

async function holdings(): Promise<Holdings> {
  const { pool } = host.annex.service;
  // At most one call of each bystander.
  await expect
    .poll(() => metric('annex_calls_in_flight'), { interval: 200 })
    .toBeLessThanOrEqual(host.bystanders.length);
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

describe.skipIf(process.platform !== 'linux')(`the whole corpus, in the order of seed ${SEED}`, () => {
  test('against one host: bystanders are served, and nothing is left behind', {
    timeout: 1_200_000,
  }, async () => {
    const { service } = host.annex;
    const attacks = shuffled(readAttacks(), new Chance(SEED));
    const half = Math.ceil(attacks.length / 2);
    const failures = await runAll(attacks.slice(0, half));
    const afterHalf = await holdings();
    failures.push(...(await runAll(attacks.slice(half))));
    const afterAll = await holdings();
    await Promise.all(host.bystanders.map((bystander) => bystander.stop()));
    await expect.poll(() => metric('annex_calls_in_flight'), { interval: 200 }).toBe(0);

    expect(failures).toEqual([]);
    expect(host.annex.service).toBe(service);
    expect((await fetch(`${service.controlUrl}/metrics`)).status).toBe(200);
    // A cell that dies costs the calls that had begun in it; none that had not begun, and none in
    // another cell.
    const restarts = await metric('annex_cell_restarts_total');
    const lost = host.bystanders.reduce((sum, bystander) => sum + bystander.lost, 0);
    expect(lost).toBeLessThanOrEqual(restarts);
    for (const { served } of host.bystanders) expect(served).toBeGreaterThan(attacks.length);

    expect(afterAll.descriptors).toBeLessThanOrEqual(afterHalf.descriptors + DESCRIPTORS_SLACK);
    expect(afterAll.heapBytes).toBeLessThanOrEqual(afterHalf.heapBytes + HOST_SLACK_BYTES);
    expect(afterAll.cellBytes).toBeLessThanOrEqual(afterHalf.cellBytes + CELL_SLACK_BYTES);
  });
});
