/**
 * The head of a request as it goes out: what the tenant may say, what the host says, and nothing that would let the one
 * rewrite the framing of the other.
 */

import { HOP_BY_HOP } from '../model/hop-by-hop.ts';
import { EgressError, overLimit } from './egress-error.ts';

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

const TOKEN = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
/** RFC 9110, section 5.5: a line break would begin a header, or a request, of the tenant's making. */
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** Fetch, "forbidden method": one asks a proxy for a tunnel, the others mirror credentials. */
const FORBIDDEN_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);
/** The host's own: framing, the connection, and which of the sites behind an address is asked. */
const HOST_OWNED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'content-length',
  'expect',
  'host',
  'http2-settings',
]);
/** Sent unless the tenant says otherwise. Brotli is decoded but not asked for: each answer costs 16 MiB of the host. */
const DEFAULTS: HeaderPairs = [
  ['accept', '*/*'],
  ['accept-language', '*'],
  ['accept-encoding', 'gzip, deflate'],
  ['user-agent', 'Annex'],
];

/** @throws EgressError where the method is none, or one that nobody may send */
export function checkMethod(method: string): void {
  if (!TOKEN.test(method) || FORBIDDEN_METHODS.has(method.toUpperCase()))
    throw new EgressError('The method of the request may not be sent.', { result: 'refused' });
}

/**
 * The headers a tenant may set, in its order.
 * @throws EgressError where a name or a value would break out of its line, or all are too long
 */
export function tenantHeaders(headers: HeaderPairs, bytesMax: number): HeaderPairs {
  let bytes = 0;
  for (const [name, value] of headers) {
    if (!TOKEN.test(name))
      throw new EgressError('The name of a request header is not valid.', { result: 'refused' });
    if (NOT_IN_VALUE.test(value))
      throw new EgressError(`The value of the request header ${name} is not valid.`, { result: 'refused' });
    bytes += name.length + value.length + 4;
    if (bytes > bytesMax) throw overLimit({ name: 'fetchHeaderBytes', max: bytesMax }, 'tooLarge');
  }
  return headers.filter(([name]) => !isHostOwned(name.toLowerCase()));
}

/** What goes out, flat, as undici takes it. */
export function headToSend(headers: HeaderPairs): string[] {
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  return [...headers, ...DEFAULTS.filter(([name]) => !given.has(name))].flat();
}

const isHostOwned = (name: string): boolean => HOST_OWNED.has(name) || name.startsWith('proxy-');
