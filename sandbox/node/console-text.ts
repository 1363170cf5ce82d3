/**
 * Texts of the class `Console`: tables and spans of time.
 */
import { inspect, widthOf } from './inspect.ts';
import { isMap, isSet } from './types.ts';

type Cells = readonly string[];

/** @returns undefined for what is not tabular */
export function tableOf(
  data: unknown,
  properties: readonly string[] | undefined,
  options: object,
): string | undefined {
  if (data === null || typeof data !== 'object') return undefined;
  const cell = (value: unknown): string => {
    const large =
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 2;
    return inspect(value, {
      maxArrayLength: 3,
      breakLength: Number.POSITIVE_INFINITY,
      ...options,
      depth: large ? -1 : 0,
    });
  };
  if (isMap(data)) {
    const pairs = [...(data as Map<unknown, unknown>)];
    const numbers = pairs.map((_, at) => `${at}`);
    const columns = [numbers, pairs.map(([key]) => cell(key)), pairs.map(([, value]) => cell(value))];
    return layOut(['(iteration index)', 'Key', 'Values'], columns);
  }
  if (isSet(data)) {
    const values = [...(data as Set<unknown>)].map(cell);
    return layOut(['(iteration index)', 'Values'], [values.map((_, at) => `${at}`), values]);
  }
  return tableOfRows(data as Record<string, unknown>, properties, cell);
}

function tableOfRows(
  data: Record<string, unknown>,
  properties: readonly string[] | undefined,
  cell: (value: unknown) => string,
): string {
  const rows = Object.keys(data);
  const columns = new Map<string, string[]>();
  const values: string[] = [];
  let hasValues = false;
  for (const [at, row] of rows.entries()) {
    const item = data[row];
    const primitive = item === null || (typeof item !== 'function' && typeof item !== 'object');
    if (properties === undefined && primitive) {
      hasValues = true;
      values[at] = cell(item);
      continue;
    }
    for (const key of properties ?? Object.keys(item as object)) {
      const column = columns.get(key) ?? [];
      columns.set(key, column);
      const own = !primitive && Object.hasOwn(item as object, key);
      column[at] = own ? cell((item as Record<string, unknown>)[key]) : '';
    }
  }
  const heads = ['(index)', ...Array.from(columns.keys(), String), ...(hasValues ? ['Values'] : [])];
  return layOut(heads, [rows, ...columns.values(), ...(hasValues ? [values] : [])]);
}

function layOut(heads: Cells, columns: readonly Cells[]): string {
  const count = Math.max(0, ...columns.map((column) => column.length));
  const widths = heads.map(
    (head, at) =>
      Math.max(widthOf(head), ...Array.from(columns[at] ?? [], (cell) => widthOf(cell ?? ''))) + 2,
  );
  const line = (cells: Cells): string =>
    `│${cells.map((cell, at) => ` ${cell}${' '.repeat((widths[at] as number) - widthOf(cell) - 1)}`).join('│')}│\n`;
  const rule = (left: string, middle: string, right: string): string =>
    left + widths.map((width) => '─'.repeat(width)).join(middle) + right;
  let text = `${rule('┌', '┬', '┐')}\n${line(heads)}${rule('├', '┼', '┤')}\n`;
  for (let row = 0; row < count; row++) text += line(columns.map((column) => column[row] ?? ''));
  return text + rule('└', '┴', '┘');
}

/** @param elapsed in milliseconds */
export function formatTime(elapsed: number): string {
  const [hours, minutes, seconds] = [
    Math.floor(elapsed / 3_600_000),
    Math.floor((elapsed % 3_600_000) / 60_000),
    (elapsed % 60_000) / 1_000,
  ];
  const two = (value: number | string): string => `${value}`.padStart(2, '0');
  if (hours > 0 || minutes > 0) {
    const [whole = '0', parts] = seconds.toFixed(3).split('.');
    const start = hours > 0 ? `${hours}:${two(minutes)}` : `${minutes}`;
    return `${start}:${two(whole)}.${parts} (${hours > 0 ? 'h:m' : ''}m:ss.mmm)`;
  }
  return elapsed >= 1_000 ? `${seconds.toFixed(3)}s` : `${Number(elapsed.toFixed(3))}ms`;
}
