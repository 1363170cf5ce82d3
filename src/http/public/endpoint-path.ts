/**
 * Whether a path, or a URL, stays below the endpoint that it is for.
 *
 * The attack: `GET {endpoint A}/../{key of B}/x` is routed to A, by the key as it was sent, and `request.url` in A's code reads
 * as B's, since a URL parser takes dot segments away. What would leave the endpoint is refused before an isolate is entered.
 * Dots are read as a URL parser reads them: plain or encoded, between slashes or backslashes. Nothing is rewritten.
 */
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import type { Target } from '../../model/target.ts';

/** What a path without dot segments has none of; nearly all are done with that. */
const SUSPECT = /[\0- \\]|\/(?:\.|%2e)/i;
/** What a URL parser drops wherever it stands. */
const DROPPED = /[\t\n\r]/g;
/** What it drops at the end of a URL. */
const DROPPED_AT_END = /(?<![\0- ])[\0- ]+$/;
const UP = /^(?:\.|%2e){2}$/i;
const HERE = /^(?:\.|%2e)$/i;
/**
 * A URL whose host a URL parser leaves as it is: small letters, no user name, and a last label that begins with a letter, so
 * that it is no notation of an address. Most URLs of envelopes are such, and to parse each would cost as much as all else here.
 */
const PLAIN_URL = /^https?:\/\/((?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*)(?::\d{1,5})?(?:[/?#]|$)/;
/** An endpoint in small letters of ASCII: the operator may have configured others, which only a URL parser compares. */
const PLAIN_ENDPOINT = /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?(?:\/|$)/;

/** @param pathAndQuery what follows the endpoint: nothing, or a path with its query */
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
 * Whether a URL that the sender of an envelope describes is one of this service, and not below the target's endpoint.
 * A URL of any other place is the sender's business.
 */
export function isOfAnotherEndpoint(
  text: string,
  { publicEndpoint, endpointKey }: Pick<Target, 'publicEndpoint' | 'endpointKey'>,
): boolean {
  if (text.startsWith(publicEndpoint)) {
    const rest = text.slice(publicEndpoint.length);
    if ((rest === '' || /^[/?#]/.test(rest)) && !SUSPECT.test(rest)) return false;
  }
  if (isPlainlyElsewhere(text, publicEndpoint)) return false;
  const url = URL.parse(text);
  const own = URL.parse(publicEndpoint);
  if (url === null || own === null) return false;
  const [host, ownHost] = [hostOf(url), hostOf(own)];
  if (host === ownHost) {
    const base = own.pathname.replace(/\/$/, '');
    return url.pathname !== base && !url.pathname.startsWith(`${base}/`);
  }
  // Where each endpoint has an origin of its own, its key is the first label.
  if (!ownHost.startsWith(`${endpointKey}.`)) return false;
  const [label = ''] = host.split('.', 1);
  return ENDPOINT_KEY.test(label) && host.slice(label.length) === ownHost.slice(endpointKey.length);
}

/** Whether a look at both texts shows that the hosts have nothing in common but, perhaps, their first labels. */
function isPlainlyElsewhere(text: string, publicEndpoint: string): boolean {
  const host = PLAIN_URL.exec(text)?.[1];
  if (host === undefined || !PLAIN_ENDPOINT.test(publicEndpoint)) return false;
  return !publicEndpoint.includes(host.slice(host.indexOf('.') + 1));
}

/** With its port. A dot behind a name makes it no other one. */
const hostOf = ({ hostname, port }: URL): string => `${hostname.replace(/\.$/, '')}:${port}`;
