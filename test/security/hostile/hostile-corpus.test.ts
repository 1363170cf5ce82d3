/**
 * Every attack of `fixtures/hostile/`, one test each: it gets the answer that its folder states,
 * and bystanders in the same cell are served meanwhile.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Attack, CATEGORIES, readAttacks } from '../../support/hostile/hostile-attack.ts';
import { HostileHost } from '../../support/hostile/hostile-host.ts';

vi.mock('../../../src/host/egress/name-resolution.ts', async (original) => {
  const { hostileNames } = await import('../../support/hostile/hostile-peer.ts');
  return { ...(await original<object>()), dnsLookup: hostileNames };
});

const ATTACKS = readAttacks();
const SETTLED = { timeout: 30_000 };

let host: HostileHost;
beforeAll(async () => {
  host = await HostileHost.start();
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

test('the corpus has attacks of every kind, each with a title of its own', () => {
  expect(ATTACKS.length).toBeGreaterThanOrEqual(60);
  expect(new Set(ATTACKS.map(({ category }) => category))).toEqual(new Set(CATEGORIES));
  expect(new Set(ATTACKS.map(({ title }) => title)).size).toBe(ATTACKS.length);
});

/** Cells that have been replaced so far. */
const cellsReplaced = () => host.annex.metric('annex_cell_restarts_total');
const callsInFlight = () => host.annex.metric('annex_calls_in_flight');

describe('affects no other call', () => {
  afterAll(async () => {
    // On a busy machine, a thread that is slow to end looks stuck. Its cell is replaced then, but
    // only when the other calls in it are over.
    expect(await cellsReplaced()).toBeLessThanOrEqual(ATTACKS.length / 10);
    expect(host.bystanders.map(({ lost }) => lost)).toEqual(host.bystanders.map(() => 0));
    await vi.waitFor(
      async () => expect(await callsInFlight()).toBeLessThanOrEqual(host.bystanders.length),
      SETTLED,
    );
  });

  describe.concurrent.each(CATEGORIES)('%s', (category) => {
    const attacks = ATTACKS.filter((attack) => attack.category === category && attack.cell === 'kept');
    test.each(attacks)('$title ($name)', runAttack);
  });
});

describe('may end its cell, but not the service', () => {
  test.each(ATTACKS.filter(({ cell }) => cell === 'may be lost'))('$title ($name)', async (attack) => {
    const before = await cellsReplaced();
    const lost = host.bystanders.map((bystander) => bystander.lost);
    await runAttack(attack);
    const cells = (await cellsReplaced()) - before;
    // A bystander has one call at a time: it loses at most one for each cell that dies.
    for (const [i, bystander] of host.bystanders.entries())
      expect(bystander.lost - (lost[i] ?? 0)).toBeLessThanOrEqual(cells);
    await vi.waitFor(
      async () => expect(await callsInFlight()).toBeLessThanOrEqual(host.bystanders.length),
      SETTLED,
    );
  });
});
