/**
 * Lists come in pages, and a page ends in a cursor: the key of its last row, opaque to whoever carries it back.
 *
 * A page is found by comparing keys, never by counting rows, so the last page of ten thousand costs what the first does
 * and rows that appear meanwhile shift nothing.
 */

export interface PageRequest {
  /** `next` of the page before; absent for the first page. */
  readonly cursor?: string | undefined;
  /** Most items in the page. */
  readonly limit: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; absent where this is the last. */
  readonly next?: string;
}

/**
 * Makes a page of rows that were read with one more than `limit`, so that the last page is known to be the last.
 *
 * @param keyOf the column by which the rows are sorted, as text.
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
