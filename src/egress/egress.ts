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
import { BODILESS_STATUSES } from '../model/bodiless-statuses.ts';
import { SmallChunkRate } from '../model/small-chunks.ts';
import { ConnectionPools, type PoolLease, targetOf } from './connection-pools.ts';
import { checkTarget, connectorTo, refusedTarget } from './connector.ts';
import { Deadline } from './deadline.ts';
import { Decoding } from './decoding.ts';
import { EgressError, type FetchResult, overLimit } from './egress-error.ts';
import { explain } from './explain.ts';
import { FetchTally } from './fetch-tally.ts';
import { INTERIM_ANSWERS_MAX } from './interim-answers.ts';
import { joinedAnswers } from './joined-answer.ts';
import type { FindLoopback, Loopback } from './loopback.ts';
import { HELD_BYTES, Meter } from './meter.ts';
import { type Lookup, namesOf } from './names.ts';
import type { EgressPolicy, Target } from './policy.ts';
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
  /** The hosts that the owner has said it reaches, and all it may reach then (REFERENCE 4, an extension). */
  readonly hosts?: { covers(target: Target): boolean };
  /** How many calls the one that asks is inside of; 0 for one from outside. */
  readonly depth?: number;
  /** What holds for this request, where it is not what holds for all. */
  readonly limits?: Limits;
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
  /** This service itself has answered, in process. */
  readonly own?: true;
}

export interface EgressParts {
  readonly policy: EgressPolicy;
  readonly limits: Limits;
  /** Replaces the look-up of names. */
  readonly lookup?: Lookup;
  /** Whether an owner that has not said which hosts it reaches reaches any. */
  readonly hostsRequired?: boolean;
  /** Finds the places of this service itself, which are reached in process, whatever the policy. */
  readonly ownDoor?: FindLoopback;
  /** The port of this service's control listener, once it is known: no list opens it. */
  readonly controlPort?: () => number | undefined;
}

/** Where a request was to go, for the log: its origin, or its scheme where that is all there is to tell. */
function whereOf(text: string): string {
  const url = URL.parse(text);
  if (url === null) return 'a URL that is none';
  return url.origin === 'null' ? url.protocol : url.origin;
}

/** Headers that are no longer true of a body that was decompressed. */
const ENCODED: ReadonlySet<string> = new Set(['content-encoding', 'content-length']);

/** What one hop answered. */
interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: [string, string][];
  readonly body: Readable;
  readonly lease: PoolLease;
  readonly own: boolean;
}

export class Egress {
  readonly #policy: EgressPolicy;
  readonly #limits: Limits;
  readonly #connections: ConnectionPools;
  readonly #decoding = new Decoding();
  readonly #chunks: SmallChunkRate;
  readonly #tally: FetchTally;
  readonly #hostsRequired: boolean;
  readonly #ownDoor: FindLoopback;
  #closed = false;

  constructor(parts: EgressParts) {
    const { policy, limits, lookup = namesOf((host) => policy.vouchesFor(host)) } = parts;
    const { controlPort = () => undefined } = parts;
    this.#policy = policy;
    this.#limits = limits;
    this.#tally = new FetchTally(limits);
    this.#chunks = new SmallChunkRate(limits, () => performance.now());
    this.#hostsRequired = parts.hostsRequired ?? false;
    this.#ownDoor = parts.ownDoor ?? (() => undefined);
    const connectLimit = { name: 'fetchConnectMs', max: limits.fetchConnectMs } as const;
    this.#connections = new ConnectionPools({
      limit: { name: 'fetchConnections', max: limits.fetchConnections },
      connectionsPerOrigin: limits.fetchConnectionsPerOrigin,
      headerBytes: limits.fetchHeaderBytes,
      connectorTo: (target) => connectorTo(target, { policy, lookup, connectLimit, controlPort }),
    });
  }

  /** Fetches whose answer is not over yet. */
  get inFlight(): number {
    return this.#tally.inFlight;
  }

  /** Fetches that are over, by how they ended. */
  get ended(): ReadonlyMap<FetchResult, number> {
    return this.#tally.ended;
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
    const { owner = '', limits = this.#limits } = request;
    const { fetchMs } = limits;
    const deadline = new Deadline(signal, fetchMs, () =>
      overLimit({ name: 'fetchMs', max: fetchMs }, 'timeout'),
    );
    const tooMany = this.#tally.begin(owner, limits.fetchesInFlightPerInstallation);
    let sent: Uint8Array | Readable | undefined;
    const over = (result: FetchResult) => {
      this.#tally.end(owner, result);
      deadline.clear();
      if (sent instanceof Readable) sent.destroy();
    };
    try {
      sent = meteredBody(request.body, limits.fetchRequestBodyBytes);
      signal.throwIfAborted();
      if (this.#closed) throw new EgressError('The service is stopping.', { result: 'shed' });
      if (tooMany) throw overLimit(tooMany, 'shed');
      return await this.#follow(request, sent, deadline, over);
    } catch (cause) {
      const error = this.#told(cause, deadline, whereOf(request.url));
      over(resultOf(error));
      throw error;
    }
  }

  /** Ends every fetch, and every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#connections.close();
  }

  /** Fetch, "HTTP fetch": one hop after the other. */
  async #follow(
    request: OutboundRequest,
    body: Uint8Array | Readable | undefined,
    deadline: Deadline,
    over: (result: FetchResult) => void,
  ): Promise<OutboundResponse> {
    const { method, url, headers, redirect, limits = this.#limits } = request;
    const { fetchRedirects, fetchHeaderBytes } = limits;
    const realmOf = (place: URL) => this.#ownDoor(place)?.realm ?? place.origin;
    checkMethod(method);
    if (body !== undefined && (method === 'GET' || method === 'HEAD'))
      throw new EgressError('A request with GET or HEAD has no body.', { result: 'refused' });
    let hop: Hop = {
      method,
      url: fetchableUrl(url),
      headers: tenantHeaders(headers, fetchHeaderBytes),
      ...(body && { body }),
    };
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#send(hop, request, deadline);
      try {
        if (isRedirect(answer.status) && redirect === 'error')
          throw new EgressError('The answer redirects, which the request does not allow.');
        const follows = isRedirect(answer.status) && redirect === 'follow';
        const next = follows ? nextHop(hop, answer.status, answer.headers, realmOf) : undefined;
        if (next === undefined)
          return this.#respond(hop, answer, { redirected: redirects > 0, limits }, deadline, over);
        if (redirects >= fetchRedirects)
          throw overLimit({ name: 'fetchRedirects', max: fetchRedirects }, 'failed');
        hop = next;
      } catch (cause) {
        drop(answer);
        throw cause;
      }
      drop(answer);
    }
  }

  /** One request, and the head of its answer. */
  async #send(hop: Hop, request: OutboundRequest, deadline: Deadline): Promise<Answer> {
    const { url, method, body } = hop;
    const { owner = '', depth = 0 } = request;
    const door = this.#ownDoor(url);
    if (door === undefined) this.#checkReach(targetOf(url), request);
    else this.#checkDepth(door, request);
    const lease = this.#connections.lease(owner, url, door && { door, depth: depth + 1 });
    let interim = 0;
    const stop = new AbortController();
    const answered = lease.pool.compose(joinedAnswers(this.#chunks, owner)).request({
      method: method as Dispatcher.HttpMethod,
      path: door?.path ?? `${url.pathname}${url.search}`,
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
        own: door !== undefined,
      };
    } catch (cause) {
      lease.release();
      throw this.#told(cause, deadline, url.origin);
    }
  }

  /** Before anything is looked up: a name that may not be reached is not asked about, either. @throws EgressError */
  #checkReach(target: Target, { hosts }: OutboundRequest): void {
    if (hosts === undefined && this.#hostsRequired)
      throw refusedTarget(target, 'the manifest has no "egress" list, which this service requires');
    if (hosts !== undefined && !hosts.covers(target))
      throw refusedTarget(target, 'the "egress" list of the manifest does not have it');
    checkTarget(target, this.#policy);
  }

  /** An endpoint that fetches itself, or another that fetches it, would go on for ever. @throws EgressError */
  #checkDepth({ kind }: Loopback, { depth = 0, limits = this.#limits }: OutboundRequest): void {
    const { callDepth } = limits;
    if (kind === 'api' || depth < callDepth) return;
    throw overLimit({ name: 'callDepth', max: callDepth, used: depth + 1 }, 'refused');
  }

  #respond(
    { method, url }: Hop,
    { status, statusText, headers, body: source, lease, own }: Answer,
    { redirected, limits }: { readonly redirected: boolean; readonly limits: Limits },
    deadline: Deadline,
    over: (result: FetchResult) => void,
  ): OutboundResponse {
    const isBodiless = method === 'HEAD' || BODILESS_STATUSES.has(status);
    const stages = isBodiless ? [] : this.#decoding.stages(valuesOf(headers, 'content-encoding'));
    const bytesMax = limits.fetchResponseBodyBytes;
    const tooMany = () => overLimit({ name: 'fetchResponseBodyBytes', max: bytesMax }, 'tooLarge');
    const why = (cause: Error) => this.#told(cause, deadline, url.origin);
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
      const { errored } = body;
      if (errored) over(resultOf(why(errored)));
      else over(body.readableEnded ? 'ok' : 'canceled');
    });
    const truthful =
      stages.length === 0 ? headers : headers.filter(([name]) => !ENCODED.has(name.toLowerCase()));
    const place = { url: url.href, redirected, ...(own && { own }) };
    return { status, statusText, ...place, headers: truthful, body };
  }

  /** What ended a fetch: its time, whoever called it off (then in their words), or what happened. */
  #told(cause: unknown, { signal }: Deadline, where: string): Error {
    const first: unknown = signal.aborted ? signal.reason : cause;
    const calledOff = signal.aborted && !(first instanceof EgressError);
    return calledOff ? (first as Error) : explain(first, where, this.#limits);
  }
}

/** @throws EgressError where it is too long from the start */
function meteredBody(
  body: Uint8Array | Readable | undefined,
  bytesMax: number,
): Uint8Array | Readable | undefined {
  const tooMany = () => overLimit({ name: 'fetchRequestBodyBytes', max: bytesMax }, 'tooLarge');
  if (!(body instanceof Readable)) {
    if (body !== undefined && body.byteLength > bytesMax) throw tooMany();
    return body;
  }
  const broken = (cause: Error) =>
    cause instanceof EgressError
      ? cause
      : new EgressError('The body of the request broke off.', {
          detail: `The body of the request: ${cause.message}`,
        });
  const meter = new Meter(bytesMax, tooMany, broken);
  pipeline(body, meter, () => undefined);
  return meter;
}

const resultOf = (error: Error): FetchResult => (error instanceof EgressError ? error.result : 'canceled');

/** Nobody reads this answer. Where its body is not all there already, the connection ends with it. */
function drop({ body, lease }: Answer): void {
  body.on('error', () => undefined).destroy();
  lease.release();
}
