/**
 * Health of webhooks by the API: read, listed, disabled and enabled
 * (docs/contract/webhooks.md#health).
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, codeOf } from '../../support/installation-api.ts';
import { RecordingReceiver } from '../../support/receivers/recording-receiver.ts';
import { type Installed, TestService } from '../../support/service.ts';

let receiver: RecordingReceiver;
let annex: TestService;
let here: Installed;
let elsewhere: Installed;
beforeAll(async () => {
  receiver = await RecordingReceiver.start();
  annex = await TestService.start({ flags: RecordingReceiver.FLAGS });
  await annex.publishFixture('webhook');
  here = await annex.install('webhook', 'beach');
  elsewhere = await annex.install('webhook', 'city');
  for (const installed of [here, elsewhere]) {
    await annex.installBelow('webhook', installed, 'site', 'si-1');
    const configuration = { webhook_url: `${receiver.url}/in`, event_types: ['site_view'] };
    await ask(annex, 'PATCH', `/integrations/webhook/installations/${installed.id}/sites/si-1`, {
      json: { configuration },
    });
  }
});
afterAll(async () => {
  await annex.stop();
  await receiver.stop();
});

const at = (installed = here) => `/integrations/webhook/installations/${installed.id}/sites/si-1`;
const VISITOR = { anonymousId: 'a', userAgent: 'b', ip: '192.0.2.1', cookies: {} };
const EVENT = {
  type: 'site_view',
  siteId: 'si-1',
  visitor: VISITOR,
  url: 'https://x.example/',
  referrer: '',
};

/** Posts an event of the site. @returns its delivery, once it has ended */
async function delivered(state: string): Promise<Record<string, unknown>> {
  const { body } = await ask(annex, 'POST', '/events', { json: { ...EVENT, organization: 'beach' } });
  const read = async () => {
    const found = await ask(annex, 'GET', `/deliveries?event=${body['eventId']}`);
    return (found.body['items'] as Record<string, unknown>[])[0];
  };
  await expect.poll(async () => (await read())?.['state']).toBe(state);
  return (await read()) ?? {};
}

test('a webhook that never failed is healthy, and no list names it', async () => {
  const { status, body } = await ask(annex, 'GET', `${at()}/webhook`);
  expect([status, body]).toEqual([
    200,
    {
      ...{ installation: here.id, site: 'si-1', integration: 'webhook', organization: 'beach' },
      ...{ state: 'healthy', held: 0, types: [{ type: 'site_view' }] },
    },
  ]);
  expect((await ask(annex, 'GET', '/webhooks')).body).toEqual({ items: [] });
  const { items } = (await ask(annex, 'GET', '/integrations/webhook/sites')).body as { items: object[] };
  expect(items.map((item) => 'webhook' in item)).toEqual([false, false]);
  expect(codeOf(await ask(annex, 'POST', `${at()}/webhook/enable`, { json: {} }))).toBe(
    '409 WEBHOOK_ENABLED',
  );
});

test('what a disabled webhook misses is held, and is posted once when it is enabled', async () => {
  const note = 'moves house on Monday';
  const disabled = await ask(annex, 'POST', `${at()}/webhook/disable`, { json: { note } });
  const how = { by: 'admin', reason: 'request', note };
  expect(disabled.body).toMatchObject({ state: 'disabled', since: expect.any(String), disabled: how });
  expect(codeOf(await ask(annex, 'POST', `${at()}/webhook/disable`, { json: {} }))).toBe(
    '409 WEBHOOK_DISABLED',
  );
  expect(codeOf(await ask(annex, 'POST', `${at()}/webhook-test`, { json: {} }))).toBe('409 WEBHOOK_DISABLED');
  const held = await delivered('held');
  expect(held).toMatchObject({ outcome: 'disabled', attempts: 0, finishedAt: expect.any(String) });
  await delivered('held');
  // Seen in lists and in metrics, where no label names it.
  const listed = { installation: here.id, site: 'si-1', state: 'disabled', disabled: how };
  expect((await ask(annex, 'GET', '/webhooks?state=disabled')).body['items']).toMatchObject([listed]);
  expect((await ask(annex, 'GET', '/webhooks?state=failing')).body['items']).toEqual([]);
  const sites = (await ask(annex, 'GET', `/integrations/webhook/installations/${here.id}/sites`)).body;
  expect(sites['items']).toMatchObject([{ site: 'si-1', webhook: { state: 'disabled' } }]);
  const all = (await ask(annex, 'GET', '/integrations/webhook/installations')).body;
  expect((all['items'] as { id: string }[]).find(({ id }) => id === here.id)).toMatchObject({
    webhooks: { failing: 0, disabled: 1 },
  });
  expect(await annex.metric('annex_webhooks{state="disabled"}')).toBe(1);
  expect(await annex.metric('annex_deliveries_total{kind="webhook",state="held"}')).toBe(2);
  const enabled = await ask(annex, 'POST', `${at()}/webhook/enable`, { json: { replay: true } });
  expect(enabled.body).toMatchObject({ state: 'healthy', replayed: 2 });
  const read = async () => (await ask(annex, 'GET', `/deliveries/${held['id']}`)).body;
  await expect.poll(async () => (await read())['state']).toBe('delivered');
  expect(receiver.about(String(held['eventId']))).toHaveLength(1);
  const { items } = (await ask(annex, 'GET', `/audit?installation=${here.id}&limit=3`)).body as {
    items: { action: string }[];
  };
  expect(items.map(({ action }) => action)).toEqual(['delivery.replay', 'webhook.enable', 'webhook.disable']);
});

test('an organization disables and enables its own, and does not undo what the operator did', async () => {
  const made = await ask(annex, 'POST', '/tokens', { json: { kind: 'organization', organization: 'beach' } });
  const token = String(made.body['token']);
  const post = (action: string, path = at()) =>
    ask(annex, 'POST', `${path}/webhook/${action}`, { json: {}, token });
  expect((await post('disable')).body).toMatchObject({ disabled: { by: 'organization' } });
  expect((await ask(annex, 'GET', '/webhooks', { token })).body['items']).toHaveLength(1);
  expect((await post('enable')).status).toBe(200);
  await ask(annex, 'POST', `${at()}/webhook/disable`, { json: {} });
  expect(codeOf(await post('enable'))).toBe('403 TOKEN_FORBIDDEN');
  expect((await ask(annex, 'POST', `${at()}/webhook/enable`, { json: {} })).status).toBe(200);
  // That of another organization is unknown to it, and not in its list.
  await ask(annex, 'POST', `${at(elsewhere)}/webhook/disable`, { json: {} });
  expect(codeOf(await post('enable', at(elsewhere)))).toBe('404 INSTALLATION_UNKNOWN');
  expect((await ask(annex, 'GET', '/webhooks', { token })).body['items']).toEqual([]);
  expect(codeOf(await ask(annex, 'GET', '/webhooks?organization=city', { token }))).toBe(
    '403 TOKEN_FORBIDDEN',
  );
});

test('pages of the list continue after each other', async () => {
  await ask(annex, 'POST', `${at()}/webhook/disable`, { json: {} });
  const first = await ask(annex, 'GET', '/webhooks?limit=1');
  const second = await ask(annex, 'GET', `/webhooks?limit=1&cursor=${first.body['next']}`);
  const ids = [first, second].flatMap(({ body }) => body['items'] as { installation: string }[]);
  expect(ids.map(({ installation }) => installation).toSorted()).toEqual([here.id, elsewhere.id].toSorted());
  expect(second.body).not.toHaveProperty('next');
});

test('the webhook of an organization has a state, too', async () => {
  const whole = `/integrations/webhook/installations/${here.id}`;
  expect(codeOf(await ask(annex, 'GET', `${whole}/webhook`))).toBe('404 WEBHOOK_UNKNOWN');
  const type = { title: 'Seat added', level: 'organization', webhook: true };
  await ask(annex, 'PUT', '/event-types/seat.added', { json: type });
  const configuration = { webhook_url: `${receiver.url}/whole`, event_types: ['seat.added'] };
  await ask(annex, 'PATCH', whole, { json: { configuration } });
  const disabled = await ask(annex, 'POST', `${whole}/webhook/disable`, { json: {} });
  expect(disabled.body).toMatchObject({ installation: here.id, state: 'disabled' });
  expect(disabled.body).not.toHaveProperty('site');
  const { body } = await ask(annex, 'POST', '/events', {
    json: { type: 'seat.added', organization: 'beach', data: {} },
  });
  const read = async () => (await ask(annex, 'GET', `/deliveries?event=${body['eventId']}`)).body['items'];
  await expect.poll(read).toMatchObject([{ state: 'held' }]);
  expect((await ask(annex, 'GET', `${whole}/webhook`)).body).toMatchObject({ held: 1 });
  const enabled = await ask(annex, 'POST', `${whole}/webhook/enable`, { json: { replay: true } });
  expect(enabled.body).toMatchObject({ state: 'healthy', replayed: 1 });
  await expect.poll(read).toMatchObject([{ state: 'delivered' }]);
  expect(receiver.about(String(body['eventId'])).map(({ path }) => path)).toEqual(['/whole']);
});
