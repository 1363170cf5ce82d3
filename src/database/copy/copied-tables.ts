/**
 * The tables that a copy has to copy, read from the schema of the source: columns, primary keys,
 * and an order in which a row's parents are copied before it. No table is listed by hand, so none
 * is forgotten.
 */
import { sql } from 'kysely';
import { BulkStatement, TEXT, type ValueType, WHOLE } from '../bulk.ts';
import type { Database } from '../tables.ts';

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

/** @param source a database of SQLite @returns all tables of the store, parents first */
export async function copiedTables(source: Database): Promise<readonly CopiedTable[]> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_schema
    where type = 'table' and name not like 'sqlite%' and name not like 'kysely%' order by name`.execute(
    source,
  );
  const parents = new Map<string, readonly string[]>();
  for (const { name } of rows) parents.set(name, await parentsOf(source, name));
  const ordered: string[] = [];
  const add = (name: string): void => {
    if (ordered.includes(name)) return;
    for (const parent of parents.get(name) ?? []) if (parent !== name) add(parent);
    ordered.push(name);
  };
  for (const { name } of rows) add(name);
  const tables: CopiedTable[] = [];
  for (const name of ordered) tables.push(await tableOf(source, name));
  return tables;
}

async function parentsOf(source: Database, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ parent: string }>`
    select distinct "table" as parent from pragma_foreign_key_list(${table})`.execute(source);
  return rows.map(({ parent }) => parent);
}

async function tableOf(source: Database, name: string): Promise<CopiedTable> {
  const { rows } = await sql<{ name: string; type: string; pk: number }>`
    select name, type, pk from pragma_table_info(${name}) order by cid`.execute(source);
  const columns = rows.map((row) => ({ name: row.name, type: /text/i.test(row.type) ? TEXT : WHOLE }));
  const key = rows
    .filter(({ pk }) => pk > 0)
    .sort((one, other) => one.pk - other.pk)
    .map((row) => row.name);
  if (key.length === 0) throw new Error(`The table ${name} has no primary key, and cannot be copied.`);
  return { name, columns, key };
}

/** The statement that inserts rows of a table, with their values in the order of its columns. */
export function insertInto({ name, columns }: CopiedTable): BulkStatement {
  const places = columns.flatMap(({ type }, index) => (index === 0 ? [type] : [', ', type]));
  const names = columns.map((column) => `"${column.name}"`).join(', ');
  return new BulkStatement([`insert into "${name}" (${names}) values (`, ...places, ')']);
}
