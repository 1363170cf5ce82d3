/**
 * One attempt at a delivery of kind `webhook`: signs the payload and posts it to the receiver.
 *
 * The code of the integration turns the event into a payload and a destination, and is asked once.
 * The payload is stored before the first post, so each attempt posts the same bytes. If the target
 * has changed since, the code is asked again: its answer decides where to post, and the stored
 * payload stays (docs/contract/webhooks.md#payload). Signature and time are new for each attempt.
 */
import { isUtf8 } from 'node:buffer';
import type { LimitName, Limits } from '../../limits.ts';
import type { TargetName } from '../../model/installation.ts';
import { limitSentence } from '../../model/limit-met.ts';
import {
  type HeaderNames,
  type SignatureScheme,
  signatureHeader,
  standardHeaders,
  standardId,
} from '../../model/signature.ts';
import { installedName, type Target } from '../../model/target.ts';
import { boundedBody } from '../calls/bounded-body.ts';
import { BrokenOff, type CallResponse } from '../calls/call.ts';
import type { Dispatch } from '../calls/dispatch.ts';
import type { PostResult, WebhookClient } from '../egress/webhook/webhook-client.ts';
import type { ClaimedDelivery, DeliveryPayload } from '../store/deliveries/delivery.ts';
import type { DeliveryClaims } from '../store/deliveries/delivery-claims.ts';
import type { WebhookSecrets } from '../store/webhooks/webhook-secrets.ts';
import { attemptedBy, callFor, destinationIn, discard } from './event-call.ts';
import { type Attempted, type DeliveryInFlight, LOST } from './in-flight.ts';
import { type DeliveryOutcome, deliveryOutcome } from './retry.ts';

const MS_PER_S = 1_000;
/** By which a receiver says that it will accept nothing any more. */
const GONE = 410;
/** A longer destination is not kept with the attempt; the client refuses it. */
const DESTINATION_CHARS_MAX = 2_048;

/** What every post needs. */
export interface Posting {
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** The same, never later than is true. */
  readonly signingClock: () => number;
  /** Value of the header `User-Agent`. */
  readonly userAgent: string;
  readonly headerNames: HeaderNames;
}

export interface WebhookDeliveryDeps extends Posting {
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly claims: Pick<DeliveryClaims, 'keepPayload'>;
  readonly secrets: Pick<WebhookSecrets, 'posting' | 'takeTurn'>;
  readonly webhookClient: Pick<WebhookClient, 'post'>;
  readonly limits: Pick<Limits, 'webhookPayloadBytes'>;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  limitMet(name: LimitName): void;
}

/** What the code of an integration answers. */
type Draft = Pick<DeliveryPayload, 'destination' | 'payload'>;

export class WebhookDelivery {
  readonly #deps: WebhookDeliveryDeps;

  constructor(deps: WebhookDeliveryDeps) {
    this.#deps = deps;
  }

  /**
   * @param current the target as it is now; the end of the delivery if it gets nothing any more
   * @throws if the store fails
   */
  async attempt(
    delivery: DeliveryInFlight,
    target: Target,
    current: () => Promise<Target | Attempted>,
  ): Promise<Attempted | typeof LOST> {
    const { claim } = delivery;
    const { revision } = target;
    if (claim.payload?.revision === revision) return this.#post(delivery, claim.payload);
    const draft = await this.#ask(delivery, target);
    if ('ending' in draft) return draft;
    const payload = { ...draft, revision };
    if (!(await this.#deps.claims.keepPayload(claim, payload))) return LOST;
    const still = await current();
    return 'ending' in still ? still : this.#post(delivery, payload);
  }

  async #ask(delivery: DeliveryInFlight, target: Target): Promise<Draft | Attempted> {
    const result = await callFor(this.#deps.dispatch, target, delivery);
    if ('ending' in result) return result;
    const { response } = result;
    const attempted = attemptedBy(result, target);
    if (response === undefined || attempted.ending.end !== 'delivered') {
      discard(response);
      return attempted;
    }
    const destination = destinationIn(response);
    const stored = delivery.claim.payload?.payload;
    if (destination === undefined || stored !== undefined) discard(response);
    if (destination === undefined)
      return { ...attempted, ending: { end: 'unhandled', outcome: 'nothing to post' } };
    if (stored !== undefined) return { destination, payload: stored };
    const payload = await this.#payloadIn(response, target);
    return typeof payload === 'string' ? { destination, payload } : payload;
  }

  /** Reads the payload. A body that streams while the call runs is subject to its limits. */
  async #payloadIn({ status, body }: CallResponse, target: Target): Promise<string | Attempted> {
    const max = this.#deps.limits.webhookPayloadBytes;
    const recorded = { status };
    let bytes: Buffer | undefined;
    try {
      bytes = await boundedBody(body, max);
    } catch (cause) {
      if (!(cause instanceof BrokenOff)) throw cause;
      // Half an answer is none: the outcome of the call decides, as for a call without an answer.
      return { ...attemptedBy({ outcome: cause.outcome }, target), recorded };
    }
    if (bytes === undefined) {
      this.#deps.limitMet('webhookPayloadBytes');
      const detail = limitSentence({ name: 'webhookPayloadBytes', max });
      return { ending: { end: 'rejected', outcome: 'payload too large' }, recorded, detail };
    }
    const payload = jsonTextIn(bytes);
    if (payload !== undefined) return payload;
    const detail = 'The payload (the body of the answer) has to be JSON in UTF-8.';
    return { ending: { end: 'rejected', outcome: 'payload is not JSON' }, recorded, detail };
  }

  async #post(
    delivery: DeliveryInFlight,
    { destination, payload }: DeliveryPayload,
  ): Promise<Attempted | typeof LOST> {
    const { secrets, webhookClient, wallNow } = this.#deps;
    const { claim } = delivery;
    const target = installedName(claim.target);
    if (target === undefined) throw new Error('A webhook without an installation to sign it for.');
    await this.#turnOf(delivery, target);
    const { secrets: signing, own } = await secrets.posting(target);
    if (delivery.isAbandoned) return LOST;
    // A node that lost the database cannot renew its leases: another node may have the delivery.
    if (wallNow() >= delivery.claimedUntil) return LOST;
    const body = Buffer.from(payload, 'utf8');
    const scheme = delivery.target?.webhookSignature;
    const headers = requestHeaders(claim, { body, secrets: signing, scheme }, this.#deps);
    delivery.isPosted = true;
    const result = await webhookClient.post({
      url: destination,
      headers,
      own,
      body,
      // Attack: a target takes the connections of another one to the same receiver. Each endpoint
      // has its own.
      owner: claim.endpoint,
      generation: claim.generation,
    });
    const ending = deliveryOutcome(result, wallNow(), delivery.schedule);
    // Attack: a receiver that repeats the request, whose answer many may read.
    const shown =
      own === undefined || result.kind !== 'answered'
        ? result
        : { ...result, response: own.redactor.redact(result.response) };
    return attemptedWith(shown, ending, withoutQuery(destination));
  }

  /** Waits for the turn of a request to a receiver with a rate: a moment, as a rule. */
  async #turnOf(delivery: DeliveryInFlight, name: TargetName): Promise<void> {
    const { secrets, wallNow, after } = this.#deps;
    const { intervalMs } = delivery;
    if (intervalMs === undefined) return;
    const at = await secrets.takeTurn(name, intervalMs);
    delivery.nextAt = at + intervalMs;
    const waitMs = at - wallNow();
    if (waitMs > 0) await new Promise<void>((resolve) => void after(waitMs, resolve));
  }
}

/** What a post signs, and how: with the signature of the platform if no scheme is given. */
interface Signed {
  readonly body: Uint8Array;
  readonly secrets: readonly string[];
  readonly scheme?: SignatureScheme | undefined;
}

/** The headers of a post, with a signature of this moment. */
export function requestHeaders(
  claim: ClaimedDelivery,
  { body, secrets, scheme = 'platform' }: Signed,
  { signingClock, userAgent, headerNames: names }: Posting,
): Record<string, string> {
  // Rounded down: a receiver may refuse a signature of the future.
  const timestampS = Math.floor(signingClock() / MS_PER_S);
  const id = standardId(claim.id);
  return {
    'content-type': 'application/json',
    'content-length': String(body.byteLength),
    'user-agent': userAgent,
    ...(scheme !== 'standard' && { [names.signature]: signatureHeader(secrets, timestampS, body) }),
    ...(scheme !== 'platform' && standardHeaders(secrets, { id, timestampS }, body)),
    [names.event]: claim.type,
    [names.delivery]: claim.id,
    // The same number after an attempt of unknown end: its request may not have been sent.
    [names.attempt]: String(claim.retries + 1),
  };
}

export function attemptedWith(
  result: PostResult,
  ending: DeliveryOutcome,
  destination: string | undefined,
): Attempted {
  const posted = destination === undefined ? {} : { destination };
  if (result.kind === 'fault') return { ending, recorded: posted, detail: result.detail };
  if (result.kind !== 'answered') {
    const reason = result.kind === 'failed' ? result.tlsReason : undefined;
    const recorded = { ...posted, ...(reason !== undefined && { reason }) };
    return { ending, recorded, detail: result.detail, sign: 'failed' };
  }
  const { status, response, truncated } = result;
  const refused = status === GONE ? 'gone' : 'failed';
  const sign = ending.end === 'delivered' ? 'accepted' : refused;
  return { ending, recorded: { ...posted, status, response, truncated }, sign };
}

/** The text of a body that is JSON in UTF-8, as its content type promises. */
function jsonTextIn(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  try {
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}

/** Without the query, which may hold keys. Undefined if it is no HTTP URL. */
export function withoutQuery(destination: string): string | undefined {
  const url = destination.length > DESTINATION_CHARS_MAX ? null : URL.parse(destination);
  return url === null || !/^https?:$/.test(url.protocol) ? undefined : `${url.origin}${url.pathname}`;
}
