/**
 * OAuth as providers do it: connecting, renewal, refused renewal and a second consent with the
 * answers of fifteen providers, and answers of further kinds (docs/contract/oauth.md). The handler
 * runs in an isolate of a service; the token endpoints are on loopback.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  PROVIDERS,
  type ProviderAnswers,
  type ProviderName,
  SECRET,
  startTokenServers,
  type TokenReply,
  type TokenRequest,
  type TokenServers,
} from '../../support/oauth/token-servers.ts';
import { type Installed, TestService } from '../../support/service.ts';

const NAMES = Object.keys(PROVIDERS) as ProviderName[];

const MANIFEST = `configurations:
  account:
    properties:
      oauth_credentials: {type: button, title: Account, description: d, button_text: Connect, callback_url: /any/connect}
`;

const source = (origin: string) => `
import { createIntegration, createOAuthHandler, endpointPath, getOAuthToken } from '@annex/sdk';
const config = (name, more) => ({
  clientId: 'id of ' + name, clientSecret: ${JSON.stringify(SECRET)},
  authorizeURL: '${origin}/' + name + '/authorize', accessTokenURL: '${origin}/' + name + '/token', ...more,
});
const configs = Object.fromEntries(${JSON.stringify([...NAMES, 'any'])}.map((name) => [name, config(name)]));
configs.figma = config('figma', { refreshTokenURL: '${origin}/figma/refresh' });
configs.ids = config('any', { extractCredentials: ({ access_token, refresh_token, team }) => ({
  configuration: { oauth_credentials: { access_token, refresh_token } }, externalIds: [team],
}) });
const handlers = Object.fromEntries(Object.entries(configs).map(([name, of]) => [name, createOAuthHandler(of)]));
export default createIntegration({
  async fetch(request, context) {
    const [, name, action] = endpointPath(context.environment, request.url).split('/');
    const { oauth_credentials } = context.environment.installation.configuration;
    if (action === 'connect') return handlers[name](request, context);
    if (action === 'token') return new Response(await getOAuthToken(configs[name], context));
    if (action === 'stored') return Response.json(oauth_credentials ?? null);
    await context.api.request('PATCH /integrations/{name}/installations/{id}', {
      query: { configuration: 'merge' },
      body: { configuration: { oauth_credentials: { ...oauth_credentials, expires_at: 1 } } },
    });
    return new Response('over');
  },
});`;

let servers: TokenServers;
let annex: TestService;
let here: Installed;

beforeAll(async () => {
  servers = await startTokenServers();
  annex = await TestService.start({ flags: ['--egress-allow', servers.address] });
  await annex.publish('accounts', { 'index.js': source(servers.origin) }, MANIFEST);
});
afterAll(async () => {
  await annex.stop();
  await servers.stop();
});
beforeEach(async () => {
  here = await annex.install('accounts');
  servers.requests.length = 0;
  servers.unauthenticated = () => undefined;
});

interface Seen {
  readonly status: number;
  readonly text: string;
}

/** A flow that has begun: the URL of its callback, and the cookie. */
async function begun(name: string) {
  const answer = await fetch(`${here.endpoint}/${name}/connect`, { redirect: 'manual' });
  const asked = new URL(answer.headers.get('location') ?? '').searchParams;
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  return { callback: asked.get('redirect_uri') ?? '', state: asked.get('state') ?? '', cookie };
}

async function open(url: string, cookie = ''): Promise<Seen> {
  const answer = await fetch(url, { headers: { cookie }, redirect: 'manual' });
  return { status: answer.status, text: await answer.text() };
}

async function connect(name: string, code = 'c1'): Promise<Seen> {
  const { callback, state, cookie } = await begun(name);
  return open(`${callback}?code=${code}&state=${state}`, cookie);
}

const token = (name = 'any') => open(`${here.endpoint}/${name}/token`);
const expire = async () => expect((await open(`${here.endpoint}/any/expire`)).status).toBe(200);
const stored = async () =>
  JSON.parse((await open(`${here.endpoint}/any/stored`)).text) as Record<string, unknown>;
const lines = async () => (await annex.log(here)).map(({ text }) => text);

/** Members of an answer, of either encoding. */
const membersOf = ({ body }: TokenReply): Record<string, unknown> =>
  typeof body === 'string' ? Object.fromEntries(new URLSearchParams(body)) : { ...body };

describe('an account at', () => {
  test.each(NAMES)('%s is connected, renewed, refused and connected again', async (name) => {
    const provider: ProviderAnswers = PROVIDERS[name];
    let refuses = false;
    servers.unauthenticated = ({ auth }) => {
      const isFine = provider.auth === 'any' || provider.auth === auth;
      return isFine
        ? undefined
        : (provider.unauthenticated ?? { status: 401, body: { error: 'invalid_client' } });
    };
    servers.answer = ({ path, form }) => {
      if (form['grant_type'] === 'authorization_code')
        return form['code'] === 'c1' ? provider.connected : provider.again;
      if (path !== `/${name}${provider.refreshPath ?? '/token'}`) return { status: 404, body: 'absent' };
      return refuses ? provider.refused : provider.renewed;
    };
    const [first, renewed, again] = [provider.connected, provider.renewed, provider.again].map(membersOf);

    expect(await connect(name)).toMatchObject({ status: 200 });
    const lasts = first?.['expires_in'];
    const members = { access_token: first?.['access_token'], refresh_token: first?.['refresh_token'] };
    const expires_at = lasts === undefined ? undefined : Date.now() + Number(lasts) * 1_000;
    const now = await stored();
    expect(now).toEqual({ ...members, ...(lasts !== undefined && { expires_at: expect.any(Number) }) });
    if (expires_at !== undefined)
      expect(Math.abs(Number(now['expires_at']) - expires_at)).toBeLessThan(600_000);
    expect(await token(name)).toEqual({ status: 200, text: first?.['access_token'] });

    await expire();
    expect(await token(name)).toEqual({ status: 200, text: renewed?.['access_token'] });
    expect(await stored()).toMatchObject({
      refresh_token: renewed?.['refresh_token'] ?? first?.['refresh_token'],
    });
    expect(await token(name)).toEqual({ status: 200, text: renewed?.['access_token'] });

    await expire();
    refuses = true;
    expect(await token(name)).toMatchObject({
      ...{ status: 409, text: expect.stringContaining('Connect the integration again') },
    });

    const before = await stored();
    expect(await connect(name, 'c2')).toMatchObject({ status: 200 });
    expect(await stored()).toMatchObject({
      access_token: again?.['access_token'],
      refresh_token: again?.['refresh_token'] ?? before['refresh_token'],
    });
    expect(await token(name)).toEqual({ status: 200, text: again?.['access_token'] });

    // One way to authenticate is learnt at the first refusal, and is the first of later requests.
    const ways = servers.requests.map(({ auth }) => auth);
    const usual = provider.auth === 'basic' ? 'basic' : 'form';
    expect(ways.slice(ways.indexOf(usual) + 1).slice(0, 2)).toEqual([usual, usual]);
    const texts = (await lines()).join('\n');
    for (const secret of [SECRET, first?.['refresh_token'], renewed?.['access_token']])
      if (typeof secret === 'string' && secret.length > 3) expect(texts).not.toContain(secret);
  });
});

/** One account, with these answers to a code and to a renewal. */
function answers(connected: TokenReply, renewed: TokenReply = { status: 500, body: {} }) {
  servers.answer = ({ form }: TokenRequest) =>
    form['grant_type'] === 'authorization_code' ? connected : renewed;
}

describe('the expiry of a token', () => {
  test.each([
    [{ expires_in: 0 }],
    [{ expires_in: '0' }],
    [{ expires_in: '' }],
    [{ expires_in: null }],
    [{ expires_in: -1 }],
    [{ expires_in: 'never' }],
    [{ expires_in: true }],
    [{ expires_in: [3_600] }],
    [{ expires_at: 0 }],
    [{ expires_at: '' }],
    [{}],
  ])('of %j is none: the token is used, and not renewed at each call', async (members) => {
    answers({ body: { access_token: 'lasting', scope: null, ...members } });
    expect(await connect('any')).toMatchObject({ status: 200 });
    expect(await stored()).toEqual({ access_token: 'lasting' });
    expect(await token()).toEqual({ status: 200, text: 'lasting' });
    answers({ body: { access_token: 'lasting', refresh_token: 'r', ...members } });
    expect(await connect('any')).toMatchObject({ status: 200 });
    servers.requests.length = 0;
    expect(await token()).toEqual({ status: 200, text: 'lasting' });
    expect(servers.requests).toEqual([]);
  });

  const SECONDS = Math.floor(Date.now() / 1_000) + 7_200;
  test.each([
    [{ expires_at: SECONDS }],
    [{ expires_at: String(SECONDS) }],
    [{ expires_at: SECONDS * 1_000 }],
    [{ expires_at: new Date(SECONDS * 1_000).toISOString() }],
    [{ expires_in: 0, expires_at: SECONDS }],
  ])('of %j is that time', async (members) => {
    answers({ body: { access_token: 'a', refresh_token: 'r', ...members } });
    expect(await connect('any')).toMatchObject({ status: 200 });
    expect(await stored()).toMatchObject({ expires_at: SECONDS * 1_000 });
  });

  test('that is over is renewed', async () => {
    const members = { refresh_token: 'r', expires_at: 1_500_000_000 };
    answers({ body: { access_token: 'a', ...members } }, { body: { access_token: 'b', expires_in: '3600' } });
    expect(await connect('any')).toMatchObject({ status: 200 });
    expect(await token()).toEqual({ status: 200, text: 'b' });
  });
});

describe('a renewal', () => {
  const connectOver = async (renewed: TokenReply) => {
    answers({ body: { access_token: 'a', refresh_token: 'r', expires_in: 3_600 } }, renewed);
    expect(await connect('any')).toMatchObject({ status: 200 });
    await expire();
  };

  test.each<[number, object | string]>([
    [400, { error: 'token_revoked' }],
    [400, { error: 'unauthorized_client' }],
    [500, { error: 'invalid_grant' }],
    [400, { status: 'BAD_REFRESH_TOKEN', message: 'missing or unknown refresh token' }],
    [401, { error: 'invalid_client' }],
    [403, '<h1>Forbidden</h1>'],
    [404, {}],
    [200, { ok: false, error: 'invalid_refresh_token' }],
    [200, { error: { code: 'revoked', message: 'The account was removed.' } }],
    [200, { errcode: 40_030, errmsg: 'invalid refresh_token' }],
    [200, 'error=bad_refresh_token'],
    [200, { refresh_token: 'r2' }],
  ])('that is refused with %i %j asks to connect again', async (status, body) => {
    await connectOver({ status, body });
    expect(await token()).toMatchObject({
      ...{ status: 409, text: expect.stringContaining('Connect the integration again') },
    });
    // A refused renewal replaces nothing.
    expect(await stored()).toMatchObject({ access_token: 'a', refresh_token: 'r' });
  });

  test.each<[number, object | string, string?]>([
    [408, {}],
    [429, { error: 'rate_limited' }],
    [500, { error: 'server_error' }],
    [503, 'down', 'text/plain'],
    [200, '<h1>Maintenance</h1>', 'text/html'],
    [400, { error: 'temporarily_unavailable' }],
  ])('that fails with %i %j can be tried again', async (status, body, type) => {
    await connectOver({ status, body, ...(type && { type }) });
    expect(await token()).toMatchObject({
      ...{ status: 503, text: expect.stringContaining('Try again in a moment') },
    });
    answers({ body: {} }, { body: { access_token: 'b' } });
    expect(await token()).toEqual({ status: 200, text: 'b' });
  });

  test('keeps the refresh token for which the answer has an empty one', async () => {
    await connectOver({ body: 'access_token=b&expires_in=3600&refresh_token=' });
    expect(await token()).toEqual({ status: 200, text: 'b' });
    expect(await stored()).toMatchObject({ access_token: 'b', refresh_token: 'r' });
  });
});

describe('an answer in form encoding', () => {
  test.each(['application/x-www-form-urlencoded', 'text/plain;charset=utf-8', 'application/json'])(
    'of the type %s is read',
    async (type) => {
      answers({ type, body: 'access_token=gho_a%2Bb&scope=repo%2Cgist&token_type=bearer' });
      expect(await connect('any')).toMatchObject({ status: 200 });
      expect(await stored()).toEqual({ access_token: 'gho_a+b' });
    },
  );

  test('but a page is not, and the log names its type', async () => {
    answers({ type: 'text/html', body: '<a href="?access_token=x">sign in</a>' });
    expect(await connect('any')).toMatchObject({ status: 502 });
    expect(await lines()).toContain(
      'OAuth: the token endpoint answered with neither a JSON object nor a form (text/html)',
    );
  });
});

test('a client that is refused in both ways is refused, and asked for twice', async () => {
  servers.unauthenticated = () => ({ status: 401, body: { error: 'invalid_client' } });
  expect(await connect('any')).toMatchObject({ status: 502 });
  expect(servers.requests.map(({ auth }) => auth)).toEqual(['form', 'basic']);
  expect(await lines()).toContain('OAuth: the token endpoint answered 401 (invalid_client)');
});

describe('a second consent', () => {
  test('of the same external ids keeps the refresh token; of others it does not', async () => {
    answers({ body: { access_token: 'a', refresh_token: 'r1', team: 'T1' } });
    expect(await connect('any')).toMatchObject({ status: 200 });
    answers({ body: { access_token: 'b', team: 'T1' } });
    expect(await connect('ids')).toMatchObject({ status: 200 });
    expect(await stored()).toEqual({ access_token: 'b', refresh_token: 'r1' });
    // Attack: a renewal that brings back the account that a person has replaced.
    answers({ body: { access_token: 'c', team: 'T2' } });
    expect(await connect('ids')).toMatchObject({ status: 200 });
    expect(await stored()).toEqual({ access_token: 'c' });
  });
});

describe('a callback', () => {
  test.each([
    ['without code and error', 'admin_consent=True&tenant=t&state=STATE', 'neither a code nor an error'],
    ['with an empty code', 'code=&state=STATE', 'neither a code nor an error'],
    ['with a state only', 'state=STATE', 'neither a code nor an error'],
    ['with nothing but words of a provider', 'setup_action=install&installation_id=1', 'does not belong'],
    ['of a denial without a state', 'error=access_denied', 'Access was not granted'],
    ['of a denial with an empty state', 'error=access_denied&state=', 'Access was not granted'],
    ['of a description without an error', 'error_description=no&state=STATE', 'neither a code nor an error'],
  ])('%s is a page', async (_, query, words) => {
    answers({ body: { access_token: 'a' } });
    const { callback, state, cookie } = await begun('any');
    const page = await open(`${callback}?${query.replace('STATE', state)}`, cookie);
    expect(page).toMatchObject({ status: 400, text: expect.stringContaining(words) });
    expect(page.text).toContain('Nothing was changed');
    expect(servers.requests).toEqual([]);
  });

  test('with a code and an empty error is complete', async () => {
    answers({ body: { access_token: 'a' } });
    const { callback, state, cookie } = await begun('any');
    expect(await open(`${callback}?error=&code=c1&state=${state}`, cookie)).toMatchObject({ status: 200 });
  });
});
