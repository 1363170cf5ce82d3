/**
 * The webhook integration from an event to its receiver: selected events are posted, signed with
 * the secret of the space or site, to the URL of the present configuration.
 */
import { createServer } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { checkSignature } from '../../../sandbox/sdk/verify-signature.js';
import { selfSigned } from '../../support/http/certificate.ts';
import { portOf, serve, serveTcp, stop } from '../../support/http/egress.ts';
import { ask } from '../../support/installation-api.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { WebhookInbox } from '../../support/receivers/webhook-inbox.ts';
import { startTestService, TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start({ flags: ['--webhook-http', 'allow', '--egress-allow', '127.0.0.1'] });
  await annex.publishFixture('webhook');
});
afterAll(() => annex.stop());

const visitor = { anonymousId: 'a1', userAgent: 'Browser/1', ip: '198.51.100.7', cookies: {} };
const page = { url: 'https://docs.example.com/a', referrer: '' };
const updated = { type: 'space_content_updated', spaceId: 'garden', revisionId: 'r1' };
const viewed = { type: 'site_view', siteId: 'docs', visitor, ...page };
const rated = { type: 'page_feedback', siteId: 'docs', feedback: { rating: 'ok' }, visitor, ...page };

let organizations = 0;
/** Installs the integration in a space and a site of a new organization. */
async function installed() {
  organizations += 1;
  const organization = `webhooks-${organizations}`;
  const whole = await annex.install('webhook', organization);
  await annex.installBelow('webhook', whole, 'space', 'garden');
  await annex.installBelow('webhook', whole, 'site', 'docs');
  const at = (place: string) => `/integrations/webhook/installations/${whole.id}/${place}`;
  return {
    id: whole.id,
    at,
    async configure(place: string, configuration: object): Promise<void> {
      const { body } = await ask(annex, 'PATCH', at(place), { json: { configuration } });
      expect(body).toMatchObject({ status: 'active' });
    },
    async secret(place: string): Promise<string> {
      return String((await ask(annex, 'GET', `${at(place)}/webhook-secret`)).body['secret']);
    },
    async post(event: object): Promise<{ eventId: string; deliveries: number }> {
      const json = { organization, ...event };
      const { status, body } = await ask(annex, 'POST', '/events', { token: annex.platform, json });
      expect(status).toBe(202);
      return body as { eventId: string; deliveries: number };
    },
  };
}

const delivery = async (eventId: string): Promise<Record<string, unknown> | undefined> => {
  const { body } = await ask(annex, 'GET', `/deliveries?event=${eventId}`);
  return (body['items'] as Record<string, unknown>[])[0];
};
const settled = (eventId: string, state: string) =>
  expect.poll(async () => (await delivery(eventId))?.['state']).toBe(state);

describe('an event', () => {
  test('is posted with the promised headers, bytes and signature (docs/contract/webhooks.md#request)', async () => {
    const webhook = await installed();
    const inbox = await WebhookInbox.start();
    await webhook.configure('spaces/garden', { webhook_url: inbox.url, event_types: [updated.type] });
    const { eventId, deliveries } = await webhook.post({ ...updated, unknown: 'passes by' });
    expect(deliveries).toBe(1);
    const { headers, body } = await inbox.taken();
    expect(body).toBe(
      `{"eventId":"${eventId}","type":"space_content_updated","spaceId":"garden","installationId":"${webhook.id}","revisionId":"r1"}`,
    );
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': expect.stringMatching(/^Annex-Webhook\//),
      'x-platform-event': 'space_content_updated',
      'x-platform-delivery': expect.any(String),
      'x-platform-attempt': '1',
    });
    const secret = await webhook.secret('spaces/garden');
    const checked = await checkSignature(String(headers['x-platform-signature']), body, secret);
    expect(checked).toMatchObject({ valid: true });
    await settled(eventId, 'delivered');
  });

  // Fault of a proxy in front of a receiver: an event that it has taken was posted four times.
  test.each([
    [
      'says 100 Continue unasked',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
    ],
    [
      'has a length beside its chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['has a name that is none', 'HTTP/1.1 200 OK\r\nx y: z\r\ncontent-length: 2\r\n\r\nok'],
  ])('is posted once to a receiver whose answer %s', async (_what, answer) => {
    let posts = 0;
    const url = await serveTcp((socket) =>
      socket.on('data', (bytes) => {
        if (!bytes.toString('latin1').startsWith('POST ')) return;
        posts += 1;
        socket.write(answer);
      }),
    );
    const webhook = await installed();
    await webhook.configure('spaces/garden', { webhook_url: url, event_types: [updated.type] });
    const { eventId } = await webhook.post(updated);
    await settled(eventId, 'delivered');
    expect([posts, await delivery(eventId)]).toEqual([
      1,
      expect.objectContaining({ attempts: 1, outcome: 'answered 200' }),
    ]);
  });

  // Attack: a certificate whose name is text for the owner to read.
  test('says why TLS failed, in words of Annex', async () => {
    const server = createServer(selfSigned('call-0800-evil.example'));
    onTestFinished(() => stop(server));
    const webhook = await installed();
    const url = `https://127.0.0.1:${await portOf(server)}/`;
    await webhook.configure('spaces/garden', { webhook_url: url, event_types: [updated.type] });
    const { eventId } = await webhook.post(updated);
    await expect.poll(async () => (await delivery(eventId))?.['outcome']).toBe('tls');
    const id = (await delivery(eventId))?.['id'];
    const { body } = await ask(annex, 'GET', `/deliveries/${id}`);
    expect((body['history'] as unknown[])[0]).toMatchObject({
      outcome: 'tls',
      reason: 'the certificate is self-signed',
    });
    expect(JSON.stringify(body)).not.toContain('evil');
  });

  test('is posted by the targets that select it, and by no other', async () => {
    const webhook = await installed();
    const [space, site] = [await WebhookInbox.start(), await WebhookInbox.start()];
    await webhook.configure('spaces/garden', { webhook_url: space.url, event_types: [updated.type] });
    await webhook.configure('sites/docs', { webhook_url: site.url, event_types: ['page_feedback'] });
    const posts = [viewed, updated, { ...updated, spaceId: 'other' }, { ...rated, siteId: 'other' }, rated];
    const counts: number[] = [];
    for (const event of posts) counts.push((await webhook.post(event)).deliveries);
    expect(counts).toEqual([0, 1, 0, 0, 1]);
    expect(JSON.parse((await space.taken()).body)).toMatchObject({ type: 'space_content_updated' });
    expect(JSON.parse((await site.taken()).body)).toMatchObject({ type: 'page_feedback' });
    expect([space.untaken, site.untaken]).toEqual([[], []]);
  });

  test('is signed with the secret of its space or site', async () => {
    const webhook = await installed();
    const inbox = await WebhookInbox.start();
    await webhook.configure('spaces/garden', { webhook_url: inbox.url, event_types: [updated.type] });
    await webhook.configure('sites/docs', { webhook_url: inbox.url, event_types: ['site_view'] });
    const [ofSpace, ofSite] = [await webhook.secret('spaces/garden'), await webhook.secret('sites/docs')];
    expect(ofSpace).not.toBe(ofSite);
    await webhook.post(viewed);
    const { headers, body } = await inbox.taken();
    const checked = async (secret: string) =>
      (await checkSignature(String(headers['x-platform-signature']), body, secret)).valid;
    expect([await checked(ofSite), await checked(ofSpace)]).toEqual([true, false]);
  });
});

const BY_HAND = {
  manifest: `name: by-hand
title: By hand
description: Has no SDK.
organization: acme
visibility: public
scopes: ['site:views:read']
script: worker.js
configurations:
  site:
    properties:
      to: { type: string }
      what: { type: string, multiple: true, enum: [site_view], default: [site_view] }
    required: [to]
webhook: { url: to, eventTypes: what }
`,
  script: `export default {
  async fetch(request) {
    const envelope = await request.formData();
    const { type, eventId } = JSON.parse(envelope.get('event'));
    if (type !== 'site_view') return new Response('Not handled', { status: 406 });
    const { siteInstallation } = JSON.parse(envelope.get('environment'));
    const headers = { 'annex-deliver-to': siteInstallation.configuration.to };
    return new Response('{ "seen":  "' + eventId + '" }', { headers });
  },
};`,
};

test('a script without the SDK sets the payload and the destination itself', async () => {
  const form = new FormData();
  form.append('manifest', BY_HAND.manifest);
  form.append('files', new Blob([BY_HAND.script]), 'worker.js');
  expect(await annex.api('POST', '/v1/integrations', { form })).toMatchObject({ status: 201 });
  const whole = await annex.install('by-hand', 'by-hand');
  await annex.installBelow('by-hand', whole, 'site', 'docs');
  const inbox = await WebhookInbox.start();
  const json = { configuration: { to: inbox.url } };
  const path = `/integrations/by-hand/installations/${whole.id}/sites/docs`;
  expect((await ask(annex, 'PATCH', path, { json })).body).toMatchObject({
    status: 'active',
    configuration: { what: ['site_view'] },
  });
  const { body } = await ask(annex, 'POST', '/events', { json: { organization: 'by-hand', ...viewed } });
  expect((await inbox.taken()).body).toBe(`{ "seen":  "${body['eventId']}" }`);
});

describe('while a delivery waits for its next attempt', () => {
  /** A site whose first delivery was answered 500, after `change`. */
  async function refused(change: (webhook: Awaited<ReturnType<typeof installed>>) => Promise<unknown>) {
    const webhook = await installed();
    const inbox = await WebhookInbox.start();
    await webhook.configure('sites/docs', { webhook_url: inbox.url, event_types: ['site_view'] });
    const { eventId } = await webhook.post(viewed);
    const first = await inbox.next();
    await change(webhook);
    first.answer(500);
    return { webhook, inbox, first, eventId };
  }

  test('an edited URL gets the same bytes', async () => {
    const other = await WebhookInbox.start();
    const { inbox, first, eventId } = await refused((webhook) =>
      webhook.configure('sites/docs', { webhook_url: other.url }),
    );
    const second = await other.taken();
    expect(second.body).toBe(first.body);
    expect([first, second].map(({ headers }) => headers['x-platform-attempt'])).toEqual(['1', '2']);
    const ids = [first, second].map(({ headers }) => headers['x-platform-delivery']);
    expect(new Set(ids).size).toBe(1);
    await settled(eventId, 'delivered');
    expect(inbox.untaken).toEqual([]);
  });

  test('a type that is no longer selected is not retried', async () => {
    const { inbox, eventId } = await refused((webhook) =>
      webhook.configure('sites/docs', { event_types: ['page_feedback'] }),
    );
    await settled(eventId, 'unhandled');
    expect(inbox.untaken).toEqual([]);
  });

  test('a pause cancels it, and a resume does not restore it', async () => {
    const { webhook, inbox, eventId } = await refused(async ({ at }) => {
      await ask(annex, 'POST', `${at('sites/docs')}/pause`);
      await ask(annex, 'POST', `${at('sites/docs')}/resume`);
    });
    await settled(eventId, 'canceled');
    const later = await webhook.post(viewed);
    expect(JSON.parse((await inbox.taken()).body)).toMatchObject({ eventId: later.eventId });
    expect(inbox.untaken).toEqual([]);
  });

  test('removing the site cancels it', async () => {
    const { inbox, eventId } = await refused(({ at }) => ask(annex, 'DELETE', at('sites/docs')));
    await settled(eventId, 'canceled');
    expect(inbox.untaken).toEqual([]);
  });

  test('a rotated secret signs the next attempt', async () => {
    const { webhook, inbox, first } = await refused(({ at }) =>
      ask(annex, 'POST', `${at('sites/docs')}/webhook-secret/rotate`, { json: {} }),
    );
    const second = await inbox.taken();
    const secret = await webhook.secret('sites/docs');
    const valid = async ({ headers, body }: typeof first) =>
      (await checkSignature(String(headers['x-platform-signature']), body, secret)).valid;
    expect([await valid(first), await valid(second)]).toEqual([false, true]);
  });
});

const SLOW = `import { createIntegration, deliverTo } from '@annex/sdk';
export default createIntegration({ events: { space_content_updated: async (event, { environment }) => {
  const { receiver } = environment.spaceInstallation.configuration;
  if (event.revisionId === 'slow') await fetch(receiver + '/gate');
  return deliverTo(receiver + '/hook', event);
} } });`;
const SLOW_MANIFEST = `name: slow
title: Slow
description: Waits for a server before it answers.
organization: acme
visibility: public
scopes: ['space:content:read']
script: index.js
target: all
webhook: {url: receiver, eventTypes: types}
configurations:
  space:
    properties:
      receiver: {type: string, title: URL, description: Where to.}
      types: {type: string, title: Types, description: Which., enum: [space_content_updated], multiple: true}
`;

// The code may take half a minute, and its organization does not expect a post after a pause.
describe('a target that, while its code makes the payload,', () => {
  test.each([
    ['is paused', 'paused', (id: string) => ask(annex, 'POST', `${id}/pause`)],
    [
      'is paused and resumed',
      'paused',
      async (id: string) => {
        await ask(annex, 'POST', `${id}/pause`);
        await ask(annex, 'POST', `${id}/resume`);
      },
    ],
    ['is removed', 'deleted', (id: string) => ask(annex, 'DELETE', id)],
    [
      'is deleted with its integration',
      'deleted',
      () => ask(annex, 'DELETE', '/integrations/slow?cascade=true'),
    ],
  ])('%s gets no post', async (_, outcome, change) => {
    const gates: (() => void)[] = [];
    const posts: string[] = [];
    const receiver = await serve((request, response) => {
      if (request.url === '/gate') return void gates.push(() => response.end());
      posts.push(String(request.headers['x-platform-delivery']));
      return response.end();
    });
    const form = new FormData();
    form.append('manifest', SLOW_MANIFEST);
    form.append('files', new Blob([SLOW]), 'index.js');
    expect((await annex.api('POST', '/v1/integrations', { form })).status).toBe(201);
    organizations += 1;
    const organization = `slow-${organizations}`;
    const whole = await annex.install('slow', organization);
    await annex.installBelow('slow', whole, 'space', 'garden');
    const at = `/integrations/slow/installations/${whole.id}`;
    const configuration = { receiver, types: [updated.type] };
    await ask(annex, 'PATCH', `${at}/spaces/garden`, { json: { configuration } });
    const post = async (revisionId: string): Promise<string> => {
      const json = { ...updated, organization, revisionId };
      return String((await ask(annex, 'POST', '/events', { json })).body['eventId']);
    };
    // The first one makes the secret that signs.
    await settled(await post('fast'), 'delivered');
    const eventId = await post('slow');
    await expect.poll(() => gates.length).toBe(1);
    await change(at);
    gates[0]?.();
    await settled(eventId, 'canceled');
    expect(await delivery(eventId)).toMatchObject({ outcome, attempts: 0 });
    expect(posts).toHaveLength(1);
  });
});

test('an installer who chooses Standard Webhooks gets the secret in their form, and requests that they verify', async () => {
  const webhook = await installed();
  const inbox = await WebhookInbox.start();
  const settings = { webhook_url: inbox.url, event_types: ['site_view'] };
  await webhook.configure('sites/docs', settings);
  const shown = async () => (await ask(annex, 'GET', `${webhook.at('sites/docs')}/webhook-secret`)).body;
  expect(await shown()).not.toHaveProperty('standardSecret');
  await webhook.configure('sites/docs', { ...settings, signature: 'standard' });
  const { eventId } = await webhook.post(viewed);
  const { headers, body } = await inbox.taken();
  expect(headers).not.toHaveProperty('x-platform-signature');
  const verified = new Webhook(String((await shown())['standardSecret'])).verify(
    body,
    headers as Record<string, string>,
  );
  expect(verified).toMatchObject({ eventId });
});

describe('the prefix of the headers', () => {
  test("is the operator's, and is said with the secret", async () => {
    const flags = [
      '--webhook-http',
      'allow',
      '--egress-allow',
      '127.0.0.1',
      '--webhook-header-prefix',
      'X-Acme',
    ];
    const service = await startTestService({ flags });
    await service.publishFixture('webhook');
    const whole = await service.install('webhook', 'prefixed');
    const inbox = await WebhookInbox.start();
    await service.installBelow('webhook', whole, 'site', 'docs');
    const at = `/integrations/webhook/installations/${whole.id}/sites/docs`;
    const configuration = { webhook_url: inbox.url, event_types: ['site_view'] };
    await ask(service, 'PATCH', at, { json: { configuration } });
    await ask(service, 'POST', '/events', {
      token: service.platform,
      json: { organization: 'prefixed', ...viewed },
    });
    const { headers, body } = await inbox.taken();
    const { body: told } = await ask(service, 'GET', `${at}/webhook-secret`);
    expect(told['headerPrefix']).toBe('X-Acme');
    const checked = await checkSignature(String(headers['x-acme-signature']), body, String(told['secret']));
    expect(checked).toMatchObject({ valid: true });
    expect(headers).toMatchObject({
      'x-acme-event': 'site_view',
      'x-acme-delivery': expect.any(String),
      'x-acme-attempt': '1',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('x-platform'))).toEqual([]);
  });
});

describe('retries', () => {
  test("follow the operator's schedule, unless the installer chooses one", async () => {
    const flags = ['--webhook-http', 'allow', '--egress-allow', '127.0.0.1', '--webhook-retries', '1s'];
    const service = await startTestService({ flags });
    await service.publishFixture('webhook');
    const whole = await service.install('webhook', 'choosing');
    const receiver = await HttpReceiver.start(() => 500);
    for (const [site, choice] of [
      ['of-the-operator', {}],
      ['of-the-installer', { retries: 'days' }],
    ] as const) {
      await service.installBelow('webhook', whole, 'site', site);
      const configuration = { webhook_url: receiver.url, event_types: ['site_view'], ...choice };
      const at = `/integrations/webhook/installations/${whole.id}/sites/${site}`;
      expect((await ask(service, 'PATCH', at, { json: { configuration } })).body).toMatchObject({
        status: 'active',
      });
      const json = { organization: 'choosing', ...viewed, siteId: site };
      await ask(service, 'POST', '/events', { token: service.platform, json });
    }
    const state = async (site: string) => {
      const { body } = await ask(service, 'GET', `/deliveries?installation=${whole.id}&site=${site}`);
      const [{ state, attempts } = {}] = body['items'] as Record<string, unknown>[];
      return { state, attempts };
    };
    // One delay, so two requests; the other waits for five seconds.
    await expect.poll(() => state('of-the-operator')).toEqual({ state: 'failed', attempts: 2 });
    expect(await state('of-the-installer')).toEqual({ state: 'pending', attempts: 1 });
  });
});
