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
  /** Rows that are damaged and left out; absent if there are none. */
  readonly unreadable?: readonly UnreadableRow[];
}

/** A damaged row: the others of its list are shown all the same. */
export interface UnreadableRow {
  /** Its key in the list. */
  readonly row: string;
  readonly cause: unknown;
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
  const found = readable(shown, keyOf, itemOf);
  return rows.length > limit && last !== undefined ? { ...found, next: keyOf(last) } : found;
}

/** Converts what is listed. What cannot be converted is left out, and named. */
export function readable<Row, Item>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  itemOf: (row: Row) => Item,
): { items: Item[]; unreadable?: UnreadableRow[] } {
  const items: Item[] = [];
  const unreadable: UnreadableRow[] = [];
  for (const row of rows) {
    try {
      items.push(itemOf(row));
    } catch (cause) {
      unreadable.push({ row: keyOf(row), cause });
    }
  }
  return unreadable.length === 0 ? { items } : { items, unreadable };
}
