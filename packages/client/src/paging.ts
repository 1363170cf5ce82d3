/**
 * Lists, which the API answers in pages: the type of a page, and the items of all of them.
 *
 * A page is asked for when the items before it were used, so that a loop that ends early reads no
 * more than it needs.
 */

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Number of all items, where it is known. */
  readonly count?: number | undefined;
  /** `cursor` of the next page; absent on the last. An object for runtime tokens. */
  readonly next?: string | { readonly page: string } | undefined;
}

/** Number of items that a page is asked for, unless the query says another. */
const PAGE_ITEMS = 100;

/** The items of all pages. */
export async function* pagedItems<Query extends { readonly limit?: number | undefined }, Item>(
  query: Query,
  read: (query: Query & { readonly cursor?: string; readonly limit: number }) => PromiseLike<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  const limit = query.limit ?? PAGE_ITEMS;
  let cursor: string | undefined;
  do {
    const { items, next } = await read({ ...query, limit, ...(cursor !== undefined && { cursor }) });
    yield* items;
    cursor = typeof next === 'object' ? next.page : next;
  } while (cursor !== undefined);
}
