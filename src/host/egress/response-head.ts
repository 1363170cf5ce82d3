/**
 * The head of an answer for the tenant: names in lower case, values byte for byte, repetitions
 * kept. Control characters are blanks (RFC 9110, section 5.5).
 */

import { HOP_BY_HOP } from '../../model/hop-by-hop.ts';

/** Attack: a value that Node refuses to write, where an answer is passed on. */
const CONTROLS = /[^\t\x20-\x7e\x80-\xff]/g;

/** @param raw names and values in turn, values with one character per byte */
export function tenantResponseHeaders(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2)
    pairs.push([(raw[at] ?? '').toLowerCase(), (raw[at + 1] ?? '').replace(CONTROLS, ' ')]);
  const named = new Set(
    valuesOf(pairs, 'connection').flatMap((value) =>
      value.split(',').map((name) => name.trim().toLowerCase()),
    ),
  );
  // A length beside a coding of the transfer is wrong (RFC 9112, section 6.3).
  if (pairs.some(([name]) => name === 'transfer-encoding')) named.add('content-length');
  return pairs.filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name));
}

/** A reason phrase that was read as UTF-8, with one character per byte, as Fetch requires. */
export const reasonPhrase = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

export const valuesOf = (headers: readonly (readonly [string, string])[], name: string): string[] =>
  headers.filter(([candidate]) => candidate === name).map(([, value]) => value);
