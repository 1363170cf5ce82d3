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
import { verifySignature } from '../../sandbox/sdk/verify-signature.js';
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
  const { transcript, receiver, adminToken } = start;
  const form = await start.upload();
  await ask(start, `Publish "${NAME}"`, 'POST', '/integrations', { token: adminToken, form });
  const installing = `/integrations/${NAME}/installations`;
  const json = { organization: ORGANIZATION };
  const installed = await ask(start, 'Install it', 'POST', installing, { json });
  const { id } = installed.json as { id?: string };
  const spaces = `${installing}/${id}/spaces`;
  await ask(start, 'In a space', 'POST', spaces, { json: { space: SPACE } });
  const configuration = { webhook_url: receiver.url, event_types: [TYPE] };
  const settings = { json: { configuration } };
  const edited = await ask(start, 'Say what is to be sent where', 'PATCH', `${spaces}/${SPACE}`, settings);
  transcript.expect(edited.text.includes('"active"'), 'The webhook should be active.');
  const reveal = `${spaces}/${SPACE}/webhook-secret`;
  const revealed = await ask(start, 'The secret that the receiver needs', 'GET', reveal);
  const { secret = '' } = revealed.json as { secret?: string };
  const event = { organization: ORGANIZATION, type: TYPE, spaceId: SPACE, revisionId: 'r1' };
  const title = 'Something has happened: on disk, with its delivery, before this is answered';
  const posted = await ask(start, title, 'POST', '/events', { json: event });
  transcript.expect(posted.status === 202, 'The event should have been accepted.');
  const { eventId } = posted.json as { eventId?: string };
  await delivered(start, String(eventId));
  await shown(start, secret);
}

/** Waits until the delivery has succeeded, and shows its state and its number of attempts. */
async function delivered(start: WebhooksStart, eventId: string): Promise<void> {
  const list = `/deliveries?event=${encodeURIComponent(eventId)}`;
  let delivery: { id?: string; state?: string } = {};
  for (let tries = 0; tries < TRIES && delivery.state !== 'delivered'; tries += 1) {
    await setTimeout(EVERY_MS);
    const response = await fetch(toRequest(sent(start, 'GET', list)));
    const { items = [] } = (await response.json()) as { items?: (typeof delivery)[] };
    delivery = items[0] ?? {};
  }
  const title = 'Its receiver failed at first, and was asked again after a second';
  const read = await ask(start, title, 'GET', `/deliveries/${delivery.id}`);
  const { state, attempts } = read.json as { state?: string; attempts?: number };
  const asExpected = state === 'delivered' && attempts === 2;
  start.transcript.expect(asExpected, 'The event should have been delivered at the second attempt.');
}

/** Shows each request that the receiver got, and verifies its signature. */
async function shown({ receiver, transcript, print }: WebhooksStart, secret: string): Promise<void> {
  transcript.title('What the receiver got: the same bytes twice, each signed anew');
  for (const { signature, attempt, body } of receiver.received) {
    print(`   ← X-Platform-Attempt: ${attempt}`);
    print(`     X-Platform-Signature: ${signature.slice(0, 40)}…`);
    print(`     ${body.toString('utf8')}`);
    const isValid = await verifySignature(signature, body, secret);
    transcript.expect(isValid, 'The signature should verify.');
  }
  transcript.expect(receiver.received.length === 2, 'The receiver should have been asked twice.');
}

/** One request to the API; `rest` may replace the platform token. */
function ask(
  start: WebhooksStart,
  title: string,
  method: string,
  path: string,
  rest: Partial<Sent> = {},
): Promise<Exchange> {
  start.transcript.title(title);
  return start.transcript.exchange({ ...sent(start, method, path), ...rest });
}

const sent = ({ controlUrl, platformToken }: WebhooksStart, method: string, path: string): Sent => ({
  method,
  url: `${controlUrl}/v1${path}`,
  token: platformToken,
});
