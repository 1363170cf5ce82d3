/**
 * Writes a bulk statement as one statement of PostgreSQL for any number of rows: the values of a
 * column travel as one array, and `unnest` makes rows of them again.
 *
 * A `select` runs for each row of values as a lateral join, in their order. An `update` and a
 * `delete` join them; an `insert` selects from them. The text is the same for every number of rows,
 * so that PostgreSQL prepares it once for each connection. It understands only the shapes that the
 * store writes: one statement, whose outermost clauses are in lower case.
 */
import type { BulkStatement } from '../bulk.ts';

/** Alias of the rows of values, and its columns; no table has columns of these names. */
const ROWS = 'bulk_rows';
const NUMBER = 'bulk_row';
/** Name of the rows that an update is of. */
const FOUND = 'bulk_found';
const column = (index: number): string => `bulk_${index + 1}`;

/** The texts of one statement. */
export interface BulkSql {
  /** For one row: a parameter for each value. */
  readonly forOne: string;
  /** For many: a parameter for each column, an array. */
  readonly forMany: string;
  /** For many, returning the number of each row, from 1, that changed something. */
  readonly forChanges: string;
}

const WRITTEN = new WeakMap<BulkStatement, BulkSql>();

/** The texts of a statement; written once. */
export function bulkSql(statement: BulkStatement): BulkSql {
  const known = WRITTEN.get(statement);
  if (known !== undefined) return known;
  const written = write(statement);
  WRITTEN.set(statement, written);
  return written;
}

const OF_FOUND = new WeakMap<BulkStatement, WeakMap<BulkStatement, string>>();

/**
 * The text that runs a `select` for many rows, and then an update of what it found: parameters are
 * those of the `select` for many rows, and then the values of the update. Its rows are those that
 * were found, as they were before.
 */
export function updateOfFoundSql(select: BulkStatement, update: BulkStatement): string {
  const known = OF_FOUND.get(select)?.get(update);
  if (known !== undefined) return known;
  const { forMany } = bulkSql(select);
  const idAt = update.types.length - 1;
  const first = select.types.length + 1;
  const valueAt = (index: number) =>
    index === idAt ? `${FOUND}.id` : `$${first + index}::${update.types[index]}`;
  const each = update.text(valueAt, () => '').trim();
  const where = outermost(each, 'where');
  const written = `${each.slice(0, where)}from ${FOUND} ${each.slice(where)}`;
  const text =
    `with ${FOUND} as materialized (${forMany}), ` + `written as (${written}) select * from ${FOUND}`;
  const texts = OF_FOUND.get(select) ?? new WeakMap<BulkStatement, string>();
  OF_FOUND.set(select, texts.set(update, text));
  return text;
}

function write(statement: BulkStatement): BulkSql {
  const { types } = statement;
  const locked = (table: string) => ` for update of ${table} skip locked`;
  const forOne = statement.text((index) => `$${index + 1}::${types[index]}`, locked).trim();
  const each = statement.text((index) => `${ROWS}.${column(index)}`, locked).trim();
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`).join(', ');
  const columns = [...types.map((_, index) => column(index)), NUMBER].join(', ');
  const source = `unnest(${arrays}) with ordinality as ${ROWS} (${columns})`;
  const verb = /^\w+/.exec(each)?.[0];
  if (verb === 'select') {
    const all = `select found.* from ${source} cross join lateral (${each}) as found order by ${ROWS}.${NUMBER}`;
    return { forOne, forMany: all, forChanges: all };
  }
  if (verb === 'update' || verb === 'delete') return { forOne, ...joined(each, source) };
  if (verb === 'insert') return { forOne, ...inserted(each, source) };
  throw new Error(`A bulk statement has to select, insert, update or delete: ${each.slice(0, 40)}`);
}

function joined(each: string, source: string): Omit<BulkSql, 'forOne'> {
  const [verb, target = ''] = each.split(/\s+/);
  const table = verb === 'delete' ? (each.split(/\s+/)[2] ?? '') : target;
  const where = outermost(each, 'where');
  // Every row of the table would be written, once for each row of values.
  if (where < 0) throw new Error(`A bulk statement names no row: ${each.slice(0, 40)}`);
  const returning = outermost(each, 'returning');
  const end = returning < 0 ? each.length : returning;
  const join = verb === 'delete' ? 'using' : 'from';
  const body = `${each.slice(0, where)}${join} ${source} ${each.slice(where, end)}`;
  const wanted = each.slice(end).replace(/^returning \*/, `returning ${table}.*`);
  return { forMany: `${body}${wanted}`, forChanges: `${body} returning ${ROWS}.${NUMBER}` };
}

/**
 * `returning` sees only the inserted table, so the numbers of the rows come from the selection that
 * is inserted.
 */
function inserted(each: string, source: string): Omit<BulkSql, 'forOne'> {
  const conflict = outermost(each, 'on conflict');
  const end = conflict < 0 ? each.length : conflict;
  const values = outermost(each, 'values');
  const select = outermost(each, 'select');
  const from = outermost(each, 'from');
  const start = values < 0 ? select : values;
  const head = each.slice(0, start);
  const list =
    values < 0
      ? each.slice(select + 'select'.length, from)
      : unwrapped(each.slice(values + 'values'.length, end));
  const tables = values < 0 ? `${source}, ${each.slice(from + 'from'.length, end)}` : source;
  const names = each
    .slice(each.indexOf('(') + 1, each.indexOf(')'))
    .split(',')
    .map((name) => name.trim());
  const rest = each.slice(end);
  return {
    forMany: `${head} select ${list} from ${tables} ${rest}`,
    forChanges:
      `with chosen (${[...names, NUMBER].join(', ')}) as materialized (select ${list}, ${ROWS}.${NUMBER} from ${tables}), ` +
      `written as (${head} select ${names.join(', ')} from chosen ${rest}) select ${NUMBER} from chosen`,
  };
}

/** Without the parentheses around it. */
const unwrapped = (text: string): string => text.trim().replace(/^\(/, '').replace(/\)$/, '');

/** Where a keyword stands outside of all parentheses and quotes; -1 if nowhere. */
function outermost(sql: string, keyword: string): number {
  let depth = 0;
  let quote: string | undefined;
  for (let at = 0; at < sql.length; at += 1) {
    const char = sql[at];
    if (quote === undefined && (char === "'" || char === '"')) quote = char;
    else if (char === quote) quote = undefined;
    if (quote !== undefined) continue;
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (depth === 0 && sql.startsWith(keyword, at) && isWord(sql, at, keyword.length)) return at;
  }
  return -1;
}

const isWord = (sql: string, at: number, length: number): boolean =>
  !/\w/.test(sql[at - 1] ?? ' ') && !/\w/.test(sql[at + length] ?? ' ');
