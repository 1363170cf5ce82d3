/** `GET /v1/events`: access to posted events, filters, and the state of their deliveries. */
import { beforeAll, describe, expect, test } from 'vitest';
import { postedEvent, SOUND_EVENTS } from '../../support/deliveries/posted-events.ts';
import { type Installed, TestService } from '../../support/service.ts';

const LISTENER = `
  import { createIntegration } from '@annex/sdk';
  export default createIntegration({ events: {
    space_content_updated(event) { console.log('heard', event.eventId); },
  } });`;

let annex: TestService;
let installed: Installed;
const tokens: Record<string, string> = {};

interface Listed {
  readonly id: string;
  readonly type: string;
  readonly organization: string;
}

const post = async (type: string, more: object): Promise<void> => {
  const json = { type, ...SOUND_EVENTS[type], ...more };
  expect((await annex.api('POST', '/v1/events', { json })).status).toBe(202);
};
const get = (path: string, token?: string) => annex.api('GET', path, token === undefined ? {} : { token });
const idsOf = ({ body }: { body: Record<string, unknown> }) =>
  (body['items'] as Listed[]).map(({ id }) => id);
const codeOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => [
  status,
  (body['error'] as { code: string }).code,
];

beforeAll(async () => {
  annex = await TestService.start();
  for (const organization of ['acme', 'beach', 'stranger']) {
    const { body } = await annex.api('POST', '/v1/tokens', { json: { kind: 'organization', organization } });
    tokens[organization] = String(body['token']);
  }
  const form = new FormData();
  const head =
    'name: listener\ntitle: t\ndescription: d\norganization: acme\nvisibility: public\nscript: index.js';
  form.append('manifest', `${head}\ntarget: all\nscopes: [space:content:read]\n`);
  form.append('files', new Blob([LISTENER]), 'index.js');
  expect((await annex.api('POST', '/v1/integrations', { form })).status).toBe(201);
  installed = await annex.install('listener', 'beach');
  await annex.installBelow('listener', installed, 'space', 'garden');
  await post('space_content_updated', { organization: 'beach', eventId: 'b1' });
  await post('site_view', { organization: 'beach', eventId: 'b2' });
  await post('space_content_updated', {
    organization: 'beach',
    eventId: 'b/3?x=#',
    installationId: installed.id,
  });
  await post('space_content_updated', { organization: 'acme', eventId: 'a1' });
  return () => annex.stop();
});

describe('the events of the product', () => {
  test('are listed newest first: its own to an organization, all to the platform', async () => {
    expect(idsOf(await get('/v1/events', tokens['beach']))).toEqual(['b/3?x=#', 'b2', 'b1']);
    expect(idsOf(await get('/v1/events?organization=beach', tokens['beach']))).toEqual([
      'b/3?x=#',
      'b2',
      'b1',
    ]);
    for (const token of [annex.admin, annex.platform]) {
      expect(idsOf(await get('/v1/events', token))).toEqual(['a1', 'b/3?x=#', 'b2', 'b1']);
      expect(idsOf(await get('/v1/events?organization=acme', token))).toEqual(['a1']);
    }
    expect(codeOf(await get('/v1/events?organization=acme', tokens['beach']))).toEqual([
      403,
      'TOKEN_FORBIDDEN',
    ]);
    // The author of a subscribed integration may not read it.
    expect(idsOf(await get('/v1/events', tokens['acme']))).toEqual(['a1']);
    expect(idsOf(await get('/v1/events', tokens['stranger']))).toEqual([]);
  });

  test('are listed page by page', async () => {
    const found: string[] = [];
    let cursor = '';
    do {
      const page = await get(`/v1/events?limit=1${cursor}`, tokens['beach']);
      found.push(...idsOf(page));
      cursor = page.body['next'] === undefined ? '' : `&cursor=${page.body['next']}`;
    } while (cursor !== '');
    expect(found).toEqual(['b/3?x=#', 'b2', 'b1']);
  });

  test('are found by type and time', async () => {
    const { body } = await get('/v1/events/b2', annex.platform);
    const at = Date.parse(String(body['createdAt']));
    const iso = (ms: number) => encodeURIComponent(new Date(ms).toISOString());
    const found = async (query: string) => idsOf(await get(`/v1/events?${query}`, tokens['beach']));
    expect(await found('type=site_view')).toEqual(['b2']);
    expect(await found('type=page_feedback')).toEqual([]);
    expect(await found(`from=${iso(at)}&to=${iso(at + 1)}&type=site_view`)).toEqual(['b2']);
    expect(await found(`from=${iso(at + 60_000)}`)).toEqual([]);
    expect(await found(`to=${iso(at)}&type=site_view`)).toEqual([]);
  });

  test.each([
    ['type=space_veiw', 'query.type must be one of '],
    ['type=installation_setup', 'query.type must be one of '],
    ['from=yesterday', 'query.from '],
    ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'query.from is later than query.to.'],
    ['organisation=beach', 'query has unknown members: organisation'],
    [
      'cursor=YWJj',
      'query.cursor is not the `next` of a page of this list: send a `next` unchanged, or leave it out.',
    ],
    ['limit=0', 'query.limit '],
    ['installation=ins_x&type=site_view', 'query.installation lists lifecycle events, '],
  ])('%s is refused with a message', async (query, message) => {
    const answer = await get(`/v1/events?${query}`);
    expect(codeOf(answer)).toEqual([400, 'REQUEST_INVALID']);
    expect((answer.body['error'] as { message: string }).message.startsWith(message)).toBe(true);
  });

  test('attack: a type without events makes a page read a bounded number of rows', async () => {
    const { acceptance } = annex.service.delivery;
    const filler = (index: number, type = 'space_view') =>
      postedEvent({ eventId: `filler-${index}`, organization: 'busy', type });
    await acceptance.accept([filler(0, 'site_view')]);
    await acceptance.accept(Array.from({ length: 5_500 }, (_, index) => filler(index + 1)));
    const first = await get('/v1/events?organization=busy&type=site_view');
    expect(idsOf(first)).toEqual([]);
    const second = await get(`/v1/events?organization=busy&type=site_view&cursor=${first.body['next']}`);
    expect([idsOf(second), second.body['next']]).toEqual([['filler-0'], undefined]);
  });
});

describe('one event', () => {
  test('is shown with its members and the state of its deliveries', async () => {
    const { body } = await get('/v1/events/b1', tokens['beach']);
    const { trace, ...event } = body;
    expect(event).toEqual({
      ...{ id: 'b1', type: 'space_content_updated', organization: 'beach', space: 'garden', deliveries: 1 },
      createdAt: expect.any(String),
      event: { eventId: 'b1', type: 'space_content_updated', ...SOUND_EVENTS['space_content_updated'] },
    });
    expect(trace).toMatchObject([
      {
        id: expect.stringMatching(/\.00001$/),
        ...{ eventId: 'b1', kind: 'handler', integration: 'listener', installation: installed.id },
        ...{ space: 'garden', state: expect.any(String), attempts: expect.any(Number) },
      },
    ]);
  });

  test('is found by an id with special characters', async () => {
    const { status, body } = await get(`/v1/events/${encodeURIComponent('b/3?x=#')}`, tokens['beach']);
    expect([status, body['id'], body['installation']]).toEqual([200, 'b/3?x=#', installed.id]);
  });

  test('is found by the longest id, with every character escaped', async () => {
    const eventId = '%'.repeat(255);
    await post('space_content_updated', { organization: 'beach', eventId });
    const { status, body } = await get(`/v1/events/${encodeURIComponent(eventId)}`, annex.platform);
    expect([status, body['id']]).toEqual([200, eventId]);
  });

  test('of another tenant is answered as absent', async () => {
    const absent = await get('/v1/events/none', tokens['stranger']);
    const foreign = await get('/v1/events/b1', tokens['stranger']);
    const author = await get('/v1/events/b1', tokens['acme']);
    expect([absent, foreign, author].map(codeOf)).toEqual(Array(3).fill([404, 'EVENT_UNKNOWN']));
    const text = ({ body }: typeof absent) =>
      (body['error'] as { message: string }).message.replace(/"[^"]*"/, '…');
    expect(text(foreign)).toBe(text(absent));
    for (const token of [annex.admin, annex.platform])
      expect((await get('/v1/events/b1', token)).status).toBe(200);
  });
});
