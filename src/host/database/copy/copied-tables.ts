/**
 * The tables that a copy has to copy, read from the schema of the source: columns, primary keys,
 * and an order in which a row's parents are copied before it. No table is listed by hand, so none
 * is forgotten.
 */
import type { DatabaseSync } from 'node:sqlite';
import { BulkStatement, TEXT, type ValueType, WHOLE } from '../bulk.ts';

export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly CopiedColumn[];
  /** Columns of the primary key, in its order. */
  readonly key: readonly string[];
}

export interface CopiedColumn {
  readonly name: string;
  readonly type: ValueType;
}

/**
 * A row as both engines write it: one text for each column of the table, in order. Whole numbers
 * are digits, because a number of JavaScript does not hold each of them.
 */
export type CopiedRow = readonly (string | null)[];

/** Values of the columns of a primary key. */
export type RowKey = CopiedRow;

/** @returns all tables of the store, parents first */
export function copiedTables(source: DatabaseSync): readonly CopiedTable[] {
  const names = source
    .prepare(
      `select name from sqlite_schema
       where type = 'table' and name not like 'sqlite%' and name not like 'kysely%' order by name`,
    )
    .all()
    .map(({ name }) => String(name));
  const ordered = new Set<string>();
  const add = (name: string): void => {
    if (ordered.has(name)) return;
    for (const parent of parentsOf(source, name)) if (parent !== name) add(parent);
    ordered.add(name);
  };
  for (const name of names) add(name);
  return Array.from(ordered, (name) => tableOf(source, name));
}

function parentsOf(source: DatabaseSync, table: string): string[] {
  const parents = source.prepare('select distinct "table" as parent from pragma_foreign_key_list(?)');
  return parents.all(table).map(({ parent }) => String(parent));
}

function tableOf(source: DatabaseSync, name: string): CopiedTable {
  const rows = source.prepare('select name, type, pk from pragma_table_info(?) order by cid').all(name);
  const columns = rows.map((row) => ({
    name: String(row['name']),
    type: /text/i.test(String(row['type'])) ? TEXT : WHOLE,
  }));
  const key = rows
    .filter(({ pk }) => Number(pk) > 0)
    .sort((one, other) => Number(one['pk']) - Number(other['pk']))
    .map((row) => String(row['name']));
  if (key.length === 0) throw new Error(`The table ${name} has no primary key, and cannot be copied.`);
  return { name, columns, key };
}

export const keyOf = ({ columns, key }: CopiedTable, row: CopiedRow): RowKey =>
  key.map((name) => row[columns.findIndex((column) => column.name === name)] ?? null);

/** Names a row in a message: its table and its key. */
export const nameOfRow = (table: CopiedTable, row: CopiedRow): string =>
  `the row of ${table.name} with ${table.key.join(', ')} = ${JSON.stringify(keyOf(table, row)).slice(1, -1)}`;

/**
 * The statement that inserts rows of a table, with their values in the order of its columns. Values
 * travel as texts, as they were read, also those that are no whole numbers: PostgreSQL refuses
 * them.
 */
export function insertInto({ name, columns }: CopiedTable): BulkStatement {
  const places = columns.flatMap(({ type }, index) => [
    ...(index === 0 ? [] : [', ']),
    ...(type === WHOLE ? [TEXT, '::bigint'] : [TEXT]),
  ]);
  const names = columns.map((column) => `"${column.name}"`).join(', ');
  return new BulkStatement([`insert into "${name}" (${names}) values (`, ...places, ')']);
}
