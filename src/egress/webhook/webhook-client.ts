/**
 * Posts to the receivers of webhooks: one request, one result, and nothing is tried twice.
 *
 * Receivers are chosen by tenants like the hosts of their `fetch`, so that the same policy and the same checks of addresses
 * stand before them. Unlike a fetch, a post follows no redirect and hands nobody a stream; and it has connections of its own,
 * so that tenants' fetches cannot use up those of deliveries. It knows neither events nor retries: what comes of a post is a
 * value, and whoever asked judges it. As thousands are made in a second, each is one handler object and one timer.
 */
import type { Limits } from '../../limits.ts';
import { ConnectionPools } from '../connection-pools.ts';
import { connectorTo } from '../connector.ts';
import type { EgressError } from '../egress-error.ts';
import type { FindLoopback } from '../loopback.ts';
import { type Lookup, namesOf } from '../names.ts';
import type { EgressPolicy } from '../policy.ts';
import { withAnswerBound } from './answer-bytes.ts';
import { type After, inTime } from './deadline-connector.ts';
import { type Receiver, receiverOf } from './receiver.ts';
import { type PostResult, ReceiverAnswer } from './receiver-answer.ts';

export type { FailureReason } from './post-failure.ts';
export type { PostResult };

export interface Post {
  readonly url: string;
  /** Of ours alone: nothing of a tenant's is in it. */
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
  /** Whose delivery it is: owners share no connection. */
  readonly owner: string;
}

export interface WebhookClientParts {
  readonly policy: EgressPolicy;
  readonly limits: Limits;
  /** Whether receivers may be reached by plain http. */
  readonly allowHttp: boolean;
  /** Replaces the look-up of names. */
  readonly lookup?: Lookup;
  /** Finds the places of this service itself: its endpoints are posted to in process. */
  readonly ownDoor?: FindLoopback;
  /** The port of this service's control listener, once it is known: no list opens it. */
  readonly controlPort?: () => number | undefined;
  /** Runs something later. @returns what calls it off */
  readonly after?: After;
}

const RECEIVERS_ARE =
  'A receiver has to be on the public internet, unless the operator of this service allows more.';

/** An endpoint of this service that is posted to is one call deep, as if another endpoint had fetched it. */
const DEPTH = 1;

export class WebhookClient {
  readonly #parts: Required<
    Pick<WebhookClientParts, 'policy' | 'limits' | 'allowHttp' | 'ownDoor' | 'after'>
  >;
  readonly #connections: ConnectionPools;
  #inFlight = 0;
  #closed = false;

  constructor(parts: WebhookClientParts) {
    const { policy, limits, allowHttp, lookup = namesOf((host) => policy.vouchesFor(host)) } = parts;
    const { ownDoor = () => undefined, controlPort = () => undefined, after = later } = parts;
    const answerBytes = { headBytes: limits.fetchHeaderBytes, bodyBytes: limits.webhookResponseBytes };
    const connectLimit = { name: 'webhookConnectMs', max: limits.webhookConnectMs } as const;
    this.#parts = { policy, limits, allowHttp, ownDoor, after };
    this.#connections = new ConnectionPools({
      limit: { name: 'webhookConnections', max: limits.webhookConnections },
      connectionsPerOrigin: limits.deliveriesInFlightPerEndpoint,
      headerBytes: limits.fetchHeaderBytes,
      connectorTo: (target) => {
        const dial = connectorTo(target, { policy, lookup, connectLimit, controlPort });
        return inTime(withAnswerBound(dial, answerBytes), connectLimit, after);
      },
    });
  }

  /** Posts that have no result yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Connections that are open or being made. */
  get connections(): number {
    return this.#connections.open;
  }

  /** @returns why nothing is posted to this URL, whatever its name leads to; for whoever means to save it */
  refusalOf(url: string): string | undefined {
    try {
      receiverOf(url, this.#parts);
      return undefined;
    } catch (cause) {
      const { message, detail } = cause as EgressError;
      // Which rule said no is for the log; what receivers have to be is for everybody.
      return detail === message ? message : `${message} ${RECEIVERS_ARE}`;
    }
  }

  /** Always resolves, `webhookMs` from now at the latest. */
  async post(post: Post): Promise<PostResult> {
    if (this.#closed) return { kind: 'fault', detail: 'The service is stopping.' };
    let receiver: Receiver;
    try {
      receiver = receiverOf(post.url, this.#parts);
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

  async #send({ url, path, door }: Receiver, { headers, body, owner }: Post): Promise<PostResult> {
    const { limits, after } = this.#parts;
    const lease = this.#connections.lease(owner, url, door && { door, depth: DEPTH });
    const { promise, resolve } = Promise.withResolvers<PostResult>();
    const answer = new ReceiverAnswer(limits, url.origin, resolve);
    const cancel = after(limits.webhookMs, () => answer.cut());
    // undici sends a POST once, and never another one on the same connection before it is answered.
    lease.pool.dispatch({ method: 'POST', path, headers, body }, answer);
    try {
      return await promise;
    } finally {
      cancel();
      lease.release();
    }
  }
}

function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
