/**
 * One attempt at a delivery of kind `notice`: posts it to the receiver that the operator has named,
 * signed with the operator's secret (docs/contract/notices.md#posts).
 *
 * No code of an integration is called, and no target is read: a notice has all that it says since
 * it was written. The client is not that of webhooks: the operator names this receiver, so it may
 * be private, and the rules of egress do not apply to it.
 */
import type { SignatureScheme } from '../../model/signature.ts';
import { EgressPolicy } from '../egress/policy.ts';
import { WebhookClient, type WebhookClientDeps } from '../egress/webhook/webhook-client.ts';
import { type Attempted, type DeliveryInFlight, LOST } from './in-flight.ts';
import { deliveryOutcome } from './retry.ts';
import { attemptedWith, type Posting, requestHeaders, withoutQuery } from './webhook-delivery.ts';

/** Where notices go. */
export interface NoticeReceiver {
  readonly url: string;
  /** Each signs, the first one first. */
  readonly secrets: readonly string[];
}

export interface NoticeDeliveryDeps extends Posting {
  /** Absent where the operator has named none. */
  readonly receiver?: NoticeReceiver | undefined;
  /** How the operator has webhooks signed. */
  readonly scheme: SignatureScheme;
  readonly client: Pick<WebhookClient, 'post'>;
}

export class NoticeDelivery {
  readonly #deps: NoticeDeliveryDeps;

  constructor(deps: NoticeDeliveryDeps) {
    this.#deps = deps;
  }

  async attempt(delivery: DeliveryInFlight): Promise<Attempted | typeof LOST> {
    const { receiver, client, scheme, wallNow } = this.#deps;
    const { claim } = delivery;
    // Written while there was one.
    if (receiver === undefined) return { ending: { end: 'canceled', outcome: 'no receiver' } };
    if (delivery.isAbandoned || wallNow() >= delivery.claimedUntil) return LOST;
    const body = Buffer.from(claim.eventBody, 'utf8');
    const headers = requestHeaders(claim, { body, secrets: receiver.secrets, scheme }, this.#deps);
    delivery.isPosted = true;
    const result = await client.post({ url: receiver.url, headers, body, owner: claim.endpoint });
    const ending = deliveryOutcome(result, wallNow(), delivery.schedule);
    return attemptedWith(result, ending, withoutQuery(receiver.url));
  }
}

/** The client of notices, which reaches their receiver and nothing else. */
export function noticeClient(
  url: string,
  deps: Omit<WebhookClientDeps, 'policy' | 'allowHttp'>,
): WebhookClient {
  const { hostname, port, protocol } = new URL(url);
  const allow = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
  const { policy } = EgressPolicy.parse({ allow, only: allow });
  return new WebhookClient({ ...deps, policy, allowHttp: true });
}
