/**
 * `deliverTo`: a handler's result that is posted as a webhook
 * (docs/contract/webhooks.md#payload).
 *
 * Nothing is posted from here. The platform stores the bytes, signs them, posts them and retries;
 * a `fetch` by the handler has none of that.
 */

/** Names the destination in the answer to an event. Code without the SDK sets it itself. */
const DESTINATION_HEADER = 'annex-deliver-to';

/**
 * A webhook to be posted: made by `deliverTo`, and posted if a handler of `events` returns it.
 *
 * @example
 * const posted = (url: string, eventId: string): WebhookDelivery => deliverTo(url, { eventId });
 */
export class WebhookDelivery {
  /** Absolute URL of the receiver. */
  readonly url: string;
  /** The payload: posted byte for byte at each attempt. */
  readonly body: string | Uint8Array<ArrayBuffer>;

  constructor(url: string, body: string | Uint8Array<ArrayBuffer>) {
    this.url = url;
    this.body = body;
  }

  /** The answer from which the platform reads destination and payload. */
  toResponse(): Response {
    return new Response(this.body, {
      headers: { 'content-type': 'application/json', [DESTINATION_HEADER]: this.url },
    });
  }
}

/**
 * Has the platform post `payload` to `url`, signed, and retry while the receiver cannot be reached,
 * is overloaded or fails (docs/contract/webhooks.md#retries). The manifest needs `webhook`. A
 * handler that returns nothing posts nothing.
 *
 * If the target or its code changes between two attempts, the handler runs again for the
 * destination; the payload stays the first one.
 *
 * @param url absolute URL of the receiver, usually from the configuration
 * @param payload an object, which becomes JSON; or text or bytes that are JSON already
 * @returns the value for the handler to return
 * @throws TypeError if `url` is not an absolute URL, or `payload` has no JSON
 *
 * @example
 * events: {
 *   site_view({ eventId, type, url }, { environment }) {
 *     const receiver = environment.siteInstallation?.configuration.webhook_url;
 *     return receiver && deliverTo(receiver, { eventId, type, url });
 *   },
 * }
 */
export function deliverTo(url: string | URL, payload: object | string | Uint8Array): WebhookDelivery {
  const destination = URL.parse(String(url));
  if (destination === null) throw new TypeError('deliverTo: the destination must be an absolute URL');
  return new WebhookDelivery(destination.href, bodyOf(payload));
}

function bodyOf(payload: object | string | Uint8Array): string | Uint8Array<ArrayBuffer> {
  if (typeof payload === 'string') return payload;
  // A copy: later changes of the handler's bytes do not reach the receiver.
  if (payload instanceof Uint8Array) return new Uint8Array(payload);
  const text = typeof payload === 'object' && payload !== null ? JSON.stringify(payload) : undefined;
  if (text !== undefined) return text;
  throw new TypeError(`deliverTo: the payload must be an object, text or bytes, not ${kindOf(payload)}`);
}

function kindOf(payload: unknown): string {
  if (payload === undefined || payload === null) return 'nothing';
  return typeof payload === 'object' ? 'an object without JSON' : `a ${typeof payload}`;
}

/**
 * The webhook among the results of one event's handlers, if any.
 *
 * @throws TypeError if there are several: attempts, retries and deduplication are by event
 */
export function deliveryOf(type: string, returned: readonly unknown[]): WebhookDelivery | undefined {
  const deliveries = returned.filter((value) => value instanceof WebhookDelivery);
  if (deliveries.length <= 1) return deliveries[0];
  throw new TypeError(
    `${deliveries.length} handlers of "${type}" return deliverTo(): one event goes to one destination`,
  );
}
