/**
 * The egress for tests: the real one, servers on this machine, and short requests. Only name
 * resolution is replaced.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { onTestFinished } from 'vitest';
import {
  Egress,
  type EgressError,
  type OutboundRequest,
  type OutboundResponse,
} from '../../../src/host/egress/egress.ts';
import type { Lookup } from '../../../src/host/egress/name-resolution.ts';
import { EgressPolicy } from '../../../src/host/egress/policy.ts';
import type { EgressProxy } from '../../../src/host/egress/proxy.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';

export interface EgressOptions {
  /** By default, this machine may be reached. */
  readonly allow?: string;
  readonly deny?: string;
  readonly limits?: Partial<Limits>;
  readonly lookup?: Lookup;
  readonly hostsRequired?: boolean;
  readonly controlPort?: number;
  readonly proxy?: EgressProxy;
}

/** A server that is closed at the end of the test. */
export function newEgress({
  allow = '127.0.0.0/8',
  deny = '',
  limits = {},
  lookup,
  hostsRequired = false,
  controlPort,
  proxy,
}: EgressOptions = {}): Egress {
  const { policy, problems } = EgressPolicy.parse({ allow, deny });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const egress = new Egress({
    policy,
    limits: { ...DEFAULT_LIMITS, ...limits },
    lookup: lookup ?? (() => Promise.resolve(['127.0.0.1'])),
    hostsRequired,
    proxy,
    ownListener: (port) => (port === controlPort ? 'control' : undefined),
  });
  onTestFinished(() => egress.close());
  return egress;
}

export const outbound = (url: string, rest: Partial<OutboundRequest> = {}): OutboundRequest => ({
  method: 'GET',
  url,
  headers: [],
  redirect: 'follow',
  ...rest,
});

export const send = (
  egress: Egress,
  url: string,
  {
    signal = new AbortController().signal,
    ...rest
  }: Partial<OutboundRequest> & { signal?: AbortSignal } = {},
): Promise<OutboundResponse> => egress.fetch(outbound(url, rest), signal);

/** The reason of a rejected promise. */
export const failure = (promise: Promise<unknown>): Promise<EgressError> =>
  promise.then(
    () => {
      throw new Error('It was expected to fail.');
    },
    (cause) => cause,
  );

/** @returns the base URL of the server, without a trailing slash */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => stop(server));
  return `http://127.0.0.1:${await portOf(server)}`;
}

/** A server that writes raw bytes. */
export async function serveTcp(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${await portOf(server)}`;
}

export function stop(server: Pick<Server, 'close' | 'closeAllConnections'>): void {
  server.closeAllConnections();
  server.close();
}

/**
 * Connections that wait to be accepted. The kernel drops further ones and retries them seconds
 * later, on a clock that tests cannot control.
 */
const BACKLOG = 4_096;

export function portOf(server: TcpServer): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', BACKLOG, () => resolve((server.address() as AddressInfo).port));
  });
}
