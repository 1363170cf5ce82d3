/**
 * A drawing as an indented tree: each element with its properties, and below it what it contains.
 * Other objects and lists in properties are shown the same way.
 */
import { type Output, paint } from '../terminal/output.ts';

/** Attack: a component that draws more than a terminal can show. */
const LINES_MAX = 2_000;
const TEXT_CHARS_MAX = 200;

type Properties = Readonly<Record<string, unknown>>;

export function showTree(output: Pick<Output, 'line'>, element: unknown): void {
  const lines: { depth: number; name: string; rest: string }[] = [];
  gather(element, 0, lines);
  for (const { depth, name, rest } of lines.slice(0, LINES_MAX))
    output.line('  '.repeat(depth), paint('cyan', name), rest);
  if (lines.length > LINES_MAX) output.line(`… ${lines.length - LINES_MAX} more lines: use --json`);
}

function gather(value: unknown, depth: number, lines: { depth: number; name: string; rest: string }[]): void {
  if (Array.isArray(value)) {
    for (const item of value) gather(item, depth, lines);
    return;
  }
  if (!isObject(value)) {
    lines.push({ depth, name: '', rest: shown(value) });
    return;
  }
  const { type, ...properties } = value;
  const plain = Object.entries(properties).filter(([, inner]) => !isElements(inner));
  const rest = plain.map(([name, inner]) => ` ${name}=${shown(inner)}`).join('');
  lines.push({ depth, name: typeof type === 'string' ? type : 'object', rest });
  for (const [name, inner] of Object.entries(properties)) {
    if (!isElements(inner)) continue;
    if (name === 'children') gather(inner, depth + 1, lines);
    else {
      lines.push({ depth: depth + 1, name: `${name}:`, rest: '' });
      gather(inner, depth + 2, lines);
    }
  }
}

/** An element, or a list that holds one. */
const isElements = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.some((item) => isElements(item))
    : isObject(value) && typeof value['type'] === 'string';

const isObject = (value: unknown): value is Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;
}
