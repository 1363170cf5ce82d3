/**
 * Client of the product's own API (docs/contract/api.md#the-products-api): sends one request to the
 * origin that the operator names, and to no other.
 *
 * The operator chooses the host, so it may be a private address; nothing that a tenant sends
 * changes where a connection goes. Redirects are answers and are not followed. Bodies stream in
 * both directions. Time, bytes and requests in flight are bounded as for a fetch; nothing is
 * retried. All owners share the connections, because the requests of each have a bound of their
 * own.
 */
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { buildConnector, type Dispatcher, type Pool } from 'undici';
import type { LimitMet, Limits } from '../../limits.ts';
import { SmallChunkRate } from '../../model/small-chunks.ts';
import { ByteLimit } from './byte-limit.ts';
import { serverNameOf } from './connector.ts';
import { Deadline } from './deadline.ts';
import { EgressError, type FetchResult, overLimit } from './egress-error.ts';
import { FetchTally } from './fetch-tally.ts';
import { newHttpPool } from './http-pool.ts';
import { joinedAnswers } from './joined-answer.ts';
import { explain } from './network-errors.ts';
import { answerTo } from './pool-request.ts';
import { type HeaderPairs, productHeaders } from './request-head.ts';
import { tenantResponseHeaders, valuesOf } from './response-head.ts';
import { type After, inTime } from './webhook/deadline-connector.ts';

/** Larger numbers are no status of HTTP. */
const STATUS_MAX = 599;

export interface ProductRequest {
  readonly method: string;
  /** Path and query; begins with `/`. */
  readonly path: string;
  readonly headers: HeaderPairs;
  /** The request whose body is sent on; absent if there is none. */
  readonly body?: IncomingMessage;
  /** The installation, or what else shares a bound on requests in flight. */
  readonly owner: string;
  readonly organization?: string | undefined;
}

export interface ProductResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** As it was sent, not decompressed. The caller reads or destroys it. */
  readonly body: Readable;
}

export interface ProductClientDeps {
  /** Base URL, without a trailing slash; a path in it goes before that of each request. */
  readonly base: string;
  readonly limits: Limits;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: After;
}

export class ProductClient {
  readonly #limits: Limits;
  readonly #after: After;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #pool: Pool;
  readonly #tally: FetchTally;
  readonly #chunks: SmallChunkRate;
  #closed = false;

  constructor({ base, limits, after }: ProductClientDeps) {
    const { origin, hostname, pathname } = new URL(base);
    const { productConnectMs: timeout, productRequestsInFlight: max } = limits;
    this.#limits = limits;
    this.#after = after;
    this.#origin = origin;
    this.#basePath = pathname.replace(/\/$/, '');
    const dial = buildConnector({
      ...{ allowH2: false, autoSelectFamily: true, maxCachedSessions: 1, timeout },
      ...serverNameOf(hostname),
    });
    this.#pool = newHttpPool(origin, {
      connect: inTime(dial, { name: 'productConnectMs', max: timeout }, after),
      connections: max,
      headerBytes: limits.fetchHeaderBytes,
    });
    this.#chunks = new SmallChunkRate(limits, () => performance.now());
    this.#tally = new FetchTally({
      all: { name: 'productRequestsInFlight', max },
      ofOwner: 'productRequestsInFlightPerInstallation',
    });
  }

  /** Requests whose answer has not ended. */
  get inFlight(): number {
    return this.#tally.inFlight;
  }

  /** Ended requests, by result. */
  get ended(): ReadonlyMap<FetchResult, number> {
    return this.#tally.ended;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#pool.stats.connected;
  }

  /**
   * Sends a request. Resolves with the head of the answer; a later error is one of its body.
   *
   * @throws EgressError, or the reason of the signal if the caller aborts
   */
  async send(request: ProductRequest, signal: AbortSignal): Promise<ProductResponse> {
    const { productMs: max, productRequestsInFlightPerInstallation } = this.#limits;
    let sent: ByteLimit | undefined;
    const deadline = new Deadline(signal, max, () => late({ name: 'productMs', max }, request, sent));
    const tooMany = this.#tally.begin(request, productRequestsInFlightPerInstallation);
    const over = (result: FetchResult) => {
      this.#tally.end(request, result);
      deadline.clear();
      sent?.destroy();
    };
    try {
      signal.throwIfAborted();
      if (this.#closed) throw new EgressError('The service is stopping.', { result: 'shed' });
      if (tooMany) throw overLimit(tooMany, 'shed');
      sent = request.body && this.#metered(request.body);
      return this.#respond(request, await this.#dispatch(request, sent, deadline), deadline, over);
    } catch (cause) {
      const error = this.#errorOf(cause, deadline);
      over(resultOf(error));
      throw error;
    }
  }

  /** Ends all requests and connections. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool.destroy();
  }

  async #dispatch(
    request: ProductRequest,
    body: ByteLimit | undefined,
    deadline: Deadline,
  ): Promise<Dispatcher.ResponseData> {
    const { method, path, headers, owner } = request;
    const { productFirstByteMs: max } = this.#limits;
    const stop = new AbortController();
    const silent = Promise.withResolvers<never>();
    const cancel = this.#after(max, () => {
      const error = late({ name: 'productFirstByteMs', max }, request, body);
      silent.reject(error);
      stop.abort(error);
    });
    const answered = answerTo(
      this.#pool.compose(joinedAnswers(this.#chunks, owner)),
      { method, path: `${this.#basePath}${path}`, headers: productHeaders(headers), body: body ?? null },
      AbortSignal.any([deadline.signal, stop.signal]),
      'product',
    );
    try {
      return await Promise.race([answered, deadline.over, silent.promise]);
    } finally {
      cancel();
    }
  }

  #respond(
    { method }: ProductRequest,
    { statusCode: status, headers: raw, body: source }: Dispatcher.ResponseData,
    deadline: Deadline,
    over: (result: FetchResult) => void,
  ): ProductResponse {
    const max = this.#limits.productResponseBodyBytes;
    const tooMany = () => overLimit({ name: 'productResponseBodyBytes', max }, 'tooLarge');
    const headers = tenantResponseHeaders(raw as unknown as string[]);
    const [length] = method === 'HEAD' ? [] : valuesOf(headers, 'content-length');
    const refused =
      (status > STATUS_MAX && new EgressError('The status of the answer is no status of HTTP.')) ||
      (Number(length ?? 0) > max && tooMany());
    if (refused) {
      source.on('error', () => undefined).destroy();
      throw refused;
    }
    const body = new ByteLimit(max, tooMany, (cause) => this.#errorOf(cause, deadline));
    pipeline([source, body], () => undefined);
    const cut = () => body.destroy(deadline.signal.reason);
    deadline.signal.addEventListener('abort', cut, { once: true });
    if (deadline.signal.aborted) cut();
    body.once('close', () => {
      deadline.signal.removeEventListener('abort', cut);
      if (body.errored) over(resultOf(body.errored));
      else over(body.readableEnded ? 'ok' : 'canceled');
    });
    return { status, headers, body };
  }

  /**
   * The body of a request, bounded. The request itself is not destroyed with it: an error is still
   * to be answered on its connection.
   *
   * @throws EgressError if its length is over the limit
   */
  #metered(request: IncomingMessage): ByteLimit {
    const max = this.#limits.productRequestBodyBytes;
    const tooMany = () => overLimit({ name: 'productRequestBodyBytes', max }, 'tooLarge');
    if (Number(request.headers['content-length'] ?? 0) > max) throw tooMany();
    const meter = new ByteLimit(max, tooMany);
    request.once('close', () => {
      if (!request.readableEnded)
        meter.destroy(new EgressError('The body of the request broke off.', { result: 'canceled' }));
    });
    meter.once('close', () => request.unpipe(meter));
    return request.pipe(meter);
  }

  /** The error of a request: its deadline, the reason of the caller's abort, or the cause. */
  #errorOf(cause: unknown, { signal }: Deadline): Error {
    const first: unknown = signal.aborted ? signal.reason : cause;
    const isAborted = signal.aborted && !(first instanceof EgressError);
    return isAborted ? (first as Error) : explain(first, this.#origin, this.#limits);
  }
}

/**
 * The error of a time-out. It is the sender's fault where all that it has sent of its body was
 * passed on, and the rest did not come.
 */
function late(limit: LimitMet, { body: request }: ProductRequest, sent: ByteLimit | undefined): EgressError {
  const isAwaited = request !== undefined && !request.complete && sent?.readableLength === 0;
  if (!isAwaited) return overLimit(limit, 'timeout');
  return new EgressError('The body of the request came too slowly.', { result: 'canceled', limit });
}

const resultOf = (error: Error): FetchResult => (error instanceof EgressError ? error.result : 'canceled');
