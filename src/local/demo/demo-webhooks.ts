/**
 * The part of the tour about webhooks: the product posts an event once; its receiver gets a signed
 * request, which is retried after a failure.
 *
 * The receiver is a server of the demo. It answers 500 to the first attempt; the tour verifies the
 * signature of each request.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { verifySignature } from '../../../sandbox/sdk/verify-signature.js';
import { type Exchange, type Sent, type Transcript, toRequest } from './transcript.ts';

const NAME = 'webhook';
const ORGANIZATION = 'acme';
const SPACE = 'garden';
const TYPE = 'space_content_updated';
/** Interval and number of polls while the tour waits for the delivery of the event. */
const EVERY_MS = 50;
const TRIES = 200;

/** A request that the receiver got. */
interface Received {
  readonly signature: string;
  readonly attempt: string;
  readonly body: Buffer;
}

/** Answers 500 to the first request, and 200 to all others. */
export class DemoReceiver {
  readonly received: Received[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<DemoReceiver> {
    const receiver = new DemoReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await Array.fromAsync(request));
    const { 'x-platform-signature': signature, 'x-platform-attempt': attempt } = request.headers;
    this.received.push({ signature: String(signature), attempt: String(attempt), body });
    response.writeHead(this.received.length === 1 ? 500 : 200, { 'content-type': 'application/json' });
    response.end('{"received":true}');
  }
}

export interface WebhooksStart {
  /** Control listener. */
  readonly controlUrl: string;
  readonly adminToken: string;
  readonly platformToken: string;
  readonly transcript: Transcript;
  readonly receiver: DemoReceiver;
  readonly print: (text: string) => void;
  /** The upload of the fixture. */
  upload(): Promise<FormData>;
}

/** From an event to its webhook; the transcript collects unexpected results. */
export async function tourWebhooks(start: WebhooksStart): Promise<void> {
  const tour = new WebhooksTour(start);
  const secret = await tour.setUp();
  await tour.deliver(await tour.postEvent());
  await tour.verifyReceived(secret);
}

class WebhooksTour {
  readonly #start: WebhooksStart;
  readonly #transcript: Transcript;

  constructor(start: WebhooksStart) {
    this.#start = start;
    this.#transcript = start.transcript;
  }

  /** Publishes, installs and configures the fixture. Returns the secret of its webhook. */
  async setUp(): Promise<string> {
    const { receiver, adminToken: token } = this.#start;
    const form = await this.#start.upload();
    await this.#ask(`Publish "${NAME}"`, 'POST', '/integrations', { token, form });
    const installing = `/integrations/${NAME}/installations`;
    const json = { organization: ORGANIZATION };
    const installed = await this.#ask('Install it', 'POST', installing, { json });
    const { id } = installed.json as { id?: string };
    const spaces = `${installing}/${id}/spaces`;
    await this.#ask('In a space', 'POST', spaces, { json: { space: SPACE } });
    const configuration = { webhook_url: receiver.url, event_types: [TYPE] };
    const settings = { json: { configuration } };
    const title = 'Set the URL of the webhook and its event types';
    const edited = await this.#ask(title, 'PATCH', `${spaces}/${SPACE}`, settings);
    this.#transcript.expect(edited.text.includes('"active"'), 'The webhook should be active.');
    const reveal = `${spaces}/${SPACE}/webhook-secret`;
    const revealed = await this.#ask('The secret that the receiver needs', 'GET', reveal);
    const { secret = '' } = revealed.json as { secret?: string };
    return secret;
  }

  /** Posts the event. Returns its id. */
  async postEvent(): Promise<string> {
    const event = { organization: ORGANIZATION, type: TYPE, spaceId: SPACE, revisionId: 'r1' };
    const title = 'Post an event: it is on disk, with its delivery, before the answer';
    const posted = await this.#ask(title, 'POST', '/events', { json: event });
    this.#transcript.expect(posted.status === 202, 'The event should have been accepted.');
    const { eventId } = posted.json as { eventId?: string };
    return String(eventId);
  }

  /** Waits until the delivery has succeeded, and shows its state and its number of attempts. */
  async deliver(eventId: string): Promise<void> {
    const list = `/deliveries?event=${encodeURIComponent(eventId)}`;
    let delivery: { id?: string; state?: string } = {};
    for (let tries = 0; tries < TRIES && delivery.state !== 'delivered'; tries += 1) {
      await setTimeout(EVERY_MS);
      const response = await fetch(toRequest(this.#request('GET', list)));
      const { items = [] } = (await response.json()) as { items?: (typeof delivery)[] };
      delivery = items[0] ?? {};
    }
    const title = 'The receiver failed at first, and the delivery was retried after a second';
    const read = await this.#ask(title, 'GET', `/deliveries/${delivery.id}`);
    const { state, attempts } = read.json as { state?: string; attempts?: number };
    const asExpected = state === 'delivered' && attempts === 2;
    this.#transcript.expect(asExpected, 'The event should have been delivered at the second attempt.');
  }

  /** Shows each request that the receiver got, and verifies its signature. */
  async verifyReceived(secret: string): Promise<void> {
    const { print, receiver } = this.#start;
    this.#transcript.title('What the receiver got: the same bytes twice, each time with a new signature');
    for (const { signature, attempt, body } of receiver.received) {
      print(`   ← X-Platform-Attempt: ${attempt}`);
      print(`     X-Platform-Signature: ${signature.slice(0, 40)}…`);
      print(`     ${body.toString('utf8')}`);
      const isValid = await verifySignature(signature, body, secret);
      this.#transcript.expect(isValid, 'The signature should verify.');
    }
    this.#transcript.expect(receiver.received.length === 2, 'The receiver should have got two requests.');
  }

  /** One request to the API; `rest` may replace the platform token. */
  #ask(title: string, method: string, path: string, rest: Partial<Sent> = {}): Promise<Exchange> {
    this.#transcript.title(title);
    return this.#transcript.exchange({ ...this.#request(method, path), ...rest });
  }

  #request(method: string, path: string): Sent {
    const { controlUrl, platformToken: token } = this.#start;
    return { method, url: `${controlUrl}/v1${path}`, token };
  }
}
