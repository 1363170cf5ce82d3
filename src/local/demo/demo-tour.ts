/**
 * The tour of `annex demo`: publishes and installs the fixtures over HTTP, calls them by every
 * kind of request, prints each request with its answer, and checks the answers.
 *
 * It is an ordinary HTTP client: it has two URLs and a token, and uses nothing internal.
 */
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { tourSettings } from './demo-settings.ts';
import { type DemoReceiver, tourWebhooks } from './demo-webhooks.ts';
import { uploadFolder } from './folder-form-data.ts';
import { type Exchange, type Sent, Transcript } from './transcript.ts';

/** The integrations of the tour, a folder each. */
export const FIXTURES = fileURLToPath(new URL('../../../fixtures/', import.meta.url));
const ORGANIZATION = 'acme';

export interface TourStart {
  /** Control listener. */
  readonly controlUrl: string;
  readonly adminToken: string;
  readonly receiver: DemoReceiver;
  readonly print: (text: string) => void;
}

/** What the tour leaves in place for further requests. */
export interface TourEnd {
  /** Unexpected results, one sentence each. */
  readonly surprises: readonly string[];
  readonly platformToken: string;
  /** Public endpoint of each installed fixture. */
  readonly endpoints: Readonly<Record<string, string>>;
}

/** Runs the whole tour. It ends early where a fixture could not be installed. */
export async function tour(start: TourStart): Promise<TourEnd> {
  const { controlUrl, adminToken, receiver, print } = start;
  const transcript = new Transcript(print);
  const platformToken = await createPlatformToken(start, transcript);
  const installed = await installFixtures({ ...start, platformToken, transcript });
  const { endpoints } = installed;
  const end = { surprises: transcript.surprises, platformToken, endpoints };
  if (!installed.complete) return end;
  const calls = new Calls(transcript, endpoints, platformToken);
  await calls.rawRequest();
  await calls.confirmationPattern();
  await calls.envelope();
  await calls.component();
  await tourMenu({ controlUrl, platformToken, transcript });
  const rest = { controlUrl, adminToken, platformToken, transcript };
  await tourSettings({ ...rest, upload: () => uploadFolder(`${FIXTURES}greeter`) });
  await tourWebhooks({ ...rest, receiver, print, upload: () => uploadFolder(`${FIXTURES}webhook`) });
  return end;
}

async function createPlatformToken(
  { controlUrl, adminToken }: TourStart,
  transcript: Transcript,
): Promise<string> {
  transcript.title('A token for the platform');
  const created = await transcript.exchange({
    method: 'POST',
    url: `${controlUrl}/v1/tokens`,
    token: adminToken,
    json: { kind: 'platform' },
  });
  transcript.expect(created.status === 201, 'The token should have been created.');
  const { token = '' } = created.json as { token?: string };
  return token;
}

interface Installing extends TourStart {
  readonly platformToken: string;
  readonly transcript: Transcript;
}

/** Publishes and installs the fixtures that the calls need; stops at the first without endpoint. */
async function installFixtures(start: Installing) {
  const endpoints: Record<string, string> = {};
  for (const name of ['hello', 'confirmation', 'counter', 'plain-worker']) {
    const endpoint = await publishAndInstall(name, start);
    if (endpoint === undefined) return { endpoints, complete: false };
    endpoints[name] = endpoint;
  }
  return { endpoints, complete: true };
}

/** @returns the public endpoint of the fixture; undefined where it could not be installed */
async function publishAndInstall(name: string, start: Installing): Promise<string | undefined> {
  const { controlUrl, adminToken, platformToken, transcript } = start;
  transcript.title(`Publish and install "${name}"`);
  const published = await transcript.exchange({
    method: 'POST',
    url: `${controlUrl}/v1/integrations`,
    token: adminToken,
    form: await uploadFolder(`${FIXTURES}${name}`),
  });
  transcript.expect(published.status === 201, `"${name}" should have been published.`);
  const installed = await transcript.exchange({
    method: 'POST',
    url: `${controlUrl}/v1/integrations/${name}/installations`,
    token: platformToken,
    json: { organization: ORGANIZATION },
  });
  transcript.expect(installed.status === 201, `"${name}" should have been installed.`);
  const { urls } = installed.json as { urls?: { publicEndpoint: string } };
  return urls?.publicEndpoint;
}

/** One call of each kind. */
class Calls {
  readonly #transcript: Transcript;
  readonly #endpoints: TourEnd['endpoints'];
  readonly #token: string;

  constructor(transcript: Transcript, endpoints: TourEnd['endpoints'], token: string) {
    this.#transcript = transcript;
    this.#endpoints = endpoints;
    this.#token = token;
  }

  async rawRequest(): Promise<void> {
    const raw = await this.#call('A raw request', {
      method: 'GET',
      url: `${this.#endpoints['hello']}/some/path?name=world`,
    });
    this.#transcript.expect(raw.status === 200 && raw.text.includes('Hello'), 'hello should have greeted.');
  }

  async confirmationPattern(): Promise<void> {
    const url = `${this.#endpoints['confirmation']}/`;
    const json = { any: 'payload' };
    const posted = await this.#call('The confirmation pattern: POST', { method: 'POST', url, json });
    this.#transcript.expect(
      posted.status === 200 && isDeepStrictEqual(posted.json, { received: true }),
      'confirmation should have answered {"received": true}.',
    );
    const got = await this.#call('The confirmation pattern: any other method', { method: 'GET', url });
    this.#transcript.expect(
      got.status === 405 && got.text === 'Method not allowed',
      'confirmation should have answered 405 to a GET.',
    );
  }

  async envelope(): Promise<void> {
    const request = { method: 'POST', url: 'https://example.com/hook', headers: {} };
    const event = { eventId: 'demo-1', type: 'fetch', request };
    const enveloped = await this.#call(
      'An envelope: event, environment and raw body in one request',
      this.#envelope('plain-worker', event, 'raw bytes'),
    );
    this.#transcript.expect(
      enveloped.status === 200 && (enveloped.json as { bodyBytes?: number }).bodyBytes === 9,
      'plain-worker should have counted nine bytes.',
    );
  }

  async component(): Promise<void> {
    const render = { eventId: 'demo-2', type: 'ui_render', componentId: 'counter', props: {} };
    const rendered = await this.#call('A component, rendered', this.#envelope('counter', render));
    this.#transcript.expect(
      isDeepStrictEqual((rendered.json as { state?: object }).state, { count: 0 }),
      'counter should have begun at 0.',
    );
    const press = { ...render, state: { count: 0 }, action: { action: 'increment' } };
    const pressed = await this.#call(
      'The same component after a press of its button',
      this.#envelope('counter', press),
    );
    this.#transcript.expect(
      isDeepStrictEqual((pressed.json as { state?: object }).state, { count: 1 }),
      'counter should have counted to 1.',
    );
  }

  #call(title: string, request: Sent): Promise<Exchange> {
    this.#transcript.title(title);
    return this.#transcript.exchange(request);
  }

  #envelope(name: string, event: object, body?: string): Sent {
    const url = `${this.#endpoints[name]}/v1`;
    return { method: 'POST', url, token: this.#token, form: envelopeForm(event, body) };
  }
}

/**
 * Acts as the host product: lists the quick insert menu of a space and renders one of its blocks.
 */
async function tourMenu({
  controlUrl,
  platformToken: token,
  transcript,
}: Pick<TourStart, 'controlUrl'> & Pick<TourEnd, 'platformToken'> & { transcript: Transcript }) {
  const api = `${controlUrl}/v1`;
  transcript.title('The blocks that the quick insert menu of a space lists');
  const url = `${api}/blocks?organization=${ORGANIZATION}&space=garden`;
  const menu = await transcript.exchange({ method: 'GET', url, token });
  const { items: [block] = [] } = menu.json as { items?: { integration: string; installation: string }[] };
  transcript.expect(block?.integration === 'counter', 'The block of counter should be listed.');
  transcript.title('Render one of them: the answer is checked on the way');
  const drawn = await transcript.exchange({
    method: 'POST',
    url: `${api}/integrations/${block?.integration}/installations/${block?.installation}/render`,
    token,
    json: { componentId: 'counter', state: { count: 6 }, action: { action: 'increment' } },
  });
  transcript.expect(drawn.text.includes('Pressed 7 times'), 'counter should have been drawn at 7.');
}

/**
 * The parts of an envelope (`docs/contract/calls.md#envelope`). The host ignores what `environment`
 * claims and builds its own.
 */
function envelopeForm(event: object, body?: string): FormData {
  const form = new FormData();
  form.append('event', JSON.stringify(event));
  form.append('environment', '{}');
  if (body !== undefined) form.append('fetch-body', new Blob([body]), 'fetch-body');
  return form;
}
