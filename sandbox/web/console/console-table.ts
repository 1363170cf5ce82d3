/**
 * `console.table`: rows and columns of an object of objects, as text. Bounded in rows, columns and
 * width.
 */

import { List, push } from '../list.ts';
import { getOwnPropertyDescriptor, repeat, slice } from '../primordials.ts';
import { isObject } from '../web-idl.ts';
import { inspect } from './inspect.ts';
import { shownNames } from './shown-keys.ts';

const ROWS_MAX = 100;
const COLUMNS_MAX = 20;
const CELL_CHARS_MAX = 60;

/** @returns undefined if the data is not tabular, or throws when it is read */
export function formatTable(data: unknown): string | undefined {
  if (!isObject(data)) return undefined;
  try {
    return tableOf(data);
  } catch {
    return undefined;
  }
}

function tableOf(data: object): string {
  const columns = new List<string>();
  push(columns, '(index)');
  let values = false;
  const rowKeys = shownNames(data, ROWS_MAX);
  const rowCount = Math.min(rowKeys.length, ROWS_MAX);
  for (let row = 0; row < rowCount; row++) {
    const value = member(data, rowKeys[row] as string);
    if (!isObject(value)) values = true;
    else {
      const keys = shownNames(value, COLUMNS_MAX);
      for (let i = 0; i < keys.length && columns.length < COLUMNS_MAX; i++)
        addColumn(columns, keys[i] as string);
    }
  }
  const rows = new List<List<string>>();
  push(rows, columns);
  for (let row = 0; row < rowCount; row++) push(rows, rowOf(data, rowKeys[row] as string, columns, values));
  if (values) push(columns, 'Values');
  return layOut(rows, columns.length);
}

function rowOf(data: object, key: string, columns: List<string>, values: boolean): List<string> {
  const cells = new List<string>();
  push(cells, slice(key, 0, CELL_CHARS_MAX));
  const value = member(data, key);
  for (let i = 1; i < columns.length; i++) {
    const column = columns[i] as string;
    const own = isObject(value) && getOwnPropertyDescriptor(value, column) !== undefined;
    push(cells, own ? cellText(member(value, column)) : '');
  }
  if (values) push(cells, isObject(value) ? '' : cellText(value));
  return cells;
}

function layOut(rows: List<List<string>>, columnCount: number): string {
  const widths = new List<number>();
  for (let column = 0; column < columnCount; column++) {
    let width = 0;
    for (let row = 0; row < rows.length; row++) width = Math.max(width, rows[row]?.[column]?.length ?? 0);
    push(widths, width);
  }
  let text = rule('┌', '┬', '┐', widths);
  for (let row = 0; row < rows.length; row++) {
    text += '\n│';
    for (let column = 0; column < columnCount; column++) {
      const cell = rows[row]?.[column] ?? '';
      text += ` ${cell}${repeat(' ', (widths[column] as number) - cell.length)} │`;
    }
    if (row === 0) text += `\n${rule('├', '┼', '┤', widths)}`;
  }
  return `${text}\n${rule('└', '┴', '┘', widths)}`;
}

function rule(left: string, middle: string, right: string, widths: List<number>): string {
  let text = left;
  for (let i = 0; i < widths.length; i++)
    text += `${i === 0 ? '' : middle}${repeat('─', (widths[i] as number) + 2)}`;
  return text + right;
}

function addColumn(columns: List<string>, key: string): void {
  for (let i = 1; i < columns.length; i++) if (columns[i] === key) return;
  push(columns, key);
}

/** An own member, without running a getter. */
const member = (value: object, key: string): unknown => getOwnPropertyDescriptor(value, key)?.value;
const cellText = (value: unknown): string => slice(inspect(value, 0), 0, CELL_CHARS_MAX);
