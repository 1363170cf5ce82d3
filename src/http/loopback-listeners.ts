/**
 * What integrations fetch of this very service, served in process: its API, and the endpoints of installations.
 *
 * A URL below one of the two bases never becomes a connection, so nothing of loopback or of the operator's network has to be
 * reachable for it. The request enters the same listener as one from the network and meets the same doors. What the
 * listener may know of it, that a call is behind it and how deep, belongs to the connection: no header says so, and none
 * can. Of the control listener only the API can be asked for; metrics and health are the operator's.
 */
import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FindLoopback, Loopback } from '../egress/loopback.ts';
import { endpointUrl, hasOwnOrigins } from '../model/endpoint-url.ts';
import { ENDPOINT_KEY } from '../model/identifiers.ts';
import { connectionPair } from './connection-pair.ts';

/** Where the API lies on the control listener, whatever the world sees it as. */
const API_PATH = '/v1';

/** Whoever asks, by the listener's end of the connection. */
const askers = new WeakMap<Duplex, { readonly depth: number; readonly owner: string }>();

/**
 * @param connection `request.raw.socket`
 * @returns how many calls whoever asks is inside of; `undefined` where the connection came from the network
 */
export const inProcessDepth = (connection: Duplex): number | undefined => askers.get(connection)?.depth;

/** @returns the installation whose call asks; `undefined` where the connection came from the network */
export const inProcessOwner = (connection: Duplex): string | undefined => askers.get(connection)?.owner;

export interface InProcessParts {
  /** Base URLs without a trailing slash, read at each use. */
  readonly origins: { readonly publicUrl: string; readonly apiUrl: string };
  readonly control: Pick<Server, 'emit'>;
  readonly open: Pick<Server, 'emit'>;
}

/** Finds the places of this service among the URLs that integrations fetch. */
export function loopbackListeners({ origins, control, open }: InProcessParts): FindLoopback {
  const door = (kind: Loopback['kind'], listener: Pick<Server, 'emit'>, realm: string, path: string) => ({
    kind,
    realm,
    path,
    connect: (depth: number, owner: string): Duplex => {
      const { asking, answering } = connectionPair();
      askers.set(answering, { depth, owner });
      listener.emit('connection', answering);
      return asking;
    },
  });
  return (url) => {
    const api = below(url, origins.apiUrl);
    if (api !== undefined) return door('api', control, 'api', `${API_PATH}${api}`);
    const endpoint = placeOfEndpoint(url, origins.publicUrl);
    return endpoint && door('endpoint', open, endpoint.realm, endpoint.path);
  };
}

/** @returns what follows the base in the URL: nothing, or a path with its query; `undefined` where it is not below it */
function below({ origin, pathname, search }: URL, base: string): string | undefined {
  const at = URL.parse(base);
  if (at === null || at.origin !== origin) return undefined;
  const basePath = at.pathname.replace(/\/$/, '');
  if (pathname !== basePath && !pathname.startsWith(`${basePath}/`)) return undefined;
  return pathname.slice(basePath.length) + search;
}

/** An endpoint is the first segment behind the base, or a label of the host. Each is a realm of its own. */
function placeOfEndpoint(url: URL, base: string): { realm: string; path: string } | undefined {
  if (!hasOwnOrigins(base)) {
    const path = below(url, base);
    if (path === undefined) return undefined;
    return {
      realm: `endpoint ${path.split(/[/?]/)[1] ?? ''}`,
      path: path.startsWith('/') ? path : `/${path}`,
    };
  }
  const [label = ''] = url.host.split('.', 1);
  const own = ENDPOINT_KEY.test(label) ? below(url, endpointUrl(base, label)) : undefined;
  if (own === undefined) return undefined;
  return { realm: `endpoint ${label}`, path: own.startsWith('/') ? own : `/${own}` };
}
