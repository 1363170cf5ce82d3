/** What follows from a redirect (Fetch, "HTTP-redirect fetch"). Pure: one request in, the next one out. */
import { Readable } from 'node:stream';
import { EgressError } from './egress-error.ts';
import type { HeaderPairs } from './request-head.ts';
import { valuesOf } from './response-head.ts';

/** One request of the chain that a fetch may become. */
export interface Hop {
  readonly method: string;
  readonly url: URL;
  readonly headers: HeaderPairs;
  readonly body?: Uint8Array | Readable;
}

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Fetch, "request-body-header name": they describe a body that is no longer sent. */
const OF_THE_BODY = new Set(['content-encoding', 'content-language', 'content-location', 'content-type']);
/** Meant for the origin they were given for. */
const CREDENTIALS = new Set(['authorization', 'cookie', 'proxy-authorization']);

export const isRedirect = (status: number): boolean => REDIRECT_STATUSES.has(status);

/** @throws EgressError where the text is no URL that may be fetched */
export function fetchableUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new EgressError('The URL is not valid.', { result: 'refused' });
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new EgressError(`The URL is not of http or https but of ${url.protocol.slice(0, -1)}.`, {
      result: 'refused',
    });
  if (url.username !== '' || url.password !== '')
    throw new EgressError('The URL has a user name or a password in it.', { result: 'refused' });
  url.hash = '';
  return url;
}

/**
 * @param realmOf whose place a URL is: its origin, or less where tenants share one
 * @returns the request to make next, or `undefined` where the answer names no place and is the last one
 * @throws EgressError where the redirect cannot be followed
 */
export function nextHop(
  hop: Hop,
  status: number,
  headers: HeaderPairs,
  realmOf: (url: URL) => string,
): Hop | undefined {
  const [location, ...others] = valuesOf(headers, 'location');
  if (location === undefined) return undefined;
  if (others.some((other) => other !== location))
    throw new EgressError('The answer redirects to several places at once.');
  // Servers write UTF-8 here; header values have one character a byte.
  const url = fetchableUrl(Buffer.from(location, 'latin1').toString('utf8'), hop.url);
  if (status !== 303 && hop.body instanceof Readable)
    throw new EgressError('The answer redirects a request whose body was a stream and cannot be sent again.');
  const isPostTurnedGet = (status === 301 || status === 302) && hop.method === 'POST';
  const isSeeOther = status === 303 && hop.method !== 'GET' && hop.method !== 'HEAD';
  const dropsBody = isPostTurnedGet || isSeeOther;
  const isElsewhere = url.origin !== hop.url.origin || realmOf(url) !== realmOf(hop.url);
  const kept = hop.headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !(dropsBody && OF_THE_BODY.has(lower)) && !(isElsewhere && CREDENTIALS.has(lower));
  });
  if (dropsBody) return { method: 'GET', url, headers: kept };
  return { ...hop, url, headers: kept };
}
