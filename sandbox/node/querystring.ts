/**
 * `node:querystring` (https://nodejs.org/api/querystring.html).
 *
 * A function that the code replaces, such as `querystring.unescape`, is used from then on, as the
 * documentation of Node.js allows.
 */
import { Buffer } from './buffer.ts';
import { nodeError } from './errors.ts';

type Coder = (text: string) => string;
type Values = Record<string, string | string[]>;

/** Pairs that are read where nothing is said. */
const PAIRS_MAX = 1_000;

/** The bytes of a text with `%XX`; an invalid escape stands for itself. */
export function unescapeBuffer(text: string, spaces = false): InstanceType<typeof Buffer> {
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const pair = bytes[at] === 0x25 ? String.fromCharCode(...bytes.subarray(at + 1, at + 3)) : '';
    const escaped = /^[\da-f]{2}$/i.test(pair);
    const plain = spaces && bytes[at] === 0x2b ? 0x20 : (bytes[at] as number);
    bytes[length++] = escaped ? Number.parseInt(pair, 16) : plain;
    if (escaped) at += 2;
  }
  return bytes.subarray(0, length) as InstanceType<typeof Buffer>;
}

function unescapeText(text: string, spaces?: boolean): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return unescapeBuffer(`${text}`, spaces).toString();
  }
}

function escapeText(value: unknown): string {
  const text = typeof value === 'object' ? String(value) : `${value as string}`;
  // Node.js takes what follows half a character for its other half.
  const whole = text.replace(/([\ud800-\udfff])([\s\S])/g, (_, one: string, two: string) =>
    String.fromCodePoint(0x1_0000 + ((one.charCodeAt(0) & 0x3ff) << 10) + (two.charCodeAt(0) & 0x3ff)),
  );
  if (!whole.isWellFormed()) throw nodeError(URIError, 'ERR_INVALID_URI', 'URI malformed', escapeText);
  return encodeURIComponent(whole);
}

export function stringify(
  values: object | null | undefined,
  separator?: string | null,
  equals?: string | null,
  options?: { encodeURIComponent?: Coder } | null,
): string {
  if (values === null || typeof values !== 'object') return '';
  const given = options?.encodeURIComponent;
  const encode = typeof given === 'function' ? given : querystring.escape;
  const encoded = (value: unknown): string => {
    if (typeof value === 'string') return value === '' ? '' : encode(value);
    if (typeof value === 'boolean' || typeof value === 'bigint') return `${value}`;
    if (typeof value !== 'number' || !Number.isFinite(value)) return '';
    return Math.abs(value) >= 1e21 ? encode(`${value}`) : `${value}`;
  };
  return Object.entries(values)
    .flatMap(([key, value]: [string, unknown]) =>
      (Array.isArray(value) ? value : [value]).map((one) => `${encoded(key)}${equals || '='}${encoded(one)}`),
    )
    .join(separator || '&');
}

export function parse(
  text: string,
  separator?: string | null,
  equals?: string | null,
  options?: { maxKeys?: number; decodeURIComponent?: Coder } | null,
): Values {
  const values: Values = Object.create(null);
  if (typeof text !== 'string' || text === '') return values;
  const most = typeof options?.maxKeys === 'number' ? options.maxKeys : PAIRS_MAX;
  const given = options?.decodeURIComponent;
  const decode = typeof given === 'function' ? given : querystring.unescape;
  const own = decode !== unescapeText;
  const decoded = (part: string): string => {
    const spaced = part.replaceAll('+', own ? '%20' : ' ');
    if (spaced === '' || (!own && !/%[\da-f]{2}/i.test(spaced))) return spaced;
    try {
      return decode(spaced);
    } catch {
      return querystring.unescape(spaced, true);
    }
  };
  const between = `${separator || '&'}`;
  const middle = `${equals || '='}`;
  let from = 0;
  for (let count = 0; from <= text.length && !(most > 0 && count >= most); ) {
    const found = text.indexOf(between, from);
    const pair = text.slice(from, found < 0 ? text.length : found);
    from = found < 0 ? text.length + 1 : found + between.length;
    count++;
    if (pair === '') continue;
    const at = pair.indexOf(middle);
    const key = decoded(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? '' : decoded(pair.slice(at + middle.length));
    const before = values[key];
    if (before === undefined) values[key] = value;
    else if (Array.isArray(before)) before.push(value);
    else values[key] = [before, value];
  }
  return values;
}

const querystring = {
  unescapeBuffer,
  unescape: unescapeText,
  escape: escapeText,
  stringify,
  encode: stringify,
  parse,
  decode: parse,
};

export { escapeText as escape, parse as decode, stringify as encode, unescapeText as unescape };
export default querystring;
