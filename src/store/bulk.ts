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

  constructor(rows: readonly (readonly ColumnValue[])[]) {
    this.rows = rows;
  }
}

/**
 * Runs a statement for each row, in their order, in the transaction it is handed.
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
