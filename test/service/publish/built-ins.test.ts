/**
 * Built-in integrations: published on a fresh service and when their content changes, else left
 * unchanged.
 */
import pino from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/host/config.ts';
import { type Service, startService } from '../../../src/host/service.ts';
import { ask } from '../../support/installation-api.ts';
import { preparedProcesses } from '../../support/prepared-processes.ts';
import { startTestService } from '../../support/service.ts';
import { OPERATOR, published, temporaryFolder } from '../../support/store/temporary-store.ts';

const PUBLISHED = ['--built-ins', 'publish'];

test('a new service has the webhook integration: public, owned by no real organization, and installable by all', async () => {
  const annex = await startTestService({ flags: PUBLISHED });
  const { body: made } = await ask(annex, 'POST', '/tokens', {
    json: { kind: 'organization', organization: 'beach' },
  });
  const token = String(made['token']);
  const { body } = await ask(annex, 'GET', '/integrations/webhook', { token });
  expect(body).toMatchObject({
    ...{ name: 'webhook', visibility: 'public', version: 1, organization: 'annex.built-in' },
    icon: expect.stringMatching(/icon\.png$/),
  });
  const installed = await ask(annex, 'POST', '/integrations/webhook/installations', {
    token,
    json: { organization: 'beach' },
  });
  expect(installed.status).toBe(201);
  const site = `/integrations/webhook/installations/${installed.body['id']}/sites`;
  expect((await ask(annex, 'POST', site, { token, json: { site: 'docs' } })).status).toBe(201);
  const configuration = { webhook_url: 'https://hooks.example.com/', event_types: ['site_view'] };
  expect((await ask(annex, 'PATCH', `${site}/docs`, { token, json: { configuration } })).body).toMatchObject({
    status: 'active',
  });
});

// Attack: a token of the owner, to change code that all have installed.
test('no token can be made for its owner', async () => {
  const annex = await startTestService({ flags: PUBLISHED });
  const json = { kind: 'organization', organization: 'annex.built-in' };
  expect(await ask(annex, 'POST', '/tokens', { json })).toMatchObject({
    status: 400,
    error: { code: 'REQUEST_INVALID', message: expect.stringContaining('tokens cannot be created for it') },
  });
});

describe('an integration with the name of a built-in one', () => {
  const OWN = { 'index.js': 'export default { fetch: () => new Response("own") };' };
  const at = (id: unknown) => `/integrations/webhook/installations/${id}`;

  /** A service with the built-in in the site of `beach`, and tokens of organizations. */
  async function open() {
    const annex = await startTestService({ flags: PUBLISHED });
    const tokenOf = async (organization: string) => {
      const json = { kind: 'organization', organization };
      return String((await ask(annex, 'POST', '/tokens', { json })).body['token']);
    };
    const install = (organization: string, token?: string) =>
      ask(annex, 'POST', '/integrations/webhook/installations', {
        json: { organization },
        ...(token && { token }),
      });
    const { id } = (await install('beach')).body;
    const site = `${at(id)}/sites/docs`;
    await ask(annex, 'POST', `${at(id)}/sites`, { json: { site: 'docs' } });
    const configuration = { webhook_url: 'https://hooks.example.com/', event_types: ['site_view'] };
    await ask(annex, 'PATCH', site, { json: { configuration } });
    return { annex, tokenOf, install, id, site };
  }

  test('gets the name, an endpoint and version numbers of its own; installations of the built-in keep it', async () => {
    const { annex, install, id, site } = await open();
    const before = (await ask(annex, 'GET', site)).body;
    const { body: builtIn } = await ask(annex, 'GET', '/integrations/webhook');
    await annex.publish('webhook', OWN);
    const { body: own } = await ask(annex, 'GET', '/integrations/webhook');
    expect(own).toMatchObject({ name: 'webhook', organization: 'acme', version: 2 });
    const urlsOf = ({ urls }: Record<string, unknown>) => urls as { publicEndpoint: string };
    expect(urlsOf(own).publicEndpoint).not.toBe(urlsOf(builtIn).publicEndpoint);
    expect((await ask(annex, 'GET', '/integrations/webhook-built-in')).body).toMatchObject({
      ...{ organization: 'annex.built-in', version: 1, verified: true },
      urls: { publicEndpoint: urlsOf(builtIn).publicEndpoint },
      icon: `${urlsOf(builtIn).publicEndpoint}/~assets/icon.png`,
    });
    for (const path of [site, site.replace('/webhook/', '/webhook-built-in/')])
      expect((await ask(annex, 'GET', path)).body).toMatchObject({
        ...{ integration: 'webhook-built-in', status: 'active', configuration: before['configuration'] },
        urls: { publicEndpoint: urlsOf(before).publicEndpoint },
      });
    const secret = await ask(annex, 'GET', `${site}/webhook-secret`);
    expect(secret.status).toBe(200);
    expect((await ask(annex, 'POST', `${site}/webhook-test`, { json: {} })).status).toBeLessThan(300);
    const body = { type: 'site_view', organization: 'beach', siteId: 'docs', url: 'https://x.example/' };
    const visitor = { anonymousId: 'v', userAgent: 'u', ip: '192.0.2.1', cookies: {}, type: 'agent' };
    const posted = await ask(annex, 'POST', '/events', { json: { ...body, referrer: '', visitor } });
    expect(posted).toMatchObject({ status: 202, body: { deliveries: 1 } });

    const fresh = await install('beach');
    expect(fresh).toMatchObject({ status: 201, body: { integration: 'webhook' } });
    expect(await (await fetch(urlsOf(fresh.body).publicEndpoint)).text()).toBe('own');
    expect(fresh.body['id']).not.toBe(id);
    expect((await ask(annex, 'DELETE', at(id))).status).toBe(204);
  });

  // Attack: an organization takes the name from all others, which then install its code.
  test('is private where an organization publishes it: all others still find the built-in', async () => {
    const { annex, tokenOf, install } = await open();
    const [acme, hill] = [await tokenOf('acme'), await tokenOf('hill')];
    const publish = (visibility: string, token: string) => {
      const form = new FormData();
      const manifest = `name: webhook\ntitle: t\ndescription: d\norganization: acme\nvisibility: ${visibility}\nscopes: []\n`;
      form.append('manifest', manifest);
      form.append('script', OWN['index.js']);
      return annex.api('POST', '/v1/integrations', { form, token });
    };
    const refusal = {
      status: 422,
      body: { error: { problems: [{ hint: expect.stringContaining('visibility: private') }] } },
    };
    expect(await publish('public', acme)).toMatchObject(refusal);
    expect(await publish('private', acme)).toMatchObject({ status: 201 });
    expect(await publish('public', acme)).toMatchObject(refusal);
    const name = async (token: string) =>
      (await ask(annex, 'GET', '/integrations/webhook', { token })).body['name'];
    expect([await name(acme), await name(hill)]).toEqual(['webhook', 'webhook-built-in']);
    for (const token of [hill, undefined])
      expect(await install(token === undefined ? 'lake' : 'hill', token)).toMatchObject({
        status: 201,
        body: { integration: 'webhook-built-in' },
      });
    expect(await install('acme', acme)).toMatchObject({ status: 201, body: { integration: 'webhook' } });
    expect(await publish('public', annex.admin)).toMatchObject({ status: 201 });
    expect(await name(hill)).toBe('webhook');
  });
});

test('it is published again only if its content has changed; a version that the operator activates, and a deletion, last', async () => {
  const folder = await temporaryFolder();
  const run = async (work: (service: Service) => Promise<void>) => {
    const ports = ['--control-port', '0', '--public-port', '0', '--public-host', '127.0.0.1', '--cells', '1'];
    const config = readConfig(['--data', folder, ...ports], {});
    const prepared = await preparedProcesses(config);
    const service = await startService(config, pino({ level: 'silent' }), { prepared });
    onTestFinished(() => service.stop());
    await work(service);
    await service.stop();
  };
  const versionOf = async ({ store }: Service) =>
    (await store.registry.integration('webhook'))?.activeVersion;
  await run(async (service) => expect(await versionOf(service)).toBe(1));
  await run(async (service) => {
    expect(await versionOf(service)).toBe(1);
    // The recorded content now differs, as after an upgrade.
    await service.store.builtIns.published('webhook', 'another');
  });
  await run(async (service) => {
    expect(await versionOf(service)).toBe(2);
    await service.store.registry.activate('webhook', 1, OPERATOR);
  });
  await run(async (service) => {
    expect(await versionOf(service)).toBe(1);
    const manifest = published({ name: 'webhook' });
    const own = { manifest, script: '', sourceMap: '{}', secrets: new Map() };
    await service.store.registry.publish(own, OPERATOR);
    await service.store.builtIns.published('webhook', 'another');
  });
  // Also under the name that it has since.
  await run(async ({ store: { registry } }) => {
    expect(await registry.integration('webhook')).toMatchObject({ organization: 'acme', activeVersion: 3 });
    const moved = await registry.integration('webhook-built-in');
    expect(moved).toMatchObject({ organization: 'annex.built-in', activeVersion: 3 });
    for (const organization of ['acme', 'annex.built-in'])
      await registry.delete(
        { name: organization === 'acme' ? 'webhook' : 'webhook-built-in', organization },
        { cascade: false },
        OPERATOR,
      );
  });
  await run(async (service) => expect(await versionOf(service)).toBeUndefined());
});

test('an integration that already has the name keeps it, and the service starts', async () => {
  const folder = await temporaryFolder();
  const lines: string[] = [];
  const run = async (builtIns: string, work: (service: Service) => Promise<void>) => {
    const place = [
      '--data',
      folder,
      '--control-port',
      '0',
      '--public-port',
      '0',
      '--public-host',
      '127.0.0.1',
    ];
    const config = readConfig([...place, '--cells', '1', '--built-ins', builtIns], {});
    const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
    const service = await startService(config, log, { prepared: await preparedProcesses(config) });
    onTestFinished(() => service.stop());
    await work(service);
    await service.stop();
  };
  await run('none', async ({ store }) => {
    expect(await store.registry.integration('webhook')).toBeUndefined();
    const manifest = published({ name: 'webhook' });
    await store.registry.publish({ manifest, script: '', sourceMap: '{}', secrets: new Map() }, OPERATOR);
  });
  await run('publish', async ({ store }) => {
    expect(await store.registry.integration('webhook')).toMatchObject({
      organization: 'acme',
      activeVersion: 1,
    });
  });
  expect(lines.join('')).toContain('belongs to another organization');
});
