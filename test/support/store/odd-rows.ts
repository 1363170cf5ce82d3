/**
 * Rows for every table of a schema, made from the schema alone: empty texts beside nulls, numbers
 * at the ends of their types, and characters that an encoding, a quoting or a comparison may spoil.
 * No service could read them.
 */
import { DatabaseSync } from 'node:sqlite';
import { type CopiedTable, copiedTables } from '../../../src/host/database/copy/copied-tables.ts';

/** One for each row; also values of keys. */
const TEXTS = [
  'ünï\u{1f600}\u{10ffff}\u{ffff}\u{fffd} \ufeff\u0001\u007f\u2028',
  '',
  `'"\\{NULL,"a"}\t\r\n$1 %s \\N \\000 `,
  'NULL',
];
const WHOLE_ENDS = [9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n, 9_007_199_254_740_993n, 0n];
const INTEGER_ENDS = [2_147_483_647n, -2_147_483_648n, -1n, 0n];
/** The row whose columns are null where they may be. */
const NULL_ROW = 3;

/** @param file a SQLite database with the schema @returns names of the tables */
export function addOddRows(file: string): string[] {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: true });
  try {
    database.exec('begin');
    const tables = copiedTables(database);
    for (const table of tables) {
      const places = table.columns.map(() => '?').join(', ');
      const insert = database.prepare(`insert into "${table.name}" values (${places})`);
      for (const row of TEXTS.keys())
        insert.run(...table.columns.map(({ name }) => valueIn(database, table, name, row)));
    }
    database.exec('commit');
    return tables.map(({ name }) => name);
  } finally {
    database.close();
  }
}

function valueIn(
  database: DatabaseSync,
  { name: table, key }: CopiedTable,
  column: string,
  row: number,
): string | bigint | null {
  const parent = database
    .prepare('select "table" as parent, "to" as place from pragma_foreign_key_list(?) where "from" = ?')
    .get(table, column);
  // The same value as in the row of this number of the parent.
  if (parent !== undefined) {
    const of = copiedTables(database).find(({ name }) => name === parent['parent']);
    if (of !== undefined) return valueIn(database, of, String(parent['place']), row);
  }
  const about = database.prepare('select type, "notnull" as needed from pragma_table_info(?) where name = ?');
  const { type, needed } = about.get(table, column) ?? {};
  if (row === NULL_ROW && needed === 0 && !key.includes(column)) return null;
  if (/text/i.test(String(type))) return TEXTS[row] ?? '';
  return (/^integer$/i.test(String(type)) ? INTEGER_ENDS : WHOLE_ENDS)[row] ?? 0n;
}
