/**
 * Rows of a copy in its target: how they are written, and read again for the comparison. PostgreSQL
 * only.
 */
import { type RawBuilder, sql } from 'kysely';
import { runForEach } from '../bulk.ts';
import type { Database } from '../tables.ts';
import { DatabaseUnavailable } from '../unavailable.ts';
import { type CopiedRow, type CopiedTable, insertInto, nameOfRow, type RowKey } from './copied-tables.ts';

/** Both ends are keys; open if absent. The first one is not included, the last one is. */
export interface KeyRange {
  readonly after?: RowKey | undefined;
  readonly to?: RowKey | undefined;
}

export async function writeRows(
  transaction: Database,
  table: CopiedTable,
  rows: readonly CopiedRow[],
): Promise<void> {
  await runForEach(transaction, insertInto(table), rows);
  // The driver does not wait for a write that returns nothing. Here its refusal is wanted now.
  await sql`select 1`.execute(transaction);
}

/** The rows in a range of keys, in their order; at most `limit` of them. */
export async function readRows(
  target: Database,
  { name, columns, key }: CopiedTable,
  { after, to }: KeyRange,
  limit: number,
): Promise<CopiedRow[]> {
  const keys = sql.join(key.map((column) => sql.ref(column)));
  const ends: RawBuilder<unknown>[] = [sql`true`];
  if (after !== undefined) ends.push(sql`(${keys}) > (${sql.join([...after])})`);
  if (to !== undefined) ends.push(sql`(${keys}) <= (${sql.join([...to])})`);
  // No alias is the name of a column: the order is that of the keys, not that of their digits.
  const values = columns.map(
    (column, index) => sql`${sql.ref(column.name)}::text as ${sql.ref(`v${index}`)}`,
  );
  const { rows } = await sql<Record<string, string | null>>`
    select ${sql.join(values)} from ${sql.table(name)} where ${sql.join(ends, sql` and `)}
    order by ${keys} limit ${limit}`.execute(target);
  return rows.map((row) => columns.map((_, index) => row[`v${index}`] ?? null));
}

/**
 * Finds the row of a batch that PostgreSQL refuses, by writing them one at a time. Keeps none.
 *
 * @param refusal why the batch was refused
 * @returns the error that names the row
 */
export async function refusedRow(
  target: Database,
  table: CopiedTable,
  rows: readonly CopiedRow[],
  refusal: unknown,
): Promise<unknown> {
  const isOfARow = (cause: unknown): cause is Error =>
    cause instanceof Error && !(cause instanceof DatabaseUnavailable);
  if (!isOfARow(refusal)) return refusal;
  let refused: CopiedRow | undefined;
  const cause: unknown = await target
    .transaction()
    .execute(async (transaction) => {
      for (const row of rows) {
        refused = row;
        await writeRows(transaction, table, [row]);
      }
      refused = undefined;
      // Rolls back.
      throw refusal;
    })
    .catch((thrown: unknown) => thrown);
  if (refused === undefined || !isOfARow(cause)) return cause;
  return new Error(
    `PostgreSQL refuses ${nameOfRow(table, refused)}: ${cause.message}. Start the service on SQLite, correct or remove what the ` +
      'row holds, stop the service, and copy again into a new database.',
    { cause },
  );
}
