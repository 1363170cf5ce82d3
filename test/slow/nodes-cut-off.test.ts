/** One of two nodes is cut off from the database without a word, while the other goes on. */
import { expect, test } from 'vitest';
import { cutNode } from '../support/nodes/cut-node.ts';
import { needs } from '../support/programs.ts';

test('a node that is cut off serves from its caches, and changes nothing when it is back', {
  ...needs('postgres'),
  timeout: 900_000,
}, async () => {
  const { cutOff, other, calls, ...result } = await cutNode({
    ...{ lastsMs: 15_000, leaseMs: 6_000, clients: 6, clientEveryMs: 100 },
  });
  // Every delivery that arrived twice was in flight on the node when it was cut off.
  const none = { lost: [], doubled: [], forked: [], badSignatures: 0 };
  expect(result).toMatchObject({ ...none, isAlive: true, ready: [503, 200], otherReady: [200, 200] });
  // What was sent before the cut may still be answered.
  expect(Object.keys(cutOff.statuses)).toContain('503');
  expect(['200', '202', '503']).toEqual(expect.arrayContaining(Object.keys(cutOff.statuses)));
  expect(cutOff.withoutRetryAfter).toBe(0);
  expect(Object.keys(other.statuses)).toEqual(['202']);
  expect(Object.keys(calls.statuses)).toEqual(['200']);
  expect(result.logged, JSON.stringify(result.causes)).toEqual([
    expect.stringContaining('the database is not available'),
    expect.stringContaining('the database answers again'),
  ]);
});
