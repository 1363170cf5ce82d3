/**
 * `node:string_decoder`: text of bytes that arrive in pieces, without a broken character where a
 * piece ends (https://nodejs.org/api/string_decoder.html).
 *
 * The class is a function, because old code calls it without `new`.
 */
import { Buffer } from './buffer.ts';
import { invalidArgType, invalidThis, nodeError } from './errors.ts';

type Bytes = InstanceType<typeof Buffer>;
/** Bytes of a character, or of a group of base64, whose rest has not come yet. */
const BEGUN = Symbol('begun');
interface Decoder {
  encoding: string;
  [BEGUN]: Bytes;
  /** How many of its bytes have not come yet. */
  lastNeed: number;
  /** How many bytes it has. */
  lastTotal: number;
  write(bytes: unknown): string;
  end(bytes?: unknown): string;
  text(bytes: Bytes, from: number): string;
}

const NAMES: Readonly<Record<string, string>> = {
  utf8: 'utf8',
  'utf-8': 'utf8',
  ucs2: 'utf16le',
  'ucs-2': 'utf16le',
  utf16le: 'utf16le',
  'utf-16le': 'utf16le',
  latin1: 'latin1',
  binary: 'latin1',
  base64: 'base64',
  base64url: 'base64url',
  ascii: 'ascii',
  hex: 'hex',
};
const NOTHING = Buffer.alloc(0);

export const StringDecoder = function (this: Decoder, encoding?: unknown): void {
  const name = encoding ? NAMES[String(encoding).toLowerCase()] : 'utf8';
  if (name === undefined) {
    throw nodeError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${String(encoding)}`);
  }
  this.encoding = name;
  reset(this);
} as unknown as { new (encoding?: unknown): Decoder; (this: Decoder, encoding?: unknown): void };

Object.defineProperty(StringDecoder, 'name', { value: 'StringDecoder' });

/** What is no text becomes U+FFFD as the web platform does it. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const textOf = (bytes: Bytes, encoding: string): string =>
  encoding === 'utf8' ? utf8.decode(bytes) : bytes.toString(encoding);

function reset(decoder: Decoder): void {
  decoder[BEGUN] = NOTHING;
  decoder.lastNeed = 0;
  decoder.lastTotal = 0;
}

function bytesOf(value: unknown): Bytes {
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset as never, value.byteLength);
  throw invalidArgType('buf', ['Buffer', 'TypedArray', 'DataView'], value);
}

/** How many bytes at the end of these are the beginning of something, and how long that is. */
function begun(encoding: string, bytes: Uint8Array): [have: number, total: number] {
  if (encoding === 'utf8') return begunUtf8(bytes);
  if (encoding === 'utf16le') return begunUtf16(bytes);
  const rest = encoding.startsWith('base64') ? bytes.length % 3 : 0;
  return [rest, rest === 0 ? 0 : 3];
}

function begunUtf8(bytes: Uint8Array): [number, number] {
  for (let have = 1; have <= Math.min(3, bytes.length); have++) {
    const lead = bytes[bytes.length - have] as number;
    if (lead >> 6 === 0b10) continue;
    const total = lead >> 5 === 0b110 ? 2 : lead >> 4 === 0b1110 ? 3 : lead >> 3 === 0b11110 ? 4 : 0;
    return have < total ? [have, total] : [0, 0];
  }
  return [0, 0];
}

/** A surrogate waits for its other half only where a piece ends with it. */
function begunUtf16(bytes: Uint8Array): [number, number] {
  if (bytes.length % 2 === 1) return [1, 2];
  const high = bytes[bytes.length - 1];
  return high !== undefined && high >> 2 === 0xd8 >> 2 ? [2, 4] : [0, 0];
}

Object.assign(StringDecoder.prototype, {
  write(this: Decoder, value: unknown): string {
    if (typeof value === 'string') return value;
    const piece = bytesOf(value);
    if (this.encoding === undefined) throw invalidThis('StringDecoder');
    const bytes = this[BEGUN].length === 0 ? piece : Buffer.concat([this[BEGUN], piece]);
    const isShort = bytes.length < this.lastTotal && this.encoding === 'utf16le';
    const [have, total] = isShort ? [bytes.length, this.lastTotal] : begun(this.encoding, bytes);
    this[BEGUN] = have === 0 ? NOTHING : Buffer.from(bytes.subarray(bytes.length - have));
    this.lastTotal = total;
    this.lastNeed = total - have;
    return textOf(bytes.subarray(0, bytes.length - have) as Bytes, this.encoding);
  },
  end(this: Decoder, value?: unknown): string {
    const text = value === undefined ? '' : this.write(value);
    const rest = textOf(this[BEGUN], this.encoding);
    reset(this);
    return text + rest;
  },
  text(this: Decoder, bytes: Bytes, from: number): string {
    reset(this);
    return this.write(bytes.subarray(from));
  },
});

Object.defineProperty(StringDecoder.prototype, 'lastChar', {
  get(this: Decoder): Bytes {
    return Buffer.concat([this[BEGUN]], 4);
  },
  configurable: true,
  enumerable: true,
});

export default { StringDecoder };
