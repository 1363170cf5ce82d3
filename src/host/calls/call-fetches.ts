/**
 * The fetches of one call, on the side of the host: from a tenant's `fetch` to the network and
 * back.
 *
 * The isolate keeps the limits on their number, in all and at once; a cell that passes them was
 * taken over. The egress decides what may be reached, and with what headers. The log of the
 * installation says what the egress refused and why; the tenant's code gets a sentence that names
 * no address.
 */
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { ErrorCode } from '../../errors.ts';
import type { LimitName, Limits } from '../../limits.ts';
import type { FetchMessage, LogLevel } from '../../protocol/wire.ts';
import { type Egress, EgressError, type OutboundRequest, type OutboundResponse } from '../egress/egress.ts';
import type { SeenFetch } from './call.ts';
import type { CallStreams, SendToCell } from './call-streams.ts';
import type { IncomingBodies } from './incoming-body.ts';
import type { RefusalPace } from './refusal-pace.ts';

/** How long after the head a body may take to be complete, to be sent in one message with it. */
const WHOLE_WITHIN_MS = 2;
/** Statuses with which this service refuses a request of an integration. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 429]);
/** Larger bodies are streamed. */
const WHOLE_BYTES_MAX = 64 * 1024;
/**
 * Failed fetches of one call that leave a line: they cost a tenant nothing, and the log of its
 * installation is bounded.
 */
const FAILURES_LOGGED_MAX = 10;
/** Fetches without an answer that the line of a late call names. */
const WAITING_NAMED_MAX = 5;
const ORIGIN_CHARS_MAX = 200;
const URL_CHARS_MAX = 500;

export interface CallFetchDeps {
  readonly id: number;
  readonly egress: Pick<Egress, 'fetch'>;
  /** Installation whose call this is. */
  readonly owner: string;
  /** Its organization. */
  readonly organization: string;
  /** The hosts that the manifest declares, where it declares any. */
  readonly hosts?: OutboundRequest['hosts'];
  /** How many calls this one is inside of; absent for 0. */
  readonly depth?: number;
  /** How many tasks are behind it; absent for 0. */
  readonly generation?: number;
  readonly limits: Limits;
  readonly streams: CallStreams;
  readonly collecting: IncomingBodies;
  readonly refusals: RefusalPace;
  readonly send: SendToCell;
  log(level: LogLevel, text: string): void;
  /** Tells of each fetch; absent unless a session watches. */
  readonly fetched?: ((fetch: SeenFetch) => void) | undefined;
}

export class PendingFetches {
  readonly #deps: CallFetchDeps;
  readonly #running = new Map<number, AbortController>();
  #begun = 0;
  #failed = 0;
  readonly #met = new Set<LimitName>();
  #faultCode: ErrorCode | undefined;
  /** Those that wait for their answer, as the isolate sees it, with the beginning of each. */
  readonly #waiting = new Map<number, { readonly url: string; readonly since: number }>();

  constructor(deps: CallFetchDeps) {
    this.#deps = deps;
  }

  /** Limits that the fetches have met. */
  get met(): ReadonlySet<LimitName> {
    return this.#met;
  }

  /** The first error with which one of them has failed for a reason of the platform. */
  get faultCode(): ErrorCode | undefined {
    return this.#faultCode;
  }

  /** The oldest fetches that have no answer yet, each by the origin of its URL. */
  waiting(): string[] {
    const now = performance.now();
    return [...this.#waiting.values()].slice(0, WAITING_NAMED_MAX).map(({ url, since }) => {
      const origin = URL.parse(url)?.origin.slice(0, ORIGIN_CHARS_MAX) ?? 'no URL';
      return `${origin} for ${Math.round(now - since).toLocaleString('en-US')} ms`;
    });
  }

  /** Begins a fetch. @returns false where the cell passed a limit that the isolate keeps */
  begin(message: FetchMessage, body: Buffer): boolean {
    const { limits, streams } = this.#deps;
    this.#begun += 1;
    if (this.#begun > limits.fetchesPerCall || this.#running.has(message.stream)) return false;
    if (this.#waiting.size >= limits.fetchesInFlightPerCall || body.byteLength > limits.fetchRequestBodyBytes)
      return false;
    if (message.body === 'pieces') {
      this.#collect(message);
      return true;
    }
    const streamed = message.body === 'stream';
    const whole = message.body === 'whole' ? body : undefined;
    const sent = streamed ? streams.open(message.stream, limits.fetchRequestBodyBytes) : whole;
    void this.#run(message, sent, this.#open(message.stream).signal);
    return true;
  }

  #open(stream: number): AbortController {
    const abort = new AbortController();
    this.#running.set(stream, abort);
    return abort;
  }

  /** Sends the request once its body is complete: a redirect may need the body again. */
  #collect(message: FetchMessage): void {
    const { streams, collecting, owner, limits } = this.#deps;
    const { signal } = this.#open(message.stream);
    this.#wait(message);
    const whole = streams.collect(message.stream, limits.fetchRequestBodyBytes, {
      collecting,
      owner,
      done: (body) => void this.#run(message, body, signal),
    });
    signal.addEventListener('abort', () => whole.drop(), { once: true });
  }

  /** The isolate no longer wants the answer. */
  drop(stream: number): void {
    this.leave(stream);
    this.#running.get(stream)?.abort();
  }

  /**
   * Frees the place of a fetch as soon as the isolate has given it up. The next fetch may be in the
   * same batch of messages, before this one has ended on the host, and must not be taken for a
   * breach.
   */
  leave(stream: number): void {
    this.#waiting.delete(stream);
  }

  /** The call is over. */
  end(): void {
    const left = this.#failed - FAILURES_LOGGED_MAX;
    if (left > 0) this.#deps.log('warn', `fetch: ${left} more of this call failed.`);
    for (const abort of this.#running.values()) abort.abort();
  }

  /** @returns when it began; of a body that was collected first, with the body */
  #wait({ stream, url }: FetchMessage): number {
    const waiting = this.#waiting.get(stream) ?? { url, since: performance.now() };
    this.#waiting.set(stream, waiting);
    return waiting.since;
  }

  async #run(
    message: FetchMessage,
    body: Uint8Array | Readable | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { id, stream, method, url, redirect, headers } = message;
    const { egress, send, owner, organization, limits, hosts, depth = 0, generation = 0 } = this.#deps;
    const since = this.#wait(message);
    let response: OutboundResponse | undefined;
    try {
      const requested = { method, url, headers, redirect, ...(body && { body }) };
      const behind = { owner, organization, depth, generation };
      const request = { ...requested, ...behind, limits, ...(hosts && { hosts }) };
      response = await egress.fetch(request, signal);
      const { status, statusText, redirected } = response;
      this.#deps.fetched?.(seenFetch(message, since, response));
      this.#faultCode ??= response.faultCode;
      const whole = await wholeBody(response);
      if (response.own && REFUSALS.has(status)) await this.#holdBack(signal);
      this.leave(stream);
      const head = { status, statusText, url: response.url, redirected, headers: [...response.headers] };
      send(
        { t: 'fetched', id, stream, ...head, ...(whole ? {} : { more: true }) },
        ...(whole ? [whole] : []),
      );
      if (whole === undefined)
        this.#deps.streams.send(stream, response.body, (cause) => this.#explain(cause));
    } catch (cause) {
      if (response === undefined) this.#deps.fetched?.(seenFetch(message, since, cause as Error));
      if (cause instanceof EgressError && cause.result === 'refused') await this.#holdBack(signal);
      this.leave(stream);
      send({ t: 'fetch-failed', id, stream, message: this.#explain(cause as Error) });
    }
  }

  /** Delays a refusal to the rate of its installation, unless the fetch is aborted. */
  async #holdBack(signal: AbortSignal): Promise<void> {
    const { refusals, owner } = this.#deps;
    const waitMs = refusals.add(owner, performance.now());
    if (waitMs > 0) await wait(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
  }

  /** Writes the cause to the log. @returns a sentence for the tenant's code, which says less */
  #explain(cause: Error): string {
    if (!(cause instanceof EgressError)) return 'The connection failed.';
    this.#failed += 1;
    if (cause.limit) this.#met.add(cause.limit.name);
    if (this.#failed <= FAILURES_LOGGED_MAX) this.#deps.log('warn', `fetch: ${cause.detail}`);
    return cause.message;
  }
}

/** A fetch as a session sees it. @param end its answer, or why it has none */
function seenFetch(
  { method, url: asked }: FetchMessage,
  since: number,
  end: OutboundResponse | Error,
): SeenFetch {
  const durationMs = Math.round(performance.now() - since);
  if (!(end instanceof Error)) return { method, url: shown(end.url), status: end.status, durationMs };
  const failure = end instanceof EgressError ? end.detail : 'The call no longer waits for it.';
  return { method, url: shown(asked), status: 0, durationMs, failure };
}

/** A URL without its credentials, and with a mark in place of its query, which may hold keys. */
function shown(text: string): string {
  const url = URL.parse(text);
  if (url === null) return 'no URL';
  return `${url.protocol}//${url.host}${url.pathname}`.slice(0, URL_CHARS_MAX) + (url.search && '?…');
}

/**
 * The whole body, where it is small and arrives with the head: it then needs no stream. Otherwise
 * all of it is left to read.
 */
async function wholeBody({ body }: OutboundResponse): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const onReadable = () => {
    for (let piece = body.read() as Buffer | null; piece !== null; piece = body.read() as Buffer | null) {
      pieces.push(piece);
      bytes += piece.byteLength;
      if (bytes > WHOLE_BYTES_MAX) return resolve(false);
    }
  };
  const onEnd = () => resolve(true);
  const timer = setTimeout(() => resolve(false), WHOLE_WITHIN_MS);
  body.on('readable', onReadable).once('end', onEnd).once('error', reject);
  try {
    onReadable();
    const whole = await promise;
    const read = Buffer.concat(pieces);
    if (whole || body.readableEnded) return read;
    if (bytes > 0) body.unshift(read);
    return undefined;
  } finally {
    clearTimeout(timer);
    body.off('readable', onReadable).off('end', onEnd).off('error', reject);
  }
}
