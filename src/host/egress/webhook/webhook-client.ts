/**
 * Webhook client: posts to receivers. One request, one result, no retry.
 *
 * Tenants choose receivers like the hosts of their `fetch`, so the same policy and address checks
 * apply. A post follows no redirect and returns no stream. Its connections are its own, so fetches
 * cannot use up those of deliveries. The client knows neither events nor retries: the result of a
 * post is a value, and its caller decides. A post costs one handler object and one timer, because
 * thousands are made in a second.
 */
import { isIP, type Socket } from 'node:net';
import type { buildConnector } from 'undici';
import type { Limits } from '../../../limits.ts';
import type { SentHeaders } from '../../../model/own-headers.ts';
import { ConnectionPools, targetOf } from '../connection-pools.ts';
import {
  type ClientCertificate,
  type Connect,
  checkTarget,
  connectorTo,
  type OwnListener,
  refusedTarget,
} from '../connector.ts';
import { EgressError } from '../egress-error.ts';
import { INTERIM_ANSWERS_MAX } from '../interim-answers.ts';
import type { FindLoopback, Loopback } from '../loopback.ts';
import { dnsLookup, fixedAddressesOf, type Lookup } from '../name-resolution.ts';
import type { EgressPolicy } from '../policy.ts';
import type { EgressProxy } from '../proxy.ts';
import { type After, inTime } from './deadline-connector.ts';
import { type PostResult, ReceiverAnswer } from './receiver-answer.ts';

export type { FailureReason } from './post-failure.ts';
export type { PostResult };

export interface Post {
  readonly url: string;
  /** Set by the host alone; nothing in it is from a tenant. */
  readonly headers: Record<string, string>;
  /** Headers of the owner of the webhook, by name in lower case; those of the host count first. */
  readonly own?: SentHeaders | undefined;
  readonly body: Uint8Array;
  /** Endpoint of the delivery: owners share no connections. */
  readonly owner: string;
  /** How many tasks are behind the delivery; absent for 0. */
  readonly generation?: number;
}

export interface WebhookClientDeps {
  readonly policy: EgressPolicy;
  readonly limits: Limits;
  /** Whether receivers may have plain http. */
  readonly allowHttp: boolean;
  /** Resolves names; DNS unless given. */
  readonly lookup?: Lookup;
  /** Finds URLs of this service, whose endpoints are posted to in process. */
  readonly findLoopback?: FindLoopback;
  /** Finds the listeners of this service, which are never dialled. */
  readonly ownListener?: OwnListener;
  /** Shown to receivers that ask who posts. */
  readonly certificate?: ClientCertificate | undefined;
  /** Through which all connections go. */
  readonly proxy?: EgressProxy | undefined;
  /** Connects in place of the network; absent outside of test kits. */
  readonly connect?: Connect;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: After;
}

const RECEIVERS_ARE =
  'A receiver has to be on the public internet, unless the operator of this service allows more.';

/** A post to an endpoint of this service has call depth 1, as a fetch of another endpoint has. */
const DEPTH = 1;

export class WebhookClient {
  readonly #deps: Required<
    Pick<WebhookClientDeps, 'policy' | 'limits' | 'allowHttp' | 'findLoopback' | 'after'>
  >;
  readonly #connections: ConnectionPools;
  #inFlight = 0;
  #closed = false;

  constructor(deps: WebhookClientDeps) {
    const { policy, limits, allowHttp, lookup = dnsLookup((host) => policy.allowsName(host)) } = deps;
    const {
      findLoopback = () => undefined,
      ownListener = () => undefined,
      certificate,
      proxy,
      connect,
      after,
    } = deps;
    const answerBytes = { headBytes: limits.fetchHeaderBytes, bodyBytes: limits.webhookResponseBytes };
    const connectLimit = { name: 'webhookConnectMs', max: limits.webhookConnectMs } as const;
    this.#deps = { policy, limits, allowHttp, findLoopback, after };
    this.#connections = new ConnectionPools({
      limit: { name: 'webhookConnections', max: limits.webhookConnections },
      connectionsPerOrigin: limits.deliveriesInFlightPerEndpoint,
      headerBytes: limits.fetchHeaderBytes,
      connectorTo: (target, owner) => {
        const dial = connectorTo(target, {
          ...{ policy, lookup, connectLimit, ownListener, certificate, proxy },
          connect: connect && ((origin) => connect(origin, owner)),
        });
        return inTime(withAnswerBound(dial, answerBytes), connectLimit, after);
      },
    });
  }

  /** Posts in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Connections, open or connecting. */
  get connections(): number {
    return this.#connections.open;
  }

  /**
   * @returns why a URL cannot be saved as a receiver, whatever its name resolves to; undefined if
   * it can
   */
  refusalOf(url: string): string | undefined {
    try {
      receiverOf(url, this.#deps);
      return undefined;
    } catch (cause) {
      const { message, detail } = cause as EgressError;
      // The rule that refused it is for the log alone; the requirement is for everyone.
      return detail === message ? message : `${message} ${RECEIVERS_ARE}`;
    }
  }

  /** Posts once. Always resolves, after `webhookMs` at the latest. */
  async post(post: Post): Promise<PostResult> {
    if (this.#closed) return { kind: 'fault', detail: 'The service is stopping.' };
    let receiver: Receiver;
    try {
      receiver = receiverOf(post.url, this.#deps);
    } catch (cause) {
      return { kind: 'blocked', detail: (cause as EgressError).detail };
    }
    this.#inFlight += 1;
    try {
      return await this.#send(receiver, post);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** Ends every post, and every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#connections.close();
  }

  /** Scope of credentials: an origin, or one endpoint of this service, whose tenants share one. */
  #realmOf(url: URL | null): string | undefined {
    return url === null ? undefined : (this.#deps.findLoopback(url)?.realm ?? url.origin);
  }

  async #send({ url, path, loopback }: Receiver, post: Post): Promise<PostResult> {
    const { own, body, owner, generation = 0 } = post;
    const { limits, after } = this.#deps;
    const lease = this.#connections.lease(owner, url, loopback && { loopback, depth: DEPTH, generation });
    const { promise, resolve } = Promise.withResolvers<PostResult>();
    const answer = new ReceiverAnswer(limits, url.origin, resolve);
    const cancel = after(limits.webhookMs, () => answer.expire());
    // Attack: a URL that is changed, by its code or in the settings, to get the credentials of
    // another receiver.
    const isTheirs = own !== undefined && this.#realmOf(URL.parse(own.url)) === this.#realmOf(url);
    const headers = isTheirs ? { ...own.headers, ...post.headers } : post.headers;
    // undici sends a POST once, and no other on the same connection before the answer.
    lease.pool.dispatch({ method: 'POST', path, headers, body }, answer);
    try {
      return await promise;
    } finally {
      cancel();
      lease.release();
    }
  }
}

/** A chunk of one byte has six around it: more than this per byte of the body is padding. */
const BYTES_PER_BODY_BYTE = 8;
/** Heads of one answer: its own, its trailers, and those of interim answers. */
const HEADS = 2 + INTERIM_ANSWERS_MAX;

/**
 * Bounds the bytes that a receiver sends for one request, at the socket.
 *
 * Attack: a reason phrase, chunk extensions or white space without end. The parser bounds heads and
 * bodies, but skips these.
 *
 * @returns a connector whose sockets are destroyed when an answer has too many bytes
 */
function withAnswerBound(
  dial: buildConnector.connector,
  { headBytes, bodyBytes }: { readonly headBytes: number; readonly bodyBytes: number },
): buildConnector.connector {
  const bytesMax = HEADS * headBytes + BYTES_PER_BODY_BYTE * bodyBytes;
  return (options, callback) =>
    dial(options, (...result) => {
      const [, socket] = result;
      // Before undici reads from the socket.
      if (socket !== null) bound(socket, bytesMax);
      callback(...result);
    });
}

function bound(socket: Socket, bytesMax: number): void {
  let written = 0;
  let readBefore = 0;
  let readLast = 0;
  socket.on('readable', () => {
    const { bytesRead, bytesWritten } = socket;
    // Bytes after a write belong to a new request: a connection has one at a time.
    if (bytesWritten !== written) readBefore = readLast;
    written = bytesWritten;
    readLast = bytesRead;
    if (bytesRead - readBefore > bytesMax)
      socket.destroy(
        new EgressError('The answer has far more bytes than a head and a body.', { result: 'tooLarge' }),
      );
  });
}

interface Receiver {
  readonly url: URL;
  /** Path and query, as sent. */
  readonly path: string;
  /** If it is an endpoint of this service, which is reached in process. */
  readonly loopback?: Loopback;
}

interface ReceiverRules {
  readonly policy: EgressPolicy;
  /** Whether receivers may have no TLS; the network can then read bodies and signatures. */
  readonly allowHttp: boolean;
  readonly findLoopback: FindLoopback;
}

/** Accepted by every server, and short enough for a line of a log. */
const URL_CHARS_MAX = 2_048;
/**
 * Strict: the URL standard accepts blanks and wrong slashes, which other parsers read differently.
 */
const WRITTEN = /^https?:\/\/[^\s\\/][^\s\\]*$/i;
/**
 * Attack: `https://bank.example@evil.example/` looks like the one and goes to the other. Passwords
 * would end up in logs.
 */
const WITH_USER = /^[^/]*\/\/[^/?#]*@/;

/**
 * Receiver of a webhook: parses its URL, and refuses what may not be posted to. Looks up no name:
 * the connector does, and checks the addresses.
 *
 * Parses the URL of a receiver.
 *
 * @param text untrusted; no message repeats it
 * @throws EgressError if it may not be posted to, whatever its name resolves to
 */
function receiverOf(text: string, { policy, allowHttp, findLoopback }: ReceiverRules): Receiver {
  const url = receiverUrl(text, allowHttp);
  const found = findLoopback(url);
  // The host product may be a receiver of webhooks; it is reached as any other.
  const loopback = found?.kind === 'product' ? undefined : found;
  // An endpoint of this service is reached without a network.
  if (url.protocol === 'http:' && !allowHttp && loopback === undefined)
    throw refusal(
      'The URL is of http, and this service posts to receivers with https only; the operator can allow http (--webhook-http allow).',
    );
  if (loopback?.kind === 'api')
    throw refusal('The URL is one of the API of this service, which cannot be a receiver.');
  if (loopback !== undefined) return { url, loopback, path: loopback.path };
  const target = targetOf(url);
  checkTarget(target, policy);
  const known = isIP(target.host) === 0 ? fixedAddressesOf(target.host) : [target.host];
  const refusals = known?.map((address) => policy.addressRefusal(target, address)) ?? [];
  const [why] = refusals;
  if (why !== undefined && !refusals.includes(undefined)) throw refusedTarget(target, why);
  return { url, path: url.pathname + url.search };
}

function receiverUrl(text: string, allowHttp: boolean): URL {
  // Before it is parsed. Attack: a long text that takes long to parse.
  if (text.length > URL_CHARS_MAX)
    throw refusal(`The URL has more than ${URL_CHARS_MAX.toLocaleString('en-US')} characters.`);
  const url = WRITTEN.test(text) ? URL.parse(text) : null;
  if (url === null)
    throw refusal(
      `The URL has to begin with https://${allowHttp ? ' or http://' : ''}, and to have no blanks.`,
    );
  if (WITH_USER.test(text) || url.username !== '' || url.password !== '')
    throw refusal('The URL has a user name or a password in it.');
  // A fragment is never sent: its author expects something that does not happen.
  if (text.includes('#')) throw refusal('The URL has a fragment, which is never sent.');
  return url;
}

const refusal = (message: string): EgressError => new EgressError(message, { result: 'refused' });
