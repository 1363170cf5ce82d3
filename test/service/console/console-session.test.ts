/**
 * Sessions of the console (docs/contract/console.md): how they begin and end, who may use them, and
 * that nobody else can.
 */
import { get } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventReader } from '../../support/http/event-reader.ts';
import { TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
});
afterAll(() => annex.stop());

const PAGE = { 'annex-console': '1', 'sec-fetch-site': 'same-origin' };

const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
  fetch(`${annex.service.controlUrl}${path}`, { method, headers, redirect: 'manual' });

const signIn = (token: string, headers: Record<string, string> = PAGE) =>
  ask('POST', '/console/session', { ...headers, authorization: `Bearer ${token}` });

/** The cookie of a session that this token has begun, as a browser sends it back. */
async function session(token = annex.admin): Promise<string> {
  const answer = await signIn(token);
  expect(answer.status).toBe(200);
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

const statusWith = async (cookie: string, headers: Record<string, string> = PAGE) =>
  (await ask('GET', '/v1/tokens', { ...headers, cookie })).status;

async function link(token = annex.admin): Promise<string> {
  const { body } = await annex.api('POST', '/v1/console-links', { token });
  return String(body['url']).split('#sign-in=')[1] ?? '';
}

describe('the page', () => {
  test('runs its own script alone, in no frame, and asks no other host', async () => {
    const answer = await ask('GET', '/console/deliveries?state=failed');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(answer.status).toBe(200);
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining([
        ...["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"],
        ...["base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"],
      ]),
    );
    expect(policy).not.toContain('unsafe');
    const text = await answer.text();
    const [, script = ''] = /src="(\/console\/[\w-]+\.js)"/.exec(text) ?? [];
    const code = await ask('GET', script);
    expect(code.headers.get('cache-control')).toContain('immutable');
    expect(code.headers.get('content-type')).toContain('text/javascript');
  });

  test.each(['console', 'portal'])('the script of the %s is compressed, to at most 120 KiB', async (page) => {
    const text = await (await ask('GET', `/${page}/`)).text();
    const [, script = ''] = /src="(\/\w+\/[\w-]+\.js)"/.exec(text) ?? [];
    const url = `${annex.service.controlUrl}${script}`;
    const length = (encoding: string) =>
      new Promise<[encoding: string | undefined, bytes: number]>((resolve, reject) => {
        const headers = { 'accept-encoding': encoding };
        get(url, { headers }, async (answer) => {
          resolve([answer.headers['content-encoding'], (await buffer(answer)).length]);
        }).on('error', reject);
      });
    const [zipped, plain] = [await length('gzip, br'), await length('identity')];
    expect([zipped[0], plain[0]]).toEqual(['gzip', undefined]);
    expect(zipped[1]).toBeLessThan(120 * 1024);
  });

  test('is absent with --console off, with its sessions and links', async () => {
    const without = await TestService.start({ flags: ['--console', 'off'] });
    try {
      for (const path of ['/console/', '/console/session'])
        expect((await fetch(`${without.service.controlUrl}${path}`)).status).toBe(404);
      expect((await without.api('POST', '/v1/console-links')).status).toBe(404);
    } finally {
      await without.stop();
    }
  });
});

describe('a session', () => {
  test('stands for the token that signed in, in a cookie that no script reads', async () => {
    const answer = await signIn(annex.admin);
    expect(await answer.json()).toEqual({ kind: 'admin' });
    expect(answer.headers.get('set-cookie')).toMatch(
      /^annex_console=annex_admin_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(answer.headers.get('set-cookie')).not.toContain(annex.admin);
    expect(await statusWith(await session())).toBe(200);
    const behindTls = await signIn(annex.admin, { ...PAGE, 'x-forwarded-proto': 'https' });
    expect(behindTls.headers.get('set-cookie')).toMatch(/; Secure$/);
  });

  test('has the kind and the organization of that token, and no more', async () => {
    const { body } = await annex.api('POST', '/v1/tokens', {
      json: { kind: 'organization', organization: 'acme' },
    });
    const cookie = await session(String(body['token']));
    expect(await statusWith(cookie)).toBe(403);
    const who = await ask('GET', '/console/session', { ...PAGE, cookie });
    expect(await who.json()).toEqual({ kind: 'organization', organization: 'acme' });
  });

  test.each<[string, Record<string, string>]>([
    ['without the header of the page', { 'sec-fetch-site': 'same-origin' }],
    ['from another site', { ...PAGE, 'sec-fetch-site': 'cross-site' }],
    ['from another port or subdomain', { ...PAGE, 'sec-fetch-site': 'same-site' }],
  ])('is not taken from a request %s', async (_, headers) => {
    const cookie = await session();
    expect(await statusWith(cookie, headers)).toBe(401);
    const deleted = await ask('DELETE', '/console/session', { ...headers, cookie });
    expect(deleted.status).toBe(204);
    // That request was nobody's: the session goes on.
    expect(await statusWith(cookie)).toBe(200);
    expect((await signIn(annex.admin, headers)).headers.get('set-cookie')).toBeNull();
  });

  test('ends when it signs out', async () => {
    const cookie = await session();
    const answer = await ask('DELETE', '/console/session', { ...PAGE, cookie });
    expect(answer.headers.get('set-cookie')).toContain('Max-Age=0');
    expect(await statusWith(cookie)).toBe(401);
    expect(await (await ask('GET', '/console/session', { ...PAGE, cookie })).json()).toEqual({});
  });

  test('ends with the token that signed in, and with its own row in the list of tokens', async () => {
    const made = await annex.api('POST', '/v1/tokens', { json: { kind: 'platform' } });
    const ofToken = await session(String(made.body['token']));
    const who = () => ask('GET', '/console/session', { ...PAGE, cookie: ofToken }).then((one) => one.json());
    expect(await who()).toEqual({ kind: 'platform' });
    await annex.api('DELETE', `/v1/tokens/${made.body['id']}`);
    expect(await who()).toEqual({});

    const listed = async () => {
      const { body } = await annex.api('GET', '/v1/tokens?limit=100');
      return (body['items'] as { id: string; name?: string }[]).filter(
        ({ name }) => name === 'console session',
      );
    };
    const before = new Set((await listed()).map(({ id }) => id));
    const cookie = await session();
    const [own] = (await listed()).filter(({ id }) => !before.has(id));
    await annex.api('DELETE', `/v1/tokens/${own?.id}`);
    expect(await statusWith(cookie)).toBe(401);
  });

  test('follows deliveries until it ends, also when other tokens are revoked', async () => {
    const declared = { title: 'An order', level: 'organization' };
    await annex.api('PUT', '/v1/event-types/order_paid', { json: declared });
    await annex.publish('hears', {
      'index.js': `
import { createIntegration } from '@annex/sdk';
export default createIntegration({ events: { order_paid: () => undefined } });`,
    });
    await annex.install('hears', 'acme');
    const cookie = await session();
    const url = `${annex.service.controlUrl}/v1/deliveries`;
    const events = await EventReader.open(url, { ...PAGE, cookie, accept: 'text/event-stream' });
    const revokeAnother = async () => {
      const { body } = await annex.api('POST', '/v1/tokens', { json: { kind: 'platform' } });
      await annex.api('DELETE', `/v1/tokens/${body['id']}`);
    };
    await revokeAnother();
    const posted = { type: 'order_paid', organization: 'acme', data: {} };
    expect((await annex.api('POST', '/v1/events', { json: posted })).body).toMatchObject({ deliveries: 1 });
    expect(JSON.parse((await events.next())?.data ?? '')).toMatchObject({ change: 'accepted' });
    await ask('DELETE', '/console/session', { ...PAGE, cookie });
    let last = await events.next();
    for (let next = last; next !== undefined; next = await events.next()) last = next;
    expect(last).toMatchObject({ type: 'end', data: '{"reason":"revoked"}' });
  });

  test('is begun by no code of an integration', async () => {
    await annex.publish('asks', {
      'index.js': `
import { createIntegration } from '@annex/sdk';
export default createIntegration({
  fetch: (_request, { environment }) => Response.json(environment.apiTokens),
});`,
    });
    const { endpoint } = await annex.install('asks');
    const tokens = Object.values((await (await fetch(endpoint)).json()) as Record<string, string>);
    expect(tokens.length).toBeGreaterThan(0);
    for (const token of tokens) {
      const answer = await signIn(token);
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
    }
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
    expect(await (await fetch(endpoint, { headers: { cookie } })).text()).toBe('');
  });
});

describe('a link', () => {
  test('signs in once, also for two at the same time', async () => {
    const token = await link();
    const answers = await Promise.all([signIn(token), signIn(token), signIn(token)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    expect((await signIn(token)).status).toBe(401);
  });

  test('has no rights by itself', async () => {
    const token = await link();
    for (const path of ['/v1/tokens', '/v1/installations', '/v1/integrations'])
      expect((await annex.api('GET', path, { token })).status).toBe(403);
    expect((await annex.api('POST', '/v1/console-links', { token })).status).toBe(403);
  });

  test('gives the rights of the token that made it, and ends with it', async () => {
    const { body } = await annex.api('POST', '/v1/tokens', {
      json: { kind: 'organization', organization: 'acme' },
    });
    const made = String(body['token']);
    const answer = await signIn(await link(made));
    expect(await answer.json()).toEqual({ kind: 'organization', organization: 'acme' });
    const unused = await link(made);
    await annex.api('DELETE', `/v1/tokens/${body['id']}`);
    expect((await signIn(unused)).status).toBe(401);
  });

  test('is refused to a token that is narrowed', async () => {
    const { body } = await annex.api('POST', '/v1/tokens', { json: { kind: 'admin', rights: ['read'] } });
    const narrow = String(body['token']);
    expect((await annex.api('POST', '/v1/console-links', { token: narrow })).status).toBe(403);
    // It signs in by itself, and its session is as narrow.
    const cookie = await session(narrow);
    const posted = await fetch(`${annex.service.controlUrl}/v1/tokens`, {
      method: 'POST',
      headers: { ...PAGE, cookie, 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'admin' }),
    });
    expect(posted.status).toBe(403);
  });
});
