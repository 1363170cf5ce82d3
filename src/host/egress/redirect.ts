/**
 * Redirects (Fetch, "HTTP-redirect fetch"). Pure: a request and its answer in, the next request
 * out.
 */
import { Readable } from 'node:stream';
import { EgressError } from './egress-error.ts';
import type { HeaderPairs } from './request-head.ts';
import { valuesOf } from './response-head.ts';

/** One request of a fetch; each redirect makes another. */
export interface Hop {
  readonly method: string;
  readonly url: URL;
  readonly headers: HeaderPairs;
  readonly body?: Uint8Array | Readable;
}

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Fetch, "request-body-header name": they describe a body that is no longer sent. */
const BODY_HEADERS = new Set(['content-encoding', 'content-language', 'content-location', 'content-type']);
/** Only for the origin that they were set for. */
const CREDENTIALS = new Set(['authorization', 'cookie', 'proxy-authorization']);

export const isRedirect = (status: number): boolean => REDIRECT_STATUSES.has(status);

/** @throws EgressError if the text is no URL of http or https, or has a user name or password */
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
 * The request that follows a redirect.
 *
 * @param realmOf scope of credentials of a URL: its origin, or less if tenants share the origin
 * @returns undefined if the answer has no `location`, and is the last one
 * @throws EgressError if the redirect cannot be followed
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
  // Servers send UTF-8 here; header values have one character per byte.
  const url = fetchableUrl(Buffer.from(location, 'latin1').toString('utf8'), hop.url);
  if (status !== 303 && hop.body instanceof Readable)
    throw new EgressError('The answer redirects a request whose body was a stream and cannot be sent again.');
  const isPostTurnedGet = (status === 301 || status === 302) && hop.method === 'POST';
  const isSeeOther = status === 303 && hop.method !== 'GET' && hop.method !== 'HEAD';
  const dropsBody = isPostTurnedGet || isSeeOther;
  const isOtherRealm = url.origin !== hop.url.origin || realmOf(url) !== realmOf(hop.url);
  const kept = hop.headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !(dropsBody && BODY_HEADERS.has(lower)) && !(isOtherRealm && CREDENTIALS.has(lower));
  });
  if (dropsBody) return { method: 'GET', url, headers: kept };
  return { ...hop, url, headers: kept };
}
