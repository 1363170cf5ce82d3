/** The small texts of an inspection: primitives, keys, and entries laid out on lines. */
import type { List } from '../list.ts';
import {
  bigIntToString,
  indexOf,
  jsonStringify,
  regExpExec,
  repeat,
  slice,
  symbolToString,
} from '../primordials.ts';

const LINE_CHARS_MAX = 76;
const KEY_CHARS_MAX = 128;
/** Attack: a BigInt of millions of digits, which V8 writes out for seconds without interruption. */
const BIGINT_MAX = 2n ** 1024n;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const INDEX = /^(?:0|[1-9]\d{0,9})$/;

export function primitiveText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quote(value);
    case 'bigint':
      return value < BIGINT_MAX && value > -BIGINT_MAX
        ? `${bigIntToString(value)}n`
        : '[BigInt too long to show]';
    case 'symbol':
      return slice(symbolToString(value), 0, KEY_CHARS_MAX);
    case 'number':
      return value === 0 && 1 / value < 0 ? '-0' : `${value}`;
    default:
      return `${value as boolean | null | undefined}`;
  }
}

/** In single quotes, with control characters escaped. */
export function quote(text: string): string {
  const escaped = jsonStringify(slice(text, 0, 10_000));
  const more = text.length > 10_000 ? `... ${text.length - 10_000} more characters` : '';
  if (indexOf(escaped, '\\"') < 0 && indexOf(escaped, "'") < 0) return `'${slice(escaped, 1, -1)}'${more}`;
  // With both kinds of quotes inside, JSON is more readable.
  if (indexOf(text, "'") >= 0) return `${escaped}${more}`;
  let single = '';
  let start = 1;
  for (let at = indexOf(escaped, '\\"', start); at >= 0; at = indexOf(escaped, '\\"', start)) {
    single += `${slice(escaped, start, at)}"`;
    start = at + 2;
  }
  return `'${single}${slice(escaped, start, -1)}'${more}`;
}

export function keyText(key: string | symbol): string {
  if (typeof key === 'symbol') return `[${slice(symbolToString(key), 0, KEY_CHARS_MAX)}]`;
  const name = slice(key, 0, KEY_CHARS_MAX);
  return regExpExec(IDENTIFIER, name) === null ? quote(name) : name;
}

export const isIndex = (key: string | symbol): boolean =>
  typeof key === 'string' && regExpExec(INDEX, key) !== null;

/**
 * Entries between their braces: on one line if they fit, otherwise one on each line.
 *
 * @param depth how deep the object stands; its lines are indented by that
 * @param before characters that stand before the entries on the first line
 * @param wrap put several entries on a line, as for the elements of an array
 */
export function layOut(entries: List<string>, depth: number, before: number, wrap: boolean): string {
  if (entries.length === 0) return '';
  let total = before + depth * 2;
  let flat = true;
  for (let i = 0; i < entries.length; i++) {
    total += (entries[i] as string).length + 2;
    if (indexOf(entries[i] as string, '\n') >= 0) flat = false;
  }
  const single = flat && total <= LINE_CHARS_MAX;
  const margin = repeat('  ', depth);
  let text = '';
  let line = 0;
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as string;
    const goesOn = single || (wrap && flat && i > 0 && line + entry.length <= LINE_CHARS_MAX);
    text += `${i === 0 ? '' : ','}${goesOn ? ' ' : `\n${margin}  `}${entry}`;
    line = (goesOn ? line : depth * 2) + entry.length + 2;
  }
  return single ? `${text} ` : `${text}\n${margin}`;
}
