/**
 * The head of an outbound request: headers of the tenant, defaults of the host, and nothing by
 * which the tenant could change the framing.
 */

import { isHostOwned } from '../../model/hop-by-hop.ts';
import { EgressError, overLimit } from './egress-error.ts';

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

const TOKEN = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
/** RFC 9110, section 5.5. Attack: a line break starts another header, or another request. */
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** Fetch, "forbidden method": CONNECT opens a tunnel of a proxy, the others mirror credentials. */
const FORBIDDEN_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);
/**
 * Sent unless the tenant sets them. Brotli is decoded but not requested: each answer costs 16 MiB.
 */
const DEFAULTS: HeaderPairs = [
  ['accept', '*/*'],
  ['accept-language', '*'],
  ['accept-encoding', 'gzip, deflate'],
  ['user-agent', 'Annex'],
];

/** @throws EgressError if the method is not valid, or forbidden */
export function checkMethod(method: string): void {
  if (!TOKEN.test(method) || FORBIDDEN_METHODS.has(method.toUpperCase()))
    throw new EgressError('The method of the request may not be sent.', { result: 'refused' });
}

/**
 * The headers of a tenant that are sent, in its order.
 *
 * @throws EgressError if a name or a value is not valid, or all are too long
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

/** Headers with the defaults, flat, as undici takes them. */
export function headToSend(headers: HeaderPairs): string[] {
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  return [...headers, ...DEFAULTS.filter(([name]) => !given.has(name))].flat();
}

/** Headers of a request to the product's API, flat: those of the connection are the host's. */
export const productHeaders = (headers: HeaderPairs): string[] =>
  headers
    .filter(([name]) => name.toLowerCase() === 'content-length' || !isHostOwned(name.toLowerCase()))
    .flat();
