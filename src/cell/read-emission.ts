/**
 * Takes what an isolate emitted for what it claims to be: answers, texts, lists of names. The isolate is hostile: a
 * header that could end early, a status that is none, a text without end never get as far as the pipe.
 */
import { HEADER_NAME, HEADER_VALUE, WIRE_BOUNDS } from '../wire.ts';
import type { Answer } from './cell-call.ts';

const EMPTY = Buffer.alloc(0);

/** @returns undefined where any part is malformed. */
export function readAnswer(status: unknown, headers: unknown, body: unknown): Answer | undefined {
  if (!Number.isInteger(status) || (status as number) < 200 || (status as number) > 599) return undefined;
  const pairs = readHeaders(headers);
  const bytes = readBody(body);
  return pairs && bytes && { status: status as number, headers: pairs, body: bytes };
}

function readHeaders(headers: unknown): [string, string][] | undefined {
  if (typeof headers !== 'string' || headers.length > WIRE_BOUNDS.headerBytes) return undefined;
  if (headers === '') return [];
  const flat = headers.split('\n');
  if (flat.length % 2 !== 0 || flat.length / 2 > WIRE_BOUNDS.headers) return undefined;
  const pairs: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i] ?? '';
    const value = flat[i + 1] ?? '';
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) return undefined;
    pairs.push([name, value]);
  }
  return pairs;
}

function readBody(body: unknown): Buffer | undefined {
  if (body === undefined) return EMPTY;
  if (typeof body === 'string') return Buffer.from(body, 'utf8');
  return body instanceof ArrayBuffer ? Buffer.from(body) : undefined;
}

/** Longest text taken from an isolate at once. */
const TEXT_CHARS_MAX = 64 * 1_024;
/** Most names of components, or of events. */
const NAMES_MAX = 1_000;

export const boundedText = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, TEXT_CHARS_MAX) : '';

/** A name as it may stand in a manifest; anything else could blow up into escapes on its way to the host. */
const NAME = /^[\x21-\x7e]{1,256}$/;

/** Names that were separated by line feeds; those that no manifest could hold are left out. */
export function names(value: unknown): string[] {
  return boundedText(value)
    .split('\n', NAMES_MAX)
    .filter((name) => NAME.test(name));
}
