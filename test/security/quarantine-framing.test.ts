/**
 * An author with many integrations tries to have others quarantined: its installations crash their
 * cells again and again, while all innocent installations there execute. One hour, by a clock that
 * the test moves.
 */
import { expect, test } from 'vitest';
import { Placement } from '../../src/host/cells/placement.ts';
import { Suspicion } from '../../src/host/cells/suspicion.ts';

const SECOND_MS = 1_000;
const HOUR_S = 3_600;
const CALLS_PER_S = 20;

/** Seconds that an innocent installation was guilty, or refused. */
interface Harm {
  guiltyS: number;
  longestGuiltyS: number;
  refusedS: number;
}

/** @param crashEveryS seconds between two crashes */
function attack(attackers: number, innocents: number, crashEveryS: number) {
  const suspicion = new Suspicion();
  const parts = { cells: 2, trialCells: 4, quarantineCells: 4, suspicion, isHeavy: () => false };
  const placement = new Placement(parts);
  const mallory = Array.from({ length: attackers }, (_, index) => `mallory-${index}`);
  const others = Array.from({ length: innocents }, (_, index) => `innocent-${index}`);
  const origin = (id: string) => ({
    organization: id.startsWith('mallory') ? 'mallory' : id,
    integration: id,
  });
  const place = (id: string) => placement.placeOf(id, origin(id));
  const harms = new Map<string, Harm>(
    others.map((id) => [id, { guiltyS: 0, longestGuiltyS: 0, refusedS: 0 }]),
  );
  let crashes = 0;
  for (let second = 1; second <= HOUR_S; second++) {
    const now = second * SECOND_MS;
    const free = mallory.filter((id) => suspicion.refuses(id, now) === undefined);
    const attacker = second % crashEveryS === 0 ? free[crashes % Math.max(1, free.length)] : undefined;
    if (attacker !== undefined) {
      crashes += 1;
      const cell = place(attacker);
      const executing = [attacker, ...others.filter((id) => place(id) === cell)];
      suspicion.died(executing, now);
      placement.spread(executing);
    }
    for (const id of others) {
      if (place(id).kind === 'trial')
        for (let call = 0; call < CALLS_PER_S; call++) suspicion.worked(id, now);
      const harm = harms.get(id) as Harm;
      harm.guiltyS = suspicion.isGuilty(id) ? harm.guiltyS + 1 : 0;
      harm.longestGuiltyS = Math.max(harm.longestGuiltyS, harm.guiltyS);
      if (suspicion.refuses(id, now) !== undefined) harm.refusedS += 1;
    }
    suspicion.pass(now);
  }
  const all = [...harms.values()];
  return {
    crashes,
    longestGuiltyS: Math.max(...all.map(({ longestGuiltyS }) => longestGuiltyS)),
    refusedS: all.reduce((sum, { refusedS }) => sum + refusedS, 0),
  };
}

test.each([
  [2, 4, 1],
  [5, 4, 1],
  [12, 20, 1],
  [12, 2, 3],
  [40, 20, 1],
  [40, 20, 10],
  [200, 8, 5],
])(
  'attack: %i installations of one author against %i busy innocents, a crash every %i s: no innocent is in quarantine for longer than a minute, or refused',
  (attackers, innocents, crashEveryS) => {
    const { crashes, longestGuiltyS, refusedS } = attack(attackers, innocents, crashEveryS);
    expect(crashes).toBeGreaterThan(20);
    expect(longestGuiltyS).toBeLessThanOrEqual(60);
    expect(refusedS).toBe(0);
  },
);
