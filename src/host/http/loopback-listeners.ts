/**
 * Serves integrations' fetches of this service in process: its API, and the endpoints of
 * installations.
 *
 * A URL below one of the two bases never becomes a network connection, so egress need not reach
 * loopback or the operator's network. The request enters the same listener as one from the network
 * and passes the same checks. The call behind it, its depth and its generation are properties of
 * the connection, which no header can forge. On the control listener only the API can be reached;
 * metrics and health are the operator's.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { endpointUrl, hasOwnOrigins } from '../../model/endpoint-url.ts';
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import type { OwnListener } from '../egress/connector.ts';
import type { CallBehind, FindLoopback, Loopback } from '../egress/loopback.ts';
import { connectionPair } from './connection-pair.ts';

/** Path of the API below `apiEndpoint`, and on the control listener. */
const API_PATH = /^\/v1(?:[/?]|$)/;

/** The call behind a connection, by the listener's end. */
const callers = new WeakMap<Duplex, CallBehind>();

/**
 * @param connection `request.raw.socket`
 * @returns the depth of the call that sent the request; `undefined` for one from the network
 */
export const inProcessDepth = (connection: Duplex): number | undefined => callers.get(connection)?.depth;

/** @returns how many tasks are behind the request; 0 for one from the network */
export const inProcessGeneration = (connection: Duplex): number => callers.get(connection)?.generation ?? 0;

/** @returns the installation whose call sent the request; `undefined` for one from the network */
export const inProcessOwner = (connection: Duplex): string | undefined => callers.get(connection)?.owner;

export interface InProcessDeps {
  /** Base URLs without a trailing slash, read at each use. */
  readonly origins: {
    readonly publicUrl: string;
    readonly contentUrl: string;
    readonly apiEndpoint: string;
  };
  readonly control: Pick<Server, 'emit'>;
  readonly open: Pick<Server, 'emit'>;
}

/** Finds the URLs of this service among those that integrations fetch. */
export function loopbackListeners({ origins, control, open }: InProcessDeps): FindLoopback {
  const loopback = (kind: Loopback['kind'], listener: Pick<Server, 'emit'>, realm: string, path: string) => ({
    kind,
    realm,
    path,
    connect: (from: CallBehind): Duplex => {
      const { client, server } = connectionPair();
      callers.set(server, from);
      listener.emit('connection', server);
      return client;
    },
  });
  return (asked) => {
    const url = withoutFinalDot(asked);
    const { publicUrl, contentUrl, apiEndpoint } = origins;
    const api = below(url, apiEndpoint);
    if (api !== undefined && API_PATH.test(api)) return loopback('api', control, 'api', api);
    const endpoint =
      endpointOf(url, publicUrl) ?? (contentUrl === publicUrl ? undefined : endpointOf(url, contentUrl));
    if (endpoint !== undefined) return loopback('endpoint', open, endpoint.realm, endpoint.path);
    // The control listener answers requests in process as unknown there.
    return api === undefined ? undefined : loopback('product', control, 'api', asPath(api));
  };
}

/** Finds a listener by its port, once it listens: it is not to be dialled. */
export function listenerWithPort(
  servers: Readonly<Record<'control' | 'public', Pick<Server, 'address'>>>,
): OwnListener {
  const portOf = (name: keyof typeof servers) => (servers[name].address() as AddressInfo | null)?.port;
  return (port) => (['control', 'public'] as const).find((name) => portOf(name) === port);
}

/**
 * A dot at the end only marks a name as absolute. Attack: an endpoint that fetches itself at
 * `https://apps.example.com./…`, through the operator's proxy, where each call would begin a chain
 * of calls anew.
 */
function withoutFinalDot(url: URL): URL {
  if (!url.hostname.endsWith('.')) return url;
  const bare = new URL(url);
  bare.hostname = url.hostname.slice(0, -1);
  return bare;
}

const asPath = (rest: string): string => (rest.startsWith('/') ? rest : `/${rest}`);

/**
 * @returns the rest of the URL after the base: empty, or a path with its query; `undefined` if the
 * URL is not below it
 */
function below({ origin, pathname, search }: URL, base: string): string | undefined {
  const at = URL.parse(base);
  if (at === null || withoutFinalDot(at).origin !== origin) return undefined;
  const basePath = at.pathname.replace(/\/$/, '');
  if (pathname !== basePath && !pathname.startsWith(`${basePath}/`)) return undefined;
  return pathname.slice(basePath.length) + search;
}

/**
 * The endpoint's key is the first segment after the base, or a label of the host. Each endpoint is
 * a realm of its own.
 */
function endpointOf(url: URL, base: string): { realm: string; path: string } | undefined {
  if (!hasOwnOrigins(base)) {
    const path = below(url, base);
    if (path === undefined) return undefined;
    return {
      realm: `endpoint ${path.split(/[/?]/)[1] ?? ''}`,
      path: asPath(path),
    };
  }
  const [label = ''] = url.host.split('.', 1);
  if (!ENDPOINT_KEY.test(label) || below(url, endpointUrl(base, label)) === undefined) return undefined;
  // No proxy has taken the path of the public URL off: the key is in the host.
  return { realm: `endpoint ${label}`, path: url.pathname + url.search };
}
