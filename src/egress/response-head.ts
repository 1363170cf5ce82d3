/** The head of an answer as the tenant sees it: names in lower case, values byte for byte, several of one name apart. */

import { HOP_BY_HOP } from '../model/hop-by-hop.ts';

/** @param raw names and values in turn, values with one character a byte */
export function tenantResponseHeaders(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2)
    pairs.push([(raw[at] ?? '').toLowerCase(), raw[at + 1] ?? '']);
  const named = new Set(
    valuesOf(pairs, 'connection').flatMap((value) =>
      value.split(',').map((name) => name.trim().toLowerCase()),
    ),
  );
  return pairs.filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name));
}

/** @param text a reason phrase, read as UTF-8 @returns it with one character a byte, as Fetch wants it */
export const reasonPhrase = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

export const valuesOf = (headers: readonly (readonly [string, string])[], name: string): string[] =>
  headers.filter(([candidate]) => candidate === name).map(([, value]) => value);
