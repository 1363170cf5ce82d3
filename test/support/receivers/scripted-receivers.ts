/**
 * Receivers of webhooks as tests meet them: servers that answer with whatever bytes they like, a real `WebhookClient`, and a clock
 * that only goes on when it is told to.
 */
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { FindLoopback } from '../../../src/egress/loopback.ts';
import type { Lookup } from '../../../src/egress/names.ts';
import { EgressPolicy } from '../../../src/egress/policy.ts';
import { type Post, type PostResult, WebhookClient } from '../../../src/egress/webhook/webhook-client.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';
import { serveTcp } from '../http/egress.ts';

/** What was to happen later, and happens when it is told to. */
export class HandClock {
  #nowMs = 0;
  readonly #due = new Set<{ readonly at: number; readonly run: () => void }>();

  after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.#nowMs + ms, run };
    this.#due.add(timer);
    return () => void this.#due.delete(timer);
  };

  pass(ms: number): void {
    this.#nowMs += ms;
    for (const timer of [...this.#due].filter(({ at }) => at <= this.#nowMs)) {
      this.#due.delete(timer);
      timer.run();
    }
  }

  /** Timers that nobody has called off. */
  get pending(): number {
    return this.#due.size;
  }
}

export interface PostingOptions {
  /** By default, this machine may be reached. */
  readonly allow?: string;
  readonly deny?: string;
  readonly limits?: Partial<Limits>;
  readonly lookup?: Lookup;
  readonly allowHttp?: boolean;
  readonly ownDoor?: FindLoopback;
  readonly controlPort?: number;
  readonly clock?: HandClock;
}

/** One that is closed when the test is over. */
export function newPosting({
  allow = '127.0.0.0/8',
  deny = '',
  limits = {},
  lookup = () => Promise.resolve(['127.0.0.1']),
  allowHttp = true,
  ownDoor,
  controlPort,
  clock,
}: PostingOptions = {}): WebhookClient {
  const { policy, problems } = EgressPolicy.parse({ allow, deny });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const posting = new WebhookClient({
    policy,
    limits: { ...DEFAULT_LIMITS, ...limits },
    lookup,
    allowHttp,
    ...(ownDoor && { ownDoor }),
    controlPort: () => controlPort,
    ...(clock && { after: clock.after }),
  });
  onTestFinished(() => posting.close());
  return posting;
}

export const postTo = (posting: WebhookClient, url: string, rest: Partial<Post> = {}): Promise<PostResult> =>
  posting.post({
    url,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{"eventId":"evt_1"}'),
    owner: 'endpoint',
    ...rest,
  });

export interface RawReceiver {
  readonly url: string;
  /** Requests that have arrived whole. */
  readonly requests: string[];
  /** Connections it has had. */
  connections(): number;
  /** Connections that are open. */
  open(): number;
}

/**
 * @param answer called with each request that has arrived whole, on its socket; `nth` counts the requests of all connections
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

/** Where the first request in a text ends; beyond it, where it has not arrived whole. */
function endOfRequest(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  const [, length] = /^content-length: (\d+)\r$/im.exec(text.slice(0, head + 1)) ?? [];
  return head === -1 || length === undefined ? Number.POSITIVE_INFINITY : head + 4 + Number(length);
}

/** One whose every answer is these bytes, after which it waits. */
export const receiveWith = (bytes: string): Promise<RawReceiver> =>
  receive((socket) => void socket.write(bytes, 'latin1'));

/** One whose every answer is these bytes, after which it hangs up. */
export const receiveAndEnd = (bytes: string): Promise<RawReceiver> =>
  receive((socket) => void socket.end(bytes, 'latin1'));

/** Writes until the other side has enough, as fast as it takes it. */
export function endlessly(socket: Socket, piece: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(piece, 'latin1'));
  };
  socket.on('drain', more);
  more();
}

/** A whole answer that leaves the connection open. */
export const answered = (status: number, body = '', headers = ''): string =>
  `HTTP/1.1 ${status} X\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
