/**
 * Reads the rows of a table in the order of its primary key, in batches that are bounded in rows
 * and in bytes: a version holds a bundle of megabytes, and an event some hundred bytes. The order
 * is the same in both engines, which compare texts by their bytes.
 */
import { sql } from 'kysely';
import type { ColumnValue } from '../bulk.ts';
import type { Database } from '../tables.ts';
import type { CopiedTable } from './copied-tables.ts';

const BATCH_BYTES = 4 * 1024 * 1024;
const ROWS_AT_FIRST = 16;
const ROWS_MAX = 2_000;

/** Values of a row, in the order of the table's columns. */
export type CopiedRow = readonly ColumnValue[];

export interface Batch {
  readonly rows: readonly CopiedRow[];
  /** Key of the last row. */
  readonly last: readonly ColumnValue[];
}

/** @param after key of the row to begin behind; from the first row if absent */
export async function* batchesOf(
  database: Database,
  table: CopiedTable,
  after?: readonly ColumnValue[],
): AsyncGenerator<Batch> {
  let last = after;
  let limit = ROWS_AT_FIRST;
  for (;;) {
    const rows = await read(database, table, last, limit);
    const end = rows.at(-1);
    if (end === undefined) return;
    last = keyOf(table, end);
    yield { rows, last };
    if (rows.length < limit) return;
    limit = Math.min(ROWS_MAX, Math.max(1, Math.floor((limit * BATCH_BYTES) / (bytesOf(rows) + 1))));
  }
}

async function read(
  database: Database,
  { name, columns, key }: CopiedTable,
  after: readonly ColumnValue[] | undefined,
  limit: number,
): Promise<CopiedRow[]> {
  const names = (of: readonly string[]) => sql.join(of.map((column) => sql.ref(column)));
  const behind = after === undefined ? sql`` : sql`where (${names(key)}) > (${sql.join([...after])})`;
  const all = columns.map((column) => column.name);
  const { rows } = await sql<Record<string, ColumnValue>>`
    select ${names(all)} from ${sql.table(name)} ${behind} order by ${names(key)} limit ${limit}`.execute(
    database,
  );
  return rows.map((row) => all.map((column) => storable(row[column] ?? null)));
}

export const keyOf = ({ columns, key }: CopiedTable, row: CopiedRow): ColumnValue[] =>
  key.map((name) => row[columns.findIndex((column) => column.name === name)] ?? null);

/**
 * PostgreSQL cannot hold U+0000 in a text. The store writes U+FFFD in its place today, also on
 * SQLite; rows of earlier versions may still have it.
 */
const storable = (value: ColumnValue): ColumnValue =>
  typeof value === 'string' ? value.replaceAll('\0', '\u{fffd}') : value;

const bytesOf = (rows: readonly CopiedRow[]): number =>
  rows.reduce(
    (sum, row) =>
      sum + row.reduce<number>((own, value) => own + (typeof value === 'string' ? value.length : 8), 0),
    0,
  );
