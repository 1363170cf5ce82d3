/**
 * `node:string_decoder`: text of bytes that arrive in pieces, without a broken character where a
 * piece ends (https://nodejs.org/api/string_decoder.html).
 *
 * The class is a function, because old code calls it without `new`.
 */
import { Buffer } from './buffer.ts';
import { invalidArgType, invalidThis, nodeError } from './errors.ts';

type Bytes = InstanceType<typeof Buffer>;
interface Decoder {
  encoding: string;
  /** Bytes of a character, or of a group of base64, whose rest has not come yet. */
  lastChar: Bytes;
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
  decoder.lastChar = NOTHING;
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
    const total =
      lead >= 0xf0 && lead <= 0xf4
        ? 4
        : lead >= 0xe0 && lead < 0xf0
          ? 3
          : lead >= 0xc2 && lead < 0xe0
            ? 2
            : 0;
    if (have >= total || !canFollow(lead, bytes[bytes.length - have + 1])) return [0, 0];
    return [have, total];
  }
  return [0, 0];
}

/** Whether the byte after the first one is of a character at all: no surrogate, none too long. */
function canFollow(lead: number, second: number | undefined): boolean {
  if (second === undefined) return true;
  if (lead === 0xe0) return second >= 0xa0;
  if (lead === 0xed) return second < 0xa0;
  if (lead === 0xf0) return second >= 0x90;
  return lead !== 0xf4 || second < 0x90;
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
    const bytes = this.lastChar.length === 0 ? piece : Buffer.concat([this.lastChar, piece]);
    const isShort = bytes.length < this.lastTotal && this.encoding === 'utf16le';
    const [have, total] = isShort ? [bytes.length, this.lastTotal] : begun(this.encoding, bytes);
    this.lastChar = have === 0 ? NOTHING : Buffer.from(bytes.subarray(bytes.length - have));
    this.lastTotal = total;
    this.lastNeed = total - have;
    return textOf(bytes.subarray(0, bytes.length - have) as Bytes, this.encoding);
  },
  end(this: Decoder, value?: unknown): string {
    const text = value === undefined ? '' : this.write(value);
    const rest = textOf(this.lastChar, this.encoding);
    reset(this);
    return text + rest;
  },
  text(this: Decoder, bytes: Bytes, from: number): string {
    reset(this);
    return this.write(bytes.subarray(from));
  },
});

export default { StringDecoder };
