/**
 * The methods that `Buffer` of `node:buffer` adds to `Uint8Array`, but for those of numbers.
 */
import { outOfBounds } from './buffer-numbers.ts';
import { type Encoding, encodingNamed } from './buffer-text.ts';
import {
  invalidArgType,
  invalidArgValue,
  nodeError,
  outOfRange,
  validateBuffer,
  validateInteger,
  validateNumber,
} from './errors.ts';

/** How many bytes `inspect` shows; code may set it. */
export const shown = { bytes: 50 };

const { fill: fillBytes } = Uint8Array.prototype;

export function encodingOf(name: unknown): Encoding {
  const encoding = encodingNamed(name);
  if (encoding === undefined) throw nodeError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`);
  return encoding;
}

export function checkBytes(value: unknown, name: string): asserts value is Uint8Array {
  if (!(value instanceof Uint8Array)) throw invalidArgType(name, ['Buffer', 'Uint8Array'], value);
}

/** An offset, an end or a length. */
export function place(
  value: unknown,
  name: string,
  byDefault: number,
  max = Number.MAX_SAFE_INTEGER,
): number {
  if (value === undefined) return byDefault;
  validateInteger(value, name, 0, max);
  return value;
}

export function order(one: Uint8Array, other: Uint8Array): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const difference = (one[at] as number) - (other[at] as number);
    if (difference !== 0) return difference < 0 ? -1 : 1;
  }
  return Math.sign(one.length - other.length);
}

const { get: byteLengthOf } = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength') ?? {};

/** Not for an object that only inherits from its prototype. */
export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  if (!(value instanceof ArrayBuffer)) return false;
  try {
    return Reflect.apply(byteLengthOf as Function, value, []) >= 0;
  } catch {
    return false;
  }
}

/** A whole number of what code passes for an index; 0 for what is none. */
const index = (value: unknown): number => Math.trunc(Number(value)) || 0;

function textOf(this: Uint8Array, name?: unknown, from?: unknown, to?: unknown): string {
  const start = Math.max(index(from), 0);
  const end = Math.min(to === undefined ? this.length : index(to), this.length);
  const encoding = encodingOf(name);
  return start < end ? encoding.text(start === 0 && end === this.length ? this : part(this, start, end)) : '';
}

const part = (bytes: Uint8Array, start: number, end?: number): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset + start, (end ?? bytes.length) - start);

function write(this: Uint8Array, text: unknown, ...[given, length, name]: unknown[]): number {
  if (typeof text !== 'string') throw invalidArgType('argument', 'string', text);
  if (typeof given === 'string' && length === undefined) return encodingOf(given).write(this, text);
  const offset = place(given, 'offset', 0, this.length);
  const rest = this.length - offset;
  if (typeof length === 'string') return encodingOf(length).write(part(this, offset), text);
  const size = Math.min(place(length, 'length', rest, this.length), rest);
  return encodingOf(name || undefined).write(part(this, offset, offset + size), text);
}

/** Where the search begins; -1 where nothing can be found. */
function startOf(length: number, offset: number, needle: number, forward: boolean): number {
  if (offset < 0) {
    if (offset + length >= 0) return length + offset;
    return forward || needle === 0 ? 0 : -1;
  }
  if (offset + needle <= length) return offset;
  if (needle === 0) return length;
  return forward ? -1 : length - 1;
}

function search(bytes: Uint8Array, forward: boolean, ...[value, given, name]: unknown[]): number {
  const encoding = typeof given === 'string' ? given : name;
  const wanted = Number(typeof given === 'string' ? undefined : given);
  const offset = Number.isNaN(wanted) ? (forward ? 0 : bytes.length) : Math.trunc(wanted);
  if (typeof value === 'number')
    return searchBytes(bytes, Uint8Array.of(value), offset, { unit: 1, forward });
  const needle = typeof value === 'string' ? encodingOf(encoding).bytes(value) : value;
  if (!(needle instanceof Uint8Array)) {
    throw invalidArgType('value', ['number', 'string', 'Buffer', 'Uint8Array'], value);
  }
  const unit = encodingNamed(encoding)?.name === 'utf16le' ? 2 : 1;
  return searchBytes(bytes, needle, offset, { unit, forward });
}

function indexOf(this: Uint8Array, value: unknown, offset?: unknown, encoding?: unknown): number {
  validateBuffer(this);
  return search(this, true, value, offset, encoding);
}

function lastIndexOf(this: Uint8Array, value: unknown, offset?: unknown, encoding?: unknown): number {
  validateBuffer(this);
  return search(this, false, value, offset, encoding);
}

/** @param unit bytes of a character: a match begins where one does */
function searchBytes(
  bytes: Uint8Array,
  needle: Uint8Array,
  offset: number,
  { unit, forward }: { readonly unit: number; readonly forward: boolean },
): number {
  const start = startOf(bytes.length, offset, needle.length, forward);
  if (needle.length === 0 || start < 0) return start;
  if (needle.length > bytes.length || (unit === 2 && (bytes.length < 2 || needle.length < 2))) return -1;
  const [first, last] = [needle[0] as number, bytes.length - needle.length];
  const step = forward ? 1 : -1;
  const find = forward ? Uint8Array.prototype.indexOf : Uint8Array.prototype.lastIndexOf;
  let at = forward ? start : Math.min(start, last);
  while (at >= 0 && at <= last) {
    at = find.call(bytes, first, at);
    if (at < 0 || at > last) return -1;
    if (at % unit === 0 && matches(bytes, needle, at)) return at;
    at += step;
  }
  return -1;
}

function matches(bytes: Uint8Array, needle: Uint8Array, from: number): boolean {
  for (let at = 1; at < needle.length; at++) if (bytes[from + at] !== needle[at]) return false;
  return true;
}

function fill(this: Uint8Array, value: unknown, ...[from, to, name]: unknown[]): Uint8Array {
  const text = typeof value === 'string';
  // In place of an offset or of an end there may be the encoding.
  const [start, end, encoding] =
    text && typeof from === 'string'
      ? [undefined, undefined, from]
      : text && typeof to === 'string'
        ? [from, undefined, to]
        : [from, to, name];
  if (text && encoding !== undefined && encoding !== null && typeof encoding !== 'string') {
    throw invalidArgType('encoding', 'string', encoding);
  }
  const pattern = text ? textPattern(value, encoding ?? undefined) : value;
  if (start !== undefined) validateNumber(start, 'offset', 0);
  if (start !== undefined && end !== undefined) validateNumber(end, 'end', 0, this.length);
  const first = index(start);
  const last = start === undefined || end === undefined ? this.length : index(end);
  if (first >= last) return this;
  if (first > this.length) throw outOfRange('offset', `>= 0 && <= ${this.length}`, start);
  if (!(pattern instanceof Uint8Array)) return fillBytes.call(this, Number(pattern) & 255, first, last);
  if (pattern.length === 0) throw invalidArgValue('value', value);
  repeat(part(this, first, last), pattern);
  return this;
}

/** What `fill` repeats for a text: its bytes, or the byte 0 for the empty text. */
function textPattern(text: string, name: unknown): Uint8Array | number {
  const encoding = encodingOf(name);
  return text === '' ? 0 : encoding.bytes(text);
}

function repeat(target: Uint8Array, pattern: Uint8Array): void {
  target.set(pattern.length > target.length ? pattern.subarray(0, target.length) : pattern);
  for (let done = pattern.length; done < target.length; done *= 2) target.copyWithin(done, 0, done);
}

function compare(this: Uint8Array, target: unknown, ...places: unknown[]): number {
  checkBytes(target, 'target');
  const targetStart = place(places[0], 'targetStart', 0);
  const targetEnd = place(places[1], 'targetEnd', target.length, target.length);
  const sourceStart = place(places[2], 'sourceStart', 0);
  const sourceEnd = place(places[3], 'sourceEnd', this.length, this.length);
  if (sourceStart >= sourceEnd) return targetStart >= targetEnd ? 0 : -1;
  if (targetStart >= targetEnd) return 1;
  return order(part(this, sourceStart, sourceEnd), part(target, targetStart, targetEnd));
}

function copy(this: Uint8Array, target: unknown, ...[to, from, until]: unknown[]): number {
  checkBytes(target, 'target');
  const [targetStart, sourceStart] = [index(to), index(from)];
  if (targetStart < 0) throw outOfRange('targetStart', '>= 0', targetStart);
  if (sourceStart < 0 || sourceStart > this.length) {
    throw outOfRange('sourceStart', `>= 0 && <= ${this.length}`, sourceStart);
  }
  const sourceEnd = until === undefined ? this.length : index(until);
  if (sourceEnd < 0) throw outOfRange('sourceEnd', '>= 0', sourceEnd);
  if (targetStart >= target.length || sourceStart >= sourceEnd) return 0;
  const size = Math.min(sourceEnd - sourceStart, this.length - sourceStart, target.length - targetStart);
  if (size <= 0) return 0;
  target.set(part(this, sourceStart, sourceStart + size), targetStart);
  return size;
}

/** Reverses the bytes of each unit of `size` bytes. */
function swap(bytes: Uint8Array, size: number): Uint8Array {
  if (bytes.length % size !== 0) {
    const message = `Buffer size must be a multiple of ${size * 8}-bits`;
    throw nodeError(RangeError, 'ERR_INVALID_BUFFER_SIZE', message);
  }
  for (let at = 0; at < bytes.length; at += size) part(bytes, at, at + size).reverse();
  return bytes;
}

type Inspect = (value: unknown, options: object) => string;

/** `<Buffer 61 62>`, with the members that code has added. */
function inspected(this: Uint8Array, _depth?: number, options?: object, inspect?: Inspect): string {
  const bytes = [...this.subarray(0, shown.bytes)].map((byte) => byte.toString(16).padStart(2, '0'));
  const more = this.length - shown.bytes;
  const rest = more > 0 ? ` ... ${more} more byte${more > 1 ? 's' : ''}` : '';
  const added = Object.keys(this).slice(this.length);
  const members = Object.fromEntries(added.map((name) => [name, this[name as unknown as number]]));
  const extras =
    added.length > 0 && inspect !== undefined
      ? `${this.length > 0 ? ', ' : ''}${inspect(members, { ...options, breakLength: Number.POSITIVE_INFINITY, compact: true }).slice(2, -2)}`
      : '';
  return `<${this.constructor.name} ${bytes.join(' ')}${rest}${extras}>`;
}

/** `utf8Slice`, `utf8Write` and the like, which encoders of protocols use for speed. */
function methodsOfEncoding(name: string): Record<string, Function> {
  const title = name.toLowerCase();
  return {
    [`${title}Slice`](this: Uint8Array, start?: number, end?: number): string {
      return textOf.call(this, name, start, end);
    },
    [`${title}Write`](this: Uint8Array, text: string, offset = 0, length?: number): number {
      if (offset > this.length) throw outOfBounds('offset');
      return write.call(this, text, offset, Math.min(length ?? this.length, this.length), name);
    },
  };
}

/** All of these methods, by their names. */
export const METHODS: Readonly<Record<PropertyKey, Function>> = {
  ...Object.assign(
    {},
    ...['ascii', 'base64', 'base64url', 'hex', 'latin1', 'ucs2', 'utf8'].map(methodsOfEncoding),
  ),
  toString: textOf,
  toLocaleString: textOf,
  write,
  fill,
  compare,
  copy,
  indexOf,
  lastIndexOf,
  inspect: inspected,
  [Symbol.for('nodejs.util.inspect.custom')]: inspected,

  equals(this: Uint8Array, other: unknown): boolean {
    if (!(other instanceof Uint8Array)) throw invalidArgType('otherBuffer', ['Buffer', 'Uint8Array'], other);
    return this === other || (this.length === other.length && order(this, other) === 0);
  },
  includes(this: Uint8Array, value: unknown, offset?: unknown, encoding?: unknown): boolean {
    return search(this, true, value, offset, encoding) !== -1;
  },
  /** Unlike that of `Uint8Array`, it copies nothing. */
  slice(this: Uint8Array, start?: number, end?: number): Uint8Array {
    return this.subarray(start, end);
  },
  swap16(this: Uint8Array): Uint8Array {
    return swap(this, 2);
  },
  swap32(this: Uint8Array): Uint8Array {
    return swap(this, 4);
  },
  swap64(this: Uint8Array): Uint8Array {
    return swap(this, 8);
  },
  toJSON(this: Uint8Array): object {
    return { type: 'Buffer', data: Array.from(this) };
  },
};
