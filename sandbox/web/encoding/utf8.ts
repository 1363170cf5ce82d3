/**
 * UTF-8, both ways (https://encoding.spec.whatwg.org/#utf-8). A bare engine has no codec.
 *
 * The encoder always returns a fresh `Uint8Array` over a buffer of its exact size, also if a script
 * has replaced built-ins. The decoder keeps the bytes of an unfinished character for the next call.
 * Both are tuned for ASCII, which most JSON is.
 */
import { LATIN1_BYTES_MAX, latin1 } from '../latin1.ts';
import {
  apply,
  charCodeAt,
  fromCharCode,
  min,
  regExpExec,
  slice,
  typedArrayBuffer,
  typedArrayByteLength,
  Uint8ArrayIntrinsic,
  Uint16ArrayIntrinsic,
} from '../primordials.ts';
import { coded } from '../web-idl.ts';

/** What `fatal` throws, with the message and the code of Node.js. */
export const undecodable = (encoding: string): TypeError =>
  coded(
    new TypeError(`The encoded data was not valid for encoding ${encoding}`),
    'ERR_ENCODING_INVALID_ENCODED_DATA',
  );

const NOT_ASCII = /[\u0080-\uffff]/;
const CHUNK = LATIN1_BYTES_MAX;
const REPLACEMENT = 0xfffd;

/** Length of a text in UTF-8, in bytes. */
export function utf8Length(text: string): number {
  if (regExpExec(NOT_ASCII, text) === null) return text.length;
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = charCodeAt(text, i);
    if (code < 0x80) continue;
    if (code < 0x800) bytes += 1;
    else {
      bytes += 2;
      // A surrogate pair has two units and four bytes: the second unit adds none.
      if (isHigh(code) && isLow(charCodeAt(text, i + 1))) i++;
    }
  }
  return bytes;
}

/** Encodes `text`; lone surrogates become U+FFFD. */
export function utf8Encode(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8ArrayIntrinsic(utf8Length(text));
  utf8EncodeInto(text, bytes);
  return bytes;
}

/** Encodes as many whole characters as fit. */
export function utf8EncodeInto(text: string, target: Uint8Array): { read: number; written: number } {
  const room = typedArrayByteLength(target);
  let written = 0;
  let read = 0;
  for (; read < text.length; read++) {
    let code = charCodeAt(text, read);
    if (code < 0x80) {
      if (written >= room) break;
      target[written++] = code;
    } else if (code < 0x800) {
      if (written + 2 > room) break;
      target[written++] = 0xc0 | (code >> 6);
      target[written++] = 0x80 | (code & 0x3f);
    } else {
      const low = isHigh(code) ? charCodeAt(text, read + 1) : 0;
      if (isLow(low)) {
        if (written + 4 > room) break;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        target[written++] = 0xf0 | (code >> 18);
        target[written++] = 0x80 | ((code >> 12) & 0x3f);
        read++;
      } else {
        if (written + 3 > room) break;
        if (code >= 0xd800 && code <= 0xdfff) code = REPLACEMENT;
        target[written++] = 0xe0 | (code >> 12);
      }
      target[written++] = 0x80 | ((code >> 6) & 0x3f);
      target[written++] = 0x80 | (code & 0x3f);
    }
  }
  return { read, written };
}

/** Decodes a whole text. A leading byte order mark is dropped; malformed bytes become U+FFFD. */
export function utf8Decode(bytes: Uint8Array): string {
  const text = utf8DecodeWithoutBom(bytes);
  return charCodeAt(text, 0) === 0xfeff ? slice(text, 1) : text;
}

/** `utf8Decode` that keeps the byte order mark. */
export const utf8DecodeWithoutBom = (bytes: Uint8Array): string =>
  new Utf8Decoder(false).decode(bytes, false);

/**
 * Buffer for the text of a chunk: a unit for each byte, and two more for the character that the
 * first byte ends.
 */
const units = new Uint16ArrayIntrinsic(CHUNK + 2);

/** The decoder: a state machine that can stop between any two bytes. */
export class Utf8Decoder {
  readonly #fatal: boolean;
  /** Bits of the character so far, and how many bytes it still needs. */
  #point = 0;
  #needed = 0;
  /**
   * Bounds of the next byte, which exclude overlong forms, surrogates and points above U+10FFFF.
   */
  #lower = 0x80;
  #upper = 0xbf;

  constructor(fatal: boolean) {
    this.#fatal = fatal;
  }

  /** @throws TypeError on malformed input if `fatal`; the decoder is reset then */
  decode(bytes: Uint8Array, more: boolean): string {
    const length = typedArrayByteLength(bytes);
    let text = '';
    for (let start = 0; start < length; start += CHUNK) {
      const end = min(start + CHUNK, length);
      const chunk = this.#needed === 0 ? latin1(bytes, start, end - start) : undefined;
      const ascii = chunk !== undefined && regExpExec(NOT_ASCII, chunk) === null;
      text += ascii ? chunk : this.#decodeBytes(bytes, start, end);
    }
    if (!more && this.#needed > 0) {
      this.#reset();
      text += fromCharCode(this.#malformed());
    }
    return text;
  }

  #decodeBytes(bytes: Uint8Array, start: number, end: number): string {
    let count = 0;
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      if (this.#needed === 0) {
        if (byte < 0x80) units[count++] = byte;
        else if (!this.#begin(byte)) units[count++] = this.#malformed();
        continue;
      }
      if (byte < this.#lower || byte > this.#upper) {
        this.#reset();
        units[count++] = this.#malformed();
        i--;
        continue;
      }
      this.#lower = 0x80;
      this.#upper = 0xbf;
      this.#point = (this.#point << 6) | (byte & 0x3f);
      if (--this.#needed > 0) continue;
      const point = this.#point;
      if (point < 0x10000) units[count++] = point;
      else {
        units[count++] = 0xd7c0 + (point >> 10);
        units[count++] = 0xdc00 | (point & 0x3ff);
      }
    }
    return apply(
      fromCharCode,
      undefined,
      new Uint16ArrayIntrinsic(typedArrayBuffer(units), 0, count) as never,
    );
  }

  /** Reads a lead byte. @returns false for any other byte */
  #begin(byte: number): boolean {
    if (byte >= 0xc2 && byte <= 0xdf) {
      this.#needed = 1;
      this.#point = byte & 0x1f;
    } else if (byte >= 0xe0 && byte <= 0xef) {
      if (byte === 0xe0) this.#lower = 0xa0;
      if (byte === 0xed) this.#upper = 0x9f;
      this.#needed = 2;
      this.#point = byte & 0xf;
    } else if (byte >= 0xf0 && byte <= 0xf4) {
      if (byte === 0xf0) this.#lower = 0x90;
      if (byte === 0xf4) this.#upper = 0x8f;
      this.#needed = 3;
      this.#point = byte & 0x7;
    } else {
      return false;
    }
    return true;
  }

  #malformed(): number {
    if (!this.#fatal) return REPLACEMENT;
    this.#reset();
    throw undecodable('utf-8');
  }

  #reset(): void {
    this.#needed = 0;
    this.#lower = 0x80;
    this.#upper = 0xbf;
  }
}

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;
