/**
 * The URL parser: the state machine of whatwg-url, the reference implementation of
 * https://url.spec.whatwg.org/. A part, evaluated when the first URL is parsed: many integrations
 * never need its memory and time.
 */
import { utf8DecodeWithoutBom, utf8Encode } from '../encoding/utf8.ts';
import { part } from '../parts.ts';
import { toASCII } from './domain.ts';

/** Values of the prelude for the part; none is looked up where a tenant could have replaced it. */
export interface UrlNeeds {
  readonly toASCII: typeof toASCII;
  readonly percentEncodeAfterEncoding: typeof percentEncodeAfterEncoding;
  readonly TextEncoder: new () => { encode(text: string): Uint8Array };
  readonly TextDecoder: new () => { decode(bytes: Uint8Array): string };
}

/** A URL record of the standard. */
export interface UrlRecord {
  readonly scheme: string;
  readonly username: string;
  readonly password: string;
  readonly host: string | number | readonly number[] | null;
  port: number | null;
  path: string | string[];
  query: string | null;
  fragment: string | null;
}

export interface UrlMachine {
  basicURLParse(
    input: string,
    options?: { baseURL?: UrlRecord | null; url?: UrlRecord; stateOverride?: string },
  ): UrlRecord | null;
  serializeURLOrigin(url: UrlRecord): string;
  serializeHost(host: NonNullable<UrlRecord['host']>): string;
  setTheUsername(url: UrlRecord, username: string): void;
  setThePassword(url: UrlRecord, password: string): void;
}

const NEEDS: UrlNeeds = {
  toASCII,
  percentEncodeAfterEncoding,
  TextEncoder: class {
    encode = utf8Encode;
  },
  TextDecoder: class {
    decode = utf8DecodeWithoutBom;
  },
};

export const urlMachine = (): UrlMachine => part('url', NEEDS).machine;

const HEX = Array.from(
  { length: 256 },
  (_, byte) => `%${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`,
);

/**
 * Stands in for @exodus/bytes in the bundle of whatwg-url: percent-encodes a query after encoding
 * it (https://url.spec.whatwg.org/#string-percent-encode-after-encoding).
 *
 * Always UTF-8: the URL API has no other encoding, and the tables of others take 150 KB.
 *
 * @param encoded printable characters to encode, besides everything that is not printable ASCII
 */
function percentEncodeAfterEncoding(_encoding: string, input: string, encoded: string): string {
  let output = '';
  for (const byte of utf8Encode(input)) {
    const char = String.fromCharCode(byte);
    output += byte < 0x20 || byte > 0x7e || encoded.includes(char) ? HEX[byte] : char;
  }
  return output;
}
