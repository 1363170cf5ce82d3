/** Long pages of lists are read in parts, and bounded in size (docs/contract/api.md#paging). */
import { expect, test } from 'vitest';
import type { PageRequest } from '../../../src/host/database/page.ts';
import { longPage } from '../../../src/host/http/control/lists.ts';

/** A list of numbered items of a size, which records what is read of it. */
function listOf(total: number, bytes = 1) {
  const reads: number[] = [];
  const read = async ({ cursor, limit }: PageRequest) => {
    reads.push(limit);
    const from = Number(cursor ?? 0);
    const to = Math.min(total, from + limit);
    const items = Array.from({ length: to - from }, (_, index) => ({
      id: from + index,
      text: 'x'.repeat(bytes),
    }));
    return to < total ? { items, next: String(to) } : { items };
  };
  return { reads, read };
}

test('a long page has every item once, and is read in parts of a hundred', async () => {
  const { reads, read } = listOf(250);
  const { items, next } = await longPage({ limit: 1_000 }, read);
  expect(items.map(({ id }) => id)).toEqual(Array.from({ length: 250 }, (_, id) => id));
  expect([reads, next]).toEqual([[100, 100, 100], undefined]);
});

test('a page ends at its limit, and continues there', async () => {
  const { reads, read } = listOf(400);
  const first = await longPage({ limit: 150 }, read);
  expect([first.items.length, first.next, reads]).toEqual([150, '150', [100, 50]]);
  const second = await longPage({ limit: 1_000, cursor: first.next }, read);
  expect([second.items[0]?.id, second.items.length, second.next]).toEqual([150, 250, undefined]);
});

test('attack: a page of large items ends early, and the next one has the rest', async () => {
  const { reads, read } = listOf(1_000, 64 * 1024);
  const { items, next } = await longPage({ limit: 1_000 }, read);
  expect([reads, items.length, next]).toEqual([[100], 100, '100']);
});
