/**
 * Install links: the only way for other organizations to install an unlisted integration
 * (docs/contract/manifest.md#install-links).
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/host/store/store.ts';
import { type Answer, ask, codeOf, type Question, SOURCE } from '../../support/installation-api.ts';
import { TestService } from '../../support/service.ts';
import { OPERATOR, published, storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';
import { storedText } from '../../support/store/test-engine.ts';

let annex: TestService;
/** Tokens of acme, the publisher; of guest, which gets links; of stranger, which gets none. */
const tokens = new Map<string, string>();
let count = 0;

beforeAll(async () => {
  annex = await TestService.start();
  for (const organization of ['acme', 'guest', 'stranger']) {
    const json = { kind: 'organization', organization };
    tokens.set(organization, String((await annex.api('POST', '/v1/tokens', { json })).body['token']));
  }
  tokens.set('platform', annex.platform);
  return () => annex.stop();
});

/** Calls the API as an organization, as the host product or, by default, as the operator. */
const as = (whose: string, method: string, path: string, question: Question = {}): Promise<Answer> =>
  ask(annex, method, path, { ...question, token: tokens.get(whose) ?? annex.admin });

async function publish(name: string, visibility: string): Promise<void> {
  const form = new FormData();
  form.append(
    'manifest',
    `name: ${name}\ntitle: Hidden\ndescription: By link.\norganization: acme\nvisibility: ${visibility}\nscopes: []\nscript: index.js\n`,
  );
  form.append('files', new Blob([SOURCE]), 'index.js');
  const { status, body } = await annex.api('POST', '/v1/integrations', { form });
  if (status !== 201) throw new Error(`publish answered ${status}: ${JSON.stringify(body)}`);
}

/** A fresh integration, and the token of its link. */
async function linked(visibility = 'unlisted'): Promise<{ name: string; token: string }> {
  count += 1;
  const name = `hidden-${count}`;
  await publish(name, visibility);
  return { name, token: await newLink(name) };
}

async function newLink(name: string): Promise<string> {
  const made = await as('acme', 'POST', `/integrations/${name}/install-link`);
  expect(made.status).toBe(201);
  return String(made.body['token']);
}

const install = (whose: string, name: string, installToken?: string, organization = whose) =>
  as(whose, 'POST', `/integrations/${name}/installations`, {
    json: { organization, ...(installToken !== undefined && { installToken }) },
  });

/** A refusal without the members that differ between requests. */
const bare = ({ text }: Answer, name: string): string =>
  text.replaceAll(name, 'NAME').replace(/"requestId":"[^"]*"/, '');

const WRONG = `annex_install_${'x'.repeat(43)}`;

test('a link shows its integration to its holders', async () => {
  const { name, token } = await linked();
  expect(token).toMatch(/^annex_install_[A-Za-z0-9_-]{43}$/);
  for (const whose of ['guest', 'acme', 'platform', 'admin']) {
    const { status, body } = await as(whose, 'GET', `/install-links/${token}`);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        integration: name,
        title: 'Hidden',
        description: 'By link.',
        visibility: 'unlisted',
        organization: 'acme',
      },
    });
  }
  for (const wrong of [WRONG, 'x', token.slice(0, -1)]) {
    const refused = await as('guest', 'GET', `/install-links/${wrong}`);
    expect(codeOf(refused)).toBe('404 INSTALL_LINK_UNKNOWN');
    expect(refused.error.message).toBe(
      'There is no install link with this token; it may have been replaced.',
    );
  }
});

test('with the link it can be installed; without one, or with a wrong one, it is unknown, to the byte', async () => {
  const { name, token } = await linked();
  const other = await linked();
  const nothing = await install('guest', 'nothing', token);
  expect(codeOf(nothing)).toBe('404 INTEGRATION_UNKNOWN');
  for (const wrong of [undefined, WRONG, 'x', '', other.token]) {
    const refused = await install('guest', name, wrong);
    expect([refused.status, bare(refused, name)]).toEqual([404, bare(nothing, 'nothing')]);
  }
  const installed = await install('guest', name, token);
  expect(installed.status).toBe(201);
  expect(installed.text).not.toContain(token);
  // After the install it stays visible.
  expect((await as('guest', 'GET', `/integrations/${name}`)).body['name']).toBe(name);
  expect(codeOf(await as('stranger', 'GET', `/integrations/${name}`))).toBe('404 INTEGRATION_UNKNOWN');
  const path = `/integrations/${name}/installations`;
  expect((await as('guest', 'GET', path)).body['items']).toEqual([installed.body]);
  expect(codeOf(await as('stranger', 'GET', path))).toBe('404 INTEGRATION_UNKNOWN');
  expect(codeOf(await install('guest', name, token))).toBe('409 INSTALLATION_EXISTS');
});

test('the host product, which sees the integration, gets an error that asks for the link', async () => {
  const { name, token } = await linked();
  for (const whose of ['platform', 'admin']) {
    for (const wrong of [undefined, WRONG]) {
      const refused = await install(whose, name, wrong, 'guest');
      expect(codeOf(refused)).toBe('403 INSTALLATION_FORBIDDEN');
      const hint = wrong === undefined ? 'Send the token of its install link' : 'it may have been replaced';
      expect(refused.error.message).toContain(hint);
    }
  }
  expect((await install('platform', name, token, 'guest')).status).toBe(201);
  expect((await install('platform', name, undefined, 'acme')).status).toBe(201);
});

test('a replaced or deleted link is invalid; installations that were made with it stay', async () => {
  const { name, token } = await linked();
  const { body } = await install('guest', name, token);
  const second = await newLink(name);
  const opens = async (link: string) => [
    (await as('stranger', 'GET', `/install-links/${link}`)).status,
    (await install('stranger', name, link)).status,
  ];
  expect(await opens(token)).toEqual([404, 404]);
  expect(await opens(second)).toEqual([200, 201]);
  expect((await as('acme', 'DELETE', `/integrations/${name}/install-link`)).status).toBe(204);
  expect((await as('guest', 'GET', `/install-links/${second}`)).status).toBe(404);
  expect((await as('guest', 'GET', `/integrations/${name}/installations/${body['id']}`)).status).toBe(200);
  const again = await as('acme', 'DELETE', `/integrations/${name}/install-link`);
  expect(codeOf(again)).toBe('404 INSTALL_LINK_UNKNOWN');
});

test('a link does not open a private integration, and a public one needs none', async () => {
  const { name, token } = await linked('private');
  const tried = async () => [
    (await as('guest', 'GET', `/install-links/${token}`)).status,
    (await install('guest', name, token)).status,
  ];
  expect(await tried()).toEqual([404, 404]);
  await publish(name, 'unlisted');
  expect(await tried()).toEqual([200, 201]);
  await publish(name, 'public');
  expect((await install('stranger', name, WRONG)).status).toBe(201);
});

describe('only the owner may manage links', () => {
  test.each(['POST', 'DELETE'])('%s', async (method) => {
    const { name, token } = await linked();
    const path = `/integrations/${name}/install-link`;
    const hidden = await as('stranger', method, path);
    const absent = await as('stranger', method, '/integrations/nothing/install-link');
    expect(codeOf(hidden)).toBe('404 INTEGRATION_UNKNOWN');
    expect(bare(hidden, name)).toBe(bare(absent, 'nothing'));
    expect(codeOf(await as('platform', method, path))).toBe('403 TOKEN_FORBIDDEN');
    expect(codeOf(await as('acme', method, `${path}?surprise=1`))).toBe('400 REQUEST_INVALID');
    const wordy = await as('acme', method, path, { json: { surprise: 1 } });
    expect(codeOf(wordy)).toBe('400 REQUEST_INVALID');
    expect((await as('guest', 'GET', `/install-links/${token}`)).status).toBe(200);
    expect((await as('admin', method, path)).status).toBeLessThan(300);
  });
});

test('a malformed token is refused before the look-up', async () => {
  const { name } = await linked();
  for (const [installToken, message] of [
    [7, 'body.installToken must be string.'],
    ['x'.repeat(129), 'body.installToken '],
  ] as const) {
    const json = { organization: 'guest', installToken };
    const refused = await as('guest', 'POST', `/integrations/${name}/installations`, { json });
    expect(codeOf(refused)).toBe('400 REQUEST_INVALID');
    expect(refused.error.message).toContain(message);
  }
  expect(codeOf(await as('guest', 'GET', `/install-links/${'x'.repeat(129)}`))).toBe('400 REQUEST_INVALID');
});

test('the audit has the principals that create and delete a link, and never its token', async () => {
  const { name, token } = await linked();
  await as('acme', 'DELETE', `/integrations/${name}/install-link`);
  const { items } = await annex.service.store.audit.list({ integration: name, limit: 3 });
  expect(items).toMatchObject([
    { action: 'install-link.delete', actor: 'organization', organization: 'acme' },
    { action: 'install-link.create', actor: 'organization', organization: 'acme' },
    { action: 'integration.publish' },
  ]);
  expect(JSON.stringify(items)).not.toContain(token);
});

test('only the hash of a link’s token is stored', async () => {
  const folder = await temporaryFolder();
  const store = await openStore(storeOptions(folder));
  const version = { manifest: published(), script: '', sourceMap: '{}', secrets: new Map() };
  await store.registry.publish(version, OPERATOR);
  const token = await store.installLinks.create('hello', OPERATOR);
  expect(await store.installLinks.integration(token)).toMatchObject({ name: 'hello' });
  await store.close();
  const written = await storedText(folder);
  expect(written).not.toContain(token.slice('annex_install_'.length));
  expect(written).toContain('hello');
});
