/**
 * A product that has nothing to do with documents (`fixtures/invoicing`): its event types from a
 * file, an integration with handlers, a component, storage and a schedule, and a webhook whose
 * receiver is down.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask } from '../../support/installation-api.ts';
import { RecordingReceiver } from '../../support/receivers/recording-receiver.ts';
import { type Installed, TestService } from '../../support/service.ts';

const TYPES = fileURLToPath(new URL('../../../fixtures/invoicing/event-types.yaml', import.meta.url));
const SPACE = 'bakeries';

let annex: TestService;
let receiver: RecordingReceiver;
let receivables: Installed;

beforeAll(async () => {
  receiver = await RecordingReceiver.start();
  annex = await TestService.start({
    flags: ['--event-types', TYPES, '--built-ins', 'publish', ...RecordingReceiver.FLAGS],
  });
  await annex.publishFixture('invoicing');
  receivables = await annex.install('receivables', 'ledger');
  await annex.installBelow('receivables', receivables, 'space', SPACE);
});
afterAll(async () => {
  await annex.stop();
  await receiver.stop();
});

const at = () => `/integrations/receivables/installations/${receivables.id}`;
const invoice = (number: string) => ({ number, customer: 'Corner Bakery', amount: 12_000, currency: 'EUR' });

async function post(type: string, data: object, eventId?: string): Promise<string> {
  const json = { type, organization: 'ledger', space: SPACE, data, ...(eventId && { eventId }) };
  const { status, body } = await ask(annex, 'POST', '/events', { token: annex.platform, json });
  expect([200, 202]).toContain(status);
  return String(body['eventId']);
}

const deliveries = async (eventId: string) =>
  (await ask(annex, 'GET', `/deliveries?event=${eventId}`)).body['items'] as Record<string, unknown>[];

async function handled(eventId: string): Promise<void> {
  const states = async () => (await deliveries(eventId)).map(({ state }) => state);
  await expect.poll(states).toEqual(['delivered']);
}

/** What the block shows in the space. */
async function shown(): Promise<string> {
  const json = { componentId: 'open-invoices' };
  const { body } = await ask(annex, 'POST', `${at()}/spaces/${SPACE}/render`, { json });
  return JSON.stringify(body);
}

test('has the event types of its file, which the API does not change', async () => {
  const { body } = await ask(annex, 'GET', '/event-types');
  expect(body).toMatchObject({ items: [{ type: 'invoice.paid' }, { type: 'invoice.sent', webhook: true }] });
  expect((await ask(annex, 'DELETE', '/event-types/invoice.paid')).status).toBe(409);
});

test('is told where data does not fit', async () => {
  const json = {
    type: 'invoice.paid',
    organization: 'ledger',
    space: SPACE,
    data: { ...invoice('R-0'), amount: 'much' },
  };
  const { status, body } = await ask(annex, 'POST', '/events', { token: annex.platform, json });
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain('/amount');
});

test('shows an invoice that was sent until it is paid, in whatever order the events come', async () => {
  expect(await shown()).toContain('Nothing is owed.');
  await handled(await post('invoice.sent', invoice('R-1'), 'sent-1'));
  expect(await post('invoice.sent', invoice('R-1'), 'sent-1')).toBe('sent-1');
  await handled(await post('invoice.paid', invoice('R-2')));
  await handled(await post('invoice.sent', invoice('R-2')));
  expect(await shown()).toContain('R-1: Corner Bakery owes €120.00');
  expect(await shown()).not.toContain('R-2');
  await handled(await post('invoice.paid', invoice('R-1')));
  expect(await shown()).toContain('Nothing is owed.');
});

test('the operator sees which keys are kept, and no value', async () => {
  const { body } = await ask(annex, 'GET', `${at()}/storage`);
  expect(body).toMatchObject({ items: [{ key: `invoice/${SPACE}/R-1` }, { key: `invoice/${SPACE}/R-2` }] });
  expect(JSON.stringify(body)).not.toContain('Bakery');
  expect((await ask(annex, 'GET', `${at()}/storage/invoice%2F${SPACE}%2FR-1`)).status).toBe(403);
});

test('is asked what a customer owes', async () => {
  const asked = (json: object) => ask(annex, 'POST', `${at()}/calls/owed`, { token: annex.platform, json });
  await handled(await post('invoice.sent', { ...invoice('R-9'), customer: 'Mill' }));
  expect(await asked({ customer: 'Mill' })).toMatchObject({
    ...{ status: 200, body: { customer: 'Mill', owed: ['€120.00'] } },
  });
  expect(await asked({})).toMatchObject({ status: 400, body: { error: { code: 'CALL_REFUSED' } } });
  await handled(await post('invoice.paid', { ...invoice('R-9'), customer: 'Mill' }));
  expect((await asked({ customer: 'Mill' })).body).toEqual({ customer: 'Mill', owed: [] });
});

test('reports each Monday at nine', async () => {
  const { body } = await ask(annex, 'GET', `${at()}/schedules`);
  const [{ id, nextRunAt }] = body['items'] as [{ id: string; nextRunAt: string }];
  const next = new Date(nextRunAt);
  const local = next.toLocaleString('en-GB', { timeZone: 'Europe/Berlin', weekday: 'long', hour: '2-digit' });
  expect(local).toMatch(/Monday.*09/);
  const run = await ask(annex, 'POST', `${at()}/schedules/${id}/run`);
  expect(run.status).toBe(202);
  await handled(String(run.body['eventId']));
  const keys = await ask(annex, 'GET', `${at()}/storage?prefix=report`);
  expect(keys.body).toMatchObject({ items: [{ key: 'report' }] });
});

test('posts to a webhook again that was down, by the schedule of days', async () => {
  const webhook = await annex.install('webhook', 'ledger');
  await annex.installBelow('webhook', webhook, 'space', SPACE);
  const configuration = { webhook_url: `${receiver.url}/in`, event_types: ['invoice.*'], retries: 'days' };
  const place = `/integrations/webhook/installations/${webhook.id}/spaces/${SPACE}`;
  expect((await ask(annex, 'PATCH', place, { json: { configuration } })).body).toMatchObject({
    status: 'active',
  });
  receiver.answer = { status: 503 };
  const eventId = await post('invoice.paid', invoice('R-3'));
  const ofWebhook = async () =>
    (await deliveries(eventId)).find(({ integration }) => integration === 'webhook');
  await expect.poll(async () => (await ofWebhook())?.['attempts']).toBe(1);
  receiver.answer = { status: 200 };
  await expect.poll(async () => (await ofWebhook())?.['state']).toBe('delivered');
  const [first, second] = receiver.about(eventId);
  expect(second?.body).toBe(first?.body);
  expect(JSON.parse(second?.body ?? '')).toMatchObject({
    ...{ type: 'invoice.paid', organizationId: 'ledger', spaceId: SPACE, data: invoice('R-3') },
  });
});
