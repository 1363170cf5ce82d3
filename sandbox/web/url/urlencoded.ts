/**
 * application/x-www-form-urlencoded, both ways
 * (https://url.spec.whatwg.org/#application/x-www-form-urlencoded).
 */

import { utf8DecodeWithoutBom, utf8Encode } from '../encoding/utf8.ts';
import { charCodeAt, fromCharCode, indexOf, regExpExec, slice, typedArrayLength } from '../primordials.ts';

export type NameValue = [name: string, value: string];

/** Text that needs no escape: ASCII letters and digits, and four signs. */
const PLAIN = /^[\w*.-]*$/;
const HEX = '0123456789ABCDEF';
const AMPERSAND = 0x26;
const HEX_DIGITS = /^[0-9A-Fa-f]{2}$/;

/** Every text is a valid form: malformed escapes stay as they are. */
export function parseUrlencoded(text: string): NameValue[] {
  const pairs: NameValue[] = [];
  // Attack: megabytes of `&`, of which `split` would make a list without interruption.
  for (let at = 0; at < text.length; ) {
    // Without compilers, a search for each costs twice as much.
    if (charCodeAt(text, at) === AMPERSAND) {
      at += 1;
      continue;
    }
    const found = indexOf(text, '&', at);
    const end = found < 0 ? text.length : found;
    const sequence = slice(text, at, end);
    at = end + 1;
    const equals = sequence.indexOf('=');
    pairs.push(
      equals < 0
        ? [decode(sequence), '']
        : [decode(sequence.slice(0, equals)), decode(sequence.slice(equals + 1))],
    );
  }
  return pairs;
}

export function serializeUrlencoded(pairs: ArrayLike<NameValue>): string {
  let text = '';
  for (let i = 0; i < pairs.length; i++) {
    const pair = pairs[i] as NameValue;
    text += `${i === 0 ? '' : '&'}${encode(pair[0])}=${encode(pair[1])}`;
  }
  return text;
}

function decode(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  const bytes = utf8Encode(spaced);
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    const digits = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1] ?? 0, bytes[i + 2] ?? 0) : '';
    const escaped = HEX_DIGITS.test(digits);
    bytes[length++] = escaped ? Number.parseInt(digits, 16) : (bytes[i] as number);
    if (escaped) i += 2;
  }
  return utf8DecodeWithoutBom(bytes.subarray(0, length));
}

/** Uses captured built-ins only: its result leaves the isolate as a body. */
function encode(text: string): string {
  if (regExpExec(PLAIN, text) !== null) return text;
  const bytes = utf8Encode(text);
  const length = typedArrayLength(bytes);
  let encoded = '';
  for (let i = 0; i < length; i++) {
    const byte = bytes[i] as number;
    if (byte === 0x20) encoded += '+';
    else if (regExpExec(PLAIN, fromCharCode(byte)) !== null) encoded += fromCharCode(byte);
    else encoded += `%${HEX[byte >> 4]}${HEX[byte & 15]}`;
  }
  return encoded;
}
