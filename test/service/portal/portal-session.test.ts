/**
 * Sessions of the portal (docs/contract/portal.md): how they begin and end, that each sees its own
 * organization alone, whatever it asks for, and that nobody else uses one.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

let annex: TestService;
let own: Installed;
let foreign: Installed;
let foreignDelivery: string;

const PAGE = { 'annex-portal': '1', 'sec-fetch-site': 'same-origin' };
const JSON_BODY = { 'content-type': 'application/json' };

const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: object) =>
  fetch(`${annex.service.controlUrl}${path}`, {
    ...{ method, redirect: 'manual', headers: { ...headers, ...(body && JSON_BODY) } },
    ...(body && { body: JSON.stringify(body) }),
  });

const signIn = (token: string, headers: Record<string, string> = PAGE) =>
  ask('POST', '/portal/session', { ...headers, authorization: `Bearer ${token}` });

async function link(asked: object = {}, token = annex.platform): Promise<string> {
  const json = { organization: 'acme', ...asked };
  const { body } = await annex.api('POST', '/v1/portal-links', { token, json });
  return String(body['url']).split('#sign-in=')[1] ?? '';
}

/** The cookie of a session, as a browser sends it back. */
async function session(asked: object = {}): Promise<string> {
  const answer = await signIn(await link(asked));
  expect(answer.status).toBe(200);
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

const use = (cookie: string, method: string, path: string, body?: object) =>
  ask(method, `/portal/v1${path}`, { ...PAGE, cookie }, body);

beforeAll(async () => {
  annex = await TestService.start();
  await annex.publishFixture('webhook');
  own = await annex.install('webhook', 'acme');
  foreign = await annex.install('webhook', 'globex');
  const at = `/v1/integrations/webhook/installations/${foreign.id}`;
  await annex.api('POST', `${at}/spaces`, { json: { space: 'vault' } });
  await annex.api('POST', `${at}/sites`, { json: { site: 'shop' } });
  const configuration = { webhook_url: 'https://receiver.invalid/', event_types: ['space_content_updated'] };
  await annex.api('PATCH', `${at}/spaces/vault`, { json: { configuration } });
  await annex.api('POST', `${at}/spaces/vault/webhook-test`);
  const { body } = await annex.api('GET', `/v1/deliveries?installation=${foreign.id}`);
  foreignDelivery = (body['items'] as { id: string }[])[0]?.id ?? '';
});
afterAll(() => annex.stop());

describe('the page', () => {
  test('runs its own script alone, in no frame, and weighs at most 120 KiB compressed', async () => {
    const answer = await ask('GET', '/portal/integrations/webhook');
    const policy = answer.headers.get('content-security-policy') ?? '';
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "trusted-types 'none'",
    ])
      expect(policy).toContain(part);
    expect(policy).not.toContain('unsafe');
    const [, script = ''] = /src="(\/portal\/[\w-]+\.js)"/.exec(await answer.text()) ?? [];
    const code = Buffer.from(await (await ask('GET', script)).arrayBuffer());
    expect(gzipSync(code).length).toBeLessThan(120 * 1024);
  });

  test('is framed by the origins that the operator names, and absent with --portal off', async () => {
    const flags = ['--portal-frames', 'https://app.example.com,http://127.0.0.1:3000'];
    const framed = await TestService.start({ flags });
    const without = await TestService.start({ flags: ['--portal', 'off'] });
    try {
      const policy = (await fetch(`${framed.service.controlUrl}/portal/`)).headers.get(
        'content-security-policy',
      );
      expect(policy).toContain('frame-ancestors https://app.example.com http://127.0.0.1:3000;');
      for (const path of ['/portal/', '/portal/session', '/portal/v1/installations'])
        expect((await fetch(`${without.service.controlUrl}${path}`)).status).toBe(404);
      const refused = await without.api('POST', '/v1/portal-links', { json: { organization: 'acme' } });
      expect(refused.status).toBe(404);
    } finally {
      await framed.stop();
      await without.stop();
    }
  });

  test.each(["https://x.example; script-src 'unsafe-inline'", '*', 'https://*.example.com', 'data:'])(
    'has no frames of %s: the service does not start',
    async (frames) => {
      await expect(TestService.start({ flags: ['--portal-frames', frames] })).rejects.toThrow(
        /--portal-frames/,
      );
    },
  );
});

describe('a link', () => {
  test('opens a session once, also for two at the same time', async () => {
    const token = await link();
    const answers = await Promise.all([signIn(token), signIn(token), signIn(token)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    expect((await signIn(token)).status).toBe(401);
  });

  test('tells the page what it was made with', async () => {
    const asked = {
      ...{ views: ['webhooks'], expiresIn: 60, returnUrl: 'https://app.example.com/', locale: 'de' },
      theme: { name: 'Product', accent: '#aa0000', logo: 'data:image/png;base64,AAAA' },
    };
    const answer = await signIn(await link(asked));
    expect(await answer.json()).toEqual({ organization: 'acme', levelNames: {}, ...asked });
    expect(answer.headers.get('set-cookie')).toMatch(
      /^annex_portal=annex_organization_[\w-]{43}; Path=\/portal\/; HttpOnly; SameSite=Strict$/,
    );
  });

  test('has no rights by itself, and signs in to no console', async () => {
    const token = await link();
    const cookie = `annex_portal=${token}`;
    expect((await use(cookie, 'GET', '/installations')).status).toBe(403);
    expect((await annex.api('GET', '/v1/installations', { token })).status).toBe(401);
    const console = { 'annex-console': '1', authorization: `Bearer ${token}` };
    expect((await ask('POST', '/console/session', console)).status).toBe(401);
    // It was not used up.
    expect((await signIn(token)).status).toBe(200);
  });

  test('ends with the token that made it', async () => {
    const { body } = await annex.api('POST', '/v1/tokens', { json: { kind: 'platform' } });
    const unused = await link({}, String(body['token']));
    const answer = await signIn(await link({}, String(body['token'])));
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    await annex.api('DELETE', `/v1/tokens/${body['id']}`);
    expect((await signIn(unused)).status).toBe(401);
    expect((await use(cookie, 'GET', '/installations')).status).toBe(401);
  });

  test.each<[object, number]>([
    [{ theme: { logo: 'https://tracker.example/x.png' } }, 400],
    [{ theme: { accent: 'red;}' } }, 400],
    [{ returnUrl: 'javascript:alert(1)' }, 400],
    [{ returnUrl: 'https://' }, 400],
    [{ expiresIn: 86_400 }, 400],
    [{ views: ['tokens'] }, 400],
    [{ organization: 'annex.built-in' }, 403],
  ])('is refused with %j', async (json, status) => {
    const all = { organization: 'acme', ...json };
    expect((await annex.api('POST', '/v1/portal-links', { json: all })).status).toBe(status);
  });

  test('is made by an organization for itself alone, and with the rights of its maker', async () => {
    const make = async (json: object) =>
      String((await annex.api('POST', '/v1/tokens', { json })).body['token']);
    const token = await make({ kind: 'organization', organization: 'acme' });
    const foreignLink = { token, json: { organization: 'globex' } };
    expect((await annex.api('POST', '/v1/portal-links', foreignLink)).status).toBe(403);
    const narrow = await make({ kind: 'platform', rights: ['install', 'read'] });
    const answer = await signIn(await link({}, narrow));
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect((await use(cookie, 'GET', '/installations')).status).toBe(200);
    expect((await use(cookie, 'POST', `/deliveries/${foreignDelivery}/redeliver`)).status).toBe(403);
    const reader = await make({ kind: 'platform', rights: ['read'] });
    const json = { organization: 'acme' };
    expect((await annex.api('POST', '/v1/portal-links', { token: reader, json })).status).toBe(403);
  });

  test('leaves rows in the audit, and so does what the session does', async () => {
    const cookie = await session();
    await use(cookie, 'POST', `/integrations/webhook/installations/${own.id}/pause`);
    await use(cookie, 'POST', `/integrations/webhook/installations/${own.id}/resume`);
    const { body } = await annex.api('GET', '/v1/audit?organization=acme&limit=20');
    const items = body['items'] as { action: string; details?: { name?: string }; actor: string }[];
    const made = items.filter(({ action }) => action === 'token.create').map(({ details }) => details?.name);
    expect(made).toEqual(expect.arrayContaining(['portal link', 'portal session']));
    expect(items.map(({ action }) => action)).toContain('installation.pause');
  });
});

describe('a session', () => {
  test.each<[string, Record<string, string>]>([
    ['without the header of the page', { 'sec-fetch-site': 'same-origin' }],
    ['with the header of the console', { 'annex-console': '1', 'sec-fetch-site': 'same-origin' }],
    ['from another site', { ...PAGE, 'sec-fetch-site': 'cross-site' }],
    ['from another port or subdomain', { ...PAGE, 'sec-fetch-site': 'same-site' }],
  ])('is not taken from a request %s', async (_, headers) => {
    const cookie = await session();
    const path = `/portal/v1/integrations/webhook/installations/${own.id}`;
    expect((await ask('GET', path, { ...headers, cookie })).status).toBe(401);
    expect((await ask('DELETE', path, { ...headers, cookie })).status).toBe(401);
    expect((await ask('DELETE', '/portal/session', { ...headers, cookie })).status).toBe(204);
    // That request was nobody's: the session goes on.
    expect((await use(cookie, 'GET', '/installations')).status).toBe(200);
    expect((await signIn(await link(), headers)).headers.get('set-cookie')).toBeNull();
  });

  // Attack: fixation. The visitor gets a cookie that the attacker knows before they sign in.
  test('has a token of its own, which no cookie from before decides', async () => {
    const known = await session();
    const answer = await ask('POST', '/portal/session', {
      ...PAGE,
      ...{ cookie: known, authorization: `Bearer ${await link()}` },
    });
    const made = answer.headers.get('set-cookie')?.split(';')[0];
    expect(made).toMatch(/^annex_portal=annex_organization_/);
    expect(made).not.toBe(known);
  });

  test('is of the portal alone: its token, as a bearer or for the console, is nobody', async () => {
    const cookie = await session();
    const token = cookie.replace('annex_portal=', '');
    expect((await annex.api('GET', '/v1/installations', { token })).status).toBe(401);
    const console = { 'annex-console': '1', cookie: `annex_console=${token}` };
    expect((await ask('GET', '/v1/installations', console)).status).toBe(401);
    expect(await (await ask('GET', '/console/session', console)).json()).toEqual({});
    const admin = await link();
    expect((await use(`annex_portal=${annex.admin}`, 'GET', '/installations')).status).toBe(401);
    expect((await signIn(annex.admin)).status).toBe(401);
    expect(admin).not.toBe('');
  });

  test('ends when it signs out', async () => {
    const cookie = await session();
    const answer = await ask('DELETE', '/portal/session', { ...PAGE, cookie });
    expect(answer.headers.get('set-cookie')).toContain('Max-Age=0');
    expect((await use(cookie, 'GET', '/installations')).status).toBe(401);
  });

  test('does not reach an endpoint of a tenant on the same host name', async () => {
    await annex.publish('cookies', {
      'index.js': `
import { createIntegration } from '@annex/sdk';
export default createIntegration({
  fetch: (request) => new Response(request.headers.get('cookie') ?? 'none'),
});`,
    });
    const { endpoint } = await annex.install('cookies');
    const cookie = await session();
    const seen = await fetch(endpoint, { headers: { cookie: `one=1; ${cookie}; two=2` } });
    expect(await seen.text()).toBe('one=1; two=2');
  });

  test.each<[string, string, string]>([
    ['webhooks', 'POST', '/integrations/webhook/installations'],
    ['activity', 'POST', '/integrations/webhook/installations'],
    ['activity', 'GET', '/integrations'],
    ['integrations', 'GET', '/deliveries'],
  ])('with the view %s alone has no %s %s', async (view, method, path) => {
    const cookie = await session({ views: [view] });
    const body = method === 'POST' ? { organization: 'acme' } : undefined;
    expect((await use(cookie, method, path, body)).status).toBe(403);
  });

  // Attack: a customer of one organization asks for what is another's, by each route that there is.
  test('sees its own organization alone, whatever it asks for', async () => {
    const { body } = await annex.api('GET', '/v1/openapi.json');
    const cookie = await session();
    const bodies: Record<string, object> = {
      ...{ completions: { property: 'webhook_url' }, render: { componentId: 'x' }, spaces: { space: 'x' } },
      ...{ sites: { site: 'x' }, installations: { organization: 'globex' } },
      ...{
        configuration: { configuration: { retries: 'hours' } },
        rotate: {},
        replay: { installation: foreign.id },
      },
    };
    let reached = 0;
    for (const [path, operations] of Object.entries(body['paths'] as Record<string, object>))
      for (const method of Object.keys(operations)) {
        const id = path.includes('/deliveries/') ? foreignDelivery : foreign.id;
        const asked = path
          .replace(/^\/v1/, '')
          .replace('{name}', 'webhook')
          .replace('{space}', 'vault')
          .replace('{site}', 'shop')
          .replace(/\{[^}]+\}/g, id);
        const last = path.split('/').at(-1) ?? '';
        const sent = method === 'get' || method === 'delete' ? undefined : (bodies[last] ?? {});
        for (const query of method === 'get'
          ? ['', '?organization=globex', `?installation=${foreign.id}`]
          : ['']) {
          const answer = await use(cookie, method.toUpperCase(), `${asked}${query}`, sent);
          const text = await answer.text();
          if (answer.status === 404 && text.includes('ROUTE_UNKNOWN')) continue;
          reached += 1;
          const about = `${method} ${asked}${query}: ${answer.status}`;
          if (answer.status < 400)
            expect([about, /globex|vault|receiver\.invalid/.test(text)]).toEqual([about, false]);
          else expect([about, answer.status]).toEqual([about, expect.toBeOneOf([400, 403, 404])]);
        }
      }
    expect(reached).toBeGreaterThan(40);
    const left = await annex.api('GET', `/v1/integrations/webhook/installations/${foreign.id}`);
    expect(left.body).toMatchObject({ organization: 'globex', spaces: 1 });
    const { body: all } = await annex.api('GET', '/v1/installations?organization=globex');
    expect(all['items']).toHaveLength(1);
  });
});
