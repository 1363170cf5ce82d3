/**
 * A cache of a bounded number of entries, which drops the least recently used one.
 *
 * `LRUCache` with `max` reserves room for all entries when it is made: a service whose caches may
 * hold half a million entries would spend 60 ms and several megabytes on them before its first
 * request. With `maxSize` it grows with its entries. Caches whose entries differ in weight use
 * `LRUCache` itself.
 */
import { LRUCache } from 'lru-cache';

/** @param entriesMax most entries it holds */
export const entryCache = <V extends object | string | number | boolean>(
  entriesMax: number,
): LRUCache<string, V> => new LRUCache<string, V>({ maxSize: entriesMax, sizeCalculation: () => 1 });
