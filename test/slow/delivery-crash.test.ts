/**
 * Events and crashes of the host: every acknowledged event arrives, whenever the process is killed.
 */
import { expect, test } from 'vitest';
import { crashRounds } from '../support/crash/crash-rounds.ts';

test('a host that is killed ten times while events are posted loses none that it has acknowledged', async () => {
  const { acknowledged, givenUp, requests, duplicates, duplicatesMax, ...wrong } = await crashRounds({
    rounds: 10,
    events: 2_000,
    random: Math.random,
  });
  // At most one request of a delivery by each process: a crash costs one duplicate of each delivery
  // in flight.
  expect(wrong).toEqual({
    lost: [],
    neverPosted: [],
    postedTwice: [],
    misrouted: [],
    partialBatches: 0,
    badSignatures: 0,
  });
  expect(duplicates).toBeLessThanOrEqual(duplicatesMax);
  // The rounds were real: most events were acknowledged, and crashes hit deliveries in flight.
  expect(acknowledged).toBeGreaterThan(1_000);
  expect(acknowledged + givenUp).toBe(2_000);
  expect(requests).toBeGreaterThanOrEqual(acknowledged);
  expect(duplicates).toBeGreaterThan(0);
}, 900_000);
