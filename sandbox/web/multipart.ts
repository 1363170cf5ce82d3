/**
 * multipart/form-data, both ways: the encoder of HTML
 * (https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data) and a parser for what
 * such encoders send (RFC 7578). Bytes of files pass untouched.
 *
 * The parser knows one level and the two headers that a form uses; it ignores others, and refuses what is cut short.
 */

import { blobBytes, fileOver } from './blob.ts';
import { type Bytes, copyBytes, joinBytes, subBytes } from './bytes.ts';
import type { FormEntry } from './form-data.ts';
import { List, push } from './list.ts';
import { floor, random, typedArrayByteLength, typedArrayIndexOf } from './primordials.ts';
import { utf8Decode, utf8DecodeWithoutBom, utf8Encode } from './utf8.ts';

const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;
/** RFC 2046, section 5.1.1. */
const BOUNDARY_CHARS_MAX = 70;

/**
 * A fresh boundary. It is random because whoever could foretell it could put parts of his own into a value; the dice
 * are the engine's, not what the tenant may have made of `Math.random`.
 */
export const makeBoundary = (): string => `----AnnexFormBoundary${dice()}${dice()}${dice()}`;
const dice = (): number => floor(random() * 2 ** 30);

export function encodeMultipart(entries: readonly FormEntry[], boundary: string): Bytes {
  const pieces = new List<Bytes>();
  for (let i = 0; i < entries.length; i++) {
    const [name, value] = entries[i] as FormEntry;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeQuotes(toCrLf(name))}"`;
    if (typeof value === 'string') {
      push(pieces, utf8Encode(`${head}\r\n\r\n${toCrLf(value)}\r\n`));
    } else {
      const type = value.type || 'application/octet-stream';
      push(
        pieces,
        utf8Encode(`${head}; filename="${escapeQuotes(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`),
      );
      push(pieces, blobBytes(value));
      push(pieces, utf8Encode('\r\n'));
    }
  }
  push(pieces, utf8Encode(`--${boundary}--\r\n`));
  return joinBytes(pieces);
}

/** @throws TypeError where the bytes are not a complete form with this boundary. */
export function parseMultipart(bytes: Bytes, boundary: string): FormEntry[] {
  if (boundary === '' || boundary.length > BOUNDARY_CHARS_MAX)
    throw broken('its boundary is empty or too long');
  const delimiter = utf8Encode(`\r\n--${boundary}`);
  const entries: FormEntry[] = [];
  // The first delimiter stands at the very start, without its line break, or after empty lines.
  let at = 0;
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
  if (!matches(bytes, at, subBytes(delimiter, 2, delimiter.length)))
    throw broken('it does not start with a boundary');
  at += delimiter.length - 2;
  for (;;) {
    if (bytes[at] === DASH && bytes[at + 1] === DASH) return entries;
    while (bytes[at] === 0x20 || bytes[at] === 0x09) at++;
    if (bytes[at] !== CR || bytes[at + 1] !== LF) throw broken('a boundary is not followed by a line break');
    const part = parsePartHead(bytes, at + 2);
    const end = find(bytes, delimiter, part.start);
    if (end < 0) throw broken('a part is not ended by a boundary');
    const body = subBytes(bytes, part.start, end);
    entries.push([
      part.name,
      part.filename === undefined
        ? utf8DecodeWithoutBom(body)
        : fileOver(copyBytes(body), part.filename, part.type),
    ]);
    at = end + delimiter.length;
  }
}

interface PartHead {
  name: string;
  filename: string | undefined;
  type: string;
  /** Where the part's body starts. */
  start: number;
}

function parsePartHead(bytes: Bytes, start: number): PartHead {
  let parameters = new Map<string, string>();
  let type = 'text/plain';
  let at = start;
  for (;;) {
    const end = lineEnd(bytes, at);
    if (end < 0) throw broken('the headers of a part do not end');
    if (end === at) break;
    const line = utf8Decode(subBytes(bytes, at, end));
    const colon = line.indexOf(':');
    if (colon <= 0) throw broken('a header of a part has no name');
    const value = line.slice(colon + 1).trim();
    switch (line.slice(0, colon).trim().toLowerCase()) {
      case 'content-disposition':
        if (!/^form-data(?=[;\s])/i.test(value)) throw broken('a part is not form-data');
        parameters = dispositionParameters(value);
        break;
      case 'content-type':
        type = value;
        break;
    }
    at = end + 2;
  }
  const name = parameters.get('name');
  if (name === undefined) throw broken('a part has no name');
  return { name, filename: parameters.get('filename'), type, start: at + 2 };
}

/** The parameters of Content-Disposition as HTML encodes them: quoted, with %0D, %0A and %22 inside. */
function dispositionParameters(disposition: string): Map<string, string> {
  const parameters = new Map<string, string>();
  // From one parameter to the next, so that `filename="; name=x"` is not taken for a name.
  for (const [, key = '', quoted, bare = ''] of disposition.matchAll(
    /;\s*([^\s;="]+)=(?:"([^"]*)"|([^\s;"]*))/g,
  )) {
    const raw = quoted ?? bare;
    const value = raw.replace(/%(0A|0D|22)/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (!parameters.has(key.toLowerCase())) parameters.set(key.toLowerCase(), value);
  }
  return parameters;
}

function lineEnd(bytes: Bytes, start: number): number {
  for (let at = start; ; at++) {
    at = typedArrayIndexOf(bytes, CR, at);
    if (at < 0 || bytes[at + 1] === LF) return at;
  }
}

/** Where `needle`, which starts with CR, occurs next; the engine's own search finds the candidates. */
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

const toCrLf = (text: string): string => text.replace(/\r\n?|\n/g, '\r\n');
const escapeQuotes = (text: string): string =>
  text.replace(/[\n\r"]/g, (char) => (char === '\n' ? '%0A' : char === '\r' ? '%0D' : '%22'));
const broken = (what: string): TypeError => new TypeError(`The body is not a valid multipart form: ${what}`);
