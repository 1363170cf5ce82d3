/**
 * The only way out: one request of a tenant's `fetch`, and what came of it.
 *
 * Follows the Fetch standard where a server program can: redirects are followed by hand, so that every hop is judged as the
 * first was. Everything has a bound, bytes and time, and nothing is tried twice. It knows neither tenants nor calls: how
 * many fetches a call may make is its caller's affair. A body that was decompressed loses the headers that speak of it as it
 * was sent: whoever answers with it as it is would otherwise promise gzip and send text.
 */
import { pipeline, Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Limits } from '../limits.ts';
import { Connections, type PoolLease, targetOf } from './connections.ts';
import { checkTarget, connectorTo } from './connector.ts';
import { Deadline } from './deadline.ts';
import { Decoding } from './decoding.ts';
import { EgressError } from './egress-error.ts';
import { explain } from './explain.ts';
import { HELD_BYTES, Meter } from './meter.ts';
import { type Lookup, namesOf } from './names.ts';
import type { EgressPolicy } from './policy.ts';
import { fetchableUrl, type Hop, isRedirect, nextHop } from './redirect.ts';
import { checkMethod, type HeaderPairs, headToSend, tenantHeaders } from './request-head.ts';
import { reasonPhrase, tenantResponseHeaders, valuesOf } from './response-head.ts';

export { EgressError };

export interface OutboundRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderPairs;
  /** A stream can be sent once: a redirect that asks for it again is an error. */
  readonly body?: Uint8Array | Readable;
  readonly redirect: 'follow' | 'error' | 'manual';
  /** Whose fetch it is, for instance the installation's id: owners share neither connections nor the bound on them. */
  readonly owner?: string;
}

export interface OutboundResponse {
  readonly status: number;
  readonly statusText: string;
  /** Where the answer came from, after redirects, without fragment. */
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: readonly [string, string][];
  /** Decompressed. Whoever asked must read it or destroy it: until then it holds a connection, for `fetchMs` at most. */
  readonly body: Readable;
}

export interface EgressParts {
  readonly policy: EgressPolicy;
  readonly limits: Limits;
  /** Replaces the look-up of names. */
  readonly lookup?: Lookup;
}

/** Interim answers of one request that are read over; a server may not send them without end. */
const INTERIM_ANSWERS_MAX = 16;
/** Where a request was to go, for the log: its origin, or its scheme where that is all there is to tell. */
function whereOf(text: string): string {
  const url = URL.parse(text);
  if (url === null) return 'a URL that is none';
  return url.origin === 'null' ? url.protocol : url.origin;
}

/** Headers that are no longer true of a body that was decompressed. */
const ENCODED: ReadonlySet<string> = new Set(['content-encoding', 'content-length']);
const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

/** What one hop answered. */
interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: [string, string][];
  readonly body: Readable;
  readonly lease: PoolLease;
}

export class Egress {
  readonly #policy: EgressPolicy;
  readonly #limits: Limits;
  readonly #connections: Connections;
  readonly #decoding = new Decoding();
  readonly #inFlightOf = new Map<string, number>();
  #inFlight = 0;
  #closed = false;

  constructor({ policy, limits, lookup = namesOf((host) => policy.vouchesFor(host)) }: EgressParts) {
    this.#policy = policy;
    this.#limits = limits;
    const timeoutMs = limits.fetchConnectMs;
    this.#connections = new Connections({
      connectionsMax: limits.fetchConnections,
      connectionsPerOrigin: limits.fetchConnectionsPerOrigin,
      headerBytes: limits.fetchHeaderBytes,
      connectorTo: (target) => connectorTo(target, { policy, lookup, timeoutMs }),
    });
  }

  /** Fetches whose answer is not over yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Pools of connections that are kept, for one owner and origin each. */
  get pools(): number {
    return this.#connections.pools;
  }

  /** Connections that are open or being made. */
  get connections(): number {
    return this.#connections.open;
  }

  /**
   * Resolves with the head of the answer; what happens later, happens to its body.
   * @throws EgressError, or the reason of the signal where that is what ended it
   */
  async fetch(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> {
    const { fetchMs } = this.#limits;
    const sent = this.#meteredBody(request.body);
    const deadline = new Deadline(
      signal,
      fetchMs,
      () => new EgressError(`The fetch took longer than ${fetchMs} ms, its answer's body included.`),
    );
    const isRoom = this.#count(request.owner, 1);
    const over = () => {
      this.#count(request.owner, -1);
      deadline.clear();
      if (sent instanceof Readable) sent.destroy();
    };
    try {
      signal.throwIfAborted();
      if (this.#closed) throw new EgressError('The service is stopping.');
      if (!isRoom) throw new EgressError('Too many outbound requests are in flight; try again later.');
      return await this.#follow(request, sent, deadline, over);
    } catch (cause) {
      over();
      throw told(cause, deadline, whereOf(request.url));
    }
  }

  /** Ends every fetch, and every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#connections.close();
  }

  /** @returns whether there are now no more in flight than may be: of this owner, so that nobody takes all, and of all */
  #count(owner = '', change: 1 | -1): boolean {
    const { fetchConnections, fetchesInFlightPerInstallation } = this.#limits;
    this.#inFlight += change;
    const ofOwner = (this.#inFlightOf.get(owner) ?? 0) + change;
    if (ofOwner === 0) this.#inFlightOf.delete(owner);
    else this.#inFlightOf.set(owner, ofOwner);
    return this.#inFlight <= fetchConnections && ofOwner <= fetchesInFlightPerInstallation;
  }

  /** Fetch, "HTTP fetch": one hop after the other. */
  async #follow(
    { method, url, headers, redirect, owner = '' }: OutboundRequest,
    body: Uint8Array | Readable | undefined,
    deadline: Deadline,
    over: () => void,
  ): Promise<OutboundResponse> {
    const { fetchRedirects, fetchHeaderBytes } = this.#limits;
    checkMethod(method);
    if (body !== undefined && (method === 'GET' || method === 'HEAD'))
      throw new EgressError('A request with GET or HEAD has no body.');
    let hop: Hop = {
      method,
      url: fetchableUrl(url),
      headers: tenantHeaders(headers, fetchHeaderBytes),
      ...(body && { body }),
    };
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#send(hop, owner, deadline);
      try {
        if (isRedirect(answer.status) && redirect === 'error')
          throw new EgressError('The answer redirects, which the request does not allow.');
        const follows = isRedirect(answer.status) && redirect === 'follow';
        const next = follows ? nextHop(hop, answer.status, answer.headers) : undefined;
        if (next === undefined) return this.#respond(hop, answer, redirects > 0, deadline, over);
        if (redirects >= fetchRedirects)
          throw new EgressError(`The answer redirects more than ${fetchRedirects} times.`);
        hop = next;
      } catch (cause) {
        drop(answer);
        throw cause;
      }
      drop(answer);
    }
  }

  /** One request, and the head of its answer. */
  async #send(hop: Hop, owner: string, deadline: Deadline): Promise<Answer> {
    const { url, method, body } = hop;
    checkTarget(targetOf(url), this.#policy);
    const lease = this.#connections.lease(owner, url);
    let interim = 0;
    const stop = new AbortController();
    const answered = lease.pool.request({
      method: method as Dispatcher.HttpMethod,
      path: `${url.pathname}${url.search}`,
      headers: headToSend(hop.headers),
      body: body ?? null,
      signal: AbortSignal.any([deadline.signal, stop.signal]),
      responseHeaders: 'raw',
      highWaterMark: HELD_BYTES,
      onInfo: () => {
        interim += 1;
        if (interim > INTERIM_ANSWERS_MAX) stop.abort(new EgressError('The answer does not begin.'));
      },
    });
    // undici only hears of an abort once the request has a connection; whoever asked does not wait for that.
    answered.catch(() => undefined);
    try {
      const { statusCode, statusText, headers, body: source } = await Promise.race([answered, deadline.over]);
      const raw = headers as unknown as string[];
      return {
        status: statusCode,
        statusText: reasonPhrase(statusText),
        headers: tenantResponseHeaders(raw),
        body: source,
        lease,
      };
    } catch (cause) {
      lease.release();
      throw told(cause, deadline, url.origin);
    }
  }

  #respond(
    { method, url }: Hop,
    { status, statusText, headers, body: source, lease }: Answer,
    redirected: boolean,
    deadline: Deadline,
    over: () => void,
  ): OutboundResponse {
    const isBodiless = method === 'HEAD' || BODILESS_STATUSES.has(status);
    const stages = isBodiless ? [] : this.#decoding.stages(valuesOf(headers, 'content-encoding'));
    const bytesMax = this.#limits.fetchResponseBodyBytes;
    const tooMany = () => new EgressError(`The body of the answer is over ${bytesMax} bytes.`);
    const why = (cause: Error) => told(cause, deadline, url.origin);
    // Each stage is metered: stacked codings could otherwise unfold gigabytes on the way to nothing.
    const metered = stages.flatMap((stage) => [new Meter(bytesMax, tooMany), stage]);
    const body = new Meter(bytesMax, tooMany, why);
    pipeline([source, ...metered, body], () => undefined);
    const cut = () => body.destroy(deadline.signal.reason);
    deadline.signal.addEventListener('abort', cut, { once: true });
    if (deadline.signal.aborted) cut();
    body.once('close', () => {
      deadline.signal.removeEventListener('abort', cut);
      lease.release();
      over();
    });
    const truthful =
      stages.length === 0 ? headers : headers.filter(([name]) => !ENCODED.has(name.toLowerCase()));
    return { status, statusText, url: url.href, redirected, headers: truthful, body };
  }

  /** @throws EgressError where it is too long from the start */
  #meteredBody(body: Uint8Array | Readable | undefined): Uint8Array | Readable | undefined {
    const bytesMax = this.#limits.fetchRequestBodyBytes;
    const tooMany = () => new EgressError(`The body of the request is over ${bytesMax} bytes.`);
    if (!(body instanceof Readable)) {
      if (body !== undefined && body.byteLength > bytesMax) throw tooMany();
      return body;
    }
    const broken = (cause: Error) =>
      cause instanceof EgressError
        ? cause
        : new EgressError('The body of the request broke off.', `The body of the request: ${cause.message}`);
    const meter = new Meter(bytesMax, tooMany, broken);
    pipeline(body, meter, () => undefined);
    return meter;
  }
}

/** What ended a fetch: its time, whoever called it off (then in their words), or what happened. */
function told(cause: unknown, { signal }: Deadline, where: string): Error {
  const first: unknown = signal.aborted ? signal.reason : cause;
  return signal.aborted && !(first instanceof EgressError) ? (first as Error) : explain(first, where);
}

/** Nobody reads this answer. Where its body is not all there already, the connection ends with it. */
function drop({ body, lease }: Answer): void {
  body.on('error', () => undefined).destroy();
  lease.release();
}
