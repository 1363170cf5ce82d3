/** Events and the end of the host: what was acknowledged arrives, whatever the process was in the middle of. */
import { expect, test } from 'vitest';
import { crashRounds } from '../support/crash/crash-rounds.ts';

test('a host that is killed ten times while events pour in loses none that it has acknowledged', async () => {
  const { acknowledged, givenUp, requests, duplicates, duplicatesMax, ...wrong } = await crashRounds({
    rounds: 10,
    events: 2_000,
    chance: Math.random,
  });
  // One request of a delivery in each life of the host at the most: a crash costs one duplicate of what was under way.
  expect(wrong).toEqual({
    lost: [],
    outOfThinAir: [],
    twiceInOneLife: [],
    astray: [],
    torn: 0,
    badSignatures: 0,
  });
  expect(duplicates).toBeLessThanOrEqual(duplicatesMax);
  // It was a test: most were acknowledged, and there were crashes in the middle of deliveries.
  expect(acknowledged).toBeGreaterThan(1_000);
  expect(acknowledged + givenUp).toBe(2_000);
  expect(requests).toBeGreaterThanOrEqual(acknowledged);
  expect(duplicates).toBeGreaterThan(0);
}, 300_000);
