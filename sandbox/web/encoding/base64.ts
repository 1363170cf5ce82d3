/**
 * `atob` and `btoa` (https://html.spec.whatwg.org/multipage/webappapis.html#atob), by the engine's
 * base64.
 *
 * Attack: a text of a hundred megabytes, which the engine converts without interruption. So the
 * text is converted in pieces.
 */
import { DOMException } from '../dom-exception.ts';
import { LATIN1_BYTES_MAX, latin1 } from '../latin1.ts';
import { charCodeAt, indexOf, setFromBase64, slice, toBase64, Uint8ArrayIntrinsic } from '../primordials.ts';
import { requireArguments, toDOMString } from '../web-idl.ts';

/** Bytes encoded at once: a multiple of three, so that pieces have no padding. */
const PIECE_BYTES = 48 * 1_024;
/** Characters decoded at once. */
const PIECE_CHARS = 64 * 1_024;
/** A piece may end within a group of four characters; the next begins with that group. */
const PARTIAL = { __proto__: null, lastChunkHandling: 'stop-before-partial' } as const;

/** Binary string to base64. */
export function btoa(data: unknown): string {
  requireArguments(arguments.length, 1, 'btoa');
  const text = toDOMString(data);
  let encoded = '';
  for (let start = 0; start < text.length; start += PIECE_BYTES) {
    const piece = text.length <= PIECE_BYTES ? text : slice(text, start, start + PIECE_BYTES);
    encoded += toBase64(bytesOf(piece));
  }
  return encoded;
}

/** @throws DOMException if a character is above U+00FF */
function bytesOf(text: string): Uint8Array {
  const { length } = text;
  const bytes = new Uint8ArrayIntrinsic(length);
  // One check of all codes together: a branch for each takes longer than the rest of the loop.
  let codes = 0;
  for (let i = 0; i < length; i++) {
    const code = charCodeAt(text, i);
    codes |= code;
    bytes[i] = code;
  }
  if (codes > 0xff) throw new DOMException('btoa: a character is above U+00FF', 'InvalidCharacterError');
  return bytes;
}

/**
 * Base64 to binary string. ASCII white space is ignored, padding is optional, leftover bits are
 * dropped.
 */
export function atob(data: unknown): string {
  requireArguments(arguments.length, 1, 'atob');
  const text = toDOMString(data);
  try {
    return text.length <= PIECE_CHARS ? decodeLast(text) : decodePieces(text);
  } catch (error) {
    if (!(error instanceof SyntaxErrorIntrinsic)) throw error;
    throw new DOMException('atob: the text is not correctly encoded base64', 'InvalidCharacterError');
  }
}
const SyntaxErrorIntrinsic = SyntaxError;

function decodePieces(text: string): string {
  const padding = indexOf(text, '=');
  const end = padding < 0 ? text.length : padding;
  const bytes = new Uint8ArrayIntrinsic(PIECE_BYTES);
  let binary = '';
  let at = 0;
  for (let chars = PIECE_CHARS; at + chars < end; ) {
    const { read, written } = setFromBase64(bytes, slice(text, at, at + chars), PARTIAL);
    binary += binaryOf(bytes, written);
    at += read;
    // Only white space after an incomplete group: more text may complete it.
    if (read === 0) chars *= 2;
  }
  return binary + decodeLast(slice(text, at));
}

/** Decodes the last piece, with padding or without. */
function decodeLast(text: string): string {
  const bytes = new Uint8ArrayIntrinsic((text.length * 3) / 4 + 3);
  return binaryOf(bytes, setFromBase64(bytes, text).written);
}

/** Bytes as characters of the same code. */
function binaryOf(bytes: Uint8Array, length: number): string {
  let binary = '';
  for (let at = 0; at < length; at += LATIN1_BYTES_MAX) {
    binary += latin1(bytes, at, length - at < LATIN1_BYTES_MAX ? length - at : LATIN1_BYTES_MAX);
  }
  return binary;
}
