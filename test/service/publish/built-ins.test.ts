/**
 * Built-in integrations: published on a fresh service and when their content changes, else left
 * unchanged.
 */
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { type Service, startService } from '../../../src/service.ts';
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

// Attack: a token of the owner, or another integration of the same name, to change code that all
// have installed.
test('no token can be made for its owner, and no other integration can have its name', async () => {
  const annex = await startTestService({ flags: PUBLISHED });
  const json = { kind: 'organization', organization: 'annex.built-in' };
  expect(await ask(annex, 'POST', '/tokens', { json })).toMatchObject({
    status: 400,
    error: { code: 'REQUEST_INVALID', message: expect.stringContaining('tokens cannot be created for it') },
  });
  const files = { 'index.js': 'export default { fetch: () => new Response() };' };
  expect(await annex.tryPublish('webhook', files)).toMatchObject({ status: 422 });
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
    const integration = await service.store.registry.integration('webhook');
    if (integration) await service.store.registry.delete(integration, { cascade: false }, OPERATOR);
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
