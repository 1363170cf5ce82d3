/**
 * One attempt at a delivery of kind `webhook`: what the integration makes of the event is signed and posted to a receiver.
 *
 * The integration is asked once, what is posted and where. Its bytes are kept before anybody gets them, so that each attempt
 * posts the same ones (REFERENCE D23). It is asked again only where its target has changed since: the new configuration says
 * where to post, and no longer what (REFERENCE D29). The signature and its time are new each time.
 */
import { isUtf8 } from 'node:buffer';
import { boundedBody } from '../calls/bounded-body.ts';
import { BrokenOff, type CallResponse } from '../calls/call.ts';
import type { Dispatch } from '../calls/dispatch.ts';
import type { PostResult, WebhookClient } from '../egress/webhook/webhook-client.ts';
import type { LimitName, Limits } from '../limits.ts';
import { limitSentence } from '../model/limit-met.ts';
import { signatureHeader } from '../model/signature.ts';
import type { Target } from '../model/target.ts';
import type { Deliveries } from '../store/deliveries/deliveries.ts';
import type { ClaimedDelivery, DeliveryPayload } from '../store/deliveries/delivery.ts';
import type { WebhookSecrets } from '../store/webhooks/webhook-secrets.ts';
import { attemptedBy, callFor, destinationIn, discard } from './event-call.ts';
import { type Attempted, type DeliveryInFlight, LOST } from './in-flight.ts';
import { deliveryOutcome } from './retry.ts';

const MS_PER_S = 1_000;
/** What is kept of a destination with each attempt; a longer one is refused. */
const DESTINATION_CHARS_MAX = 2_048;

export interface WebhookDeliveryParts {
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly deliveries: Pick<Deliveries, 'keepPayload'>;
  readonly secrets: Pick<WebhookSecrets, 'signing'>;
  readonly posting: Pick<WebhookClient, 'post'>;
  readonly limits: Pick<Limits, 'webhookPayloadBytes'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Names and version of whoever posts. */
  readonly userAgent: string;
  limitMet(name: LimitName): void;
}

/** What an integration wants posted. */
type Wanted = Pick<DeliveryPayload, 'destination' | 'payload'>;

export class WebhookDelivery {
  readonly #parts: WebhookDeliveryParts;

  constructor(parts: WebhookDeliveryParts) {
    this.#parts = parts;
  }

  /** @throws where the store fails */
  async attempt(way: DeliveryInFlight, target: Target): Promise<Attempted | typeof LOST> {
    const { claim } = way;
    const { revision } = target;
    if (claim.payload?.revision === revision) return this.#post(way, claim.payload);
    const wanted = await this.#ask(way, target);
    if ('ending' in wanted) return wanted;
    const payload = { ...wanted, revision };
    if (!(await this.#parts.deliveries.keepPayload(claim, payload))) return LOST;
    return this.#post(way, payload);
  }

  async #ask(way: DeliveryInFlight, target: Target): Promise<Wanted | Attempted> {
    const result = await callFor(this.#parts.dispatch, target, way);
    if ('ending' in result) return result;
    const { response } = result;
    const attempted = attemptedBy(result);
    if (response === undefined || attempted.ending.end !== 'delivered') {
      discard(response);
      return attempted;
    }
    const destination = destinationIn(response);
    const kept = way.claim.payload?.payload;
    if (destination === undefined || kept !== undefined) discard(response);
    if (destination === undefined)
      return { ...attempted, ending: { end: 'unhandled', outcome: 'nothing to post' } };
    if (kept !== undefined) return { destination, payload: kept };
    const payload = await this.#payloadIn(response);
    return typeof payload === 'string' ? { destination, payload } : payload;
  }

  /** A body that arrives while the call still runs is held to the limits of the call. */
  async #payloadIn({ status, body }: CallResponse): Promise<string | Attempted> {
    const max = this.#parts.limits.webhookPayloadBytes;
    const noted = { status };
    let bytes: Buffer | undefined;
    try {
      bytes = await boundedBody(body, max);
    } catch (cause) {
      if (!(cause instanceof BrokenOff)) throw cause;
      // Half an answer is none: whose doing that was, the outcome of the call says, as it does of a call without an answer.
      return { ...attemptedBy({ outcome: cause.outcome }), noted };
    }
    if (bytes === undefined) {
      this.#parts.limitMet('webhookPayloadBytes');
      const detail = limitSentence({ name: 'webhookPayloadBytes', max });
      return { ending: { end: 'rejected', outcome: 'payload too large' }, noted, detail };
    }
    const payload = jsonTextIn(bytes);
    if (payload !== undefined) return payload;
    const detail = 'The payload, which is the body of the answer, has to be JSON in UTF-8.';
    return { ending: { end: 'rejected', outcome: 'payload is not JSON' }, noted, detail };
  }

  async #post(
    way: DeliveryInFlight,
    { destination, payload }: DeliveryPayload,
  ): Promise<Attempted | typeof LOST> {
    const { secrets, posting, clock } = this.#parts;
    const { claim } = way;
    const signing = await secrets.signing(claim.target);
    if (way.isCut) return LOST;
    const body = Buffer.from(payload, 'utf8');
    // Rounded down: a receiver may refuse what is signed in its future.
    const signature = signatureHeader(signing, Math.floor(clock() / MS_PER_S), body);
    way.isPosted = true;
    const result = await posting.post({
      url: destination,
      headers: this.#headers(claim, signature, body),
      body,
      // Its endpoint's: no target takes another one's connections, also where both post to the same receiver.
      owner: claim.endpoint,
    });
    return attemptedWith(result, withoutQuery(destination));
  }

  #headers(claim: ClaimedDelivery, signature: string, body: Uint8Array): Record<string, string> {
    return {
      'content-type': 'application/json',
      'content-length': String(body.byteLength),
      'user-agent': this.#parts.userAgent,
      'x-platform-signature': signature,
      'x-platform-event': claim.type,
      'x-platform-delivery': claim.id,
      // The same again where nobody knows what has become of a request: it may not have been one.
      'x-platform-attempt': String(claim.retries + 1),
    };
  }
}

function attemptedWith(result: PostResult, destination: string | undefined): Attempted {
  const ending = deliveryOutcome(result);
  const where = destination === undefined ? {} : { destination };
  if (result.kind !== 'answered') return { ending, noted: where, detail: result.detail };
  const { status, response, truncated } = result;
  return { ending, noted: { ...where, status, response, truncated } };
}

/** What is posted has to be what it says it is. */
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

/** Keys of a receiver's are in the query. Undefined for what is no address of a receiver: other URLs have no origin. */
function withoutQuery(destination: string): string | undefined {
  const url = destination.length > DESTINATION_CHARS_MAX ? null : URL.parse(destination);
  return url === null || !/^https?:$/.test(url.protocol) ? undefined : `${url.origin}${url.pathname}`;
}
