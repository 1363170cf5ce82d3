/**
 * Bulk statements: a statement prepared once and run for each row inside one call of the engine.
 *
 * Deliveries are inserted, claimed and settled thousands of times a second. One statement for each
 * row costs more to build than to execute, and one long statement for all rows has a different text
 * each time. So the rows travel as one parameter, which the dialect unfolds
 * (docs/decisions/bulk-statements.md). Everywhere else a parameter is a plain value.
 */
import { CompiledQuery } from 'kysely';
import type { Database } from './tables.ts';

/** What a column can hold. */
export type ColumnValue = string | number | null;

/** The parameter: one list of values for each row, in the order of the statement's placeholders. */
export class BulkRows {
  readonly rows: readonly (readonly ColumnValue[])[];
  /**
   * Number of changed rows for each run; filled in by the dialect if the statement returns no rows.
   */
  readonly changes: number[] = [];

  constructor(rows: readonly (readonly ColumnValue[])[]) {
    this.rows = rows;
  }
}

/**
 * Runs a statement for each row, in order, in the given transaction.
 *
 * Omit `returning` from statements that write: SQLite builds a temporary table for it at each run.
 *
 * @param sql with a `?` for each value of a row
 * @returns the rows returned by all runs, in order
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
 * Runs a statement that returns nothing for each row, in order.
 *
 * @param sql with a `?` for each value of a row
 * @returns for each run, whether it changed a row
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
