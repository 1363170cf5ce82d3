/**
 * Receivers that answer with given bytes, a real `WebhookClient`, and a clock that tests advance.
 */

import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ClientCertificate } from '../../../src/host/egress/connector.ts';
import type { FindLoopback } from '../../../src/host/egress/loopback.ts';
import type { Lookup } from '../../../src/host/egress/name-resolution.ts';
import { EgressPolicy } from '../../../src/host/egress/policy.ts';
import type { EgressProxy } from '../../../src/host/egress/proxy.ts';
import {
  type Post,
  type PostResult,
  WebhookClient,
} from '../../../src/host/egress/webhook/webhook-client.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';
import { serveTcp } from '../http/egress.ts';

/** Timers that run when a test advances the clock. */
export class ManualClock {
  #nowMs = 0;
  readonly #due = new Set<{ readonly at: number; readonly run: () => void }>();

  after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.#nowMs + ms, run };
    this.#due.add(timer);
    return () => void this.#due.delete(timer);
  };

  advance(ms: number): void {
    this.#nowMs += ms;
    for (const timer of [...this.#due].filter(({ at }) => at <= this.#nowMs)) {
      this.#due.delete(timer);
      timer.run();
    }
  }

  /** Timers that have neither run nor been canceled. */
  get pending(): number {
    return this.#due.size;
  }
}

export interface WebhookClientOptions {
  readonly proxy?: EgressProxy;
  readonly certificate?: ClientCertificate;
  /** This machine unless given. */
  readonly allow?: string;
  readonly deny?: string;
  readonly limits?: Partial<Limits>;
  readonly lookup?: Lookup;
  readonly allowHttp?: boolean;
  readonly findLoopback?: FindLoopback;
  readonly controlPort?: number;
  readonly clock?: ManualClock;
}

/** A client that is closed when the test ends. */
export function newWebhookClient({
  allow = '127.0.0.0/8',
  deny = '',
  limits = {},
  lookup = () => Promise.resolve(['127.0.0.1']),
  allowHttp = true,
  findLoopback,
  controlPort,
  proxy,
  certificate,
  clock,
}: WebhookClientOptions = {}): WebhookClient {
  const { policy, problems } = EgressPolicy.parse({ allow, deny });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const client = new WebhookClient({
    policy,
    limits: { ...DEFAULT_LIMITS, ...limits },
    lookup,
    allowHttp,
    ...(findLoopback && { findLoopback }),
    proxy,
    certificate,
    ownListener: (port) => (port === controlPort ? 'control' : undefined),
    after: clock?.after ?? later,
  });
  onTestFinished(() => client.close());
  return client;
}

function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

export const postTo = (client: WebhookClient, url: string, rest: Partial<Post> = {}): Promise<PostResult> =>
  client.post({
    url,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{"eventId":"evt_1"}'),
    owner: 'endpoint',
    ...rest,
  });

export interface RawReceiver {
  readonly url: string;
  /** Complete requests. */
  readonly requests: string[];
  /** Connections so far. */
  connections(): number;
  /** Open connections. */
  open(): number;
}

/**
 * Serves a receiver.
 *
 * @param answer called for each complete request, with its socket; `nth` counts the requests of all
 * connections
 *   from 1
 */
export async function receive(answer: (socket: Socket, nth: number) => void): Promise<RawReceiver> {
  const requests: string[] = [];
  let connections = 0;
  let open = 0;
  const url = await serveTcp((socket) => {
    connections += 1;
    open += 1;
    socket.once('close', () => (open -= 1));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      for (let end = endOfRequest(text); end <= text.length; end = endOfRequest(text)) {
        requests.push(text.slice(0, end));
        text = text.slice(end);
        answer(socket, requests.length);
      }
    });
  });
  return { url: `${url}/hook`, requests, connections: () => connections, open: () => open };
}

/** Offset of the end of the first request; infinite if the request is not complete. */
function endOfRequest(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  const [, length] = /^content-length: (\d+)\r$/im.exec(text.slice(0, head + 1)) ?? [];
  return head === -1 || length === undefined ? Number.POSITIVE_INFINITY : head + 4 + Number(length);
}

/** A receiver that answers with these bytes and keeps the connection open. */
export const receiveWith = (bytes: string): Promise<RawReceiver> =>
  receive((socket) => void socket.write(bytes, 'latin1'));

/** A receiver that answers with these bytes and closes the connection. */
export const receiveAndEnd = (bytes: string): Promise<RawReceiver> =>
  receive((socket) => void socket.end(bytes, 'latin1'));

/** Writes until the socket is closed, as fast as the other side reads. */
export function endlessly(socket: Socket, chunk: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk, 'latin1'));
  };
  socket.on('drain', more);
  more();
}

/** A complete answer that leaves the connection open. */
export const answered = (status: number, body = '', headers = ''): string =>
  `HTTP/1.1 ${status} X\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
