/** `/v1/event-types`: types that the product declares, their events, and who gets them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

type Members = Readonly<Record<string, unknown>>;

const PAID: Members = {
  title: 'Invoice paid',
  level: 'organization',
  scope: { name: 'invoices:read', description: 'Read invoices.' },
  webhook: true,
  schema: {
    type: 'object',
    required: ['id', 'amount'],
    properties: { id: { type: 'string', pattern: '^inv_[a-z0-9]+$' }, amount: { type: 'number' } },
    additionalProperties: false,
  },
  sample: { id: 'inv_1', amount: 12.5 },
};

/** Logs what it gets. */
const LOGGER = (events: readonly string[]) => `
  import { createIntegration } from '@annex/sdk';
  const log = (event) => console.log(JSON.stringify(event));
  export default createIntegration({ events: { ${events.map((name) => `'${name}': log`).join(', ')} } });`;

let annex: TestService;

/** Publishes an integration of `acme` with handlers of these types. */
function publish(name: string, events: readonly string[], scopes: string) {
  const form = new FormData();
  const head = `name: ${name}\ntitle: t\ndescription: d\norganization: acme\nvisibility: public\nscript: index.js`;
  form.append('manifest', `${head}\nscopes: [${scopes}]\n`);
  form.append('files', new Blob([LOGGER(events)]), 'index.js');
  return annex.api('POST', '/v1/integrations', { form });
}

const declare = (type: string, json: Members, query = '') =>
  annex.api('PUT', `/v1/event-types/${type}${query}`, { json });
const remove = (type: string, query = '') => annex.api('DELETE', `/v1/event-types/${type}${query}`);
const post = (json: unknown) => annex.api('POST', '/v1/events', { json, token: annex.platform });
const errorOf = ({ body }: { body: Members }) =>
  body['error'] as { code: string; message: string; problems?: Members[]; users?: string[] };

/** Declares `invoice.paid` under a name of its own. */
async function declared(name: string, more: Members = {}): Promise<string> {
  expect(await declare(name, { ...PAID, ...more })).toMatchObject({ status: 200 });
  return name;
}

/** The first event that was logged. */
async function logged(installed: Installed): Promise<unknown> {
  const line = await vi.waitFor(
    async () => {
      const [first] = (await annex.log(installed)).filter(({ text }) => text.startsWith('{'));
      expect(first).toBeDefined();
      return first;
    },
    { timeout: 90_000 },
  );
  return JSON.parse(line?.text ?? '{}');
}

beforeAll(async () => {
  annex = await TestService.start();
  return () => annex.stop();
});

describe('an event type', () => {
  test('is declared, listed, read, changed and deleted', async () => {
    expect(await declare('invoice.sent', PAID)).toEqual({
      status: 200,
      body: { type: 'invoice.sent', change: 'added' },
    });
    expect(await declare('invoice.sent', PAID)).toMatchObject({ body: { change: 'unchanged' } });
    expect(await declare('invoice.sent', { ...PAID, title: 'Sent' })).toMatchObject({
      body: { change: 'changed' },
    });
    const read = await annex.api('GET', '/v1/event-types/invoice.sent', { token: annex.platform });
    expect(read).toMatchObject({ status: 200, body: { type: 'invoice.sent', ...PAID, title: 'Sent' } });
    const { body } = await annex.api('GET', '/v1/event-types');
    expect(body['items']).toContainEqual(read.body);
    expect(await remove('invoice.sent')).toMatchObject({ status: 200, body: { change: 'removed' } });
    expect(errorOf(await annex.api('GET', '/v1/event-types/invoice.sent')).code).toBe('EVENT_TYPE_UNKNOWN');
    const audit = await annex.api('GET', '/v1/audit');
    expect(JSON.stringify(audit.body)).toContain('event-type.declare');
  });

  test('is changed by the operator alone', async () => {
    const json = PAID;
    const answer = await annex.api('PUT', '/v1/event-types/a.b', { json, token: annex.platform });
    expect(answer.status).toBe(403);
  });

  test.each([
    ['Invoice.paid', 'REQUEST_INVALID'],
    ['invoice..paid', 'REQUEST_INVALID'],
    ['space_content_updated', 'REQUEST_INVALID'],
    ['fetch', 'REQUEST_INVALID'],
    ['annex.started', 'REQUEST_INVALID'],
    ['webhook.failing', 'REQUEST_INVALID'],
    [`${'a'.repeat(128)}b`, 'REQUEST_INVALID'],
  ])('is not named %s', async (name, code) => {
    expect(errorOf(await declare(name, PAID)).code).toBe(code);
  });

  test.each<[what: string, more: Members, pointer: string]>([
    ['a sample that does not fit', { sample: { id: 'x', amount: 1 } }, '/sample/id'],
    ['a reference to elsewhere', { schema: { $ref: 'https://example.com/s' } }, '/schema/$ref'],
    ['an unknown keyword', { schema: { propertis: {} } }, '/schema/propertis'],
    ['a pattern that looks ahead', { schema: { pattern: '(?=a)' } }, '/schema/pattern'],
    ['a keyword with a wrong value', { schema: { minLength: -1 } }, '/schema/minLength'],
    ['a scope that is no name', { scope: { name: 'Invoices' } }, '/scope/name'],
    ['a scope for internal use', { scope: { name: 'site:script:inject' } }, '/scope/name'],
  ])('has no %s', async (_what, more, pointer) => {
    const answer = await declare('invoice.refused', { ...PAID, sample: undefined, ...more });
    expect(answer.status).toBe(422);
    expect(errorOf(answer).problems).toContainEqual(expect.objectContaining({ pointer }));
  });
});

describe('an event of a declared type', () => {
  test('reaches handlers with the scope, with the members of all declared types', async () => {
    const type = await declared('bill.paid');
    await publish('biller', [type], 'invoices:read');
    await publish('without-scope', [type], '');
    await publish('by-pattern', ['bill.*'], 'invoices:read');
    const installed = await annex.install('biller', 'org-1');
    await annex.install('without-scope', 'org-1');
    await annex.install('by-pattern', 'org-1');
    const data = { id: 'inv_1', amount: 3 };
    const posted = await post({ type, organization: 'org-1', data });
    expect(posted).toMatchObject({ status: 202, body: { deliveries: 2 } });
    expect(await logged(installed)).toEqual({
      eventId: posted.body['eventId'],
      type,
      installationId: installed.id,
      organizationId: 'org-1',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      data,
    });
  });

  test('of a space has its space, and reaches installations there', async () => {
    const type = await declared('ticket.opened', { level: 'space', scope: undefined });
    await publish('desk', [type], '');
    const installed = await annex.install('desk', 'org-2');
    const posted = await post({ type, organization: 'org-2', space: 'queue-1', data: PAID['sample'] });
    expect(posted).toMatchObject({ status: 202, body: { deliveries: 1 } });
    expect(await logged(installed)).toMatchObject({ type, spaceId: 'queue-1', organizationId: 'org-2' });
    expect(errorOf(await post({ type, organization: 'org-2', data: PAID['sample'] })).message).toMatch(
      /^body.*space/,
    );
  });

  test('whose data does not fit is refused, with a pointer for each problem', async () => {
    const type = await declared('bill.refused');
    const answer = await post({ type, organization: 'org-1', data: { id: 'x', amount: 'much', more: 1 } });
    expect(answer.status).toBe(422);
    expect(errorOf(answer)).toMatchObject({
      code: 'EVENT_DATA_INVALID',
      problems: expect.arrayContaining([
        expect.objectContaining({ pointer: '/id' }),
        expect.objectContaining({ pointer: '/amount', message: 'body.data/amount must be a number.' }),
        expect.objectContaining({ pointer: '/more' }),
      ]),
    });
    expect(JSON.stringify(answer.body)).not.toContain('much');
  });

  test('whose type is unknown is refused, and the message names the nearest', async () => {
    await declared('bill.voided');
    const answer = await post({ type: 'bill.voided2', organization: 'org-1', data: {} });
    expect(answer.status).toBe(400);
    expect(errorOf(answer).message).toContain('Did you mean "bill.voided"?');
  });

  test('that has members of its own is refused', async () => {
    const type = await declared('bill.flat');
    const answer = await post({ type, organization: 'org-1', data: PAID['sample'], amount: 3 });
    expect(errorOf(answer)).toMatchObject({ code: 'REQUEST_INVALID' });
  });

  test('is the same when it is posted again', async () => {
    const type = await declared('bill.again');
    const event = { type, organization: 'org-1', eventId: 'again-1', data: PAID['sample'] };
    expect((await post(event)).status).toBe(202);
    expect((await post(event)).status).toBe(200);
    expect(errorOf(await post({ ...event, data: { id: 'inv_2', amount: 1 } })).code).toBe('EVENT_CONFLICT');
  });
});

describe('a change', () => {
  test('that stored events do not fit is refused with examples, unless it is forced', async () => {
    const type = await declared('order.placed', { sample: undefined });
    await post({ type, organization: 'org-1', eventId: 'order-1', data: { id: 'inv_1', amount: -1 } });
    const stricter = {
      ...PAID,
      sample: undefined,
      schema: { type: 'object', properties: { amount: { minimum: 0 } } },
    };
    const answer = await declare(type, stricter);
    expect(answer.status).toBe(409);
    expect(errorOf(answer)).toMatchObject({
      code: 'EVENT_TYPE_BREAKING',
      problems: [expect.objectContaining({ eventId: 'order-1', pointer: '/amount' })],
    });
    expect((await declare(type, stricter, '?force=true&dryRun=true')).body['change']).toBe('changed');
    expect((await declare(type, stricter, '?force=true')).status).toBe(200);
    const refused = await post({ type, organization: 'org-1', data: { amount: -2 } });
    expect(errorOf(refused).code).toBe('EVENT_DATA_INVALID');
  });

  test('that the stored sample does not fit is refused', async () => {
    const type = await declared('order.sampled');
    const schema = { type: 'object', properties: { amount: { maximum: 1 } } };
    const answer = await declare(type, { ...PAID, sample: undefined, schema });
    expect(errorOf(answer)).toMatchObject({ code: 'EVENT_TYPE_BREAKING' });
  });

  test('of the scope decides who gets the next event', async () => {
    const type = await declared('order.scoped', { scope: undefined });
    await publish('scoped', [type], '');
    await annex.install('scoped', 'org-3');
    const event = { type, organization: 'org-3', data: PAID['sample'] };
    expect((await post(event)).body['deliveries']).toBe(1);
    await declared(type);
    expect((await post(event)).body['deliveries']).toBe(0);
  });
});

test('a type that is used is not deleted, unless it is forced', async () => {
  const type = await declared('order.used');
  await publish('user', [type], 'invoices:read');
  const answer = await remove(type);
  expect(answer.status).toBe(409);
  expect(errorOf(answer)).toMatchObject({
    code: 'EVENT_TYPE_IN_USE',
    users: ['the integration "user" handles it'],
  });
  expect((await remove(type, '?force=true')).status).toBe(200);
});

test('a scope that no type declares is refused in a manifest, and the nearest is named', async () => {
  await declared('bill.scoped');
  const answer = await publish('misspelt', [], 'invoice:read');
  expect(JSON.stringify(answer.body)).toMatch(/Did you mean ."invoices:read."/);
});

test('eventTypes bounds the number of types', async () => {
  const small = await startTestService({ limits: { eventTypes: 1 } });
  const put = (name: string) => small.api('PUT', `/v1/event-types/${name}`, { json: PAID });
  expect((await put('a.one')).status).toBe(200);
  const answer = await put('a.two');
  expect(answer.body['error']).toMatchObject({
    code: 'EVENT_TYPES_FULL',
    limit: { name: 'eventTypes', max: 1, used: 2 },
  });
});

describe('a file of event types', () => {
  const folder = mkdtempSync(join(tmpdir(), 'event-types-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const fileOf = (text: string): string => {
    const file = join(folder, 'types.yaml');
    writeFileSync(file, text);
    return file;
  };

  test('declares the types, and the API changes none', async () => {
    const file = fileOf('invoice.paid:\n  title: Paid\n  level: space\n');
    const own = await startTestService({ flags: ['--event-types', file] });
    const { body } = await own.api('GET', '/v1/event-types');
    expect(body['items']).toEqual([expect.objectContaining({ type: 'invoice.paid', level: 'space' })]);
    const answer = await own.api('DELETE', '/v1/event-types/invoice.paid');
    expect(answer.body['error']).toMatchObject({ code: 'EVENT_TYPES_FIXED' });
  });

  test('with a fault stops the start, and the message has its line', async () => {
    const file = fileOf(
      'invoice.paid:\n  title: Paid\n  level: space\n  schema:\n    type: object\n    maxItms: 1\n',
    );
    await expect(startTestService({ flags: ['--event-types', file] })).rejects.toThrow(
      /types\.yaml:6:\d+: invoice\.paid: schema\/maxItms is no keyword .*did you mean "maxItems"/,
    );
  });
});
