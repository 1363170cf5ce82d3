/**
 * `node:buffer`: `Buffer`, a `Uint8Array` with the methods of Node.js. It is a class of the bundle:
 * each bundle that uses it has its own, and it is not a global.
 *
 * It has no pool: no buffer shares its memory with another one that did not come from it.
 */
import limits from 'node-tables/buffer.json';
import { checkBytes, encodingOf, isArrayBuffer, METHODS, order, place, shown } from './buffer-methods.ts';
import { numberMethods, outOfBounds } from './buffer-numbers.ts';
import { encodingNamed } from './buffer-text.ts';
import { invalidArgType, validateNumber } from './errors.ts';

export interface Bytes extends Uint8Array<ArrayBuffer> {
  toString(encoding?: unknown, start?: number, end?: number): string;
  write(text: string, ...place: (number | string | undefined)[]): number;
  equals(other: Uint8Array): boolean;
  fill(value: unknown, ...place: unknown[]): this;
  subarray(start?: number, end?: number): Bytes;
  readonly [other: string]: unknown;
}
export interface BufferClass {
  (...parts: unknown[]): Bytes;
  new (...parts: unknown[]): Bytes;
  readonly prototype: Bytes;
  poolSize: number;
  from(value: unknown, encoding?: unknown, length?: unknown): Bytes;
  alloc(size: number, fill?: unknown, encoding?: unknown): Bytes;
  allocUnsafe(size: number): Bytes;
  allocUnsafeSlow(size: number): Bytes;
  byteLength(value: unknown, encoding?: unknown): number;
  compare(one: unknown, other: unknown): number;
  concat(list: readonly Uint8Array[], length?: number): Bytes;
  copyBytesFrom(view: unknown, offset?: number, length?: number): Bytes;
  isBuffer(value: unknown): value is Bytes;
  isEncoding(encoding: unknown): boolean;
  of(...bytes: number[]): Bytes;
}

export const kMaxLength = limits.MAX_LENGTH;
export const kStringMaxLength = limits.MAX_STRING_LENGTH;
export const constants = { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kStringMaxLength };

/** What makes a buffer; `Buffer` itself is a function, so that old code can call it. */
class FastBuffer extends Uint8Array<ArrayBuffer> {}
const made = (bytes: Uint8Array): Bytes =>
  new FastBuffer(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length) as unknown as Bytes;
const sized = (size: number): Bytes => made(new Uint8Array(size));

function from(value: unknown, encoding?: unknown, length?: unknown): Bytes {
  if (typeof value === 'string') {
    const named = typeof encoding === 'string' && encoding !== '';
    return made(encodingOf(named ? encoding : 'utf8').bytes(value));
  }
  if (isArrayBuffer(value)) return fromArrayBuffer(value, encoding, length);
  if (typeof value === 'object' && value !== null) {
    const plain: unknown = value.valueOf?.();
    const other = plain !== value && plain !== null && plain !== undefined;
    if (other && (typeof plain === 'string' || typeof plain === 'object'))
      return from(plain, encoding, length);
    const listed = fromObject(value as ArrayLike<unknown>);
    if (listed !== undefined) return listed;
    const { [Symbol.toPrimitive]: toPrimitive } = value as { [Symbol.toPrimitive]?: unknown };
    const text =
      typeof toPrimitive === 'function' ? Reflect.apply(toPrimitive, value, ['string']) : undefined;
    if (typeof text === 'string') return from(text, encoding);
  }
  const kinds = ['string', 'Buffer', 'ArrayBuffer', 'Array', 'Array-like Object'];
  throw invalidArgType('first argument', kinds, value);
}

function fromArrayBuffer(buffer: ArrayBuffer, givenOffset: unknown, givenLength: unknown): Bytes {
  const offset = Number(givenOffset ?? 0) || 0;
  const most = buffer.byteLength - offset;
  if (most < 0) throw outOfBounds('offset');
  const length = givenLength === undefined ? most : Math.max(Number(givenLength) || 0, 0);
  if (length > most) throw outOfBounds('length');
  return new FastBuffer(buffer, offset, length) as unknown as Bytes;
}

function fromObject(value: ArrayLike<unknown> & { type?: unknown; data?: unknown; buffer?: unknown }) {
  if (value.length !== undefined || isArrayBuffer(value.buffer)) {
    return typeof value.length === 'number' ? copyOf(value as ArrayLike<number>) : sized(0);
  }
  return value.type === 'Buffer' && Array.isArray(value.data) ? copyOf(value.data) : undefined;
}

function copyOf(list: ArrayLike<number>): Bytes {
  const bytes = sized(Math.max(list.length, 0) || 0);
  if (ArrayBuffer.isView(list)) bytes.set(list);
  else for (let at = 0; at < bytes.length; at++) bytes[at] = list[at] as number;
  return bytes;
}

function alloc(size: number, fill?: unknown, encoding?: unknown): Bytes {
  validateNumber(size, 'size', 0, kMaxLength);
  const bytes = sized(size);
  return fill === undefined || fill === 0 || size === 0 ? bytes : bytes.fill(fill, encoding);
}

export const Buffer = function (this: unknown, value: unknown, encoding?: unknown, length?: unknown): Bytes {
  if (typeof value !== 'number') return from(value, encoding, length);
  if (typeof encoding === 'string') throw invalidArgType('string', 'string', value);
  return alloc(value);
} as unknown as BufferClass;
Object.defineProperty(Buffer, 'name', { value: 'Buffer' });
Object.setPrototypeOf(Buffer, Uint8Array);
Object.defineProperty(Buffer, Symbol.species, { configurable: true, get: () => FastBuffer });
Object.defineProperty(Buffer, 'prototype', { value: FastBuffer.prototype });
Object.defineProperty(FastBuffer.prototype, 'constructor', {
  value: Buffer,
  writable: true,
  configurable: true,
});

Object.assign(Buffer, {
  poolSize: 8_192,
  from,
  alloc,
  allocUnsafe: (size: number) => alloc(size),
  allocUnsafeSlow: (size: number) => alloc(size),
  of: (...bytes: number[]) => copyOf(bytes),
  isBuffer: (value: unknown) => value instanceof FastBuffer,
  isEncoding: (name: unknown) => typeof name === 'string' && name !== '' && encodingNamed(name) !== undefined,

  byteLength(value: unknown, encoding?: unknown): number {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
    if (typeof value !== 'string') throw invalidArgType('string', ['string', 'Buffer', 'ArrayBuffer'], value);
    return (encodingNamed(encoding) ?? encodingOf('utf8')).length(value);
  },

  compare(one: unknown, other: unknown): number {
    checkBytes(one, 'buf1');
    checkBytes(other, 'buf2');
    return order(one, other);
  },

  concat(list: readonly Uint8Array[], length?: number): Bytes {
    if (!Array.isArray(list)) throw invalidArgType('list', 'Array', list);
    const sum = list.reduce((bytes, { length: more }) => bytes + (more || 0), 0);
    const joined = sized(list.length === 0 ? 0 : place(length, 'length', sum, kMaxLength));
    let at = 0;
    for (const [index, bytes] of list.entries()) {
      checkBytes(bytes, `list[${index}]`);
      const room = joined.length - at;
      joined.set(bytes.length > room ? bytes.subarray(0, room) : bytes, at);
      at += Math.min(bytes.length, room);
    }
    return joined;
  },

  copyBytesFrom(view: unknown, offset?: number, length?: number): Bytes {
    if (!ArrayBuffer.isView(view) || view instanceof DataView)
      throw invalidArgType('view', 'TypedArray', view);
    const list = view as Uint8Array<ArrayBuffer>;
    const start = Math.min(place(offset, 'offset', 0), list.length);
    const part = list.subarray(start, start + place(length, 'length', list.length));
    return made(new Uint8Array(part.buffer, part.byteOffset, part.byteLength).slice());
  },
});

for (const [name, value] of [...Object.entries(METHODS), ...Object.entries(numberMethods())]) {
  Object.defineProperty(FastBuffer.prototype, name, { value, writable: true, configurable: true });
}
const CUSTOM = Symbol.for('nodejs.util.inspect.custom');
Object.defineProperties(FastBuffer.prototype, {
  [CUSTOM]: { value: METHODS[CUSTOM], writable: true, configurable: true },
  parent: {
    get(this: Uint8Array) {
      return this instanceof FastBuffer ? this.buffer : undefined;
    },
  },
  offset: {
    get(this: Uint8Array) {
      return this instanceof FastBuffer ? this.byteOffset : undefined;
    },
  },
});

function checkInput(input: unknown): Uint8Array {
  if (input instanceof ArrayBuffer) return new Uint8Array(input);
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  throw invalidArgType('input', ['ArrayBuffer', 'Buffer', 'TypedArray'], input);
}

export function isUtf8(input: unknown): boolean {
  const bytes = checkInput(input);
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes as Uint8Array<ArrayBuffer>);
    return true;
  } catch {
    return false;
  }
}
export const isAscii = (input: unknown): boolean => checkInput(input).every((byte) => byte < 128);

const TRANSCODED = ['ascii', 'latin1', 'utf16le', 'utf8'];

/** The bytes of a text in another encoding; `?` for a character that it does not have. */
export function transcode(source: unknown, fromEncoding: unknown, toEncoding: unknown): Bytes {
  checkBytes(source, 'source');
  const [before, after] = [encodingNamed(fromEncoding), encodingNamed(toEncoding)];
  if (
    before === undefined ||
    after === undefined ||
    ![before, after].every(({ name }) => TRANSCODED.includes(name))
  ) {
    const code = 'U_ILLEGAL_ARGUMENT_ERROR';
    throw Object.assign(new Error(`Unable to transcode Buffer [${code}]`), { code, errno: 1 });
  }
  const most = after.name === 'ascii' ? 0x7f : after.name === 'latin1' ? 0xff : 0x10ffff;
  const text = Array.from(before.text(source), (character) =>
    (character.codePointAt(0) as number) > most ? '?' : character,
  );
  return made(after.bytes(text.join('')));
}

/** There are no `blob:` URLs. */
export const resolveObjectURL = (_id: string): undefined => undefined;

const { Blob, File } = globalThis as unknown as Record<string, unknown>;
const { atob, btoa } = globalThis;
const module = {
  Buffer,
  Blob,
  File,
  atob,
  btoa,
  constants,
  isAscii,
  isUtf8,
  kMaxLength,
  kStringMaxLength,
  resolveObjectURL,
  transcode,
};

export const INSPECT_MAX_BYTES = shown.bytes;
export { atob, Blob, btoa, File };
export default Object.defineProperty(
  module as typeof module & { INSPECT_MAX_BYTES: number },
  'INSPECT_MAX_BYTES',
  {
    configurable: true,
    enumerable: true,
    get: () => shown.bytes,
    set(value: unknown) {
      validateNumber(value, 'INSPECT_MAX_BYTES', 0);
      shown.bytes = value;
    },
  },
);
