/**
 * Stands in for @exodus/bytes in the bundle of whatwg-url: percent-encodes a query after encoding
 * it (https://url.spec.whatwg.org/#string-percent-encode-after-encoding).
 *
 * Always UTF-8: the URL API has no other encoding, and the tables of others take 150 KB.
 */
import { utf8Encode } from '../encoding/utf8.ts';

const HEX = Array.from(
  { length: 256 },
  (_, byte) => `%${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`,
);

/** @param encoded printable characters to encode, besides everything that is not printable ASCII */
export function percentEncodeAfterEncoding(_encoding: string, input: string, encoded: string): string {
  let output = '';
  for (const byte of utf8Encode(input)) {
    const char = String.fromCharCode(byte);
    output += byte < 0x20 || byte > 0x7e || encoded.includes(char) ? HEX[byte] : char;
  }
  return output;
}
