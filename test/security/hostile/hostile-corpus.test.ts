/**
 * Every attack of `fixtures/hostile/`, one test each: it ends in the answer that its folder states, and whoever lives in
 * the same cell is served while it goes on.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Attack, CATEGORIES, readAttacks } from '../../support/hostile/hostile-attack.ts';
import { HostileHost } from '../../support/hostile/hostile-host.ts';

vi.mock('../../../src/egress/names.ts', async (original) => {
  const { hostileNames } = await import('../../support/hostile/hostile-peer.ts');
  return { ...(await original<object>()), dnsLookup: hostileNames };
});

const ATTACKS = readAttacks();
const SETTLED = { timeout: 20_000 };

let host: HostileHost;
beforeAll(async () => {
  host = await HostileHost.start();
});
afterAll(() => host.stop());

/** The attack, while everybody else calls: in the attacker's cell, and in the others. */
async function suffer(attack: Attack): Promise<void> {
  const before = host.bystanders.map(({ served }) => served);
  await host.suffer(attack);
  // What they had asked while it went on is answered.
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

describe('costs nobody anything but its own call', () => {
  afterAll(async () => {
    // On a busy machine a thread that is slow to be let go of looks like one that never is. Its cell is replaced then, but
    // only once the calls of others in it are over.
    expect(await cellsReplaced()).toBeLessThanOrEqual(ATTACKS.length / 10);
    expect(host.bystanders.map(({ lost }) => lost)).toEqual(host.bystanders.map(() => 0));
    await vi.waitFor(
      async () => expect(await callsInFlight()).toBeLessThanOrEqual(host.bystanders.length),
      SETTLED,
    );
  });

  describe.concurrent.each(CATEGORIES)('%s', (category) => {
    const attacks = ATTACKS.filter((attack) => attack.category === category && attack.cell === 'kept');
    test.each(attacks)('$title ($name)', suffer);
  });
});

describe('may cost its cell, but not the service', () => {
  test.each(ATTACKS.filter(({ cell }) => cell === 'may be lost'))('$title ($name)', async (attack) => {
    const before = await cellsReplaced();
    const lost = host.bystanders.map((bystander) => bystander.lost);
    await suffer(attack);
    const cells = (await cellsReplaced()) - before;
    // One call at a time: of each neighbour, no more than was in a cell when it died.
    for (const [i, bystander] of host.bystanders.entries())
      expect(bystander.lost - (lost[i] ?? 0)).toBeLessThanOrEqual(cells);
    await vi.waitFor(
      async () => expect(await callsInFlight()).toBeLessThanOrEqual(host.bystanders.length),
      SETTLED,
    );
  });
});
