/**
 * MIME types: parsing and serialising (https://mimesniff.spec.whatwg.org/), and extracting the type
 * of a message from its Content-Type headers
 * (https://fetch.spec.whatwg.org/#concept-header-extract-mime-type). It sniffs nothing.
 */
import { trimHttpSpace, trimHttpSpaceEnd } from './header-list.ts';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const QUOTED_CHARACTERS = /^[\t\x20-\x7e\x80-\xff]*$/;

export interface MimeType {
  /** `type/subtype`, lower case. */
  readonly essence: string;
  /** Names in lower case, values as given. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** @returns undefined unless the text is a MIME type */
export function parseMimeType(text: string): MimeType | undefined {
  const input = trimHttpSpace(text);
  const semicolon = input.indexOf(';');
  const [type, subtype, more] = trimHttpSpace(semicolon < 0 ? input : input.slice(0, semicolon)).split('/');
  if (type === undefined || subtype === undefined || more !== undefined) return undefined;
  if (!TOKEN.test(type) || !TOKEN.test(subtype)) return undefined;
  const parameters = new Map<string, string>();
  let at = semicolon < 0 ? input.length : semicolon;
  while (at < input.length) {
    at++;
    const nameStart = at;
    while (at < input.length && input[at] !== ';' && input[at] !== '=') at++;
    const name = input
      .slice(nameStart, at)
      .replace(/^[\t\n\r ]+/, '')
      .toLowerCase();
    if (at >= input.length) break;
    if (input[at] === ';') continue;
    at++;
    let value: string;
    if (input[at] === '"') {
      [value, at] = quotedString(input, at);
      while (at < input.length && input[at] !== ';') at++;
    } else {
      const end = input.indexOf(';', at);
      // White space is dropped at the end only: before the value it is part of it.
      value = trimHttpSpaceEnd(input.slice(at, end < 0 ? input.length : end));
      at = end < 0 ? input.length : end;
      if (value === '') continue;
    }
    if (TOKEN.test(name) && QUOTED_CHARACTERS.test(value) && !parameters.has(name))
      parameters.set(name, value);
  }
  return { essence: `${type}/${subtype}`.toLowerCase(), parameters };
}

export function serializeMimeType({ essence, parameters }: MimeType): string {
  let text = essence;
  for (const [name, value] of parameters) {
    text += `;${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`;
  }
  return text;
}

/** The type of a Content-Type header (several are joined with commas): the last valid one. */
export function extractMimeType(contentType: string | null): MimeType | undefined {
  if (contentType === null) return undefined;
  let found: MimeType | undefined;
  let charset: string | undefined;
  for (const candidate of splitOnCommas(contentType)) {
    const type = parseMimeType(candidate);
    if (type === undefined || type.essence === '*/*') continue;
    const own = type.parameters.get('charset');
    if (type.essence !== found?.essence) charset = own;
    else if (own === undefined && charset !== undefined) {
      found = { essence: type.essence, parameters: new Map([...type.parameters, ['charset', charset]]) };
      continue;
    }
    found = type;
  }
  return found;
}

/** Reads a quoted string at `start`. @returns its value and the position after it */
function quotedString(input: string, start: number): [string, number] {
  let value = '';
  let at = start + 1;
  for (; at < input.length; at++) {
    const char = input[at] as string;
    if (char === '"') return [value, at + 1];
    if (char === '\\') {
      at++;
      value += at < input.length ? input[at] : '\\';
    } else {
      value += char;
    }
  }
  return [value, at];
}

function splitOnCommas(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') at = quotedString(text, at)[1] - 1;
    else if (text[at] === ',') {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}
