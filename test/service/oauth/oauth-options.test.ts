/**
 * OAuth for providers as they are: the way of the client's credentials, further parameters, other
 * separators of scopes, answers that a browser posts, and the account of the client itself
 * (docs/contract/oauth.md). With a real provider, and with a token endpoint that shows what it got.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ask } from '../../support/installation-api.ts';
import { Browser, consent } from '../../support/oauth/oidc-browser.ts';
import { CLIENT, type OidcServer, startOidcServer } from '../../support/oauth/oidc-server.ts';
import { SECRET, startTokenServers, type TokenServers } from '../../support/oauth/token-servers.ts';
import { type Installed, TestService } from '../../support/service.ts';

const MANIFEST = `configurations:
  account:
    properties:
      domain: {type: string, title: Domain, description: d}
      oauth_credentials: {type: button, title: Account, description: d, button_text: Connect, callback_url: /connect}
`;
const source = (issuer: string, origin: string) => `
import { createIntegration, createOAuthHandler, endpointPath, getOAuthToken } from '@annex/sdk';
const real = {
  clientId: '${CLIENT.id}', clientSecret: '${CLIENT.secret}', accessTokenURL: '${issuer}/token',
};
const person = { ...real, authorizeURL: '${issuer}/auth', scopes: ['openid'], responseMode: 'form_post' };
const shown = {
  clientId: 'the client', clientSecret: ${JSON.stringify(SECRET)}, accessTokenURL: '${origin}/token',
};
const domain = ({ configuration }) => configuration.domain;
const configs = {
  posted: person,
  here: { ...person, redirectURL: ({ urls }) => urls.publicEndpoint + '/here' },
  client: { ...real, grant: 'client_credentials' },
  machine: { ...shown, grant: 'client_credentials', scopes: ['a', 'b'], tokenParameters: { audience: domain } },
  basic: { ...shown, authorizeURL: '${origin}/authorize', clientAuthentication: 'basic' },
  body: { ...shown, authorizeURL: '${origin}/authorize', clientAuthentication: 'body' },
  options: {
    ...shown, authorizeURL: '${origin}/authorize?own=1', scopes: ['read', 'write:all'], scopeSeparator: ',',
    authorizeParameters: { access_type: 'offline', hd: domain, none: () => undefined },
    tokenParameters: { audience: domain, resource: 'urn:x' },
  },
  number: { ...shown, authorizeURL: '${origin}/authorize', authorizeParameters: { hd: () => 5 } },
};
const handlers = Object.fromEntries(Object.entries(configs).map(([name, of]) => [name, createOAuthHandler(of)]));
export default createIntegration({
  async fetch(request, context) {
    const [, name, action] = endpointPath(context.environment, request.url).split('/');
    if (action === 'token') return new Response(await getOAuthToken(configs[name], context));
    if (action === 'fresh') return new Response(await getOAuthToken(configs[name], context, { fresh: true }));
    if (action === 'stored')
      return Response.json(context.environment.installation.configuration.oauth_credentials ?? null);
    return handlers[name](request, context);
  },
});`;

let oidc: OidcServer;
let servers: TokenServers;
let annex: TestService;
let here: Installed;
let callback: string;

beforeAll(async () => {
  [oidc, servers] = await Promise.all([startOidcServer(), startTokenServers()]);
  annex = await TestService.start({
    flags: ['--egress-allow', `${oidc.address},${servers.address}`, '--oauth-callback', 'on'],
  });
  await annex.publish('options', { 'index.js': source(oidc.issuer, servers.origin) }, MANIFEST);
  callback = `${annex.service.publicUrl}/oauth/options/callback`;
});
afterAll(async () => {
  await annex.stop();
  await Promise.all([oidc.stop(), servers.stop()]);
});
beforeEach(async () => {
  here = await annex.install('options');
  oidc.grants.length = 0;
  servers.requests.length = 0;
  servers.unauthenticated = () => undefined;
  servers.answer = () => ({ body: { access_token: 'a1', refresh_token: 'r1', expires_in: 3_600 } });
});

const open = async (path: string, init: RequestInit = {}) => {
  const answer = await fetch(`${here.endpoint}/${path}`, { redirect: 'manual', ...init });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
};
const stored = async () => JSON.parse((await open('any/stored')).text) as Record<string, unknown> | null;
const configure = (configuration: object) =>
  ask(annex, 'PATCH', `/integrations/options/installations/${here.id}`, { json: { configuration } });

/** The flow of a provider that shows what it got. */
async function begun(name: string) {
  const { status, headers } = await open(name);
  const asked = new URL(headers.get('location') ?? 'none:').searchParams;
  return { status, asked, cookie: headers.get('set-cookie')?.split(';')[0] ?? '' };
}
async function connect(name: string) {
  const { asked, cookie } = await begun(name);
  return open(`${name}?code=c1&state=${asked.get('state')}`, { headers: { cookie } });
}

describe('the authorization request', () => {
  test('has further parameters, of texts and of functions, and scopes with their separator', async () => {
    await configure({ domain: 'a&b=c.example' });
    const { asked } = await begun('options');
    expect(Object.fromEntries(asked)).toMatchObject({
      own: '1',
      access_type: 'offline',
      hd: 'a&b=c.example',
      scope: 'read,write:all',
      client_id: 'the client',
    });
    expect(asked.has('none')).toBe(false);
  });

  test('is not sent where the value of a parameter is no text', async () => {
    expect(await open('number')).toMatchObject({ status: 502 });
    const lines = (await annex.log(here)).map(({ text }) => text);
    expect(lines).toContain('OAuth: the parameter hd is not a text');
  });
});

describe('the token request', () => {
  test('has further parameters', async () => {
    await configure({ domain: 'acme.example' });
    expect(await connect('options')).toMatchObject({ status: 200 });
    expect(servers.requests[0]?.form).toMatchObject({
      ...{ grant_type: 'authorization_code', audience: 'acme.example', resource: 'urn:x' },
    });
  });

  test.each([
    ['basic', 'basic'],
    ['body', 'form'],
  ])('authenticates the client by %s, and in no other way', async (name, way) => {
    expect(await connect(name)).toMatchObject({ status: 200 });
    servers.unauthenticated = () => ({ status: 401, body: { error: 'invalid_client' } });
    expect(await connect(name)).toMatchObject({ status: 502 });
    expect(servers.requests.map(({ auth }) => auth)).toEqual([way, way]);
  });
});

const known = () => oidc.knows([callback, `${here.endpoint}/here`]);

describe('an answer that the browser posts', () => {
  beforeEach(known);

  test.each([
    ['to the redirect URL of the integration', 'posted'],
    ['to the handler', 'here'],
  ])('%s connects the account', async (_, name) => {
    const browser = new Browser();
    const form = await consent(browser, await browser.open(`${here.endpoint}/${name}`), 'ada');
    const page = await browser.submit(form);
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('You may close this window') });
    expect(oidc.grants).toEqual(['authorization_code']);
    expect(await stored()).toMatchObject({ access_token: expect.any(String) });
  });

  // Attack: login CSRF. The answer to an attacker's own flow, posted by the browser of another.
  test.each([
    ['posted', () => callback],
    ['here', () => `${here.endpoint}/here`],
  ])('of a flow at %s that another browser began is refused', async (name, urlOf) => {
    const mallory = new Browser();
    const form = await consent(mallory, await mallory.open(`${here.endpoint}/${name}`), 'mallory');
    const fields = new URLSearchParams(
      [...form.text.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, key = '', value = '']) => [
        key,
        value,
      ]),
    );
    const victim = new Browser();
    await victim.open(`${here.endpoint}/${name}`);
    const page = await victim.post(urlOf(), fields, 'https://evil.example/');
    expect(page).toMatchObject({ status: 400, text: expect.stringContaining('another browser') });
    // Without any cookie, too.
    expect(await new Browser().post(urlOf(), fields, 'https://evil.example/')).toMatchObject({ status: 400 });
    expect(oidc.grants).toEqual([]);
    expect(await stored()).toBeNull();
  });

  test('leads on with what is an answer, and with nothing else of the form', async () => {
    const { asked } = await begun('posted');
    const form = { code: 'c', state: asked.get('state') ?? '', user: '{"name":"Ada"}', id_token: 'x' };
    for (const url of [callback, `${here.endpoint}/posted`]) {
      const answer = await fetch(url, {
        ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams(form) },
      });
      expect(answer.status).toBe(303);
      const location = new URL(answer.headers.get('location') ?? '');
      expect([...location.searchParams.keys()]).toEqual(['code', 'state']);
      expect(location.href.startsWith(`${here.endpoint}/posted?`)).toBe(true);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    }
  });

  test.each([
    ['nothing', ''],
    ['no answer', 'x=1'],
    ['JSON', '{"code":"c"}'],
    ['an answer too long for a URL', `code=${'c'.repeat(9_000)}`],
  ])('with %s is refused, and leads nowhere', async (_, body) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const url of [callback, `${here.endpoint}/posted`]) {
      const answer = await fetch(url, { method: 'POST', body, headers, redirect: 'manual' });
      expect([400, 413]).toContain(answer.status);
      expect(answer.headers.get('location')).toBeNull();
    }
  });

  test('is no method of other handlers', async () => {
    const answer = await open('options', { method: 'POST', body: new URLSearchParams({ code: 'c' }) });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET');
    const put = await open('posted', { method: 'PUT', body: 'x' });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST']);
  });
});

describe('the account of the client itself', () => {
  test('is connected by its button, without a browser’s consent', async () => {
    known();
    expect(await open('client')).toMatchObject({
      ...{ status: 200, text: expect.stringContaining('You may close this window') },
    });
    expect(oidc.grants).toEqual(['client_credentials']);
    const { access_token } = (await stored()) ?? {};
    expect((await open('client/token')).text).toBe(access_token);
    expect(oidc.grants).toEqual(['client_credentials']);
    // Attack: the URL in a loop, for which the provider blocks the client.
    const again = await Promise.all(Array.from({ length: 8 }, () => open('client')));
    expect(again.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(7);
  });

  test('needs no button: the first call gets a token, and one that is over is replaced', async () => {
    await configure({ domain: 'acme.example' });
    let made = 0;
    servers.answer = () => {
      made += 1;
      return { body: { access_token: `m${made}`, expires_in: 3_600 } };
    };
    const calls = await Promise.all(Array.from({ length: 5 }, () => open('machine/token')));
    expect(calls.map(({ text }) => text)).toEqual(Array(5).fill('m1'));
    expect(servers.requests.map(({ form }) => form)).toEqual([
      {
        ...{ grant_type: 'client_credentials', scope: 'a b', audience: 'acme.example' },
        ...{ client_id: 'the client', client_secret: SECRET },
      },
    ]);
    await configure({ oauth_credentials: { access_token: 'm1', expires_at: 1 } });
    expect((await open('machine/token')).text).toBe('m2');
    expect(await stored()).toMatchObject({ access_token: 'm2' });
  });

  test.each<[string, number, object | string, number]>([
    ['refuses the client', 401, { error: 'invalid_client' }, 409],
    ['is down', 503, 'down', 503],
    ['answers a page', 200, '<h1>Hello</h1>', 503],
    ['answers a token that is none', 200, { access_token: { toString: 1 } }, 409],
  ])('has no token where the provider %s', async (_, status, body, answered) => {
    servers.answer = () => ({ status, body });
    servers.unauthenticated = () => (status === 401 ? { status, body } : undefined);
    expect(await open('machine/token')).toMatchObject({ status: answered });
    expect(await open('machine')).toMatchObject({ status: 502 });
    expect(await stored()).toBeNull();
  });
});
