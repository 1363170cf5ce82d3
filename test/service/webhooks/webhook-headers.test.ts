/**
 * Own headers of webhooks (docs/contract/webhooks.md#own-headers): sent to the origin that they
 * were set for and nowhere else, sealed, and never shown.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { serve } from '../../support/http/egress.ts';
import { ask, codeOf } from '../../support/installation-api.ts';
import { RecordingReceiver } from '../../support/receivers/recording-receiver.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** Posts to `url`, or where `to` says. */
const CODE = `import { createIntegration, deliverTo } from '@annex/sdk';
export default createIntegration({
  fetch: (request) => { console.log('got', request.headers.get('x-key')); return new Response('ok'); },
  events: {
    site_view: ({ eventId }, { environment: { configuration: { url, to } } }) => deliverTo(to || url, { eventId }),
  },
});`;
const MANIFEST = `name: posting
title: Posting
description: for a test
organization: acme
visibility: public
scopes: [site:views:read]
script: index.js
target: all
webhook: {url: url, eventTypes: events}
configurations:
  site:
    properties:
      url: {type: string, title: URL, description: Where to.}
      to: {type: string, title: To, description: Elsewhere.}
      events: {type: string, title: Events, description: Which., enum: [site_view], multiple: true}
`;

async function publish(service: TestService): Promise<void> {
  const form = new FormData();
  form.append('manifest', MANIFEST);
  form.append('files', new Blob([CODE]), 'index.js');
  expect((await service.api('POST', '/v1/integrations', { form })).status).toBe(201);
}

let annex: TestService;
let receiver: RecordingReceiver;
let other: RecordingReceiver;
beforeAll(async () => {
  [receiver, other] = [await RecordingReceiver.start(), await RecordingReceiver.start()];
  annex = await TestService.start({ flags: RecordingReceiver.FLAGS });
  await publish(annex);
});
afterAll(async () => {
  await annex.stop();
  await Promise.all([receiver.stop(), other.stop()]);
});

const VISITOR = { anonymousId: 'a', userAgent: 'b', ip: '192.0.2.1', cookies: {} };
const VIEW = { type: 'site_view', siteId: 's', visitor: VISITOR, url: 'https://x.example/', referrer: '' };

let organizations = 0;
/** A webhook of a new organization, and what a test asks of it. */
async function webhook(configuration: object = { url: `${receiver.url}/in` }) {
  organizations += 1;
  const organization = `headers-${organizations}`;
  const whole = await annex.install('posting', organization);
  await annex.installBelow('posting', whole, 'site', 's');
  const at = `/integrations/posting/installations/${whole.id}/sites/s`;
  const configure = async (settings: object) => {
    const json = { configuration: { events: ['site_view'], to: '', ...settings } };
    expect((await ask(annex, 'PATCH', at, { json })).status).toBe(200);
  };
  await configure(configuration);
  return {
    at,
    id: whole.id,
    configure,
    headers: (json: unknown, token?: string) =>
      ask(annex, 'PUT', `${at}/webhook-headers`, { json, ...(token && { token }) }),
    names: async () => (await ask(annex, 'GET', `${at}/webhook-headers`)).body,
    /** Posts an event. @returns its delivery, with its attempts, once it has ended */
    async posted(): Promise<Record<string, unknown>> {
      const { body } = await ask(annex, 'POST', '/events', { json: { ...VIEW, organization } });
      const read = async () => {
        const found = await ask(annex, 'GET', `/deliveries?event=${body['eventId']}`);
        return (found.body['items'] as Record<string, unknown>[])[0] ?? {};
      };
      await expect.poll(async () => (await read())['state']).not.toBe('pending');
      return (await ask(annex, 'GET', `/deliveries/${(await read())['id']}`)).body;
    },
  };
}

/** What a receiver got with the latest request. */
const last = ({ requests }: RecordingReceiver = receiver) => requests.at(-1)?.headers ?? {};
const HEADERS = [
  { name: 'X-Api-Key', value: 'hush-key with spaces' },
  { name: 'x-tenant', value: '7' },
];

test('each request carries them, and only their names are shown', async () => {
  const hook = await webhook();
  await hook.posted();
  expect(last()).not.toHaveProperty('x-api-key');
  expect(await hook.names()).toEqual({ names: [] });
  const set = await hook.headers({ headers: HEADERS, bearer: 'hush.token~1+/=' });
  const shown = { names: ['x-api-key', 'x-tenant', 'authorization'], origin: receiver.url };
  expect([set.status, set.body]).toEqual([200, shown]);
  expect(await hook.names()).toEqual(shown);
  expect(await hook.posted()).toMatchObject({ state: 'delivered' });
  const sent = {
    'x-api-key': 'hush-key with spaces',
    'x-tenant': '7',
    authorization: 'Bearer hush.token~1+/=',
  };
  expect(last()).toMatchObject({ ...sent, 'x-platform-signature': expect.stringContaining('v1=') });
  // Replaced as a whole, and removed.
  await hook.headers({ basic: { username: 'hush-user', password: 'hush:päss' } });
  await hook.posted();
  expect(last()).not.toHaveProperty('x-api-key');
  expect(last().authorization).toBe(`Basic ${Buffer.from('hush-user:hush:päss').toString('base64')}`);
  expect((await ask(annex, 'DELETE', `${hook.at}/webhook-headers`)).status).toBe(204);
  await hook.posted();
  expect(last()).not.toHaveProperty('authorization');
  expect(await hook.names()).toEqual({ names: [] });
  const { body, text } = await ask(annex, 'GET', `/audit?installation=${hook.id}&limit=3`);
  expect(body['items']).toMatchObject([
    { action: 'webhook.headers', details: { names: [] } },
    { action: 'webhook.headers', details: { names: ['Authorization'] } },
    { action: 'webhook.headers', details: { names: ['X-Api-Key', 'x-tenant', 'Authorization'] } },
  ]);
  expect(text).not.toContain('hush');
});

test('they outlive a rotation of the secret', async () => {
  const hook = await webhook();
  await hook.headers({ headers: HEADERS });
  await ask(annex, 'POST', `${hook.at}/webhook-secret/rotate`, { json: {} });
  await hook.posted();
  expect(last()).toMatchObject({ 'x-api-key': 'hush-key with spaces' });
});

describe('attacks', () => {
  // The settings, or the code by itself, name another receiver.
  test.each([
    ['settings', () => ({ url: `${other.url}/in` })],
    ['code', () => ({ url: `${receiver.url}/in`, to: `${other.url}/in` })],
  ])('a change of the URL by the %s does not take them elsewhere', async (_, changed) => {
    const hook = await webhook();
    await hook.headers({ headers: HEADERS });
    await hook.configure(changed());
    expect(await hook.posted()).toMatchObject({ state: 'delivered' });
    expect(last(other)).not.toHaveProperty('x-api-key');
    expect(await hook.names()).toMatchObject({ origin: receiver.url });
    // Another path is no other receiver.
    await hook.configure({ url: `${receiver.url}/elsewhere` });
    await hook.posted();
    expect(last()).toMatchObject({ 'x-api-key': 'hush-key with spaces' });
    await hook.configure({ url: `${other.url}/in` });
    await hook.headers({ headers: HEADERS });
    await hook.posted();
    expect(last(other)).toMatchObject({ 'x-api-key': 'hush-key with spaces' });
  });

  test('a redirect does not take them elsewhere', async () => {
    const url = await serve((_, response) => response.writeHead(307, { location: `${other.url}/in` }).end());
    const hook = await webhook({ url });
    await hook.headers({ headers: HEADERS });
    const before = other.requests.length;
    expect(await hook.posted()).toMatchObject({ state: 'failed', outcome: 'answered 307' });
    expect(other.requests).toHaveLength(before);
  });

  test('another endpoint of this service does not get those of the first', async () => {
    const sinks: Installed[] = [
      await annex.install('posting', 'sink-1'),
      await annex.install('posting', 'sink-2'),
    ];
    const [first, second] = sinks as [Installed, Installed];
    const hook = await webhook({ url: first.endpoint });
    await hook.headers({ headers: [{ name: 'X-Key', value: '1' }] });
    await hook.posted();
    await hook.configure({ url: first.endpoint, to: second.endpoint });
    await hook.posted();
    const lines = async (sink: Installed) => (await annex.log(sink)).map(({ text }) => text);
    expect([await lines(first), await lines(second)]).toEqual([['got 1'], ['got null']]);
  });

  test('what a receiver repeats of them is redacted', async () => {
    const hook = await webhook();
    await hook.headers({ headers: HEADERS, basic: { username: 'user', password: 'hush-password' } });
    const authorization = Buffer.from('user:hush-password').toString('base64');
    const body = JSON.stringify({ key: 'hush-key with spaces', authorization, password: 'hush-password' });
    receiver.answer = { status: 400, body };
    onTestFinished(() => {
      receiver.answer = { status: 200 };
    });
    const delivery = await hook.posted();
    const gone = { key: '[redacted]', authorization: '[redacted]', password: '[redacted]' };
    expect(delivery['history']).toMatchObject([{ outcome: 'answered 400', response: JSON.stringify(gone) }]);
    const log = async () => (await ask(annex, 'GET', `/logs?installation=${hook.id}`)).text;
    await expect.poll(log).toContain('was not delivered');
    expect(await log()).not.toContain('hush');
  });

  const UNFIT: readonly (readonly [string, { name: string; value: string }])[] = [
    ['a line break in a value', { name: 'x', value: 'a\r\nHost: evil.example' }],
    ['a line feed alone', { name: 'x', value: 'a\nb' }],
    ['a folded value', { name: 'x', value: 'a\r\n b' }],
    ['a NUL', { name: 'x', value: 'a\0b' }],
    ['a tab', { name: 'x', value: 'a\tb' }],
    ['a value of other bytes', { name: 'x', value: 'caf\u00e9' }],
    ['an empty value', { name: 'x', value: '' }],
    ['a value with a space at its end', { name: 'x', value: 'a ' }],
    ['a value that is too long', { name: 'x', value: 'a'.repeat(4_097) }],
    ['a name with a colon', { name: 'x:y', value: 'a' }],
    ['a name with a line break', { name: 'x\r\nhost', value: 'a' }],
    ['a name with a space', { name: 'x ', value: 'a' }],
    ['an empty name', { name: '', value: 'a' }],
    // The letters become those of `host` and `cookie` where a receiver changes the case.
    ['a long s', { name: 'ho\u017ft', value: 'a' }],
    ['a Kelvin sign', { name: 'coo\u212aie', value: 'a' }],
    ['a name in Greek', { name: '\u03c7-key', value: 'a' }],
    ['a name that is too long', { name: 'x'.repeat(65), value: 'a' }],
    ...[
      'Host',
      'CONTENT-LENGTH',
      'transfer-encoding',
      'Connection',
      'te',
      'trailer',
      'Upgrade',
      'Expect',
    ].map((name) => [name, { name, value: '1' }] as const),
    ...['Proxy-Authorization', 'proxy-x', 'content-type', 'content-encoding', 'User-Agent'].map(
      (name) => [name, { name, value: '1' }] as const,
    ),
    ...['X-Platform-Signature', 'x-platform-attempt', 'Webhook-Signature', 'webhook-id'].map(
      (name) => [name, { name, value: '1' }] as const,
    ),
  ];
  test.each(UNFIT)('%s is refused, and nothing is set', async (_, header) => {
    const hook = await webhook();
    await hook.headers({ headers: HEADERS });
    const refused = await hook.headers({ headers: [{ name: 'x-fine', value: '1' }, header] });
    expect(codeOf(refused)).toBe('400 REQUEST_INVALID');
    expect(refused.text).not.toContain('evil');
    expect(await hook.names()).toMatchObject({ names: ['x-api-key', 'x-tenant'] });
  });

  test.each([
    ['11', Array.from({ length: 11 }, (_, index) => ({ name: `x-${index}`, value: '1' }))],
    [
      '10 and an Authorization',
      Array.from({ length: 10 }, (_, index) => ({ name: `x-${index}`, value: '1' })),
    ],
    [
      'two of one name',
      [
        { name: 'x-one', value: '1' },
        { name: 'X-One', value: '2' },
      ],
    ],
    ['two Authorizations', [{ name: 'AUTHORIZATION', value: 'x' }]],
    ['more than 8,192 characters', ['a', 'b'].map((name) => ({ name, value: 'v'.repeat(4_090) }))],
  ])('%s are refused', async (_, headers) => {
    const hook = await webhook();
    expect(codeOf(await hook.headers({ headers, bearer: 'token' }))).toBe('400 REQUEST_INVALID');
    expect(await hook.names()).toEqual({ names: [] });
  });

  test('names of the headers that the operator has renamed are refused, too', async () => {
    const renamed = await TestService.start({ flags: ['--webhook-header-prefix', 'X-Acme'] });
    onTestFinished(() => renamed.stop());
    await publish(renamed);
    const whole = await renamed.install('posting', 'acme');
    await renamed.installBelow('posting', whole, 'site', 's');
    const at = `/integrations/posting/installations/${whole.id}/sites/s`;
    await ask(renamed, 'PATCH', at, { json: { configuration: { url: 'https://example.com/', events: [] } } });
    const set = (name: string) =>
      ask(renamed, 'PUT', `${at}/webhook-headers`, { json: { headers: [{ name, value: '1' }] } });
    expect(codeOf(await set('x-acme-signature'))).toBe('400 REQUEST_INVALID');
    expect((await set('x-acme-other')).status).toBe(200);
  });
});

test('without a URL there is no origin to set them for', async () => {
  const hook = await webhook({});
  expect(codeOf(await hook.headers({ headers: HEADERS }))).toBe('409 WEBHOOK_URL_MISSING');
});

test('another organization neither sees nor sets them', async () => {
  const hook = await webhook();
  const made = await ask(annex, 'POST', '/tokens', {
    json: { kind: 'organization', organization: 'stranger' },
  });
  const token = String(made.body['token']);
  expect(codeOf(await hook.headers({ headers: HEADERS }, token))).toBe('404 INSTALLATION_UNKNOWN');
});
