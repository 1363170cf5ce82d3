/**
 * Two nodes on one PostgreSQL, with clocks a minute apart, one of which is killed again and again.
 */
import { expect, test } from 'vitest';
import { killedNodes, shiftedClock } from '../support/nodes/killed-nodes.ts';
import { needs } from '../support/programs.ts';

test('nodes that are killed lose no acknowledged event, and repeat only what was in flight', {
  ...needs('postgres'),
  timeout: 900_000,
}, async () => {
  const { acknowledged, repeated, requests, kills, activationsMs, calls, ...wrong } = await killedNodes({
    ...{ forMs: 15_000, everyMs: 3_000, leaseMs: 6_000, clients: 6, clientEveryMs: 100 },
    nodes: [{}, shiftedClock() ?? {}],
  });
  expect(wrong).toEqual({
    ...{ lost: [], doubled: [], forked: [], badSignatures: 0, refusedCalls: 0 },
  });
  expect(acknowledged).toBeGreaterThan(100);
  expect(requests).toBeGreaterThanOrEqual(acknowledged);
  expect(repeated.length).toBeLessThanOrEqual(requests - acknowledged);
  // Each version that was activated on one node was served by the other, or this would not end.
  expect(activationsMs).toHaveLength(2 * kills);
  expect(calls).toBeGreaterThan(0);
});
