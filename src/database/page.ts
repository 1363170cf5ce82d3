/**
 * Keyset pagination: a page ends in a cursor, the key of its last row, opaque to clients
 * (docs/contract/api.md#paging).
 *
 * A page is found by comparing keys, never by counting rows: the last page of ten thousand costs
 * what the first does, and rows added meanwhile shift nothing.
 */

export interface PageRequest {
  /** `next` of the previous page; absent for the first page. */
  readonly cursor?: string | undefined;
  /** Maximum number of items in the page. */
  readonly limit: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/**
 * Makes a page from rows that were read with `limit + 1`: the extra row shows that there is a next
 * page.
 *
 * @param keyOf the column by which the rows are sorted, as text
 */
export function page<Row, Item>(
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => string,
  itemOf: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const items = shown.map(itemOf);
  return rows.length > limit && last !== undefined ? { items, next: keyOf(last) } : { items };
}
