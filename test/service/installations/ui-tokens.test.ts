/**
 * Tokens for a page that configures one target: what they reach, from which pages, and how long.
 * `route-permissions.test.ts` has the routes that they do not reach.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UiTokens } from '../../../src/host/targets/ui-tokens.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { mintRuntimeToken } from '../../../src/model/runtime-token-format.ts';
import { readUiToken } from '../../../src/model/ui-token-format.ts';
import { ask, codeOf, type Question } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

const PROPERTIES = `
    properties:
      city: { type: string, title: City, completion_url: /cities }
      days: { type: number, title: Days }
      oauth_credentials: { type: button, title: Account, callback_url: /oauth }
      checked: { type: button, title: Check, callback_url: /check }
    required: [days]`;
const MANIFEST = `target: all
configurations:
  account:${PROPERTIES}
  space:${PROPERTIES}
  site:
    componentId: settings
`;
const CODE = `import { createComponent, createIntegration } from '@annex/sdk';
const drawn = (componentId) => createComponent({ componentId, initialState: {},
  action: async () => ({}),
  render: async () => ({ type: 'configuration', children: [{ type: 'text', children: ['Drawn'] }] }) });
export default createIntegration({
  components: [drawn('settings'), drawn('other')],
  fetch: () => Response.json([{ label: 'Oslo', value: 'oslo' }]),
});`;

const ORIGIN = 'https://app.example.com';
let annex: TestService;
let installed: Installed;
let path: string;

beforeAll(async () => {
  annex = await TestService.start();
  await annex.publish('city', { 'index.js': CODE }, MANIFEST);
  installed = await annex.install('city');
  path = `/integrations/city/installations/${installed.id}`;
  await ask(annex, 'POST', `${path}/spaces`, { json: { space: 'sp-1' } });
  await ask(annex, 'POST', `${path}/spaces`, { json: { space: 'sp-2' } });
  await ask(annex, 'POST', `${path}/sites`, { json: { site: 'si-1' } });
});
afterAll(() => annex.stop());

async function uiToken(of = path, json: object = {}): Promise<string> {
  return String((await ask(annex, 'POST', `${of}/ui-tokens`, { json })).body['token']);
}

describe('the configuration of its target', () => {
  test.each(['', '/spaces/sp-1'])('is read, saved and completed: %s', async (place) => {
    const at = `${path}${place}`;
    const token = await uiToken(at);
    const read = await ask(annex, 'GET', `${at}/configuration`, { token });
    expect(read.body).toMatchObject({ status: 'pending', problems: [{ property: 'days' }] });
    const json = { configuration: { days: 3 } };
    const ifMatch = read.headers.get('etag') ?? '';
    const saved = await ask(annex, 'PATCH', `${at}/configuration`, {
      ...{ token, json },
      headers: { 'if-match': ifMatch },
    });
    expect(saved.body).toMatchObject({ status: 'active' });
    expect(saved.headers.get('etag')).not.toBe(ifMatch);
    const again = { token, json: { configuration: { days: 4 } }, headers: { 'if-match': ifMatch } };
    expect(codeOf(await ask(annex, 'PATCH', `${at}/configuration`, again))).toBe('412 INSTALLATION_CHANGED');
    const asked = { token, json: { property: 'city', search: 'o' } };
    expect((await ask(annex, 'POST', `${at}/completions`, asked)).body).toEqual({
      options: [{ label: 'Oslo', value: 'oslo' }],
    });
  });

  test('is drawn where a component draws it: by that component, for nobody else', async () => {
    const at = `${path}/sites/si-1`;
    const token = await uiToken(at);
    const draw = (json: object) => ask(annex, 'POST', `${at}/render`, { token, json });
    expect((await draw({ componentId: 'settings' })).body).toMatchObject({ type: 'element' });
    for (const more of [
      { componentId: 'other' },
      { componentId: 'settings', auth: { userId: 'another' } },
      { componentId: 'settings', context: { type: 'site' } },
    ])
      expect(codeOf(await draw(more))).toBe('403 TOKEN_FORBIDDEN');
    const form = await ask(annex, 'POST', `${path}/render`, {
      token: await uiToken(),
      json: { componentId: 'settings' },
    });
    expect(codeOf(form)).toBe('403 TOKEN_FORBIDDEN');
  });

  // Attack: a person in a page stores credentials, a button's value, or a property of the product.
  test.each<object>([
    { oauth_credentials: { access_token: 'stolen' } },
    { checked: true },
    { plan: 'enterprise' },
    { constructor: 'x' },
  ])('has no field for %j', async (configuration) => {
    const answer = await ask(annex, 'PATCH', `${path}/configuration`, {
      token: await uiToken(),
      json: { configuration },
    });
    expect(codeOf(answer)).toBe('404 PROPERTY_UNKNOWN');
  });

  test('keeps what the manifest does not declare, and does not show it', async () => {
    await ask(annex, 'PATCH', path, { json: { configuration: { plan: 'free', days: 1 } } });
    const saved = await ask(annex, 'PATCH', `${path}/configuration`, {
      token: await uiToken(),
      json: { configuration: { days: 2, city: 'oslo' } },
    });
    expect(saved.text).not.toContain('free');
    const { body } = await ask(annex, 'GET', path);
    expect(body['configuration']).toEqual({ plan: 'free', days: 2, city: 'oslo' });
  });

  test('says which account is connected, and disconnects it', async () => {
    const oauth_credentials = { access_token: 'secret-1', account: 'ada@example.com' };
    await ask(annex, 'PATCH', path, { json: { configuration: { oauth_credentials } } });
    const token = await uiToken();
    const read = await ask(annex, 'GET', `${path}/configuration`, { token });
    expect(read.text).not.toContain('secret-1');
    const button = { name: 'oauth_credentials', isSet: true, account: 'ada@example.com' };
    expect(read.body['properties']).toContainEqual(expect.objectContaining(button));
    const json = { configuration: { oauth_credentials: null } };
    const saved = await ask(annex, 'PATCH', `${path}/configuration`, { token, json });
    const gone = { name: 'oauth_credentials', isSet: false };
    expect(saved.body['properties']).toContainEqual(expect.objectContaining(gone));
  });
});

describe('a token for a webhook', () => {
  const places = ['/spaces/garden', '/spaces/shed'];
  let target: string;
  let token: string;
  let deliveries: { id: string; space: string }[];
  const at = (place: string) => `${target}${place}`;
  const list = async (query = '', as = token) => ask(annex, 'GET', `/deliveries${query}`, { token: as });

  beforeAll(async () => {
    await annex.publishFixture('webhook');
    const { id } = await annex.install('webhook', 'acme');
    target = `/integrations/webhook/installations/${id}`;
    const configuration = {
      webhook_url: 'https://receiver.invalid/',
      event_types: ['space_content_updated'],
    };
    for (const place of places) {
      await ask(annex, 'POST', `${target}/spaces`, { json: { space: place.slice('/spaces/'.length) } });
      await ask(annex, 'PATCH', at(place), { json: { configuration } });
      await ask(annex, 'POST', `${at(place)}/webhook-test`);
    }
    token = await uiToken(at('/spaces/garden'), { webhook: true });
    const all = (await list(`?installation=${id}`, annex.admin)).body['items'];
    deliveries = all as { id: string; space: string }[];
    expect(deliveries.map(({ space }) => space).sort()).toEqual(['garden', 'shed']);
  });

  test('reads its state, its secret and its deliveries, tests it and delivers again', async () => {
    const read = await ask(annex, 'GET', `${at('/spaces/garden')}/webhook`, { token });
    expect(read.body).toMatchObject({ space: 'garden', types: [{ type: 'space_content_updated' }] });
    for (const [method, path, status] of [
      ['POST', '/webhook-secret/rotate', 200],
      ['POST', '/webhook-test', 202],
    ] as const)
      expect((await ask(annex, method, `${at('/spaces/garden')}${path}`, { token, json: {} })).status).toBe(
        status,
      );
    const secret = await ask(annex, 'GET', `${at('/spaces/garden')}/webhook-secret`, { token });
    expect(secret.body).toHaveProperty('secret');
    const enabled = await ask(annex, 'POST', `${at('/spaces/garden')}/webhook/enable`, { token });
    expect(codeOf(enabled)).toBe('409 WEBHOOK_ENABLED');
    const own = (await list()).body['items'] as { id: string; space: string }[];
    expect(new Set(own.map(({ space }) => space))).toEqual(new Set(['garden']));
    const [first] = deliveries.filter(({ space }) => space === 'garden');
    expect((await ask(annex, 'GET', `/deliveries/${first?.id}`, { token })).body['id']).toBe(first?.id);
    expect([200, 409]).toContain(
      (await ask(annex, 'POST', `/deliveries/${first?.id}/redeliver`, { token })).status,
    );
  });

  // Attack: a page reads or repeats what another space, installation or organization has got.
  test('reaches no other target and nothing else', async () => {
    const [foreign] = deliveries.filter(({ space }) => space === 'shed');
    for (const [method, path] of [
      ['GET', `/deliveries/${foreign?.id}`],
      ['POST', `/deliveries/${foreign?.id}/redeliver`],
    ] as const)
      expect(codeOf(await ask(annex, method, path, { token }))).toBe('404 DELIVERY_UNKNOWN');
    for (const query of [
      'space=shed',
      'organization=acme',
      'integration=webhook',
      `installation=${installed.id}`,
    ])
      expect(codeOf(await list(`?${query}`))).toBe('400 REQUEST_INVALID');
    expect(codeOf(await list('?follow=true'))).toBe('403 TOKEN_FORBIDDEN');
    for (const path of ['/webhook', '/webhook-secret'])
      expect(codeOf(await ask(annex, 'GET', `${at('/spaces/shed')}${path}`, { token }))).toBe(
        '404 INSTALLATION_UNKNOWN',
      );
    for (const [method, path] of [
      ['POST', `${at('/spaces/garden')}/webhook/disable`],
      ['POST', `/deliveries/${foreign?.id}/cancel`],
      ['GET', at('/spaces/garden')],
      ['GET', '/webhooks'],
    ] as const)
      expect(codeOf(await ask(annex, method, path, { token }))).toBe('403 TOKEN_FORBIDDEN');
  });

  test('is made so by name: a token for the form alone reads no secret and no delivery', async () => {
    const plain = await uiToken(at('/spaces/garden'));
    for (const path of [
      `${at('/spaces/garden')}/webhook-secret`,
      `${at('/spaces/garden')}/webhook`,
      '/deliveries',
    ])
      expect(codeOf(await ask(annex, 'GET', path, { token: plain }))).toBe('403 TOKEN_FORBIDDEN');
  });
});

test('a token reaches neither the installation, nor another place, nor another installation', async () => {
  const token = await uiToken(`${path}/spaces/sp-1`);
  const other = await annex.install('city');
  const code = async (method: string, at: string, more: Question = {}) =>
    codeOf(await ask(annex, method, at, { token, ...more }));
  expect(await code('GET', `${path}/spaces/sp-2/configuration`)).toBe('404 INSTALLATION_UNKNOWN');
  expect(await code('GET', `${path}/configuration`)).toBe('404 INSTALLATION_UNKNOWN');
  expect(await code('GET', `/integrations/city/installations/${other.id}/configuration`)).toBe(
    '404 INSTALLATION_UNKNOWN',
  );
  expect(await code('GET', `${path}/spaces/sp-1`)).toBe('403 TOKEN_FORBIDDEN');
  expect(await code('POST', `${path}/spaces/sp-1/ui-tokens`)).toBe('403 TOKEN_FORBIDDEN');
  expect(await code('POST', `${path}/spaces/sp-1/completions`, { json: { property: 'days' } })).toBe(
    '404 PROPERTY_UNKNOWN',
  );
});

describe('a page of an origin', () => {
  test('that the token names reads the answers, also that of an error', async () => {
    const token = await uiToken(path, { origins: [ORIGIN] });
    for (const at of [`${path}/configuration`, `${path}/spaces/sp-1/configuration`]) {
      const { headers } = await ask(annex, 'GET', at, { token, headers: { origin: ORIGIN } });
      expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(headers.get('vary')).toContain('origin');
    }
    for (const at of [path, path.replace('city', 'webhook')]) {
      const preflight = await fetch(`${annex.service.controlUrl}/v1${at}/configuration`, {
        method: 'OPTIONS',
        headers: { origin: ORIGIN, 'access-control-request-method': 'PATCH' },
      });
      expect(preflight.status, at).toBe(204);
      expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    }
  });

  test.each(['https://evil.example.com', 'null', `${ORIGIN}.evil.example`])(
    'that is %s is refused',
    async (origin) => {
      const token = await uiToken(path, { origins: [ORIGIN] });
      const answer = await ask(annex, 'GET', `${path}/configuration`, { token, headers: { origin } });
      expect(codeOf(answer)).toBe('403 TOKEN_FORBIDDEN');
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    },
  );

  test('reads nothing where the token names none, and nothing with another token', async () => {
    for (const token of [await uiToken(), annex.admin]) {
      const answer = await ask(annex, 'GET', `${path}/configuration`, { token, headers: { origin: ORIGIN } });
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  test.each(['app.example.com', `${ORIGIN}/`, '*', 'javascript:alert(1)'])(
    'is not written as %s',
    async (origin) => {
      const answer = await ask(annex, 'POST', `${path}/ui-tokens`, { json: { origins: [origin] } });
      expect(codeOf(answer)).toBe('400 REQUEST_INVALID');
    },
  );
});

describe('the end of a token', () => {
  test('comes within an hour', async () => {
    const asked = (expiresIn: number) => ask(annex, 'POST', `${path}/ui-tokens`, { json: { expiresIn } });
    expect(codeOf(await asked(3_601))).toBe('400 REQUEST_INVALID');
    expect((await asked(3_600)).status).toBe(201);
  });

  test('comes with its time, its target, its integration and its issuer', async () => {
    const state = {
      now: 1_000_000,
      since: 5 as number | undefined,
      organization: 'acme' as string | undefined,
    };
    const issuers = new Set(['tok_1']);
    const tokens = new UiTokens({
      keys: [randomBytes(32)],
      source: {
        firstPublishedAt: async () => state.since,
        organizationOf: async () => state.organization,
      },
      tokens: { exists: async (id) => issuers.has(id) },
      wallNow: () => state.now,
    });
    const asked = { integration: 'city', target: wholeInstallation('ins_1'), issuer: 'tok_1', origins: [] };
    const { token = '' } = (await tokens.create({ ...asked, expiresIn: 60 })) ?? {};
    const principal = async () => (await tokens.grant(token)).principal;
    expect(await principal()).toMatchObject({ kind: 'ui', organization: 'acme' });
    issuers.delete('tok_1');
    expect(await principal()).toBe('unknown');
    issuers.add('tok_1');
    state.since = 6;
    expect(await principal()).toBe('unknown');
    Object.assign(state, { since: 5, organization: undefined });
    expect(await principal()).toBe('unknown');
    Object.assign(state, { organization: 'acme', now: 1_060_000 });
    expect(await principal()).toBe('expired');
  });

  test('is that of the token that asked for it', async () => {
    const made = await ask(annex, 'POST', '/tokens', { json: { kind: 'platform' } });
    const { token: issuer, id } = made.body as Record<string, string>;
    const { body } = await ask(annex, 'POST', `${path}/ui-tokens`, { token: issuer ?? '', json: {} });
    const token = String(body['token']);
    expect((await ask(annex, 'GET', `${path}/configuration`, { token })).status).toBe(200);
    await ask(annex, 'DELETE', `/tokens/${id}`);
    expect(codeOf(await ask(annex, 'GET', `${path}/configuration`, { token }))).toBe('401 TOKEN_INVALID');
  });
});

// Attack: a runtime token of the same keys is sent with the prefix of a UI token, or the reverse.
test('a token of one kind is none of the other', async () => {
  const keys = [randomBytes(32)] as const;
  const claims = {
    kind: 'integration',
    integration: 'a',
    since: 1,
    version: 1,
    scopes: [],
    expiresAt: 9,
  } as const;
  const runtime = mintRuntimeToken(keys, claims);
  expect(readUiToken(keys, runtime.replace('annex_run_', 'annex_ui_'))).toBeUndefined();
  const token = await uiToken();
  const swapped = token.replace('annex_ui_', 'annex_run_');
  expect(codeOf(await ask(annex, 'GET', path, { token: swapped }))).toBe('401 TOKEN_INVALID');
  const { body } = await ask(annex, 'POST', '/tokens/introspect', { json: { token } });
  expect(body).toEqual({ active: false });
});

test('the audit says who asked for a token, and who saved with it', async () => {
  const { id } = await annex.install('city');
  const own = `/integrations/city/installations/${id}`;
  const token = await uiToken(own, { origins: [ORIGIN] });
  await ask(annex, 'PATCH', `${own}/configuration`, { token, json: { configuration: { days: 9 } } });
  const { body } = await ask(annex, 'GET', `/audit?installation=${id}`);
  const [saved, made] = body['items'] as { action: string; actor: { kind: string; token: string } }[];
  expect(made).toMatchObject({
    action: 'ui-token.create',
    actor: { kind: 'admin' },
    details: { origins: [ORIGIN] },
  });
  expect(saved).toMatchObject({
    action: 'installation.edit',
    actor: { kind: 'ui', token: made?.actor.token },
  });
  expect(JSON.stringify(body)).not.toContain(token);
});
