/**
 * Checks that a path or URL stays below the endpoint it is sent to.
 *
 * Attack: `GET {endpoint A}/../{key of B}/x` is routed to A by the key as it was sent, but
 * `request.url` in A's code reads as B's, because a URL parser removes dot segments. A path that
 * leaves the endpoint is refused before an isolate is entered. Dots are read as a URL parser reads
 * them: plain or encoded, between slashes or backslashes. Nothing is rewritten.
 */
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import type { Target } from '../../model/target.ts';

/** Absent from paths without dot segments; nearly all paths need no further check. */
const SUSPECT = /[\0- \\]|\/(?:\.|%2e)/i;
/** Characters that a URL parser drops anywhere. */
const DROPPED = /[\t\n\r]/g;
/** Characters that a URL parser drops at the end. */
const DROPPED_AT_END = /(?<![\0- ])[\0- ]+$/;
const UP = /^(?:\.|%2e){2}$/i;
const HERE = /^(?:\.|%2e)$/i;
/**
 * A URL whose host a URL parser leaves unchanged: lower case, no user name, and a last label that
 * begins with a letter, so that it is no notation of an address. Most URLs of envelopes match, and
 * parsing each would cost as much as all other checks here.
 */
const PLAIN_URL = /^https?:\/\/((?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*)(?::\d{1,5})?(?:[/?#]|$)/;
/**
 * An endpoint in lower-case ASCII. The operator may have configured another, which only a URL
 * parser can compare.
 */
const PLAIN_ENDPOINT = /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?(?:\/|$)/;

/**
 * @param pathAndQuery the rest of the URL after the endpoint: empty, or a path with its query
 * @returns whether its dot segments leave the endpoint
 */
export function leavesEndpoint(pathAndQuery: string): boolean {
  if (!SUSPECT.test(pathAndQuery)) return false;
  const [path = ''] = pathAndQuery.replace(DROPPED, '').replace(DROPPED_AT_END, '').split(/[?#]/, 1);
  let depth = 0;
  for (const segment of path.split(/[/\\]/).slice(1)) {
    if (HERE.test(segment)) continue;
    depth += UP.test(segment) ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

/**
 * Whether a URL in an envelope is one of this service but not below the target's endpoint. URLs of
 * other origins are the sender's business.
 */
export const isOfAnotherEndpoint = (
  text: string,
  { publicEndpoint, publicContentEndpoint, endpointKey }: EndpointNames,
): boolean =>
  isElsewhere(text, publicEndpoint, endpointKey) ||
  (publicContentEndpoint !== publicEndpoint && isElsewhere(text, publicContentEndpoint, endpointKey));

type EndpointNames = Pick<Target, 'publicEndpoint' | 'publicContentEndpoint' | 'endpointKey'>;

/** @param endpoint the target's own URL on one of the origins */
function isElsewhere(text: string, endpoint: string, endpointKey: string): boolean {
  if (text.startsWith(endpoint)) {
    const rest = text.slice(endpoint.length);
    if ((rest === '' || /^[/?#]/.test(rest)) && !SUSPECT.test(rest)) return false;
  }
  if (isPlainlyElsewhere(text, endpoint)) return false;
  const url = URL.parse(text);
  const own = URL.parse(endpoint);
  if (url === null || own === null) return false;
  const [host, ownHost] = [hostOf(url), hostOf(own)];
  if (host === ownHost) {
    const base = own.pathname.replace(/\/$/, '');
    return url.pathname !== base && !url.pathname.startsWith(`${base}/`);
  }
  // With an origin for each endpoint, the key is the first label.
  if (!ownHost.startsWith(`${endpointKey}.`)) return false;
  const [label = ''] = host.split('.', 1);
  return ENDPOINT_KEY.test(label) && host.slice(label.length) === ownHost.slice(endpointKey.length);
}

/** Whether the texts alone show that the hosts share at most their first labels. */
function isPlainlyElsewhere(text: string, publicEndpoint: string): boolean {
  const host = PLAIN_URL.exec(text)?.[1];
  if (host === undefined || !PLAIN_ENDPOINT.test(publicEndpoint)) return false;
  return !publicEndpoint.includes(host.slice(host.indexOf('.') + 1));
}

/** With the port. A trailing dot names the same host. */
const hostOf = ({ hostname, port }: URL): string => `${hostname.replace(/\.$/, '')}:${port}`;
