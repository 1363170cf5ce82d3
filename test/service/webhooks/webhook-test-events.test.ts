/** Test events of a webhook: an invented event for one target, delivered like any other. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { exampleEvent } from '../../../src/model/example-event.ts';
import { WEBHOOK_EVENT_TYPES } from '../../../src/model/manifest/webhook.ts';
import { eventFault } from '../../../src/model/posted-event.ts';
import { verifySignature } from '../../../src/model/signature.ts';
import { ask, codeOf } from '../../support/installation-api.ts';
import { RecordingReceiver } from '../../support/receivers/recording-receiver.ts';
import { type Installed, TestService } from '../../support/service.ts';

const SOURCE = `import { createIntegration, deliverTo } from '@annex/sdk';
const post = (event, { environment }) => {
  const { receiver } = (environment.siteInstallation ?? environment.spaceInstallation).configuration;
  return receiver && deliverTo(receiver, event);
};
export default createIntegration({
  fetch: (request, { environment }) => Response.json(environment.apiTokens),
  events: { space_content_updated: post, site_view: post, page_feedback: post },
});`;

const settings = (events: string) => `
    properties:
      receiver: {type: string, title: URL, description: Where to.}
      events: {type: string, title: Events, description: Which., enum: [${events}], multiple: true}
    required: [receiver]
`;
const MANIFEST = `target: all
webhook: {url: receiver, eventTypes: events}
configurations:
  space: ${settings('space_content_updated')}
  site: ${settings('site_view, page_feedback')}
`;

describe.each(['space', 'site'] as const)('an example for a %s', (level) => {
  test.each(WEBHOOK_EVENT_TYPES[level])('of %s is an event as the product could post it', (type) => {
    const event = exampleEvent(type, { eventId: 'evt_1', place: 'place-1' });
    expect(eventFault({ ...event, organization: 'beach' }, 'event')).toBeUndefined();
    expect(event).toMatchObject({ eventId: 'evt_1', type, [`${level}Id`]: 'place-1' });
    // It is marked as invented.
    expect(JSON.stringify(event)).toContain('"test"');
  });
});

describe('a test of a webhook', () => {
  let receiver: RecordingReceiver;
  let annex: TestService;
  let here: Installed;
  let site: Installed;
  beforeAll(async () => {
    receiver = await RecordingReceiver.start();
    annex = await TestService.start({ flags: RecordingReceiver.FLAGS });
    for (const name of ['posting', 'beside']) await publish(annex, name);
    here = await annex.install('posting', 'beach');
    await annex.installBelow('posting', here, 'space', 'sp-1');
    site = await annex.installBelow('posting', here, 'site', 'si-1');
    // A subscriber of all events of the same site.
    const other = await annex.install('beside', 'beach');
    await annex.installBelow('beside', other, 'site', 'si-1');
    const all = { receiver: `${receiver.url}/beside`, events: ['site_view', 'page_feedback'] };
    await ask(annex, 'PATCH', `/integrations/beside/installations/${other.id}/sites/si-1`, {
      json: { configuration: all },
    });
  });
  afterAll(async () => {
    await annex.stop();
    await receiver.stop();
  });

  const at = (place = '/sites/si-1') => `/integrations/posting/installations/${here.id}${place}`;
  const configure = (events: readonly string[], place?: string) =>
    ask(annex, 'PATCH', at(place), { json: { configuration: { receiver: `${receiver.url}/own`, events } } });
  const send = (json: object = {}, place?: string, token = annex.admin) =>
    ask(annex, 'POST', `${at(place)}/webhook-test`, { json, token });
  const received = async (eventId: unknown) => {
    await expect.poll(() => receiver.about(String(eventId)).length).toBe(1);
    return receiver.about(String(eventId))[0];
  };

  test('posts an event that is signed like any other, to that target alone', async () => {
    await configure(['page_feedback', 'site_view']);
    const { status, body } = await send({ type: 'site_view' });
    expect([status, body]).toEqual([202, { eventId: expect.stringMatching(/^evt_/), deliveries: 1 }]);
    const request = await received(body['eventId']);
    expect(request?.path).toBe('/own');
    expect(request?.headers).toMatchObject({ 'x-platform-event': 'site_view', 'x-platform-attempt': '1' });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      ...exampleEvent('site_view', { eventId: String(body['eventId']), place: 'si-1' }),
      installationId: here.id,
    });
    const { secret } = (await ask(annex, 'GET', `${at()}/webhook-secret`)).body;
    const signature = String(request?.headers['x-platform-signature']);
    expect(verifySignature(signature, Buffer.from(request?.body ?? ''), [String(secret)])).toBe(true);
    // Its delivery is shown like any other.
    const listed = await ask(annex, 'GET', `/deliveries?event=${body['eventId']}`);
    expect(listed.body['items']).toMatchObject([{ integration: 'posting', site: 'si-1', type: 'site_view' }]);
    const { items } = (await ask(annex, 'GET', '/audit?limit=2')).body as { items: object[] };
    expect(items[1]).toMatchObject({ action: 'webhook.test', site: 'si-1', details: { type: 'site_view' } });
  });

  test('has the first selected type', async () => {
    await configure(['page_feedback', 'site_view']);
    const selected = await send();
    expect((await received(selected.body['eventId']))?.headers['x-platform-event']).toBe('page_feedback');
    await configure(['space_content_updated'], '/spaces/sp-1');
    const ofSpace = await send({}, '/spaces/sp-1');
    const request = await received(ofSpace.body['eventId']);
    expect(JSON.parse(request?.body ?? '')).toMatchObject({
      ...{ type: 'space_content_updated', spaceId: 'sp-1', revisionId: 'test' },
    });
  });

  test('is refused for a type that is not selected, with the selected ones', async () => {
    await configure(['page_feedback']);
    const unselected = await send({ type: 'site_view' });
    expect(codeOf(unselected)).toBe('409 EVENT_UNSELECTED');
    expect(unselected.error.message).toBe(
      '"events" does not select site_view, and only selected types are posted: it selects page_feedback.',
    );
    await configure([]);
    for (const json of [{}, { type: 'site_view' }]) {
      const none = await send(json);
      expect(codeOf(none)).toBe('409 EVENT_UNSELECTED');
      expect(none.error.message).toBe(
        '"events" selects no type of event, and only selected types are posted: choose from site_view, page_feedback.',
      );
    }
    // No event is stored.
    const { items } = (await ask(annex, 'GET', '/audit?limit=1')).body as { items: object[] };
    expect(items).toMatchObject([{ action: 'installation.edit' }]);
  });

  test.each([
    ['without a body', {}],
    ['with the type of a body that is not there', { headers: { 'content-type': 'application/json' } }],
  ])('can be requested %s', async (_, how) => {
    await configure(['page_feedback']);
    const { status, body } = await ask(annex, 'POST', `${at()}/webhook-test`, how);
    expect([status, body['deliveries']]).toEqual([202, 1]);
    expect((await received(body['eventId']))?.headers['x-platform-event']).toBe('page_feedback');
  });

  test('is refused for a type that is not selectable there, with those that are', async () => {
    await configure([], '/spaces/sp-1');
    const answers = [
      await send({ type: 'space_content_updated' }),
      await send({ type: 'site_view' }, '/spaces/sp-1'),
      await send({ type: 'nothing' }),
      await send({ kind: 'site_view' }),
    ];
    expect(answers.map(codeOf)).toEqual(Array(4).fill('400 REQUEST_INVALID'));
    const [inSite, inSpace] = answers.map(({ error }) => error.message);
    expect(inSite).toBe('body.type must be one of site_view, page_feedback.');
    expect(inSpace).toContain('space_content_updated');
  });

  test('can be requested by code in a call for that target', async () => {
    await configure(['site_view']);
    const tokens = async ({ endpoint }: Installed) =>
      ((await (await fetch(endpoint)).json()) as { installation: string }).installation;
    expect((await send({}, undefined, await tokens(site))).status).toBe(202);
    expect(codeOf(await send({}, undefined, await tokens(here)))).toBe('403 TOKEN_FORBIDDEN');
  });

  test('is refused for a target that gets no events, with the reason', async () => {
    const refused = async () => {
      const { status, error } = await send();
      return { status, ...error };
    };
    await configure(['site_view']);
    await ask(annex, 'POST', `${at()}/pause`);
    expect(await refused()).toMatchObject({
      ...{ status: 409, code: 'INSTALLATION_INACTIVE' },
      message: 'The site "si-1" is paused: it gets no events until it is resumed.',
    });
    await ask(annex, 'POST', `${at()}/resume`);
    await ask(annex, 'POST', `${at('')}/pause`);
    expect((await refused()).message).toBe(
      'The installation is paused: it gets no events until it is resumed.',
    );
    await ask(annex, 'POST', `${at('')}/resume`);
    // Only a target that is not active can become invalid by an edit.
    await ask(annex, 'POST', `${at()}/pause`);
    await ask(annex, 'PATCH', at(), { json: { configuration: { receiver: null } } });
    await ask(annex, 'POST', `${at()}/resume`);
    expect((await refused()).message).toMatch(
      /^The site "si-1" is pending: it gets no events until its configuration is valid\. .*receiver/,
    );
    await configure(['site_view']);
    expect((await send()).status).toBe(202);
  });

  test('exists only for integrations that post webhooks', async () => {
    expect(codeOf(await send({}, ''))).toBe('404 WEBHOOK_UNKNOWN');
  });
});

// Attack: test events that flood a receiver of someone else.
test('tests of a webhook count as edits of the installation', async () => {
  const annex = await TestService.start({ limits: { editsPerMinutePerInstallation: 2 } });
  onTestFinished(() => annex.stop());
  await publish(annex, 'posting');
  const here = await annex.install('posting', 'beach');
  await annex.installBelow('posting', here, 'site', 'si-1');
  const path = `/integrations/posting/installations/${here.id}/sites/si-1`;
  await ask(annex, 'PATCH', path, {
    json: { configuration: { receiver: 'https://hooks.invalid/', events: ['site_view'] } },
  });
  const { body } = await ask(annex, 'POST', '/tokens', {
    json: { kind: 'organization', organization: 'beach' },
  });
  const token = String(body['token']);
  const statuses: number[] = [];
  for (let times = 0; times < 3; times += 1)
    statuses.push((await ask(annex, 'POST', `${path}/webhook-test`, { token, json: {} })).status);
  expect(statuses).toEqual([202, 202, 429]);
});

async function publish(annex: TestService, name: string): Promise<void> {
  const form = new FormData();
  const head = `name: ${name}\ntitle: t\ndescription: d\norganization: acme\nvisibility: public`;
  form.append(
    'manifest',
    `${head}\nscopes: [space:content:read, site:views:read]\nscript: index.js\n${MANIFEST}`,
  );
  form.append('files', new Blob([SOURCE]), 'index.js');
  const { status, body } = await annex.api('POST', '/v1/integrations', { form });
  expect([status, body['problems']]).toEqual([201, body['problems']]);
}
