/**
 * The tour of `npm run demo`: publishes and installs the fixtures over HTTP, calls them by every
 * kind of request, prints each request with its answer, and checks the answers.
 *
 * It is an ordinary HTTP client: it has two URLs and a token, and uses nothing internal.
 */
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { tourSettings } from './demo-settings.ts';
import { type DemoReceiver, tourWebhooks } from './demo-webhooks.ts';
import { type Exchange, type Sent, Transcript } from './transcript.ts';
import { uploadFolder } from './upload-folder.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url));
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

export async function tour({ controlUrl, adminToken, receiver, print }: TourStart): Promise<TourEnd> {
  const transcript = new Transcript(print);
  const endpoints: Record<string, string> = {};

  transcript.title('A token for the platform');
  const created = await transcript.exchange({
    method: 'POST',
    url: `${controlUrl}/v1/tokens`,
    token: adminToken,
    json: { kind: 'platform' },
  });
  transcript.expect(created.status === 201, 'The token should have been created.');
  const { token: platformToken = '' } = created.json as { token?: string };

  for (const name of ['hello', 'confirmation', 'counter', 'plain-worker']) {
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
    // The rest of the tour needs this endpoint.
    if (urls === undefined) return { surprises: transcript.surprises, platformToken, endpoints };
    endpoints[name] = urls.publicEndpoint;
  }

  const call = (title: string, request: Sent): Promise<Exchange> => {
    transcript.title(title);
    return transcript.exchange(request);
  };
  const envelope = (name: string, event: object, body?: string): Sent => ({
    method: 'POST',
    url: `${endpoints[name]}/v1`,
    token: platformToken,
    form: envelopeForm(event, body),
  });

  const raw = await call('A raw request', {
    method: 'GET',
    url: `${endpoints['hello']}/some/path?name=world`,
  });
  transcript.expect(raw.status === 200 && raw.text.includes('Hello'), 'hello should have greeted.');

  const posted = await call('The confirmation pattern: POST', {
    method: 'POST',
    url: `${endpoints['confirmation']}/`,
    json: { any: 'payload' },
  });
  transcript.expect(
    posted.status === 200 && isDeepStrictEqual(posted.json, { received: true }),
    'confirmation should have answered {"received": true}.',
  );
  const got = await call('The confirmation pattern: any other method', {
    method: 'GET',
    url: `${endpoints['confirmation']}/`,
  });
  transcript.expect(
    got.status === 405 && got.text === 'Method not allowed',
    'confirmation should have answered 405 to a GET.',
  );

  const enveloped = await call(
    'An envelope: event, environment and raw body in one request',
    envelope(
      'plain-worker',
      {
        eventId: 'demo-1',
        type: 'fetch',
        request: { method: 'POST', url: 'https://example.com/hook', headers: {} },
      },
      'raw bytes',
    ),
  );
  transcript.expect(
    enveloped.status === 200 && (enveloped.json as { bodyBytes?: number }).bodyBytes === 9,
    'plain-worker should have counted nine bytes.',
  );

  const render = { eventId: 'demo-2', type: 'ui_render', componentId: 'counter', props: {} };
  const rendered = await call('A component, rendered', envelope('counter', render));
  transcript.expect(
    isDeepStrictEqual((rendered.json as { state?: object }).state, { count: 0 }),
    'counter should have begun at 0.',
  );
  const pressed = await call(
    'The same component after a press of its button',
    envelope('counter', { ...render, state: { count: 0 }, action: { action: 'increment' } }),
  );
  transcript.expect(
    isDeepStrictEqual((pressed.json as { state?: object }).state, { count: 1 }),
    'counter should have counted to 1.',
  );
  await tourMenu({ controlUrl, platformToken, transcript });
  const start = { controlUrl, adminToken, platformToken, transcript };
  await tourSettings({ ...start, upload: () => uploadFolder(`${FIXTURES}greeter`) });
  await tourWebhooks({ ...start, receiver, print, upload: () => uploadFolder(`${FIXTURES}webhook`) });
  return { surprises: transcript.surprises, platformToken, endpoints };
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
  transcript.title('One of them, drawn: its answer is checked on the way');
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
