/**
 * Finds the endpoint that a request addresses: by the first segment of its path, or by its host
 * where endpoints have origins of their own (docs/contract/endpoints.md#urls); and checks that a
 * path or URL stays below its endpoint. Reads the head only, and looks nothing up.
 *
 * Attack: `GET {endpoint A}/../{key of B}/x` is routed to A by the key as it was sent, but
 * `request.url` in A's code reads as B's, because a URL parser removes dot segments. A path that
 * leaves the endpoint is refused before an isolate is entered. Dots are read as a URL parser reads
 * them: plain or encoded, between slashes or backslashes. Nothing is rewritten.
 */
import { endpointPath, hasOwnOrigins } from '../../../model/endpoint-url.ts';
import { ENDPOINT_KEY } from '../../../model/identifiers.ts';
import type { Target } from '../../../model/target.ts';
import { endpointHosts, hostsOf } from '../request-head.ts';

interface EndpointAddress {
  /** The endpoint's key; undefined if the request addresses none. */
  readonly key: string | undefined;
  /** The rest of the URL after the endpoint: empty, or a path with its query. */
  readonly pathAndQuery: string;
  /** Whether it came to the origin without cookies. */
  readonly isContent: boolean;
}

/** @param url path and query as they were sent */
type ReadAddress = (host: string | undefined, url: string) => EndpointAddress;

/** Both as configured. */
export interface EndpointBases {
  /** If absent, endpoints are below any host that reaches the listener. */
  readonly publicUrl?: string | undefined;
  readonly contentUrl?: string | undefined;
}

export function endpointAddresses({ publicUrl, contentUrl }: EndpointBases): ReadAddress {
  const isContentHost = contentUrl === undefined ? () => false : hostsOf(contentUrl);
  if (publicUrl !== undefined && hasOwnOrigins(publicUrl)) return inHost(publicUrl, contentUrl);
  return (host, url) => {
    const key = keyInPath(url);
    const pathAndQuery = url.slice(1 + (key?.length ?? 0));
    return { key, pathAndQuery, isContent: isContentHost(host) };
  };
}

function inHost(publicUrl: string, contentUrl: string | undefined): ReadAddress {
  const publicKey = endpointHosts(publicUrl);
  const contentKey = contentUrl === undefined ? () => undefined : endpointHosts(contentUrl);
  const base = endpointPath(publicUrl);
  return (host, url) => {
    const content = contentKey(host);
    const key = content ?? publicKey(host);
    const isContent = content !== undefined;
    if (base !== '') return { ...below(base, key, url), isContent };
    // The path of the endpoint is `/`. Code that puts a path behind it asks for `//x`.
    const pathAndQuery = url.startsWith('//') ? url.replace(/^\/+/, '/') : url;
    return { key, pathAndQuery, isContent };
  };
}

function below(
  base: string,
  key: string | undefined,
  url: string,
): Pick<EndpointAddress, 'key' | 'pathAndQuery'> {
  const pathAndQuery = url.slice(base.length);
  const isBelow = url.startsWith(base) && (pathAndQuery === '' || /^[/?]/.test(pathAndQuery));
  return isBelow ? { key, pathAndQuery } : { key: undefined, pathAndQuery: url };
}

/** The first segment of the path, as it was sent: a percent-encoded key is no key. */
function keyInPath(url: string): string | undefined {
  const keyEnd = url.slice(1).search(/[/?]/);
  const key = keyEnd === -1 ? url.slice(1) : url.slice(1, keyEnd + 1);
  return ENDPOINT_KEY.test(key) ? key : undefined;
}

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
