/**
 * The fetches of one call, on the host's side: from a tenant's `fetch` to the network and back.
 *
 * The isolate keeps the bounds on how many there may be, in all and at once; a cell that goes beyond them is no longer the
 * one we started. What may be reached, and with what headers, is for the egress to decide; what it refused and why is told
 * to the installation's log, while the tenant's code hears a sentence that names no address.
 */
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { type Egress, EgressError, type OutboundRequest, type OutboundResponse } from '../egress/egress.ts';
import type { LimitName, Limits } from '../limits.ts';
import type { FetchMessage, LogLevel } from '../protocol/wire.ts';
import type { CallStreams, TellCell } from './call-streams.ts';
import type { Collecting } from './incoming-body.ts';
import type { RefusalPace } from './refusal-pace.ts';

/** How long a body may take to be all there, once the head is, to travel in one message with it. */
const WHOLE_WITHIN_MS = 2;
/** What this service refuses an integration with. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 429]);
/** Larger bodies are streamed. */
const WHOLE_BYTES_MAX = 64 * 1024;
/** Fetches of one call that a line is written about: they cost a tenant nothing, and its calls share a log with bounds. */
const FAILURES_LOGGED_MAX = 10;

export interface CallFetchParts {
  readonly id: number;
  readonly egress: Pick<Egress, 'fetch'>;
  /** Installation whose call this is. */
  readonly owner: string;
  /** The hosts that the installation has said it reaches. */
  readonly hosts?: OutboundRequest['hosts'];
  /** How many calls this one is inside of, where it is inside of any. */
  readonly depth?: number;
  readonly limits: Limits;
  readonly streams: CallStreams;
  readonly collecting: Collecting;
  readonly refusals: RefusalPace;
  readonly tell: TellCell;
  log(level: LogLevel, text: string): void;
}

export class PendingFetches {
  readonly #parts: CallFetchParts;
  readonly #running = new Map<number, AbortController>();
  #begun = 0;
  #failed = 0;
  readonly #met = new Set<LimitName>();
  /** Those that wait for their answer, as far as the isolate knows. */
  readonly #waiting = new Set<number>();

  constructor(parts: CallFetchParts) {
    this.#parts = parts;
  }

  /** Limits that one of them has met. */
  get met(): ReadonlySet<LimitName> {
    return this.#met;
  }

  /** Begins one. @returns false where the cell broke the rules */
  begin(message: FetchMessage, body: Buffer): boolean {
    const { limits, streams } = this.#parts;
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
    const sent = streamed ? streams.receive(message.stream, limits.fetchRequestBodyBytes) : whole;
    void this.#run(message, sent, this.#open(message.stream).signal);
    return true;
  }

  #open(stream: number): AbortController {
    const abort = new AbortController();
    this.#running.set(stream, abort);
    return abort;
  }

  /** The request leaves once all of its body is there: a redirect may ask for it again. */
  #collect(message: FetchMessage): void {
    const { streams, collecting, owner, limits } = this.#parts;
    const { signal } = this.#open(message.stream);
    this.#waiting.add(message.stream);
    const whole = streams.collect(message.stream, limits.fetchRequestBodyBytes, {
      collecting,
      owner,
      done: (body) => void this.#run(message, body, signal),
    });
    signal.addEventListener('abort', () => whole.drop(), { once: true });
  }

  /** Nobody waits for the answer any more. */
  drop(stream: number): void {
    this.leave(stream);
    this.#running.get(stream)?.abort();
  }

  /**
   * Its place is free as soon as the isolate has given the fetch up: the next one may be in the same batch of messages, long
   * before this one has come to its end here, and must not be taken for a breach.
   */
  leave(stream: number): void {
    this.#waiting.delete(stream);
  }

  /** The call is over. */
  end(): void {
    const left = this.#failed - FAILURES_LOGGED_MAX;
    if (left > 0) this.#parts.log('warn', `fetch: ${left} more of this call came to nothing.`);
    for (const abort of this.#running.values()) abort.abort();
  }

  async #run(
    { id, stream, method, url, redirect, headers }: FetchMessage,
    body: Uint8Array | Readable | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { egress, tell, owner, limits, hosts, depth = 0 } = this.#parts;
    this.#waiting.add(stream);
    try {
      const asked = { method, url, headers, redirect, ...(body && { body }) };
      const request = { ...asked, owner, depth, limits, ...(hosts && { hosts }) };
      const response = await egress.fetch(request, signal);
      const { status, statusText, redirected } = response;
      const whole = await wholeBody(response);
      if (response.own && REFUSALS.has(status)) await this.#holdBack(signal);
      this.leave(stream);
      const head = { status, statusText, url: response.url, redirected, headers: [...response.headers] };
      tell(
        { t: 'fetched', id, stream, ...head, ...(whole ? {} : { more: true }) },
        ...(whole ? [whole] : []),
      );
      if (whole === undefined)
        this.#parts.streams.send(stream, response.body, (cause) => this.#explain(cause));
    } catch (cause) {
      if (cause instanceof EgressError && cause.result === 'refused') await this.#holdBack(signal);
      this.leave(stream);
      tell({ t: 'fetch-failed', id, stream, message: this.#explain(cause as Error) });
    }
  }

  /** A refusal is told at the pace of its installation, unless the fetch is called off. */
  async #holdBack(signal: AbortSignal): Promise<void> {
    const { refusals, owner } = this.#parts;
    const waitMs = refusals.add(owner, performance.now());
    if (waitMs > 0) await wait(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
  }

  /** @returns what the tenant's code may hear; the log hears more */
  #explain(cause: Error): string {
    if (!(cause instanceof EgressError)) return 'The connection failed.';
    this.#failed += 1;
    if (cause.limit) this.#met.add(cause.limit.name);
    if (this.#failed <= FAILURES_LOGGED_MAX) this.#parts.log('warn', `fetch: ${cause.detail}`);
    return cause.message;
  }
}

/** The whole body, where it is small and there with the head: it then needs no stream. Otherwise nothing of it is lost. */
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
