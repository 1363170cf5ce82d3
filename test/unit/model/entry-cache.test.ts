/** Caches that take memory for the entries that they hold, not for those that they may hold. */
import { expect, test } from 'vitest';
import { entryCache } from '../../../src/model/entry-cache.ts';

test('an entry beyond the bound drops the one that was used longest ago', () => {
  const cache = entryCache<number>(3);
  for (const [at, key] of ['a', 'b', 'c'].entries()) cache.set(key, at);
  cache.get('a');
  cache.set('d', 3);
  expect([...cache.keys()].sort()).toEqual(['a', 'c', 'd']);
  cache.set('d', 4);
  expect([cache.size, cache.get('d')]).toEqual([3, 4]);
});

test('a bound of many millions costs nothing until there are entries', () => {
  const before = process.memoryUsage().heapUsed;
  const caches = Array.from({ length: 10 }, () => entryCache<number>(50_000_000));
  for (const cache of caches) cache.set('a', 1);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10 * 1024 * 1024);
});
