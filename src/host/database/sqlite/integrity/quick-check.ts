/**
 * SQLite's quick check of a database file, one table at a time: pages, records and constraints of
 * each table and its indexes.
 *
 * It reads through its own read-only connection. Between two tables it ends its read, so that the
 * write-ahead log can be emptied meanwhile.
 */
import { DatabaseSync } from 'node:sqlite';

/** Problems reported for one table at most. */
const PROBLEMS_MAX = 5;

export interface CheckedTable {
  readonly table: string;
  /** Number of tables. */
  readonly of: number;
  readonly problems: readonly string[];
}

/** @param after the table to start after; the check wraps around until all tables are checked */
export function* quickCheck(file: string, after = ''): Generator<CheckedTable> {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = tablesOf(database);
    const at = tables.findIndex((table) => table > after);
    const inTurn = at < 0 ? tables : [...tables.slice(at), ...tables.slice(0, at)];
    for (const table of inTurn) yield { table, of: tables.length, problems: problemsOf(database, table) };
  } finally {
    database.close();
  }
}

/** Number of pages of the file, log included. */
export function pagesOf(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return Number(database.prepare('pragma page_count').get()?.page_count);
  } finally {
    database.close();
  }
}

function tablesOf(database: DatabaseSync): string[] {
  const rows = database.prepare(`select name from sqlite_schema where type = 'table' order by name`).all();
  // Checking the schema includes the list of free pages.
  return ['sqlite_schema', ...rows.map(({ name }) => String(name))].sort();
}

function problemsOf(database: DatabaseSync, table: string): string[] {
  try {
    const rows = database.prepare(`pragma quick_check("${table.replaceAll('"', '""')}")`).all();
    const lines = rows.map(({ quick_check }) => String(quick_check));
    return lines.filter((line) => line !== 'ok').slice(0, PROBLEMS_MAX);
  } catch (cause) {
    return [cause instanceof Error ? cause.message : String(cause)];
  }
}
