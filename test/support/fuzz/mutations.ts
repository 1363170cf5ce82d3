/**
 * Makes hostile inputs: valid ones with a few changes, so that they pass a parser's first checks.
 * Changes insert what has broken parsers before: values beside a limit, ends of lines or strings,
 * names that have a meaning in JavaScript, invalid text.
 */
import type { Chance } from './fuzz.ts';

const NUMBERS = [
  ...[0, -0, -1, 1, 2, 7, 8, 9, 16, 64, 99, 199, 200, 204, 255, 256, 257, 304, 599, 600, 999, 1_000, 1_001],
  ...[9_999, 10_000, 65_535, 65_536, 3_600_000, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 32 - 1, 2 ** 32],
  ...[2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e21, 1e308, -1e308, 5e-324, 0.1, 1.5],
];

/** Pieces of text that have broken parsers. */
export const HOSTILE_TEXTS = [
  ...['', ' ', '\0', '\t', '\n', '\r', '\r\n', '\r\n\r\n', '\u0085', '\u2028', '\ufeff', '\x7f', '\x1b[2J'],
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'then',
    'length',
    'NaN',
    'Infinity',
  ],
  ...['null', 'undefined', 'true', '-0', '0x10', '1e999', '9007199254740993', '00', '+1', '١'],
  ...[
    '\ud800',
    '\udc00',
    'é',
    'ÿ',
    'ﬀ',
    '日本',
    '😀',
    'İ',
    '%',
    '%00',
    '%0d%0a',
    '%zz',
    '..',
    '../',
    '/',
    '\\',
    '//',
  ],
  ...[
    '"',
    "'",
    '`',
    '\\"',
    ',',
    ';',
    ':',
    '=',
    '&',
    '?',
    '#',
    '*',
    '(',
    ')',
    '{',
    '}',
    '[',
    ']',
    '<',
    '>',
    '--',
    '|',
  ],
];
/** Invalid text, or text that only some parsers accept. */
const HOSTILE_BYTES = [
  ...[
    [0],
    [0xff],
    [0xc0, 0x80],
    [0xe0, 0x80, 0xaf],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xef, 0xbb, 0xbf],
  ],
  ...[
    [0xc3],
    [0xff, 0xff, 0xff, 0xff],
    [0, 0, 0, 0],
    [0, 0, 0, 0x80],
    [0x0d, 0x0a],
    [0x0d],
    [0x0a],
    [0x1f, 0x8b],
  ],
].map((bytes) => Buffer.from(bytes));
const REPEATS = [2, 3, 17, 65, 257, 1_025];
/** Largest input: larger ones are slow, and find no more than small ones. */
const LENGTH_MAX = 8 * 1024;
/** Lists and objects of one input. */
const VALUES_MAX = 3_000;
/** Total length of its texts. */
const TEXT_CHARS_MAX = 256 * 1024;

/** How many places of an input are changed: mostly one, rarely many, sometimes none. */
function rounds(random: Chance): number {
  let count = random.once(40) ? 0 : 1;
  while (count > 0 && count < 8 && random.once(2)) count += 1;
  return count;
}

/** Changes one of these texts. @param words of the language in question */
export function mutateText(random: Chance, corpus: readonly string[], words: readonly string[] = []): string {
  let text = random.pick(corpus);
  for (let left = rounds(random); left > 0; left -= 1) text = mutateTextOnce(random, text, corpus, words);
  return text.slice(0, LENGTH_MAX);
}

function mutateTextOnce(
  random: Chance,
  text: string,
  corpus: readonly string[],
  words: readonly string[],
): string {
  const from = random.below(text.length + 1);
  const to = Math.min(text.length, from + random.below(random.once(4) ? text.length + 1 : 8));
  const insert = (piece: string, end = from): string => text.slice(0, from) + piece + text.slice(end);
  switch (random.below(8)) {
    case 0:
      return insert('', to);
    case 1:
      return insert(text.slice(from, to).repeat(random.pick(REPEATS)).slice(0, LENGTH_MAX), to);
    case 2:
      return insert(random.pick(HOSTILE_TEXTS), random.once(2) ? from : to);
    case 3:
    case 4:
      return insert(random.pick(words.length > 0 ? words : HOSTILE_TEXTS), random.once(2) ? from : to);
    case 5: {
      const other = random.pick(corpus);
      return text.slice(0, from) + other.slice(random.below(other.length + 1));
    }
    case 6:
      return insert(String(random.pick(NUMBERS)), to);
    default:
      return insert(String.fromCharCode(random.below(random.once(4) ? 0x10000 : 0x80)), from + 1);
  }
}

/** Changes one of these byte strings. @param words of the format in question */
export function mutateBytes(
  random: Chance,
  corpus: readonly Uint8Array[],
  words: readonly string[] = [],
): Buffer {
  let bytes: Buffer = Buffer.from(random.pick(corpus));
  for (let left = rounds(random); left > 0; left -= 1) bytes = mutateBytesOnce(random, bytes, corpus, words);
  return bytes;
}

function mutateBytesOnce(
  random: Chance,
  bytes: Buffer,
  corpus: readonly Uint8Array[],
  words: readonly string[],
): Buffer {
  const from = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, from + random.below(random.once(4) ? bytes.length + 1 : 8));
  const insert = (piece: Uint8Array, end = from): Buffer =>
    Buffer.concat([bytes.subarray(0, from), piece, bytes.subarray(end)]);
  switch (random.below(8)) {
    case 0:
      return insert(Buffer.alloc(0), to);
    case 1:
      return insert(Buffer.concat([bytes.subarray(from, to), bytes.subarray(from, to)]), to);
    case 2:
      return insert(random.pick(HOSTILE_BYTES), random.once(2) ? from : to);
    case 3:
    case 4: {
      const word = random.pick(words.length > 0 ? words : HOSTILE_TEXTS);
      return insert(Buffer.from(word), random.once(2) ? from : to);
    }
    case 5: {
      const other = random.pick(corpus);
      return Buffer.concat([bytes.subarray(0, from), other.subarray(random.below(other.length + 1))]);
    }
    case 6: {
      const number = Buffer.alloc(4);
      number.writeUInt32LE(random.pick(NUMBERS) >>> 0);
      return insert(number, Math.min(bytes.length, from + 4));
    }
    default: {
      const at = random.below(bytes.length);
      if (bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
    }
  }
}

/** Any plain value: what JSON can express, and with `beyond` also what it cannot. */
export function hostileValue(random: Chance, beyond = false): unknown {
  switch (random.below(beyond ? 9 : 7)) {
    case 0:
    case 1:
      return random.pick(NUMBERS);
    case 2:
      return random.pick(HOSTILE_TEXTS);
    case 3:
      return random.pick(HOSTILE_TEXTS).repeat(random.pick([1, 2, 256, 257, 2_048, 2_049, 65_537]));
    case 4:
      return random.pick([null, true, false]);
    case 5:
      return random.pick([
        [],
        {},
        [[]],
        [null],
        { length: 1 },
        JSON.parse('{"__proto__":{"polluted":true}}'),
      ]);
    case 6:
      return nested(random.pick([2, 40, 400]), random.once(2));
    case 7:
      return random.pick([
        undefined,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        1n,
        Symbol('x'),
        () => 1,
        new Date(0),
      ]);
    default:
      return random.pick([
        new ArrayBuffer(0),
        new ArrayBuffer(65_537),
        new Uint8Array(3),
        new String('x'),
        /x/,
      ]);
  }
}

function nested(depth: number, inLists: boolean): unknown {
  let value: unknown = 1;
  for (let left = depth; left > 0; left -= 1) value = inLists ? [value] : { a: value };
  return value;
}

/**
 * Changes one of these JSON values: members change type, disappear, are duplicated, change places.
 */
export function mutateJson(random: Chance, corpus: readonly unknown[]): unknown {
  let value: unknown = structuredClone(random.pick(corpus));
  for (let left = rounds(random); left > 0; left -= 1) value = mutateJsonOnce(random, value, corpus);
  return value;
}

/** Every list and object of a value, itself first; a shared one as often as it occurs. */
function holders(value: unknown, found: object[] = []): object[] {
  if (typeof value !== 'object' || value === null || found.length > VALUES_MAX) return found;
  found.push(value);
  for (const member of Object.values(value)) holders(member, found);
  return found;
}

/** Values with cycles, or of megabytes, cannot be JSON. */
function isTooLarge(value: unknown): boolean {
  const inside = holders(value);
  if (inside.length > VALUES_MAX) return true;
  const texts = inside
    .flatMap((holder) => Object.values(holder))
    .filter((member) => typeof member === 'string');
  return texts.reduce((sum, text) => sum + text.length, 0) > TEXT_CHARS_MAX;
}

function mutateJsonOnce(random: Chance, value: unknown, corpus: readonly unknown[]): unknown {
  const inside = holders(value);
  if (inside.length === 0 || random.once(30)) return hostileValue(random);
  const holder = random.pick(inside) as Record<string, unknown>;
  const keys = Object.keys(holder);
  const key = keys.length === 0 ? 'x' : random.pick(keys);
  // Not by assignment, which would make `__proto__` the prototype instead of a member.
  const set = (name: string, member: unknown): void => {
    const enumerable = { enumerable: true, configurable: true, writable: true };
    if (Array.isArray(holder)) holder.push(member);
    else Object.defineProperty(holder, name, { value: member, ...enumerable });
  };
  switch (random.below(7)) {
    case 0:
      delete holder[key];
      break;
    case 1:
      set(random.pick(HOSTILE_TEXTS), hostileValue(random));
      break;
    case 2:
      set('__proto__', random.pick(inside));
      break;
    case 3: {
      const others = holders(random.pick(corpus)).flatMap((other) => Object.values(other));
      holder[key] = structuredClone(random.pick([...others, null]));
      break;
    }
    case 4:
      if (Array.isArray(holder))
        for (let left = random.pick(REPEATS); left > 0; left -= 1) holder.push(holder[0]);
      else if (typeof holder[key] === 'string') holder[key] = mutateText(random, [holder[key]]);
      break;
    default:
      holder[key] = hostileValue(random);
  }
  return isTooLarge(value) ? hostileValue(random) : value;
}
