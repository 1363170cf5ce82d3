/**
 * Finds the endpoint that a request addresses: by the first segment of its path, or by its host
 * where endpoints have origins of their own (docs/contract/endpoints.md#urls).
 *
 * Reads the head only, and looks nothing up.
 */
import { endpointPath, hasOwnOrigins } from '../../model/endpoint-url.ts';
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import { endpointHosts, hostsOf } from '../host-header.ts';

export interface EndpointAddress {
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
