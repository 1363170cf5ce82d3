/**
 * `fetch` of a `data:` URL, inside the isolate
 * (https://fetch.spec.whatwg.org/#data-url-processor). A part, because few scripts need it.
 *
 * Attack: a URL of megabytes. Its body is in the heap of the isolate, and the work is charged to
 * the call, as any code of it.
 */
import type { atob as atobOf } from '../encoding/base64.ts';
import type { utf8Encode as utf8EncodeOf } from '../encoding/utf8.ts';
import type { trimHttpSpace as trimHttpSpaceOf } from './header-list.ts';
import type {
  parseMimeType as parseMimeTypeOf,
  serializeMimeType as serializeMimeTypeOf,
} from './mime-type.ts';
import type { OutgoingRequest } from './request.ts';
import type { makeResponse as makeResponseOf, Response } from './response.ts';

/** Values of the prelude for the part. */
export interface DataUrlNeeds {
  readonly atob: typeof atobOf;
  readonly makeResponse: typeof makeResponseOf;
  readonly parseMimeType: typeof parseMimeTypeOf;
  readonly serializeMimeType: typeof serializeMimeTypeOf;
  readonly trimHttpSpace: typeof trimHttpSpaceOf;
  readonly utf8Encode: typeof utf8EncodeOf;
}
declare const needs: DataUrlNeeds;
const { atob, makeResponse, parseMimeType, serializeMimeType, trimHttpSpace, utf8Encode } = needs;

const BASE64 = /; *base64$/i;
const DEFAULT_TYPE = 'text/plain;charset=US-ASCII';

/** @throws TypeError for a URL without a comma, or whose base64 is not valid */
export function fetchDataUrl({ method, url }: OutgoingRequest): Response {
  const hash = url.indexOf('#');
  const whole = url.slice('data:'.length, hash < 0 ? url.length : hash);
  const comma = whole.indexOf(',');
  if (comma < 0) throw new TypeError('fetch: a data: URL has no comma');
  let type = trimHttpSpace(whole.slice(0, comma));
  let bytes = percentDecoded(whole.slice(comma + 1));
  if (BASE64.test(type)) {
    bytes = fromBase64(bytes);
    type = type.replace(BASE64, '');
  }
  if (type.startsWith(';')) type = `text/plain${type}`;
  const mime = parseMimeType(type);
  const contentType = mime === undefined ? DEFAULT_TYPE : serializeMimeType(mime);
  return makeResponse({
    ...{ status: 200, statusText: 'OK', url, redirected: false },
    headers: `content-type\n${contentType}`,
    body: method === 'HEAD' ? undefined : bytes.buffer,
  });
}

function percentDecoded(text: string): Uint8Array<ArrayBuffer> {
  const encoded = utf8Encode(text);
  const bytes = new Uint8Array(encoded.length);
  let length = 0;
  for (let at = 0; at < encoded.length; at++) {
    const byte = encoded[at] as number;
    const escaped = byte === 0x25 ? digit(encoded[at + 1]) * 16 + digit(encoded[at + 2]) : Number.NaN;
    if (escaped >= 0) at += 2;
    bytes[length++] = escaped >= 0 ? escaped : byte;
  }
  return bytes.slice(0, length);
}

/** Value of a hexadecimal digit; NaN for any other character. */
function digit(code: number | undefined): number {
  if (code === undefined) return Number.NaN;
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : Number.NaN;
}

/** "Forgiving-base64 decode", as `atob` does it. */
function fromBase64(encoded: Uint8Array): Uint8Array<ArrayBuffer> {
  let text = '';
  for (let at = 0; at < encoded.length; at++) text += String.fromCharCode(encoded[at] as number);
  let decoded: string;
  try {
    decoded = atob(text);
  } catch {
    throw new TypeError('fetch: the base64 of a data: URL is not valid');
  }
  const bytes = new Uint8Array(decoded.length);
  for (let at = 0; at < decoded.length; at++) bytes[at] = decoded.charCodeAt(at);
  return bytes;
}
