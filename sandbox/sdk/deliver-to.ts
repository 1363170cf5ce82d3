/**
 * `deliverTo`: how a handler says that what it makes of an event is to be posted, and where (REFERENCE 7).
 *
 * Nothing is posted from here. The platform keeps the bytes, signs them, posts them, and tries again where that may help; a
 * `fetch` of the handler's own would do none of it.
 */

/** Names the destination in the answer to an event; whoever has no SDK sends it by hand. */
const DESTINATION_HEADER = 'annex-deliver-to';

/** What `deliverTo` makes. It does something only where a handler of `events` returns it. */
export class WebhookDelivery {
  /** Absolute. */
  readonly url: string;
  /** What is posted, byte for byte, at each attempt. */
  readonly body: string | Uint8Array<ArrayBuffer>;

  constructor(url: string, body: string | Uint8Array<ArrayBuffer>) {
    this.url = url;
    this.body = body;
  }

  /** As the platform takes it. */
  toResponse(): Response {
    return new Response(this.body, {
      headers: { 'content-type': 'application/json', [DESTINATION_HEADER]: this.url },
    });
  }
}

/**
 * Has the platform post `payload` to `url`: signed, and again where the receiver is out of reach, overloaded or broken. Needs
 * `webhook` in the manifest. A handler that returns nothing posts nothing.
 *
 * The platform asks for the destination of an event anew where the configuration has changed meanwhile; the payload stays the
 * one that was first made.
 *
 * @param url where a receiver listens: the URL of the configuration, as a rule
 * @param payload an object, which becomes JSON; or text or bytes that are JSON already
 * @throws TypeError where `url` is no absolute URL, or `payload` is nothing that JSON can say
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
  // Its own copy: what the handler does with its bytes afterwards is nothing to the receiver.
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
 * What handlers of one event want posted, if anything.
 *
 * @throws TypeError where it is more than one thing: attempts, retries and the receiver's memory are all by event
 */
export function deliveryOf(type: string, returned: readonly unknown[]): WebhookDelivery | undefined {
  const deliveries = returned.filter((value) => value instanceof WebhookDelivery);
  if (deliveries.length <= 1) return deliveries[0];
  throw new TypeError(
    `${deliveries.length} handlers of "${type}" return deliverTo(): one event goes to one destination`,
  );
}
