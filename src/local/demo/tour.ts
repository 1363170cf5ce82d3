/**
 * The tour of `annex demo`: publishes and installs the fixtures over HTTP, calls them by every kind
 * of request, takes an installation through its lifecycle, posts an event and receives its signed
 * webhook, which is retried after a failure. It checks each answer.
 *
 * It is an ordinary HTTP client: it has two URLs and a token, and uses nothing internal.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { verifySignature } from '../../../sandbox/sdk/verify-signature.js';
import { uploadFolder } from './folder-form-data.ts';
import { type Exchange, type Sent, type Transcript, toRequest } from './transcript.ts';

/** The integrations of the tour, a folder each. */
export const FIXTURES = fileURLToPath(new URL('../../../fixtures/', import.meta.url));
const ORGANIZATION = 'acme';
const ACME = { json: { organization: ORGANIZATION } };
const SPACE = 'garden';
const TYPE = 'space_content_updated';
/** Interval and number of polls while the tour waits for a delivery. */
const EVERY_MS = 50;
const TRIES = 200;

/** Answers 500 to the first request, and 200 to all others. */
export class DemoReceiver {
  readonly received: { readonly signature: string; readonly attempt: string; readonly body: Buffer }[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  /** Host and port. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
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

/** The members of answers that the tour reads. */
interface Answer {
  readonly id?: string;
  readonly token?: string;
  readonly secret?: string;
  readonly eventId?: string;
  readonly status?: string;
  readonly state?: unknown;
  readonly type?: string;
  readonly attempts?: number;
  readonly bodyBytes?: number;
  readonly urls?: { readonly publicEndpoint: string };
  readonly items?: readonly Answer[];
  readonly integration?: string;
  readonly installation?: string;
}

const read = ({ json }: Exchange): Answer => (json ?? {}) as Answer;

/** Whether an answer is as expected, and the sentence for one that is not. */
type Expected = readonly [sentence: string, holds: (answer: Exchange) => boolean];

const hasStatus = (status: string) => (answer: Exchange) => read(answer).status === status;
const isAnswered = (status: number) => (answer: Exchange) => answer.status === status;

export interface TourStart {
  /** Control listener. */
  readonly controlUrl: string;
  readonly adminToken: string;
  readonly receiver: DemoReceiver;
  readonly transcript: Transcript;
}

/** One tour. Tokens and endpoints stay in place for further requests. */
export class Tour {
  platformToken = '';
  /** Public endpoint of each installed fixture. */
  readonly endpoints: Record<string, string> = {};
  readonly #start: TourStart;
  readonly #transcript: Transcript;

  constructor(start: TourStart) {
    this.#start = start;
    this.#transcript = start.transcript;
  }

  /** Runs the whole tour. It ends early where a fixture could not be installed. */
  async run(): Promise<void> {
    const kind = { ...this.#admin, json: { kind: 'platform' } };
    const created = await this.#api('A token for the platform', 'POST /tokens', kind, [
      'The token should have been created.',
      isAnswered(201),
    ]);
    this.platformToken = read(created).token ?? '';
    for (const name of ['hello', 'confirmation', 'counter', 'plain-worker'])
      if (!(await this.#publishAndInstall(name))) return;
    await this.#callEndpoints();
    await this.#drawComponent();
    await this.#configure();
    await this.#receiveWebhook();
  }

  async #publishAndInstall(name: string): Promise<boolean> {
    await this.#publish(name, `Publish and install "${name}"`);
    const installed = await this.#send(this.#sent(`POST /integrations/${name}/installations`, ACME), [
      `"${name}" should have been installed.`,
      isAnswered(201),
    ]);
    const endpoint = read(installed).urls?.publicEndpoint;
    if (endpoint !== undefined) this.endpoints[name] = endpoint;
    this.#tell(`published and installed   ${name.padEnd(13)} ${endpoint}`);
    return endpoint !== undefined;
  }

  async #publish(name: string, title: string): Promise<void> {
    const upload = { ...this.#admin, form: await uploadFolder(`${FIXTURES}${name}`) };
    await this.#api(title, 'POST /integrations', upload, [
      `"${name}" should have been published.`,
      isAnswered(201),
    ]);
  }

  /** Calls by raw traffic, and by an envelope with an event, an environment and a body. */
  async #callEndpoints(): Promise<void> {
    const { hello, confirmation } = this.endpoints;
    const get = (url: string): Sent => ({ method: 'GET', url });
    const greeted = await this.#ask('A raw request', get(`${hello}/some/path?name=world`), [
      'hello should have greeted.',
      ({ status, text }) => status === 200 && text.includes('Hello'),
    ]);
    this.#tell('\ncalled       GET {hello}/some/path?name=world');
    this.#tell(`             ${greeted.status} ${greeted.text.split('\n', 1)}`);
    const url = `${confirmation}/`;
    const json = { any: 'payload' };
    await this.#ask('The confirmation pattern: POST', { method: 'POST', url, json }, [
      'confirmation should have answered {"received": true}.',
      ({ status, json: answer }) => status === 200 && isDeepStrictEqual(answer, { received: true }),
    ]);
    await this.#ask('The confirmation pattern: any other method', get(url), [
      'confirmation should have answered 405 to a GET.',
      ({ status, text }) => status === 405 && text === 'Method not allowed',
    ]);
    const request = { method: 'POST', url: 'https://example.com/hook', headers: {} };
    const event = { eventId: 'demo-1', type: 'fetch', request };
    const title = 'An envelope: event, environment and raw body in one request';
    await this.#ask(title, this.#envelope('plain-worker', event, 'raw bytes'), [
      'plain-worker should have counted nine bytes.',
      (answer) => answer.status === 200 && read(answer).bodyBytes === 9,
    ]);
  }

  /** Draws a component by its endpoint, and as the host product does for the menu of a space. */
  async #drawComponent(): Promise<void> {
    const render = { eventId: 'demo-2', type: 'ui_render', componentId: 'counter', props: {} };
    const action = { action: 'increment' };
    const hasCount = (count: number) => (answer: Exchange) =>
      isDeepStrictEqual(read(answer).state, { count });
    await this.#ask('A component, rendered', this.#envelope('counter', render), [
      'counter should have begun at 0.',
      hasCount(0),
    ]);
    const press = this.#envelope('counter', { ...render, state: { count: 0 }, action });
    await this.#ask('The same component after a press of its button', press, [
      'counter should have counted to 1.',
      hasCount(1),
    ]);
    const blocks = `/blocks?organization=${ORGANIZATION}&space=garden`;
    const menu = await this.#api(
      'The blocks that the quick insert menu of a space lists',
      `GET ${blocks}`,
      {},
      [
        'The block of counter should be listed.',
        (answer) => read(answer).items?.[0]?.integration === 'counter',
      ],
    );
    const [block] = read(menu).items ?? [];
    const path = `/integrations/${block?.integration}/installations/${block?.installation}/render`;
    const json = { componentId: 'counter', state: { count: 6 }, action };
    await this.#api('Render one of them: the answer is checked on the way', `POST ${path}`, { json }, [
      'counter should have been drawn at 7.',
      ({ text }) => text.includes('Pressed 7 times'),
    ]);
    this.#tell('drawn        counter, pressed its button: from count 0 to 1');
  }

  /**
   * The lifecycle of an installation: settings that are incomplete, then valid; the events that its
   * code receives; completions; a space; a new version and a rollback; the deletion.
   */
  async #configure(): Promise<void> {
    await this.#publish('greeter', 'Publish "greeter", which has settings');
    const installations = '/integrations/greeter/installations';
    const title = 'Install it: a required setting is missing, so it is pending';
    const installed = await this.#api(title, `POST ${installations}`, ACME, [
      'The installation should be pending.',
      hasStatus('pending'),
    ]);
    const { id = '', urls } = read(installed);
    const path = `${installations}/${id}`;
    const events = (told: string, count: number) => this.#listed(told, `/events?installation=${id}`, count);
    const [setup] = await events('The integration has handled the lifecycle event', 1);
    this.#expect('installation_setup should have been delivered.', setup?.type === 'installation_setup');
    const edit = (told: string, configuration: object, expected: Expected) =>
      this.#api(told, `PATCH ${path}`, { json: { configuration } }, expected);
    await edit('An invalid edit: it is stored, and the answer lists the problem', { greeting: 'Howdy' }, [
      'With an invalid setting it should stay pending.',
      hasStatus('pending'),
    ]);
    const valid = { greeting: 'Good day', audience: 'world', times: 2 };
    await edit('A valid edit: the installation becomes active', valid, [
      'With valid settings it should be active.',
      hasStatus('active'),
    ]);
    const three = await events('One event for the installation and for each edit, in their order', 3);
    this.#expect(
      'All three events should have been delivered.',
      three.every(({ state }) => state === 'delivered'),
    );
    await this.#listed('What its handlers logged', `/logs?installation=${id}`, 3);
    const search = { json: { property: 'city', search: 'be' } };
    await this.#api(
      'The choices of a setting, from the integration itself',
      `POST ${path}/completions`,
      search,
      ['Berlin should be among the choices.', ({ text }) => text.includes('"Berlin"')],
    );
    const space = { json: { space: 'space-1' } };
    const added = 'Install it in a space: the space has its own settings, endpoint and events';
    await this.#api(added, `POST ${path}/spaces`, space, [
      'It should have been installed in the space.',
      isAnswered(201),
    ]);
    await events('The integration has handled the lifecycle event of the space', 4);
    await this.#publish('greeter', 'A second version');
    await this.#api('Roll back to version 1', 'POST /integrations/greeter/versions/1/activate', this.#admin, [
      'Version 1 should be active again.',
      isAnswered(200),
    ]);
    const endpoint = { method: 'GET', url: urls?.publicEndpoint ?? '' };
    await this.#ask('Version 1 is called with the same settings', endpoint, [
      'greeter should have greeted twice.',
      ({ text }) => text === 'Good day, world! Good day, world!',
    ]);
    await this.#api('Remove the installation', `DELETE ${path}`, {}, [
      'The installation should have been removed.',
      isAnswered(204),
    ]);
    const gone = 'The integration has handled the deletion, after the installation was removed';
    const [last] = await events(gone, 6);
    this.#expect('installation_deleted should have come last.', last?.type === 'installation_deleted');
    this.#tell(
      'configured   greeter: pending, then active with valid settings; rolled back to version 1; removed',
    );
  }

  /** The product posts an event once; its receiver gets a signed request, which is retried. */
  async #receiveWebhook(): Promise<void> {
    const { receiver } = this.#start;
    await this.#publish('webhook', 'Publish "webhook"');
    const installations = '/integrations/webhook/installations';
    const { id } = read(await this.#api('Install it', `POST ${installations}`, ACME));
    const spaces = `${installations}/${id}/spaces`;
    await this.#api('In a space', `POST ${spaces}`, { json: { space: SPACE } });
    const configuration = { webhook_url: `http://${receiver.address}/hook`, event_types: [TYPE] };
    const url = 'Set the URL of the webhook and its event types';
    await this.#api(url, `PATCH ${spaces}/${SPACE}`, { json: { configuration } }, [
      'The webhook should be active.',
      ({ text }) => text.includes('"active"'),
    ]);
    const needed = 'The secret that the receiver needs';
    const revealed = await this.#api(needed, `GET ${spaces}/${SPACE}/webhook-secret`);
    const event = { organization: ORGANIZATION, type: TYPE, spaceId: SPACE, revisionId: 'r1' };
    const posting = 'Post an event: it is on disk, with its delivery, before the answer';
    const posted = await this.#api(posting, 'POST /events', { json: event }, [
      'The event should have been accepted.',
      isAnswered(202),
    ]);
    const { eventId = '' } = read(posted);
    this.#tell(`\nposted       the event ${TYPE} of the space "${SPACE}": ${eventId}`);
    await this.#deliver(eventId);
    await this.#verifyReceived(read(revealed).secret ?? '');
  }

  /** Waits until the delivery has succeeded, and shows its state and its number of attempts. */
  async #deliver(eventId: string): Promise<void> {
    const list = this.#sent(`GET /deliveries?event=${encodeURIComponent(eventId)}`);
    const delivery = await polled(list, ({ items: [one] = [] }) =>
      one?.state === 'delivered' ? one : undefined,
    );
    const title = 'The receiver failed at first, and the delivery was retried after a second';
    await this.#api(title, `GET /deliveries/${delivery?.id}`, {}, [
      'The event should have been delivered at the second attempt.',
      (answer) => read(answer).state === 'delivered' && read(answer).attempts === 2,
    ]);
  }

  /** Shows each request that the receiver got, and verifies its signature. */
  async #verifyReceived(secret: string): Promise<void> {
    const { received } = this.#start.receiver;
    this.#transcript.title('What the receiver got: the same bytes twice, each time with a new signature');
    for (const [at, { signature, attempt, body }] of received.entries()) {
      this.#transcript.detail(`   ← X-Platform-Attempt: ${attempt}`);
      this.#transcript.detail(`     X-Platform-Signature: ${signature.slice(0, 40)}…`);
      this.#transcript.detail(`     ${body.toString('utf8')}`);
      const isValid = await verifySignature(signature, body, secret);
      this.#expect('The signature should verify.', isValid);
      const answered = at === 0 ? 'it answers 500, and is retried after a second' : 'it answers 200';
      this.#tell(
        `received     webhook, attempt ${attempt}, signature ${isValid ? 'verified' : 'WRONG'}: ${answered}`,
      );
    }
    this.#tell(`             ${received.at(-1)?.body.toString('utf8')}`);
    this.#expect('The receiver should have got two requests.', received.length === 2);
  }

  /** Waits until `count` items are listed and none is pending; shows them, newest first. */
  async #listed(title: string, path: string, count: number): Promise<readonly Answer[]> {
    await polled(this.#sent(`GET ${path}`), ({ items = [] }) =>
      items.length >= count && items.every(({ state }) => state !== 'pending') ? items : undefined,
    );
    const { items = [] } = read(await this.#api(title, `GET ${path}`));
    this.#expect(`${count} items should be listed.`, items.length === count);
    return items;
  }

  get #admin(): Partial<Sent> {
    return { token: this.#start.adminToken };
  }

  /** One request to the API, `GET /events`, with the platform token unless `rest` has another. */
  #api(title: string, route: string, rest: Partial<Sent> = {}, ...expected: Expected[]) {
    return this.#ask(title, this.#sent(route, rest), ...expected);
  }

  #ask(title: string, sent: Sent, ...expected: Expected[]): Promise<Exchange> {
    this.#transcript.title(title);
    return this.#send(sent, ...expected);
  }

  async #send(sent: Sent, ...expected: Expected[]): Promise<Exchange> {
    const answer = await this.#transcript.exchange(sent);
    for (const [sentence, holds] of expected) this.#expect(sentence, holds(answer));
    return answer;
  }

  #sent(route: string, rest: Partial<Sent> = {}): Sent {
    const [method = '', path = ''] = route.split(' ', 2);
    return { method, url: `${this.#start.controlUrl}/v1${path}`, token: this.platformToken, ...rest };
  }

  /**
   * A request with an envelope (`docs/contract/calls.md#envelope`). The host ignores what
   * `environment` claims and builds its own.
   */
  #envelope(name: string, event: object, body?: string): Sent {
    const form = new FormData();
    form.append('event', JSON.stringify(event));
    form.append('environment', '{}');
    if (body !== undefined) form.append('fetch-body', new Blob([body]), 'fetch-body');
    return { method: 'POST', url: `${this.endpoints[name]}/v1`, token: this.platformToken, form };
  }

  #expect(sentence: string, held: boolean): void {
    this.#transcript.expect(held, sentence);
  }

  #tell(text: string): void {
    this.#transcript.tell(text);
  }
}

/** Sends a request until `found` finds something in its answer; undefined where it never does. */
async function polled<Found>(
  sent: Sent,
  found: (answer: Answer) => Found | undefined,
): Promise<Found | undefined> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = found((await (await fetch(toRequest(sent))).json()) as Answer);
    if (answer !== undefined) return answer;
    await setTimeout(EVERY_MS);
  }
  return undefined;
}
