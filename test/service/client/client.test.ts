/** The client against a real service: each noun of the API, typed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Annex, AnnexError, type DeliveryChange, VERSION } from '../../../packages/client/src/index.ts';
import { uploadFolder } from '../../../src/local/demo/folder-form-data.ts';
import { ROOT } from '../../support/repository/sources.ts';
import { TestService } from '../../support/service.ts';

const MANIFEST = `name: greeter
title: Greeter
description: For a test.
organization: acme
visibility: public
target: all
scopes: [space:content:read]
script: index.tsx
secrets:
  KEY: $KEY
blocks:
  - id: greeting
    title: Greeting
    description: Greets.
configurations:
  account:
    properties:
      greeting:
        type: string
        title: Greeting
        description: The word.
        default: Hello
`;

const SCRIPT = `import { createComponent, createIntegration } from '@annex/sdk';
export default createIntegration({
  fetch() { return new Response('hi'); },
  events: { space_content_updated(event) { console.log('updated ' + event.revisionId); } },
  components: [createComponent({
    componentId: 'greeting',
    async render() { return <block><text>Hello</text></block>; },
  })],
});
`;

let service: TestService;
let annex: Annex;
let installationId: string;

beforeAll(async () => {
  service = await TestService.start();
  annex = new Annex({ url: `${service.service.controlUrl}/v1/`, token: service.admin });
  await annex.integrations.publish({
    manifest: MANIFEST,
    secrets: { KEY: 'first' },
    files: [new File([SCRIPT], 'index.tsx')],
  });
  const installation = await annex.installations.create('greeter', { organization: 'org-1' });
  installationId = installation.id;
});
afterAll(() => service.stop());

async function listed<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const failure = (reply: PromiseLike<unknown>): Promise<AnnexError> =>
  Promise.resolve(reply).then(
    () => expect.unreachable('The request succeeded.'),
    (error) => error,
  );

test('integrations, images and versions', async () => {
  const published = await annex.integrations.publish(await uploadFolder(`${ROOT}fixtures/webhook`));
  expect(published).toMatchObject({ integration: 'webhook', version: 1, warnings: [] });
  const names = (await listed(annex.integrations.all({ limit: 1 }))).map(({ name }) => name);
  expect(names).toEqual(['greeter', 'webhook']);
  const icon = await annex.images.get('webhook', 'icon.png');
  expect(icon?.type).toBe('image/png');
  expect([...new Uint8Array((await icon?.arrayBuffer()) ?? []).slice(1, 4)]).toEqual([0x50, 0x4e, 0x47]);
  expect((await annex.versions.list('webhook')).items).toMatchObject([{ version: 1, active: true }]);
  expect(await annex.versions.activate('webhook', 1)).toEqual({ integration: 'webhook', version: 1 });
  expect((await annex.integrations.get('greeter')).scopes).toEqual(['space:content:read']);
  expect(await annex.integrations.delete('webhook')).toBeUndefined();
  expect(await failure(annex.integrations.get('webhook'))).toMatchObject({
    status: 404,
    code: 'INTEGRATION_UNKNOWN',
  });
});

test('a refused publish has its problems, and the error the id of its request', async () => {
  const error = await failure(
    annex.integrations.publish({ manifest: MANIFEST, files: [new File(['export default {'], 'index.tsx')] }),
  );
  expect(error).toBeInstanceOf(AnnexError);
  expect(error).toMatchObject({ status: 422, code: 'PUBLISH_INVALID' });
  expect(error.problems[0]).toMatchObject({ severity: 'error', file: 'index.tsx', line: 1 });
  expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
});

test('limits, secrets and install links', async () => {
  await annex.limits.set('greeter', { callWallMs: 5_000 });
  expect((await annex.limits.get('greeter')).lowered).toEqual(['callWallMs']);
  await annex.limits.delete('greeter');
  await annex.secrets.set('greeter', { KEY: 'second' });
  expect((await annex.secrets.list('greeter')).items).toMatchObject([{ name: 'KEY' }]);
  const { token } = await annex.installLinks.create('greeter');
  expect(await annex.installLinks.get(token)).toMatchObject({ integration: 'greeter' });
  await annex.installLinks.delete('greeter');
  expect(await failure(annex.installLinks.get(token))).toMatchObject({ status: 404 });
});

test('installations: conditions, edits, settings, pauses', async () => {
  const { body, headers } = await annex.installations.get('greeter', installationId).answer();
  expect(body.status).toBe('active');
  const etag = headers.get('etag') ?? '';
  const unchanged = await annex.installations.get('greeter', installationId, { ifNoneMatch: etag }).answer();
  expect(unchanged).toMatchObject({ status: 304, body: undefined });
  const edited = await annex.installations.update(
    'greeter',
    installationId,
    { configuration: { greeting: 'Hi' }, externalIds: ['team/1'] },
    { configuration: 'replace', ifMatch: etag },
  );
  expect(edited.configuration).toEqual({ greeting: 'Hi' });
  expect(
    await failure(annex.installations.pause('greeter', installationId, { ifMatch: etag })),
  ).toMatchObject({
    code: 'INSTALLATION_CHANGED',
  });
  expect((await annex.installations.pause('greeter', installationId)).status).toBe('paused');
  expect((await annex.installations.resume('greeter', installationId)).status).toBe('active');
  const found = await annex.installations.list('greeter', { externalId: 'team/1' });
  expect(found.items.map(({ id }) => id)).toEqual([installationId]);
  const form = await annex.installations.getConfiguration('greeter', installationId);
  expect(JSON.stringify(form)).toContain('"greeting"');
});

test('spaces and sites', async () => {
  for (const space of ['sp-1', 'sp-2', 'sp-3'])
    await annex.spaces.create('greeter', installationId, { space });
  const spaces = await listed(annex.spaces.all('greeter', installationId, { limit: 2 }));
  expect(spaces.map(({ space }) => space)).toEqual(['sp-1', 'sp-2', 'sp-3']);
  expect(await listed(annex.integrations.allSpaces('greeter'))).toHaveLength(3);
  await annex.spaces.delete('greeter', installationId, 'sp-3');
  const site = await annex.sites.create('greeter', installationId, { site: 'st-1' });
  expect(site).toMatchObject({ installation: installationId, site: 'st-1' });
  expect((await annex.sites.get('greeter', installationId, 'st-1')).status).toBe('active');
  await annex.sites.delete('greeter', installationId, 'st-1');
});

test('drawings and blocks', async () => {
  const drawn = await annex.installations.render('greeter', installationId, { componentId: 'greeting' });
  expect(drawn).toMatchObject({ type: 'element', element: { type: 'block' } });
  const { body, headers } = await annex.installations
    .getRendering('greeter', installationId, { componentId: 'greeting' })
    .answer();
  expect(body.type).toBe('element');
  const etag = headers.get('etag') ?? '';
  const query = { componentId: 'greeting' };
  expect(
    await annex.installations.getRendering('greeter', installationId, query, { ifNoneMatch: etag }),
  ).toBeUndefined();
  const { items } = await annex.blocks.list({ organization: 'org-1' });
  expect(items).toMatchObject([{ integration: 'greeter' }]);
});

test('events, deliveries and logs, listed and followed', async () => {
  const event = {
    type: 'space_content_updated',
    organization: 'org-1',
    spaceId: 'sp-1',
    revisionId: 'r1',
  } as const;
  const stop = new AbortController();
  const changes: DeliveryChange[] = [];
  const followed = (async () => {
    const options = { signal: stop.signal, onOpen: () => opened.resolve(undefined) };
    for await (const change of annex.deliveries.follow({ installation: installationId }, options)) {
      changes.push(change);
      if (change.change === 'delivered') break;
    }
  })();
  const opened = Promise.withResolvers<undefined>();
  await opened.promise;
  const posted = await annex.events.post(event);
  expect(posted).toEqual({ eventId: expect.stringMatching(/^[0-9a-f]{32}$/), deliveries: 1 });
  await followed;
  expect(changes.map(({ change }) => change)).toEqual(['accepted', 'delivered']);
  const eventId = String(changes[0]?.delivery.eventId);
  expect(await annex.events.get(eventId)).toMatchObject({ type: 'space_content_updated' });
  const [delivery] = await listed(annex.deliveries.all({ event: eventId }));
  expect(await annex.deliveries.get(String(delivery?.id))).toMatchObject({
    state: 'delivered',
    history: [{}],
  });
  for await (const line of annex.logs.follow({ installation: installationId, limit: 1 })) {
    expect(line.text).toBe('updated r1');
    break;
  }
  expect((await annex.deliveries.redeliver(String(delivery?.id))).state).toBe('pending');
  expect(await annex.deliveries.replay({ installation: installationId })).toEqual({ replayed: 0 });
  expect(
    await failure(annex.deliveries.follow({ installation: 'none' })[Symbol.asyncIterator]().next()),
  ).toMatchObject({
    code: 'INSTALLATION_UNKNOWN',
  });
});

test('tokens, the audit and keys', async () => {
  const { id, token } = await annex.tokens.create({ kind: 'organization', organization: 'acme' });
  const author = new Annex({ url: service.service.controlUrl, token: () => token });
  expect((await author.integrations.list()).items).toHaveLength(1);
  expect(await failure(author.tokens.list())).toMatchObject({ status: 403, code: 'TOKEN_FORBIDDEN' });
  expect(await failure(author.tasks.queue('greeter', { task: 1 }))).toMatchObject({ status: 403 });
  expect(await annex.tokens.introspect({ token: 'x' })).toEqual({ active: false });
  await annex.tokens.delete(id);
  expect(await failure(author.integrations.list())).toMatchObject({ status: 401, code: 'TOKEN_INVALID' });
  const actions = (await listed(annex.audit.all({ limit: 1 }))).map(({ action }) => action);
  expect(actions).toContain('token.revoke');
  expect((await annex.statementKeys.rotate()).keys.length).toBeGreaterThan(0);
});

test('what has no type is reached too, and the version of the service is known', async () => {
  const { items } = await annex.request<{ items: unknown[] }>('GET', '/v1/deliveries', {
    query: { limit: 1 },
  });
  expect(items).toHaveLength(1);
  const response = await annex.open('GET', '/v1/openapi.json');
  expect(await response.json()).toMatchObject({ openapi: '3.1.0' });
  expect(annex.serverVersion).toBe(VERSION);
  expect(await failure(annex.request('GET', '/v1/nothing'))).toMatchObject({ code: 'ROUTE_UNKNOWN' });
});
