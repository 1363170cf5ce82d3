/**
 * One statement for many rows: prepared once, and run for each row inside the engine's own call.
 *
 * A delivery is inserted, claimed and settled, thousands of times a second. A statement of its own for each of these costs more
 * to put together than to execute, and one long statement for all of them is a different text each time. So the rows travel as
 * one parameter, which the dialect unfolds; everywhere else a parameter is a plain value.
 */
import { CompiledQuery } from 'kysely';
import type { Database } from './tables.ts';

/** What a column can hold. */
export type ColumnValue = string | number | null;

/** The parameter: values of one row after the other, each in the order of the statement's placeholders. */
export class BulkRows {
  readonly rows: readonly (readonly ColumnValue[])[];
  /** How many rows of the table each run has changed: put here by the dialect, where the statement returns none. */
  readonly changes: number[] = [];

  constructor(rows: readonly (readonly ColumnValue[])[]) {
    this.rows = rows;
  }
}

/**
 * Runs a statement for each row, in their order, in the transaction it is handed.
 *
 * One that writes is better off without `returning`: SQLite makes a table of its own for what that returns, at each run.
 *
 * @param sql with `?` for each value of a row
 * @returns the rows that the statement returned, of all runs together, in order
 */
export async function runForEach<Row = never>(
  transaction: Database,
  sql: string,
  rows: readonly (readonly ColumnValue[])[],
): Promise<Row[]> {
  if (rows.length === 0) return [];
  const result = await transaction.executeQuery<Row>(CompiledQuery.raw(sql, [new BulkRows(rows)]));
  return result.rows;
}

/**
 * Runs a statement that returns nothing for each row, in their order.
 *
 * @param sql with `?` for each value of a row
 * @returns of each run whether it has changed anything
 */
export async function changeForEach(
  transaction: Database,
  sql: string,
  rows: readonly (readonly ColumnValue[])[],
): Promise<boolean[]> {
  const bulk = new BulkRows(rows);
  await transaction.executeQuery(CompiledQuery.raw(sql, [bulk]));
  return bulk.changes.map((changed) => changed > 0);
}
