/**
 * The URL parser: the state machine of whatwg-url, the reference implementation of
 * https://url.spec.whatwg.org/. A part, evaluated when the first URL is parsed: many integrations
 * never need its memory and time.
 */

import { utf8DecodeWithoutBom, utf8Encode } from '../encoding/utf8.ts';
import { part } from '../parts.ts';
import { toASCII } from './domain.ts';
import { percentEncodeAfterEncoding } from './percent-encode.ts';

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
