/** The items of all pages of a list. */
import { expect, test } from 'vitest';
import { type Page, pagedItems } from '../../../packages/client/src/paging.ts';

interface Query {
  readonly state?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

const PAGES: Readonly<Record<string, Page<number>>> = {
  '': { items: [1, 2], next: 'a' },
  // A page may be empty and not be the last. Runtime tokens get the other form.
  a: { items: [], next: { page: 'b' } },
  b: { items: [3] },
};

function list(asked: Query[]) {
  return async (query: Query): Promise<Page<number>> => {
    asked.push(query);
    return PAGES[query.cursor ?? ''] ?? { items: [] };
  };
}

test('every page is read, to the last, with the query and a bounded size', async () => {
  const asked: Query[] = [];
  const items: number[] = [];
  for await (const item of pagedItems({ state: 'failed' } as Query, list(asked))) items.push(item);
  expect(items).toEqual([1, 2, 3]);
  expect(asked).toEqual([
    { state: 'failed', limit: 100 },
    { state: 'failed', limit: 100, cursor: 'a' },
    { state: 'failed', limit: 100, cursor: 'b' },
  ]);
});

test('a loop that ends early reads no further page', async () => {
  const asked: Query[] = [];
  for await (const item of pagedItems({ limit: 2 } as Query, list(asked))) if (item === 2) break;
  expect(asked).toEqual([{ limit: 2 }]);
});
