/**
 * One redirect URL for all installations of an integration
 * (docs/contract/oauth.md#one-redirect-url): with a real provider that knows no other one, and with
 * answers that are forged, foreign, expired or repeated, which change nothing.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { beginFlow, randomText } from '../../../sandbox/sdk/signed-state.ts';
import { ConfigError, readConfig } from '../../../src/host/config.ts';
import { errorOf, exchange, statuses } from '../../support/http/raw-http.ts';
import { ask } from '../../support/installation-api.ts';
import { Browser, consent } from '../../support/oauth/oidc-browser.ts';
import { CLIENT, type OidcServer, startOidcServer } from '../../support/oauth/oidc-server.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

const MANIFEST = `target: all
configurations:
  account: &settings
    properties:
      oauth_credentials: {type: button, title: Account, description: d, button_text: Connect, callback_url: /connect}
    required: [oauth_credentials]
  space: *settings
`;
const source = (issuer: string) => `
import { createIntegration, createOAuthHandler, endpointPath } from '@annex/sdk';
const provider = {
  clientId: '${CLIENT.id}', clientSecret: '${CLIENT.secret}', scopes: ['openid'],
  authorizeURL: '${issuer}/auth', accessTokenURL: '${issuer}/token',
};
const handlers = {
  '/connect': createOAuthHandler(provider),
  '/own': createOAuthHandler({ ...provider, redirectURL: 'https://acme.example/oauth' }),
};
export default createIntegration({
  fetch(request, context) {
    const { environment } = context;
    const path = endpointPath(environment, request.url);
    if (path === '/url') return new Response(environment.integration.urls.oauthCallback ?? 'none');
    return handlers[path]?.(request, context) ?? new Response(request.url);
  },
});`;

let oidc: OidcServer;
let annex: TestService;
let here: Installed;
let other: Installed;
let space: Installed;
let callback: string;

beforeAll(async () => {
  oidc = await startOidcServer();
  annex = await TestService.start({ flags: ['--egress-allow', oidc.address, '--oauth-callback', 'on'] });
  for (const name of ['boards', 'rival'])
    await annex.publish(name, { 'index.js': source(oidc.issuer) }, MANIFEST);
  here = await annex.install('boards');
  other = await annex.install('boards');
  space = await annex.installBelow('boards', here, 'space', 'sp-1');
  callback = `${annex.service.publicUrl}/oauth/boards/callback`;
  oidc.knows([callback]);
});
afterAll(async () => {
  await annex.stop();
  await oidc.stop();
});
beforeEach(() => {
  oidc.grants.length = 0;
});

const path = ({ id }: Installed) => `/integrations/boards/installations/${id}`;
const view = async (at: string) => (await ask(annex, 'GET', at)).body;
const everything = async () => [
  await view(path(here)),
  await view(path(other)),
  await view(`${path(here)}/spaces/sp-1`),
];
const isConnected = async (at: string) => (await view(at))['sealed'];
const refusal = async (url: string) => {
  const answer = await fetch(url, { redirect: 'manual' });
  const { error } = (await answer.json()) as { error: { code: string; message: string } };
  return { status: answer.status, location: answer.headers.get('location'), ...error };
};

describe('the redirect URL of an integration', () => {
  test('is in its record and in the environment of its code', async () => {
    const { body } = await annex.api('GET', '/v1/integrations/boards');
    expect(body['urls']).toMatchObject({ oauthCallback: callback });
    expect(await (await fetch(`${here.endpoint}/url`)).text()).toBe(callback);
  });

  test('connects the installation at whose endpoint the flow began, and no other', async () => {
    const browser = new Browser();
    const page = await consent(browser, await browser.open(`${here.endpoint}/connect`), 'ada');
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('You may close this window') });
    expect(page.url.startsWith(`${here.endpoint}/connect?`)).toBe(true);
    // The provider compares the redirect URL of the token request with that of the authorization.
    expect(oidc.grants).toEqual(['authorization_code']);
    expect(await isConnected(path(here))).toEqual(['oauth_credentials']);
    expect(await isConnected(path(other))).toEqual([]);
    expect(await isConnected(`${path(here)}/spaces/sp-1`)).toEqual([]);
  });

  test('connects a space', async () => {
    const browser = new Browser();
    const page = await consent(browser, await browser.open(`${space.endpoint}/connect`), 'grace');
    expect(page.status).toBe(200);
    expect(await isConnected(`${path(here)}/spaces/sp-1`)).toEqual(['oauth_credentials']);
    expect(await isConnected(path(other))).toEqual([]);
  });

  test('is not used by code that sets its own', async () => {
    const answer = await fetch(`${here.endpoint}/own`, { redirect: 'manual' });
    const asked = new URL(answer.headers.get('location') ?? '').searchParams;
    expect(asked.get('redirect_uri')).toBe('https://acme.example/oauth');
  });
});

interface Made {
  readonly integration?: string;
  readonly target?: object;
  readonly path?: string;
  readonly agoMs?: number;
  readonly redirectURI?: string;
}
/** A state signed with the secret of an integration, by default as its code makes it. */
async function madeState({ integration = 'boards', agoMs = 0, ...more }: Made = {}) {
  const [signingSecret = ''] = (await annex.service.targets.ofIntegration(integration))?.signingSecrets ?? [];
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - agoMs });
  try {
    const { state } = await beginFlow({
      ...{
        signingSecret,
        cookie: randomText(),
        clientId: CLIENT.id,
        redirectURI: callback,
        path: '/connect',
      },
      ...{ target: { installation: here.id }, ...more },
    } as Parameters<typeof beginFlow>[0]);
    return state;
  } finally {
    vi.useRealTimers();
  }
}

describe('attack: an answer that leads somewhere else', () => {
  const at = (state: string, url = callback) => `${url}?code=stolen&state=${encodeURIComponent(state)}`;
  const REFUSED = { status: 400, location: null, code: 'OAUTH_STATE_INVALID' };

  test('a genuine state leads to its handler, with the code', async () => {
    const answer = await fetch(at(await madeState()), { redirect: 'manual' });
    expect(answer.status).toBe(302);
    expect(answer.headers.get('location')).toMatch(
      new RegExp(`^${here.endpoint}/connect\\?code=stolen&state=`),
    );
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('a denial without a state says so', async () => {
    expect(await refusal(`${callback}?error=access_denied`)).toMatchObject({
      ...REFUSED,
      message: expect.stringContaining('Access was not granted. Nothing was changed.'),
    });
  });

  const FORGERIES: readonly [string, () => Promise<string> | string][] = [
    ['no state', () => `${callback}?code=stolen`],
    ['an empty one', () => at('')],
    ['one with another signature', async () => at(`${(await madeState()).slice(0, -3)}AAA`)],
    ['one with a cut signature', async () => at((await madeState()).slice(0, -4))],
    [
      'one with another content',
      async () => {
        const [payload = '', signature] = (await madeState()).split('.');
        const state = JSON.parse(Buffer.from(payload, 'base64url').toString());
        const changed = JSON.stringify({ ...state, installation: other.id });
        return at(`${Buffer.from(changed).toString('base64url')}.${signature}`);
      },
    ],
    ['one that another integration has signed', async () => at(await madeState({ integration: 'rival' }))],
    [
      'one of another integration at its own URL, for an installation here',
      async () => {
        const url = callback.replace('boards', 'rival');
        return at(await madeState({ integration: 'rival', redirectURI: url }), url);
      },
    ],
    [
      'one for another redirect URL',
      async () => at(await madeState({ redirectURI: `${here.endpoint}/connect` })),
    ],
    ['one that is over', async () => at(await madeState({ agoMs: 11 * 60_000 }))],
    [
      'an installation that does not exist',
      async () => at(await madeState({ target: { installation: 'ins_x' } })),
    ],
    [
      'a space that does not exist',
      async () => at(await madeState({ target: { installation: here.id, space: 'x' } })),
    ],
    ['a path out of the endpoint', async () => at(await madeState({ path: '/../x' }))],
    ['a path that is no path', async () => at(await madeState({ path: '@evil.example/' }))],
    [
      'an integration that does not exist',
      async () => at(await madeState(), callback.replace('boards', 'none')),
    ],
  ];
  test.each(FORGERIES)('%s is refused, and nothing is changed', async (_, url) => {
    const before = await everything();
    expect(await refusal(await url())).toMatchObject(REFUSED);
    expect(await everything()).toEqual(before);
    expect(oidc.grants).toEqual([]);
  });

  test('an answer that comes a second time is refused', async () => {
    const browser = new Browser();
    const answered = await consent(browser, await browser.open(`${other.endpoint}/connect`), 'ada', callback);
    expect(answered.url.startsWith(`${callback}?code=`)).toBe(true);
    expect((await browser.open(answered.url)).status).toBe(200);
    const before = await everything();
    expect(await refusal(answered.url)).toMatchObject({
      ...REFUSED,
      message: expect.stringContaining('This attempt to connect was already completed.'),
    });
    expect(await everything()).toEqual(before);
    expect(oidc.grants).toEqual(['authorization_code']);
  });

  // Attack: login CSRF. The answer to an attacker's own flow, opened in another browser.
  test('an answer in another browser is refused by the handler', async () => {
    const browser = new Browser();
    const answered = await consent(browser, await browser.open(`${here.endpoint}/connect`), 'eve', callback);
    const before = await everything();
    const page = await new Browser().open(answered.url);
    expect(page).toMatchObject({ status: 400, text: expect.stringContaining('another browser') });
    expect(await everything()).toEqual(before);
    expect(oidc.grants).toEqual([]);
  });

  test('guesses are counted against the rate of their address', async () => {
    const small = await startTestService({
      flags: ['--oauth-callback', 'on'],
      limits: { requestsPerSecondPerAddress: 1 },
    });
    const url = `${small.service.publicUrl}/oauth/none/callback?state=x`;
    const codes = await Promise.all(Array.from({ length: 5 }, async () => (await refusal(url)).code));
    expect(codes).toContain('REQUEST_RATE_EXCEEDED');
  });
});

test('without the setting there is no redirect URL', async () => {
  const plain = await startTestService();
  await plain.publish('boards', { 'index.js': source(oidc.issuer) }, MANIFEST);
  const { endpoint } = await plain.install('boards');
  expect(await (await fetch(`${endpoint}/url`)).text()).toBe('none');
  const { body } = await plain.api('GET', '/v1/integrations/boards');
  expect(body['urls']).not.toHaveProperty('oauthCallback');
  const answer = await refusal(`${plain.service.publicUrl}/oauth/boards/callback?state=x`);
  expect(answer).toMatchObject({ status: 404, code: 'ENDPOINT_UNKNOWN' });
  const begun = await fetch(`${endpoint}/connect`, { redirect: 'manual' });
  const asked = new URL(begun.headers.get('location') ?? '').searchParams;
  expect(asked.get('redirect_uri')).toBe(`${endpoint}/connect`);
});

test.each(['/oauth', '/annex'])(
  'below a public URL with the path %s, it answers with that path and without it',
  async (base) => {
    const open = `https://hooks.example.com${base}`;
    const flags = ['--public-url', open, '--oauth-callback', 'on'];
    const own = await startTestService({ flags });
    await own.publish('boards', { 'index.js': source(oidc.issuer) }, MANIFEST);
    const { endpoint } = await own.install('boards');
    const url = `${open}/oauth/boards/callback`;
    const ask = (path: string) =>
      exchange(
        own.service.publicUrl,
        `GET ${path} HTTP/1.1\r\nhost: hooks.example.com\r\nconnection: close\r\n\r\n`,
      );
    expect(await ask(`${new URL(endpoint).pathname}/url`)).toContain(`\r\n\r\n${url}`);
    for (const path of [new URL(url).pathname, '/oauth/boards/callback'])
      expect(errorOf(await ask(`${path}?state=x`)).code).toBe('OAUTH_STATE_INVALID');
    const begun = await ask(`${new URL(endpoint).pathname}/connect`);
    expect(begun).toContain(`redirect_uri=${encodeURIComponent(url)}`);
  },
);

test('with an origin for each endpoint, it is on the origin that the operator names', async () => {
  const flags = [
    ...['--public-url', 'https://{endpoint}.apps.example.com'],
    ...['--oauth-callback', 'https://connect.example.com'],
  ];
  const own = await startTestService({ flags });
  await own.publish('boards', { 'index.js': source(oidc.issuer) }, MANIFEST);
  const { id, endpoint } = await own.install('boards');
  const url = 'https://connect.example.com/oauth/boards/callback';
  const { body } = await own.api('GET', '/v1/integrations/boards');
  expect(body['urls']).toMatchObject({ oauthCallback: url });
  const [signingSecret = ''] = (await own.service.targets.ofIntegration('boards'))?.signingSecrets ?? [];
  const { state } = await beginFlow({
    ...{ signingSecret, cookie: randomText(), clientId: CLIENT.id, redirectURI: url, path: '/connect' },
    target: { installation: id },
  });
  const get = (host: string) =>
    exchange(
      own.service.publicUrl,
      `GET /oauth/boards/callback?code=c&state=${state} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    );
  const led = await get('connect.example.com');
  expect(statuses(led)).toEqual([302]);
  expect(led).toContain(`\r\nlocation: ${endpoint}/connect?code=c&state=`);
  // The same path on the origin of an endpoint belongs to the integration.
  expect(await get(new URL(endpoint).host)).toContain(`\r\n\r\n${endpoint}/oauth/boards/callback?code=c`);
  expect(errorOf(await get('elsewhere.example.com')).code).toBe('HOST_UNKNOWN');
});

test.each([
  [
    'on, where each endpoint has an origin',
    ['--public-url', 'https://{endpoint}.a.example', '--oauth-callback', 'on'],
  ],
  ['with a path', ['--oauth-callback', 'https://a.example/oauth']],
  ['another word', ['--oauth-callback', 'yes']],
])('the setting must be off, on or an origin: not %s', (_, flags) => {
  expect(() => readConfig(flags, {})).toThrow(ConfigError);
});
