/**
 * multipart/form-data, both ways: the encoder of HTML
 * (https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data) and
 * the parser of the fetch standard for what such encoders send (RFC 7578). Bytes of files pass
 * untouched.
 *
 * The parser knows one level and the two headers that a form uses; it ignores others, and refuses
 * truncated or malformed input. It does not unescape names: the encoder leaves `%` as it is, so
 * `%0A` is ambiguous.
 */

import { type Bytes, joinBytes, subBytes } from '../encoding/bytes.ts';
import { utf8Decode, utf8DecodeWithoutBom, utf8Encode } from '../encoding/utf8.ts';
import { List, push } from '../list.ts';
import {
  charCodeAt,
  floor,
  random,
  regExpExec,
  slice,
  typedArrayByteLength,
  typedArrayIndexOf,
} from '../primordials.ts';
import { blobBytes, blobType, fileName, fileOver } from './blob.ts';
import type { FormEntry } from './form-data.ts';
import { trimHttpSpace } from './header-list.ts';
import { extractMimeType, serializeMimeType } from './mime-type.ts';

const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;
const QUOTE = 0x22;
/** A header name of a part, with the white space around it. */
const HEADER_NAME = /^[\t ]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[\t ]*$/;
const NEEDS_ESCAPE = /[\n\r"]/;
const LINE_BREAK = /[\n\r]/;
const EXTENDED_VALUE = /^utf-8'[^']*'(.*)$/i;

/**
 * A fresh boundary. Attack: a predictable boundary, with which a value can contain parts of its
 * own. It is random, from the engine's captured `Math.random`.
 */
export const makeBoundary = (): string => `----AnnexFormBoundary${dice()}${dice()}${dice()}`;
const dice = (): number => floor(random() * 9e9) + 1e9;

/** Uses captured built-ins only: its result leaves the isolate as a body. */
export function encodeMultipart(entries: ArrayLike<FormEntry>, boundary: string): Bytes {
  const pieces = new List<Bytes>();
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as FormEntry;
    const value = entry[1];
    const name = escapeQuotes(toCrLf(entry[0]));
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`;
    if (typeof value === 'string') {
      push(pieces, utf8Encode(`${head}\r\n\r\n${toCrLf(value)}\r\n`));
    } else {
      const type = blobType(value) || 'application/octet-stream';
      const file = `filename="${escapeQuotes(fileName(value))}"`;
      push(pieces, utf8Encode(`${head}; ${file}\r\nContent-Type: ${type}\r\n\r\n`));
      push(pieces, blobBytes(value));
      push(pieces, utf8Encode('\r\n'));
    }
  }
  push(pieces, utf8Encode(`--${boundary}--\r\n`));
  return joinBytes(pieces);
}

/** Every line break as CR LF. */
function toCrLf(text: string): string {
  if (regExpExec(LINE_BREAK, text) === null) return text;
  let out = '';
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const code = charCodeAt(text, at);
    if (code !== CR && code !== LF) continue;
    out += `${slice(text, start, at)}\r\n`;
    if (code === CR && charCodeAt(text, at + 1) === LF) at++;
    start = at + 1;
  }
  return out + slice(text, start);
}

function escapeQuotes(text: string): string {
  if (regExpExec(NEEDS_ESCAPE, text) === null) return text;
  let out = '';
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const code = charCodeAt(text, at);
    const escaped = code === LF ? '%0A' : code === CR ? '%0D' : code === QUOTE ? '%22' : undefined;
    if (escaped === undefined) continue;
    out += slice(text, start, at) + escaped;
    start = at + 1;
  }
  return out + slice(text, start);
}

/**
 * Parses a form. Its files share the memory of `bytes`, which must not change any more.
 *
 * @throws TypeError unless the bytes are a complete form with this boundary
 */
export function parseMultipart(bytes: Bytes, boundary: string): FormEntry[] {
  if (boundary === '') throw broken('its boundary is empty');
  const delimiter = utf8Encode(`\r\n--${boundary}`);
  const entries: FormEntry[] = [];
  // The first delimiter is at the start, without its line break, or after empty lines.
  let at = 0;
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
  if (!matches(bytes, at, subBytes(delimiter, 2, delimiter.length)))
    throw broken('it does not start with a boundary');
  at += delimiter.length - 2;
  for (;;) {
    const last = bytes[at] === DASH && bytes[at + 1] === DASH;
    if (last) at += 2;
    while (bytes[at] === 0x20 || bytes[at] === 0x09) at++;
    const broke = bytes[at] === CR && bytes[at + 1] === LF;
    if (last && (broke || at === bytes.length)) return entries;
    if (last || !broke) throw broken('a boundary is not followed by a line break');
    const part = parsePartHead(bytes, at + 2);
    const end = find(bytes, delimiter, part.start);
    if (end < 0) throw broken('a part is not ended by a boundary');
    const body = subBytes(bytes, part.start, end);
    entries.push([
      part.name,
      part.filename === undefined ? utf8DecodeWithoutBom(body) : fileOver(body, part.filename, part.type, 0),
    ]);
    at = end + delimiter.length;
  }
}

interface PartHead {
  name: string;
  filename: string | undefined;
  type: string;
  /** Start of the part's body. */
  start: number;
}

function parsePartHead(bytes: Bytes, start: number): PartHead {
  let parameters: Map<string, string> | undefined;
  let contentType: string | undefined;
  let at = start;
  for (;;) {
    const line = headerLine(bytes, at);
    const end = at + line.length;
    if (line.length === 0) break;
    const colon = line.indexOf(0x3a);
    const name = colon < 0 ? null : regExpExec(HEADER_NAME, utf8Decode(line.subarray(0, colon)));
    if (name === null) throw broken('a header of a part has no name');
    const value = trimHttpSpace(utf8DecodeWithoutBom(line.subarray(colon + 1)));
    switch (name[1]?.toLowerCase()) {
      case 'content-disposition':
        if (!/^form-data(?=[;\t ])/i.test(value)) throw broken('a part is not form-data');
        parameters = dispositionParameters(value);
        break;
      case 'content-type':
        contentType = contentType === undefined ? value : `${contentType}, ${value}`;
        break;
    }
    at = end + 2;
  }
  const name = parameters?.get('name');
  if (name === undefined) throw broken('a part has no name');
  const filename = extendedValue(parameters?.get('filename*')) ?? parameters?.get('filename');
  return { name, filename, type: partType(contentType), start: at + 2 };
}

/** "Extract a MIME type" of the part; plain text by default. */
function partType(contentType: string | undefined): string {
  if (contentType === undefined) return 'text/plain';
  const type = extractMimeType(contentType);
  return type === undefined ? '' : serializeMimeType(type);
}

/** The header line that starts at `start`, without its line break. */
function headerLine(bytes: Bytes, start: number): Bytes {
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === CR && bytes[at + 1] === LF) return subBytes(bytes, start, at);
    if (byte === CR || byte === LF || byte === 0)
      throw broken('a header of a part holds a NUL or a bare line break');
  }
  throw broken('the headers of a part do not end');
}

/** The parameters of Content-Disposition, in lower case; a quoted value ends at the next quote. */
function dispositionParameters(disposition: string): Map<string, string> {
  const parameters = new Map<string, string>();
  // Parameter by parameter. Attack: `filename="; name=x"` taken for a name.
  const pattern = /;\s*([^\s;="]+)\s*=\s*(?:"([^"]*)"|([^\s;"]*))/g;
  for (let match = pattern.exec(disposition); match !== null; match = pattern.exec(disposition)) {
    const key = (match[1] as string).toLowerCase();
    if (!parameters.has(key)) parameters.set(key, match[2] ?? match[3] ?? '');
  }
  return parameters;
}

/** Decodes RFC 8187 text in UTF-8. */
function extendedValue(text: string | undefined): string | undefined {
  const encoded = text === undefined ? undefined : regExpExec(EXTENDED_VALUE, text)?.[1];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** Next position of `needle`, which starts with CR; the engine's search finds candidates. */
function find(bytes: Bytes, needle: Bytes, start: number): number {
  for (let at = start; ; at++) {
    at = typedArrayIndexOf(bytes, CR, at);
    if (at < 0 || matches(bytes, at, needle)) return at;
  }
}

function matches(bytes: Bytes, at: number, needle: Bytes): boolean {
  const length = typedArrayByteLength(needle);
  for (let i = 0; i < length; i++) if (bytes[at + i] !== needle[i]) return false;
  return true;
}

const broken = (what: string): TypeError => new TypeError(`The body is not a valid multipart form: ${what}`);
