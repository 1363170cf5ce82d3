/** The built-in webhook and the event types that the product declares. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, codeOf } from '../../support/installation-api.ts';
import { RecordingReceiver } from '../../support/receivers/recording-receiver.ts';
import { type Installed, TestService } from '../../support/service.ts';

type Members = Readonly<Record<string, unknown>>;
interface Field {
  readonly name: string;
  readonly enum?: readonly string[];
  readonly titles?: Readonly<Record<string, string>>;
}

let receiver: RecordingReceiver;
let annex: TestService;
let here: Installed;

const declare = (type: string, json: Members) => annex.api('PUT', `/v1/event-types/${type}`, { json });
const at = (place = '') => `/integrations/webhook/installations/${here.id}${place}`;
const select = (types: readonly string[], place?: string) =>
  ask(annex, 'PATCH', at(place), {
    json: { configuration: { webhook_url: `${receiver.url}/own`, event_types: types } },
  });
async function choices(place?: string): Promise<Field | undefined> {
  const { body } = await ask(annex, 'GET', `${at(place)}/configuration`);
  return (body['properties'] as Field[]).find(({ name }) => name === 'event_types');
}
async function post(event: Members): Promise<{ deliveries: unknown; eventId: string }> {
  const { body } = await annex.api('POST', '/v1/events', { json: event, token: annex.platform });
  return { deliveries: body['deliveries'], eventId: String(body['eventId']) };
}
async function received(eventId: string): Promise<unknown> {
  await expect.poll(() => receiver.about(eventId).length, { timeout: 90_000 }).toBe(1);
  return JSON.parse(String(receiver.about(eventId)[0]?.body));
}

beforeAll(async () => {
  receiver = await RecordingReceiver.start();
  annex = await TestService.start({ flags: [...RecordingReceiver.FLAGS, '--built-ins', 'publish'] });
  here = await annex.install('webhook', 'beach');
  await annex.installBelow('webhook', here, 'space', 'sp-1');
});
afterAll(async () => {
  await annex.stop();
  await receiver.stop();
});

describe('the built-in webhook', () => {
  test('offers what it always did, while nothing is declared', async () => {
    expect(await choices('/spaces/sp-1')).toMatchObject({ enum: ['space_content_updated'] });
    expect(await choices('/spaces/sp-1')).not.toHaveProperty('titles');
    expect(await choices()).toBeUndefined();
    expect(codeOf(await ask(annex, 'GET', `${at()}/webhook-secret`))).toBe('404 WEBHOOK_UNKNOWN');
  });

  test('offers declared types of the level that users may select, by title', async () => {
    const type = { level: 'space', webhook: true };
    await declare('ticket.opened', { ...type, title: 'Ticket opened', sample: { n: 1 } });
    await declare('ticket.closed', { ...type, title: 'Ticket closed' });
    await declare('ticket.merged', { ...type, title: 'Ticket merged', deprecated: true });
    await declare('ticket.audited', { ...type, title: 'Ticket audited', webhook: false });
    await declare('ticket.sited', { ...type, title: 'Ticket on a site', level: 'site' });
    expect(await choices('/spaces/sp-1')).toMatchObject({
      enum: ['space_content_updated', 'ticket.closed', 'ticket.opened', 'ticket.*'],
      titles: { 'ticket.opened': 'Ticket opened', 'ticket.closed': 'Ticket closed' },
    });
    await select(['ticket.merged'], '/spaces/sp-1');
    expect((await select(['ticket.audited'], '/spaces/sp-1')).status).toBe(422);
    expect(await choices('/spaces/sp-1')).toMatchObject({
      titles: { 'ticket.merged': 'Ticket merged (deprecated)' },
    });
  });

  test('posts what is selected by name or by pattern, and nothing else', async () => {
    const event = { organization: 'beach', space: 'sp-1', data: { n: 2 } };
    await select(['ticket.opened'], '/spaces/sp-1');
    expect(await post({ type: 'ticket.closed', ...event })).toMatchObject({ deliveries: 0 });
    const opened = await post({ type: 'ticket.opened', ...event });
    expect(opened.deliveries).toBe(1);
    expect(await received(opened.eventId)).toEqual({
      eventId: opened.eventId,
      type: 'ticket.opened',
      installationId: here.id,
      organizationId: 'beach',
      spaceId: 'sp-1',
      createdAt: expect.any(String),
      data: { n: 2 },
    });
    await select(['ticket.*'], '/spaces/sp-1');
    await received((await post({ type: 'ticket.closed', ...event })).eventId);
    expect(await post({ type: 'ticket.audited', ...event })).toMatchObject({ deliveries: 0 });
  });

  test('sends the sample of a type as a test', async () => {
    await select(['ticket.opened'], '/spaces/sp-1');
    const { body } = await ask(annex, 'POST', `${at('/spaces/sp-1')}/webhook-test`);
    expect(await received(String(body['eventId']))).toMatchObject({ type: 'ticket.opened', data: { n: 1 } });
  });

  test('posts types of the organization to the receiver of the whole installation', async () => {
    const scope = { name: 'invoices:read' };
    await declare('invoice.paid', { title: 'Invoice paid', level: 'organization', webhook: true, scope });
    expect(await choices()).toMatchObject({ enum: ['invoice.paid', 'invoice.*'] });
    expect((await select(['invoice.paid'])).status).toBe(200);
    const { eventId } = await post({ type: 'invoice.paid', organization: 'beach', data: { amount: 3 } });
    expect(await received(eventId)).toMatchObject({ organizationId: 'beach', data: { amount: 3 } });
    expect(await ask(annex, 'GET', `${at()}/webhook-secret`)).toMatchObject({ status: 200 });
  });

  test('keeps a type that it selects from being deleted', async () => {
    const answer = await annex.api('DELETE', '/v1/event-types/invoice.paid');
    expect(JSON.stringify(answer.body)).toContain(`the installation ${here.id} of \\"webhook\\" selects it`);
  });
});
