/**
 * Egress: one `fetch` of a tenant, from its request to the end of its answer.
 *
 * It follows the Fetch standard as far as a server can. Redirects are followed here, so that each
 * hop passes the same checks as the first. Bytes and time are bounded, and nothing is retried. It
 * knows neither tenants nor calls: its caller bounds the fetches of a call. A decompressed body
 * loses the headers of its coding: code that passes the answer on would otherwise promise gzip and
 * send text.
 */
import { pipeline, Readable } from 'node:stream';
import type { ErrorCode } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { BODILESS_STATUSES } from '../../model/bodiless-statuses.ts';
import { SmallChunkRate } from '../../model/small-chunks.ts';
import { ByteLimit } from './byte-limit.ts';
import { ConnectionPools, type PoolLease, targetOf } from './connection-pools.ts';
import { type Connect, checkTarget, connectorTo, type OwnListener, refusedTarget } from './connector.ts';
import { Deadline } from './deadline.ts';
import { type DecodedFor, Decoding } from './decoding.ts';
import { EgressError, type FetchResult, overLimit } from './egress-error.ts';
import { FetchTally } from './fetch-tally.ts';
import { joinedAnswers } from './joined-answer.ts';
import { type FindLoopback, type Loopback, PLATFORM_FAULT } from './loopback.ts';
import { dnsLookup, type Lookup } from './name-resolution.ts';
import { explain } from './network-errors.ts';
import type { EgressPolicy, Target } from './policy.ts';
import { answerTo } from './pool-request.ts';
import type { EgressProxy } from './proxy.ts';
import { fetchableUrl, type Hop, isRedirect, nextHop } from './redirect.ts';
import { checkMethod, type HeaderPairs, headToSend, tenantHeaders } from './request-head.ts';
import { reasonPhrase, tenantResponseHeaders, valuesOf } from './response-head.ts';

export { EgressError };

export interface OutboundRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderPairs;
  /** A stream can be sent once: a redirect that needs it again is an error. */
  readonly body?: Uint8Array | Readable;
  readonly redirect: 'follow' | 'error' | 'manual';
  /**
   * For instance the id of an installation: owners share neither connections nor the bound on them.
   */
  readonly owner?: string;
  /** The organization of the owner, which has a share of what is scarce. */
  readonly organization?: string;
  /**
   * The only hosts that the owner may reach, if its manifest has a list
   * (docs/contract/manifest.md#egress).
   */
  readonly hosts?: { covers(target: Target): boolean };
  /** Call depth of the caller; 0 if it is not called by an integration. */
  readonly depth?: number;
  /** How many tasks are behind the call of the caller; absent for 0. */
  readonly generation?: number;
  /** Limits of this request, if they differ from those of the service. */
  readonly limits?: Limits;
}

export interface OutboundResponse {
  readonly status: number;
  readonly statusText: string;
  /** URL of the answer, after redirects, without fragment. */
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: readonly [string, string][];
  /**
   * Decompressed. The caller reads or destroys it; until then it holds a connection, at most
   * `fetchMs`.
   */
  readonly body: Readable;
  /** Whether this service has answered, in process. */
  readonly own?: true;
  /** The code of the error, where the request failed for a reason of the platform. */
  readonly faultCode?: ErrorCode;
}

export interface EgressDeps {
  readonly policy: EgressPolicy;
  readonly limits: Limits;
  /** Resolves names; DNS unless given. */
  readonly lookup?: Lookup;
  /** Whether an owner without a list of hosts may reach none; false unless given. */
  readonly hostsRequired?: boolean;
  /** Finds URLs of this service, which are reached in process, whatever the policy. */
  readonly findLoopback?: FindLoopback;
  /** Finds the listeners of this service, which are never dialled. */
  readonly ownListener?: OwnListener;
  /** Through which all connections go. */
  readonly proxy?: EgressProxy | undefined;
  /** Connects in place of the network; absent outside of test kits. */
  readonly connect?: Connect;
}

/** The destination of a request for the log: its origin, or its scheme if it has no origin. */
function whereOf(text: string): string {
  const url = URL.parse(text);
  if (url === null) return 'an invalid URL';
  return url.origin === 'null' ? url.protocol : url.origin;
}

/** Headers that are wrong for a decompressed body. */
const ENCODED: ReadonlySet<string> = new Set(['content-encoding', 'content-length']);

interface ResponseDeps {
  readonly decodedFor: DecodedFor;
  readonly redirected: boolean;
  readonly limits: Limits;
  readonly deadline: Deadline;
  over(result: FetchResult): void;
}

/** The answer to one hop. */
interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: [string, string][];
  readonly body: Readable;
  readonly lease: PoolLease;
  readonly own: boolean;
  readonly faultCode: ErrorCode | undefined;
}

export class Egress {
  readonly #policy: EgressPolicy;
  readonly #limits: Limits;
  readonly #connections: ConnectionPools;
  readonly #decoding = new Decoding(() => performance.now());
  readonly #chunks: SmallChunkRate;
  readonly #tally: FetchTally;
  readonly #hostsRequired: boolean;
  readonly #findLoopback: FindLoopback;
  #closed = false;

  constructor(deps: EgressDeps) {
    const { policy, limits, lookup = dnsLookup((host) => policy.allowsName(host)) } = deps;
    const { ownListener = () => undefined, proxy, connect } = deps;
    this.#policy = policy;
    this.#limits = limits;
    this.#tally = new FetchTally({
      all: { name: 'fetchConnections', max: limits.fetchConnections },
      ofOwner: 'fetchesInFlightPerInstallation',
    });
    this.#chunks = new SmallChunkRate(limits, () => performance.now());
    this.#hostsRequired = deps.hostsRequired ?? false;
    this.#findLoopback = deps.findLoopback ?? (() => undefined);
    const connectLimit = { name: 'fetchConnectMs', max: limits.fetchConnectMs } as const;
    this.#connections = new ConnectionPools({
      limit: { name: 'fetchConnections', max: limits.fetchConnections },
      connectionsPerOrigin: limits.fetchConnectionsPerOrigin,
      headerBytes: limits.fetchHeaderBytes,
      connectorTo: (target, owner) =>
        connectorTo(target, {
          ...{ policy, lookup, connectLimit, ownListener, proxy },
          connect: connect && ((origin) => connect(origin, owner)),
        }),
    });
  }

  /** Fetches whose answer has not ended. */
  get inFlight(): number {
    return this.#tally.inFlight;
  }

  /** Ended fetches, by result. */
  get ended(): ReadonlyMap<FetchResult, number> {
    return this.#tally.ended;
  }

  /** Connection pools, one for each owner and origin. */
  get pools(): number {
    return this.#connections.pools;
  }

  /** Connections, open or connecting. */
  get connections(): number {
    return this.#connections.open;
  }

  /**
   * Sends a request. Resolves with the head of the answer; a later error is one of its body.
   *
   * @throws EgressError, or the reason of the signal if the caller aborts
   */
  async fetch(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> {
    const { owner = '', organization, limits = this.#limits } = request;
    const by = { owner, organization };
    const { fetchMs } = limits;
    const deadline = new Deadline(signal, fetchMs, () =>
      overLimit({ name: 'fetchMs', max: fetchMs }, 'timeout'),
    );
    const tooMany = this.#tally.begin(by, limits.fetchesInFlightPerInstallation);
    let sent: Uint8Array | Readable | undefined;
    const over = (result: FetchResult) => {
      this.#tally.end(by, result);
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
      const error = this.#errorOf(cause, deadline, whereOf(request.url));
      over(resultOf(error));
      throw error;
    }
  }

  /** Ends all fetches and connections. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#connections.close();
  }

  /** Fetch, "HTTP fetch": follows the hops. */
  async #follow(
    request: OutboundRequest,
    body: Uint8Array | Readable | undefined,
    deadline: Deadline,
    over: (result: FetchResult) => void,
  ): Promise<OutboundResponse> {
    const { method, url, headers, redirect, limits = this.#limits } = request;
    const { fetchRedirects, fetchHeaderBytes } = limits;
    const { owner = '', organization = owner } = request;
    const decodedFor = { owner, organization };
    const realmOf = (target: URL) => this.#findLoopback(target)?.realm ?? target.origin;
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
          return this.#respond(hop, answer, {
            decodedFor,
            redirected: redirects > 0,
            limits,
            deadline,
            over,
          });
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

  /** Sends one request. @returns the head of its answer */
  async #send(hop: Hop, request: OutboundRequest, deadline: Deadline): Promise<Answer> {
    const { url, method, body } = hop;
    const { owner = '', depth = 0, generation = 0 } = request;
    const loopback = this.#findLoopback(url);
    if (loopback === undefined) this.#checkReach(targetOf(url), request);
    else this.#checkDepth(loopback, request);
    const inProcess = loopback && { loopback, depth: depth + 1, generation };
    const lease = this.#connections.lease(owner, url, inProcess);
    const answered = answerTo(
      lease.pool.compose(joinedAnswers(this.#chunks, owner)),
      {
        method,
        path: loopback?.path ?? `${url.pathname}${url.search}`,
        headers: headToSend(hop.headers),
        body: body ?? null,
      },
      deadline.signal,
      'server',
    );
    try {
      const { statusCode, statusText, headers, body: source } = await Promise.race([answered, deadline.over]);
      const received = tenantResponseHeaders(headers as unknown as string[]);
      return {
        status: statusCode,
        statusText: reasonPhrase(statusText),
        ...(loopback ? withoutMark(received) : { headers: received, faultCode: undefined }),
        body: source,
        lease,
        own: loopback !== undefined,
      };
    } catch (cause) {
      lease.release();
      throw this.#errorOf(cause, deadline, url.origin);
    }
  }

  /** Before the name is looked up: a refused name causes no DNS query. @throws EgressError */
  #checkReach(target: Target, { hosts }: OutboundRequest): void {
    if (hosts === undefined && this.#hostsRequired)
      throw refusedTarget(target, 'the manifest has no "egress" list, which this service requires');
    if (hosts !== undefined && !hosts.covers(target))
      throw refusedTarget(target, 'the "egress" list of the manifest does not have it');
    checkTarget(target, this.#policy);
  }

  /** Attack: an endpoint that fetches itself, or another that fetches it. @throws EgressError */
  #checkDepth({ kind }: Loopback, { depth = 0, limits = this.#limits }: OutboundRequest): void {
    const { callDepth } = limits;
    if (kind === 'api' || depth < callDepth) return;
    throw overLimit({ name: 'callDepth', max: callDepth, used: depth + 1 }, 'refused');
  }

  #respond(
    { method, url }: Hop,
    { status, statusText, headers, body: source, lease, own, faultCode }: Answer,
    { redirected, limits, deadline, over, decodedFor }: ResponseDeps,
  ): OutboundResponse {
    const isBodiless = method === 'HEAD' || BODILESS_STATUSES.has(status);
    const stages = isBodiless ? [] : this.#decoding.stages(valuesOf(headers, 'content-encoding'), decodedFor);
    const bytesMax = limits.fetchResponseBodyBytes;
    const tooMany = () => overLimit({ name: 'fetchResponseBodyBytes', max: bytesMax }, 'tooLarge');
    const why = (cause: Error) => this.#errorOf(cause, deadline, url.origin);
    // Attack: stacked codings that expand to gigabytes on the way to a small body. Each stage is
    // metered.
    const metered = stages.flatMap((stage) => [new ByteLimit(bytesMax, tooMany), stage]);
    const body = new ByteLimit(bytesMax, tooMany, why);
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
    const decodedHeaders =
      stages.length === 0 ? headers : headers.filter(([name]) => !ENCODED.has(name.toLowerCase()));
    const origin = { url: url.href, redirected, ...(own && { own }), ...(faultCode && { faultCode }) };
    return { status, statusText, ...origin, headers: decodedHeaders, body };
  }

  /** The error of a fetch: its deadline, the reason of the caller's abort, or the cause. */
  #errorOf(cause: unknown, { signal }: Deadline, where: string): Error {
    const first: unknown = signal.aborted ? signal.reason : cause;
    const isAborted = signal.aborted && !(first instanceof EgressError);
    return isAborted ? (first as Error) : explain(first, where, this.#limits);
  }
}

/** The headers of an answer in process, and what its mark says. */
const withoutMark = (headers: [string, string][]) => ({
  headers: headers.filter(([name]) => name !== PLATFORM_FAULT),
  faultCode: valuesOf(headers, PLATFORM_FAULT)[0] as ErrorCode | undefined,
});

/** A body with a bound on its bytes. @throws EgressError if a buffer is too long */
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
  const meter = new ByteLimit(bytesMax, tooMany, broken);
  pipeline(body, meter, () => undefined);
  return meter;
}

const resultOf = (error: Error): FetchResult => (error instanceof EgressError ? error.result : 'canceled');

/** Discards an answer. If its body is not complete already, the connection ends. */
function drop({ body, lease }: Answer): void {
  body.on('error', () => undefined).destroy();
  lease.release();
}
