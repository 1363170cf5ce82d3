/** The webhook integration: its settings, its payloads, and that it posts selected types only. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uploadFolder } from '../../../src/local/demo/folder-form-data.ts';
import { type Answer, ask } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

const RECEIVER = 'https://hooks.example.com/in?key=k1';

let annex: TestService;
let whole: Installed;
let space: Installed;
let site: Installed;
const path = (place = '') => `/integrations/webhook/installations/${whole.id}${place}`;
const configure = (place: string, configuration: object): Promise<Answer> =>
  ask(annex, 'PATCH', path(place), { json: { configuration } });

beforeAll(async () => {
  annex = await TestService.start();
  await annex.publishFixture('webhook');
  whole = await annex.install('webhook', 'acme');
  space = await annex.installBelow('webhook', whole, 'space', 'garden');
  site = await annex.installBelow('webhook', whole, 'site', 'docs');
});
afterAll(() => annex.stop());

const visitor = {
  anonymousId: 'a1',
  userAgent: 'Browser/1',
  ip: '198.51.100.7',
  cookies: { b: '2', a: '1' },
};
const page = { url: 'https://docs.example.com/a?b=c', referrer: 'https://search.example/' };

/** Sends one event as an envelope to the endpoint. @returns the answer of the integration */
async function answered(at: Installed, event: object) {
  const response = await annex.envelope(at, event);
  return {
    status: response.status,
    to: response.headers.get('annex-deliver-to'),
    type: response.headers.get('content-type'),
    body: await response.text(),
  };
}

describe('an installation', () => {
  test('belongs to an integration that is published without a warning', async () => {
    const form = await uploadFolder(fileURLToPath(new URL('../../../fixtures/webhook', import.meta.url)));
    expect(await annex.api('POST', '/v1/integrations', { form })).toMatchObject({
      status: 201,
      body: { warnings: [] },
    });
  });

  test('has no settings in its organization', async () => {
    const { body } = await ask(annex, 'GET', path());
    expect(body).toMatchObject({ status: 'active', configuration: {} });
  });

  test.each([
    ['/spaces/garden', ['space_content_updated']],
    ['/sites/docs', ['site_view', 'page_feedback']],
  ])('in %s has the settings Webhook URL and Event types, and three more', async (place, types) => {
    const { body } = await ask(annex, 'GET', `${path(place)}/configuration`);
    expect(body).toMatchObject({
      status: 'pending',
      properties: [
        { name: 'webhook_url', type: 'string', title: 'Webhook URL', required: true },
        { name: 'event_types', title: 'Event types', required: true, enum: types, multiple: true },
        { name: 'retries', title: 'Retries', required: false, enum: ['contract', 'hours', 'days'] },
        { name: 'signature', title: 'Signature', required: false, enum: ['platform', 'standard', 'both'] },
        { name: 'requests_per_second', title: 'Requests per second', required: false },
      ],
    });
  });

  // docs/contract/webhooks.md#selection
  test.each([
    ['/spaces/garden', 'site_view', '"space_content_updated"'],
    ['/sites/docs', 'space_content_updated', '"site_view", "page_feedback"'],
    ['/sites/docs', 'space_view', '"site_view", "page_feedback"'],
  ])('in %s refuses %s by name', async (place, type, offered) => {
    const { status, body } = await configure(place, { webhook_url: RECEIVER, event_types: [type] });
    expect([status, body['status'], body['problems']]).toEqual([
      200,
      'pending',
      [
        {
          property: 'event_types',
          message: `"event_types" does not offer "${type}": choose from ${offered}.`,
        },
      ],
    ]);
  });
});

describe('the payload of a selected event has the listed members (docs/contract/webhooks.md#payload), in order:', () => {
  const ROWS: [string, () => Installed, string, object, string][] = [
    [
      'space_content_updated',
      () => space,
      '/spaces/garden',
      { revisionId: 'r1', spaceId: 'garden', extra: 'unknown', eventId: 'evt_1' },
      '{"eventId":"evt_1","type":"space_content_updated","spaceId":"garden","installationId":"INSTALLATION","revisionId":"r1"}',
    ],
    [
      'site_view',
      () => site,
      '/sites/docs',
      {
        ...{
          ...page,
          visitor: { ...visitor, language: 'fr' },
          pageId: 'p1',
          siteId: 'docs',
          spaceId: 'garden',
        },
        ...{ eventId: 'evt_2' },
      },
      `{"eventId":"evt_2","type":"site_view","siteId":"docs","installationId":"INSTALLATION","visitor":${JSON.stringify(visitor)},"url":"${page.url}","referrer":"${page.referrer}"}`,
    ],
    [
      'page_feedback',
      () => site,
      '/sites/docs',
      {
        feedback: { comment: 'Très bien 👍', rating: 'good', more: 1 },
        ...{ ...page, visitor, pageId: 'p1', siteId: 'docs', spaceId: 'garden' },
        ...{ eventId: 'evt_3' },
      },
      `{"eventId":"evt_3","type":"page_feedback","siteId":"docs","spaceId":"garden","installationId":"INSTALLATION","pageId":"p1","feedback":{"rating":"good","comment":"Très bien 👍"},"visitor":${JSON.stringify(visitor)},"url":"${page.url}","referrer":"${page.referrer}"}`,
    ],
    [
      'page_feedback without optional members',
      () => site,
      '/sites/docs',
      {
        ...{ feedback: { rating: 'bad' }, visitor: { ...visitor, cookies: {} } },
        ...{ url: page.url, referrer: '', siteId: 'docs', eventId: 'evt_4' },
      },
      `{"eventId":"evt_4","type":"page_feedback","siteId":"docs","installationId":"INSTALLATION","feedback":{"rating":"bad"},"visitor":${JSON.stringify({ ...visitor, cookies: {} })},"url":"${page.url}","referrer":""}`,
    ],
  ];

  test.each(ROWS)('%s', async (name, at, place, members, body) => {
    const [type = ''] = name.split(' ');
    const { body: configured } = await configure(place, { webhook_url: RECEIVER, event_types: [type] });
    expect(configured['status']).toBe('active');
    const { id: installationId } = at();
    expect(await answered(at(), { type, ...members, installationId })).toEqual({
      status: 200,
      to: RECEIVER,
      type: 'application/json',
      body: body.replace('INSTALLATION', installationId),
    });
  });
});

test('an event that is not selected has no payload', async () => {
  await configure('/sites/docs', { webhook_url: RECEIVER, event_types: ['page_feedback'] });
  const event = { eventId: 'evt_5', type: 'site_view', siteId: 'docs', visitor, ...page };
  expect(await answered(site, event)).toMatchObject({
    status: 406,
    to: null,
    body: '{"error":"Events of type \\"site_view\\" are not selected here"}',
  });
  const other = { eventId: 'evt_6', type: 'space_view', siteId: 'docs' };
  expect(await answered(site, other)).toMatchObject({ status: 406, to: null });
});
