/**
 * Endpoints of four levels (docs/contract/endpoints.md#levels): the integration's own, and those of
 * an installation, a space and a site, for code that came from elsewhere and for code of the SDK.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signatureHeader } from '../../../src/model/signature.ts';
import { MODULE_WORKER, type Shown } from '../../support/module-worker.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

const LEVELS = ['integration', 'organization', 'space', 'site'] as const;
const POLL = { timeout: 90_000 };
type LevelName = (typeof LEVELS)[number];
type Endpoints = Readonly<Record<LevelName, Installed>>;

/** Publishes and installs at all levels. @returns the endpoint of each */
async function deployAtAllLevels(annex: TestService, name: string, source: string): Promise<Endpoints> {
  await annex.publish(name, { 'index.js': source }, 'target: all\n');
  const organization = await annex.install(name);
  return {
    integration: await ownEndpoint(annex, name),
    organization,
    space: await annex.installBelow(name, organization, 'space', 'sp-1'),
    site: await annex.installBelow(name, organization, 'site', 'si-1'),
  };
}

async function ownEndpoint(annex: TestService, name: string): Promise<Installed> {
  const { body } = await annex.api('GET', `/v1/integrations/${name}`);
  return { id: '', endpoint: (body['urls'] as { publicEndpoint: string }).publicEndpoint };
}

const shown = async (answer: Response | Promise<Response>): Promise<Shown> =>
  (await (await answer).json()) as Shown;

describe('at each level', () => {
  let annex: TestService;
  let at: Endpoints;
  beforeAll(async () => {
    annex = await TestService.start();
    at = await deployAtAllLevels(annex, 'four', MODULE_WORKER);
  });
  afterAll(() => annex.stop());

  test('endpoints differ, and none ends in a slash', () => {
    const endpoints = LEVELS.map((level) => at[level].endpoint);
    expect(new Set(endpoints).size).toBe(4);
    for (const endpoint of endpoints) expect(endpoint).toMatch(/\/[a-z2-7]{32}$/);
  });

  test.each(LEVELS)(
    'raw traffic reaches a module worker, and its envelope has the path /v1: %s',
    async (level) => {
      const { endpoint } = at[level];
      const { url, event, body } = await shown(
        fetch(`${endpoint}/a/b?c=d`, { method: 'PATCH', body: 'text' }),
      );
      expect(url).toBe(`${new URL(endpoint).origin}/v1`);
      expect(event.request).toMatchObject({ method: 'PATCH', url: `${endpoint}/a/b?c=d` });
      expect(body).toBe('text');
    },
  );

  test.each(LEVELS)('an envelope of the platform does, too: %s', async (level) => {
    const request = { method: 'get', url: `${at[level].endpoint}/x`, headers: {} };
    const { url, event, body } = await shown(
      annex.envelope(at[level], { type: 'fetch', request }, { body: 'a GET has none' }),
    );
    expect(url).toBe(`${new URL(at[level].endpoint).origin}/v1`);
    expect(event).toMatchObject({ eventId: expect.any(String), type: 'fetch', request });
    expect(body).toBeNull();
  });

  test.each(LEVELS)(
    'the environment names the endpoint of every level that the call sees: %s',
    async (level) => {
      const { environment } = await shown(fetch(at[level].endpoint));
      expect(environment.integration.urls.publicEndpoint).toBe(at.integration.endpoint);
      expect(environment.installation?.urls.publicEndpoint).toBe(
        level === 'integration' ? undefined : at.organization.endpoint,
      );
      expect(environment.urls?.publicEndpoint).toBe(level === 'integration' ? undefined : at[level].endpoint);
      for (const holder of [
        environment.integration,
        environment.installation,
        environment.urls && environment,
      ])
        if (holder) expect(holder.urls.publicContentEndpoint).toBe(holder.urls.publicEndpoint);
      expect(environment.integration).toMatchObject({ externalLinks: [] });
      expect(environment.apiEndpoint).toBe(annex.service.controlUrl);
    },
  );

  test('the integration sees no installation: neither members, nor its token, nor its secret', async () => {
    const { environment, event } = await shown(fetch(at.integration.endpoint));
    expect(Object.keys(environment).sort()).toEqual([
      ...['apiEndpoint', 'apiTokens', 'integration', 'secrets', 'signingSecrets'],
    ]);
    expect(Object.keys(environment.apiTokens)).toEqual(['integration']);
    expect(Object.keys(environment.signingSecrets)).toEqual(['integration']);
    expect(Object.keys(event).sort()).toEqual(['eventId', 'request', 'type']);
  });

  test('signing secrets are those of each target, and the one of the installation is its own', async () => {
    const secretsAt = async (level: LevelName) =>
      (await shown(fetch(at[level].endpoint))).environment.signingSecrets;
    const { integration, installation } = await secretsAt('organization');
    const [space, site] = [await secretsAt('space'), await secretsAt('site')];
    expect(space).toEqual({ integration, installation, spaceInstallation: expect.any(String) });
    expect(site).toEqual({ integration, installation, siteInstallation: expect.any(String) });
    const all = [integration, installation, space.spaceInstallation, site.siteInstallation];
    expect(new Set(all).size).toBe(4);
  });

  test('an envelope is verified with the secret of the most specific target, and no other', async () => {
    const { signingSecrets: ofSpace } = (await shown(fetch(at.space.endpoint))).environment;
    const { signingSecrets: ofSite } = (await shown(fetch(at.site.endpoint))).environment;
    const secrets: Record<LevelName, string> = {
      integration: ofSpace.integration,
      organization: ofSpace.installation,
      space: ofSpace.spaceInstallation,
      site: ofSite.siteInstallation,
    };
    const part = (name: string, value: string) =>
      `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    for (const level of LEVELS) {
      for (const signer of LEVELS) {
        const body = `${part('event', `{"type":"note","by":"${signer}"}`)}${part('environment', '{}')}--b--`;
        const now = Math.floor(Date.now() / 1_000);
        const answer = await fetch(`${at[level].endpoint}/v1`, {
          method: 'POST',
          headers: {
            'content-type': 'multipart/form-data; boundary=b',
            'x-platform-signature': signatureHeader([secrets[signer]], now, Buffer.from(body)),
          },
          body,
        });
        expect([level, signer, answer.status]).toEqual([level, signer, level === signer ? 200 : 401]);
      }
    }
  });

  test('attack: an event of an installation at the endpoint of the integration is refused', async () => {
    const send = (event: object) => annex.envelope(at.integration, { type: 'note', ...event });
    const refused = await send({ installationId: at.organization.id });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: 'ENVELOPE_INVALID' } });
    // What an event is about is the sender's business.
    expect((await shown(send({ spaceId: 'sp-1', eventId: 'e-1' }))).event).toMatchObject({ eventId: 'e-1' });
  });

  test('module state of the integration is not shared with an installation', async () => {
    const calls = async (level: LevelName) => (await shown(fetch(at[level].endpoint))).calls;
    const [before, other] = [await calls('integration'), await calls('organization')];
    expect([await calls('space'), await calls('site')]).toEqual([other + 1, other + 2]);
    expect(await calls('integration')).toBe(before + 1);
  });

  test('members of `urls` that the host does not know come from the sender, and no others', async () => {
    const app = 'https://app.example.com/i/1';
    const environment = JSON.stringify({
      apiEndpoint: 'https://evil.example',
      integration: {
        name: 'evil',
        urls: { app, publicEndpoint: 'https://evil.example', location: 'https://e.example' },
      },
      installation: { urls: { app: 'javascript:alert(1)', icon: 7 } },
      spaceInstallation: { urls: { app: `https://app.example.com/${'x'.repeat(3_000)}`, assets: app } },
      siteInstallation: { urls: { app } },
    });
    const seen = (await shown(annex.envelope(at.space, { type: 'note' }, { environment }))).environment;
    const own = (await shown(fetch(at.space.endpoint))).environment;
    expect(seen).toEqual({
      ...own,
      apiTokens: seen.apiTokens,
      integration: { ...own.integration, urls: { ...own.integration.urls, app } },
      spaceInstallation: { ...own.spaceInstallation, urls: { ...own.urls, assets: app } },
      urls: { ...own.urls, assets: app },
    });
  });

  // Attack: an environment with another owner, or a proxy for what the code fetches.
  test('members of the owner come from a sender that names the same one, and no proxy comes from any', async () => {
    const own = (await shown(fetch(at.space.endpoint))).environment;
    const { id, urls } = own.integration.owner;
    const sentBy = async (owner: object) => {
      const environment = JSON.stringify({
        integration: { owner },
        network: { proxy: 'http://evil.example' },
      });
      return (await shown(annex.envelope(at.space, { type: 'note' }, { environment }))).environment;
    };
    const known = {
      title: 'Acme',
      urls: { app: 'https://app.example.com/o/1', location: 'https://e.example' },
    };
    const seen = await sentBy({ ...known, object: 'user', id, plan: 'pro' });
    const owner = {
      ...{ object: 'organization', id, title: 'Acme', plan: 'pro' },
      urls: { ...known.urls, ...urls },
    };
    expect(seen.integration.owner).toEqual(owner);
    expect(seen).not.toHaveProperty('network');
    for (const other of [{ ...known, id: 'other' }, known, 'acme'])
      expect((await sentBy(other as object)).integration.owner).toEqual(own.integration.owner);
  });

  test('`apiEndpoint` has no version: it is part of the path, once', async () => {
    const ask = async (path: string) => {
      const url = `${at.integration.endpoint}/api?at=${encodeURIComponent(path)}`;
      return (await (await fetch(url)).json()) as { status: number; body: string };
    };
    const read = await ask('/v1/integrations/four');
    expect([read.status, JSON.parse(read.body)]).toMatchObject([200, { name: 'four' }]);
    for (const path of ['/v1/v1/integrations/four', '/v1/orgs/x', '/integrations/four', '/metrics', '']) {
      const { status, body } = await ask(path);
      expect([path, status, JSON.parse(body).error.code]).toEqual([path, 404, 'ROUTE_UNKNOWN']);
    }
  });
});

describe('the endpoint of an integration', () => {
  test('is counted apart: what uses up its limits leaves installations and other integrations alone', async () => {
    const annex = await startTestService({
      limits: { callCpuMs: 100, breachesBeforeCoolDown: 1, coolDownMs: 60_000 },
    });
    const at = await deployAtAllLevels(annex, 'busy', MODULE_WORKER);
    await annex.publish('calm', { 'index.js': MODULE_WORKER });
    const calm = await ownEndpoint(annex, 'calm');
    const codeOf = async (url: string) => {
      const { error } = (await (await fetch(url)).json()) as { error?: { code: string } };
      return error?.code;
    };
    await expect.poll(() => codeOf(`${at.integration.endpoint}/spin`), POLL).toBe('INSTALLATION_COOLING');
    expect(await codeOf(at.integration.endpoint)).toBe('INSTALLATION_COOLING');
    for (const { endpoint } of [at.organization, at.space, calm])
      expect(await codeOf(endpoint)).toBeUndefined();
    // And the other way round.
    await expect.poll(() => codeOf(`${at.space.endpoint}/spin`), POLL).toBe('INSTALLATION_COOLING');
    expect(await codeOf(calm.endpoint)).toBeUndefined();
  });

  test('has a log of its own, for the owner and the operator', async () => {
    const annex = await startTestService();
    const at = await deployAtAllLevels(annex, 'logging', MODULE_WORKER);
    await fetch(`${at.integration.endpoint}/log`);
    await annex.service.store.logs.pass();
    const tokenOf = async (json: object) =>
      String((await annex.api('POST', '/v1/tokens', { json })).body['token']);
    const read = (query: string, token?: string) =>
      annex.api('GET', `/v1/logs?${query}`, token === undefined ? {} : { token });
    const owner = await tokenOf({ kind: 'organization', organization: 'acme' });
    for (const token of [owner, annex.admin]) {
      const { body } = await read('integration=logging', token);
      expect(body['items']).toMatchObject([
        { integration: 'logging', version: 1, level: 'info', text: 'a line of fetch [redacted]' },
      ]);
    }
    const installer = await tokenOf({ kind: 'organization', organization: 'org-1' });
    for (const token of [installer, annex.platform])
      expect(await read('integration=logging', token)).toMatchObject({
        status: 404,
        body: { error: { code: 'INTEGRATION_UNKNOWN' } },
      });
    expect((await read(`installation=${at.organization.id}`)).body['items']).toEqual([]);
    for (const query of ['', `integration=logging&installation=${at.organization.id}`])
      expect((await read(query)).status).toBe(400);
  });

  test('ends with the integration, with its log, and one published under the name has another', async () => {
    const annex = await startTestService();
    await annex.publish('short', { 'index.js': MODULE_WORKER });
    const before = await ownEndpoint(annex, 'short');
    await fetch(`${before.endpoint}/log`);
    expect((await annex.api('DELETE', '/v1/integrations/short')).status).toBe(204);
    const gone = await fetch(before.endpoint);
    expect([gone.status, await gone.json()]).toMatchObject([404, { error: { code: 'ENDPOINT_UNKNOWN' } }]);
    await annex.publish('short', { 'index.js': MODULE_WORKER });
    const after = await ownEndpoint(annex, 'short');
    expect(after.endpoint).not.toBe(before.endpoint);
    expect((await fetch(before.endpoint)).status).toBe(404);
    expect((await fetch(after.endpoint)).status).toBe(200);
    await annex.service.store.logs.pass();
    const { body } = await annex.api('GET', '/v1/logs?integration=short');
    expect(body['items']).toEqual([]);
    // It keeps its URL over versions.
    await annex.publish('short', { 'index.js': MODULE_WORKER });
    expect((await ownEndpoint(annex, 'short')).endpoint).toBe(after.endpoint);
    expect((await shown(fetch(after.endpoint))).environment.integration.version).toBe(3);
  });
});

test('code of the SDK sees the most specific target, at each level', async () => {
  const annex = await startTestService();
  const at = await deployAtAllLevels(
    annex,
    'mapped',
    `import { createIntegration } from '@annex/sdk';
    export default createIntegration({ fetch: (request, { environment }) => Response.json(environment) });`,
  );
  const seen = async (level: LevelName) =>
    (await (await fetch(at[level].endpoint)).json()) as Shown['environment'];
  for (const level of LEVELS) {
    const { integration, apiEndpoint, signingSecrets } = await seen(level);
    expect(integration.urls).toMatchObject({
      publicEndpoint: at[level].endpoint,
      publicContentEndpoint: at[level].endpoint,
      integrationEndpoint: at.integration.endpoint,
    });
    expect(apiEndpoint).toBe(`${annex.service.controlUrl}/v1`);
    const key = new URL(at[level].endpoint).pathname.slice(1);
    const own = level === 'integration' ? signingSecrets.integration : signingSecrets.installation;
    expect((await annex.service.targets.get(key))?.signingSecrets).toEqual([own]);
  }
});
