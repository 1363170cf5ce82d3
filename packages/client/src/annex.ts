/**
 * The client of a service: its settings, and the methods of all routes. Needs only `fetch`, `URL`,
 * streams and `AbortSignal`; keeps nothing but its settings and the version of the service.
 */
import { type ClientEnvironment, waited } from './deadline.ts';
import { followed } from './follow.ts';
import { Routes } from './generated.ts';
import { Reply } from './reply.ts';
import type { FollowOptions, RequestParts } from './request.ts';
import { Transport } from './transport.ts';

export interface AnnexOptions {
  /** Base URL of the control listener, such as `http://127.0.0.1:7700`; `/v1` at its end is ignored. */
  readonly url: string | URL;
  /** Token of the API, or a function that returns the current one, called for each attempt. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Sends the requests; the global `fetch` by default. */
  readonly fetch?: typeof fetch | undefined;
  /** Number of retries of a request at most; two by default. */
  readonly retries?: number | undefined;
  /** Milliseconds that a request waits for its retries at most, in all; 30,000 by default. */
  readonly retryWaitMs?: number | undefined;
  /** Milliseconds until an attempt is given up; 60,000 by default. */
  readonly timeoutMs?: number | undefined;
  /** `User-Agent` of the requests, where the platform lets it be set. */
  readonly userAgent?: string | undefined;
}

const RETRIES = 2;
const RETRY_WAIT_MS = 30_000;
const TIMEOUT_MS = 60_000;

/**
 * The API of an Annex service.
 *
 * @example
 * const annex = new Annex({ url: 'http://127.0.0.1:7700', token });
 * const { items } = await annex.integrations.list();
 */
export class Annex extends Routes {
  readonly #transport: Transport;
  readonly #environment: ClientEnvironment;

  constructor(options: AnnexOptions) {
    const environment: ClientEnvironment = {
      // Called without `this`: browsers refuse another one.
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      now: () => performance.now(),
      random: Math.random,
      wait: waited,
    };
    const transport = new Transport(
      {
        base: baseUrl(options.url),
        token: options.token,
        retries: options.retries ?? RETRIES,
        timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
        retryWaitMs: options.retryWaitMs ?? RETRY_WAIT_MS,
        userAgent: options.userAgent,
      },
      environment,
    );
    super({
      send: (method, path, parts) => new Reply(transport.send(method, path, parts)),
      follow: (path, parts, own) => events(transport, environment, { path, parts, options: own }),
    });
    this.#transport = transport;
    this.#environment = environment;
  }

  /** Version of the service that gave the last answer; undefined before it. */
  get serverVersion(): string | undefined {
    return this.#transport.serverVersion;
  }

  /**
   * Sends a request to any path of the API, without types.
   *
   * @param path from `/v1` on; names in braces are filled in from `parts.path`
   *
   * @example
   * const deliveries = await annex.request('GET', '/v1/deliveries', { query: { state: 'failed' } });
   */
  request<Body = unknown>(method: string, path: string, parts: RequestParts = {}): Reply<Body> {
    return new Reply(this.#transport.send(method, path, parts));
  }

  /** The same with the body of the answer unread, for what is large. Errors are thrown likewise. */
  open(method: string, path: string, parts: RequestParts = {}): Promise<Response> {
    return this.#transport.open(method, path, parts);
  }

  /** Follows any path of the API that answers with server-sent events, without types. */
  follow<Event = unknown>(
    path: string,
    parts: RequestParts = {},
    options?: FollowOptions,
  ): AsyncIterable<Event> {
    return events(this.#transport, this.#environment, { path, parts, options });
  }
}

interface Stream {
  readonly path: string;
  readonly parts: RequestParts;
  readonly options: FollowOptions | undefined;
}

function events<Event>(
  transport: Transport,
  environment: ClientEnvironment,
  { path, parts, options }: Stream,
): AsyncIterable<Event> {
  const open = (lastEventId: string | undefined, signal: AbortSignal) =>
    transport.open('GET', path, {
      ...parts,
      headers: { ...parts.headers, accept: 'text/event-stream', 'last-event-id': lastEventId },
      // The stream itself connects again.
      options: { signal, retries: 0 },
    });
  return followed<Event>(open, environment, options);
}

/** Without what the paths of routes begin with. */
function baseUrl(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}`;
}
