/**
 * Leases of credentials: one call at a time renews the credentials of a target, across isolates,
 * and only calls that have the credentials already can read them (docs/contract/oauth.md#leases).
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import type { Context, Environment, OAuthConfig, OAuthTokenOptions } from '../../../sandbox/sdk/index.ts';
import { ask, codeOf } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';
import { CLOCK, OPERATOR, published, temporaryStore } from '../../support/store/temporary-store.ts';

const CONFIGURATIONS = `configurations:
  account: &settings
    properties:
      oauth_credentials: {type: button, title: Account, description: d, button_text: Connect, callback_url: /oauth}
      note: {type: string, title: Note, description: d}
  space: *settings
  site: *settings
`;
const SHOWN = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: (request, { environment }) => Response.json(environment) });`;

const CREDENTIALS = { access_token: 'a0', refresh_token: 'r0', expires_at: 1 };

let annex: TestService;
let here: Installed;
let space: Installed;
let site: Installed;
beforeAll(async () => {
  annex = await TestService.start({ limits: { editsPerMinutePerInstallation: 60 } });
  await annex.publish('renewing', { 'index.js': SHOWN }, `target: all\n${CONFIGURATIONS}`);
  here = await annex.install('renewing');
  space = await annex.installBelow('renewing', here, 'space', 'space-1');
  site = await annex.installBelow('renewing', here, 'site', 'site-1');
});
afterAll(() => annex.stop());

const environmentOf = async ({ endpoint }: Installed) =>
  (await (await fetch(endpoint)).json()) as Environment & { apiTokens: { installation: string } };
const at = (level = '') => `/integrations/renewing/installations/${here.id}${level}`;
const connect = (credentials: object, level = '') =>
  ask(annex, 'PATCH', at(level), { json: { configuration: { oauth_credentials: credentials } } });

describe('the lease', () => {
  const take = async (of: Installed, level = '', json: object = {}) => {
    const token = (await environmentOf(of)).apiTokens.installation;
    return ask(annex, 'POST', at(`${level}/credentials/lease`), { token, json });
  };
  const release = async (of: Installed, level: string, lease: unknown) => {
    const token = (await environmentOf(of)).apiTokens.installation;
    return ask(annex, 'DELETE', at(`${level}/credentials/lease/${lease}`), { token });
  };

  test('is held by one call at a time, with the present credentials and their tag', async () => {
    await connect(CREDENTIALS);
    const [one, two] = await Promise.all([take(here), take(here)]);
    const leases = [one.body['lease'], two.body['lease']].filter((lease) => lease !== undefined);
    expect(leases).toEqual([expect.stringMatching(/^[\w-]{22}$/)]);
    for (const { body, headers } of [one, two]) {
      expect(body['credentials']).toEqual(CREDENTIALS);
      expect(headers.get('cache-control')).toBe('no-store');
      const read = await ask(annex, 'GET', at());
      expect(headers.get('etag')).toBe(read.headers.get('etag'));
    }
    // The holder can extend it; a forged lease extends nothing.
    expect((await take(here, '', { lease: leases[0] })).body['lease']).toBe(leases[0]);
    expect((await take(here, '', { lease: 'made-up' })).body['lease']).toBeUndefined();
    expect((await release(here, '', 'made-up')).status).toBe(204);
    expect((await take(here)).body['lease']).toBeUndefined();
    expect((await release(here, '', leases[0])).status).toBe(204);
    const next = await take(here);
    expect(next.body['lease']).toBeDefined();
    await release(here, '', next.body['lease']);
  });

  test('of a space needs a call of that space, and of the installation a call of any target of it', async () => {
    await connect({ access_token: 'of the space' }, '/spaces/space-1');
    await connect({ access_token: 'of the site' }, '/sites/site-1');
    const answers = async (of: Installed) => {
      const marks: string[] = [];
      for (const level of ['', '/spaces/space-1', '/sites/site-1', '/spaces/space-2']) {
        const answer = await take(of, level);
        const { lease, credentials } = answer.body;
        if (lease !== undefined) await release(of, level, lease);
        const token = (credentials as { access_token: string } | undefined)?.access_token;
        marks.push(token ?? codeOf(answer));
      }
      return marks;
    };
    const [forbidden, unknown] = ['403 TOKEN_FORBIDDEN', '404 INSTALLATION_UNKNOWN'];
    expect(await answers(here)).toEqual(['a0', forbidden, forbidden, unknown]);
    expect(await answers(space)).toEqual(['a0', 'of the space', unknown, unknown]);
    expect(await answers(site)).toEqual(['a0', unknown, 'of the site', unknown]);
  });
});

test('a lease outlives the longest call, and then expires; it ends with its target', async () => {
  const store = await temporaryStore();
  const manifest = published({}, CONFIGURATIONS);
  await store.registry.publish({ manifest, script: '', sourceMap: '{}', secrets: new Map() }, OPERATOR);
  const asked = { integration: 'hello', organization: 'acme', externalIds: [] };
  const name = await store.installations.install(asked, OPERATOR);
  const start = CLOCK.now;
  onTestFinished(() => {
    CLOCK.now = start;
  });
  const first = await store.credentialLeases.take(name);
  expect(first).toMatchObject({ credentials: undefined, lease: { id: expect.any(String) } });
  CLOCK.now = start + 30_000;
  expect((await store.credentialLeases.take(name))?.lease).toBeUndefined();
  CLOCK.now = first?.lease?.expiresAt ?? 0;
  expect(CLOCK.now).toBeGreaterThan(start + 30_000);
  const second = await store.credentialLeases.take(name);
  expect(second?.lease).toBeDefined();
  // A former holder cannot release the lease of the next one.
  await store.credentialLeases.release(name, first?.lease?.id ?? '');
  expect((await store.credentialLeases.take(name))?.lease).toBeUndefined();
  await store.installations.uninstall(name, OPERATOR);
  expect(await store.credentialLeases.take(name)).toBeUndefined();
});

/**
 * `getOAuthToken` in isolates that share nothing: each has its own copy of the SDK. The provider
 * counts requests, and refuses a refresh token that is used twice.
 */
describe('an expired token', () => {
  let provider: Server;
  let spent: string[] = [];
  /** Delays the next answer. */
  let held = Promise.resolve();
  let status = 200;
  beforeAll(async () => {
    provider = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const token = new URLSearchParams(body).get('refresh_token') ?? '';
      const isKnown = !spent.includes(token);
      spent.push(token);
      await held;
      const answer = {
        access_token: `a${spent.length}`,
        refresh_token: `r${spent.length}`,
        expires_in: 3_600,
      };
      response.writeHead(isKnown ? status : 400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isKnown ? answer : { error: 'invalid_grant' }));
    });
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => provider.close(resolve)));
  afterEach(() => {
    spent = [];
    held = Promise.resolve();
    status = 200;
  });

  /** A call in its own isolate: its environment is from now, its actions come later. */
  async function call(of = here) {
    vi.resetModules();
    const { Api, getOAuthToken } = {
      ...(await import('../../../sandbox/sdk/api.ts')),
      ...(await import('../../../sandbox/sdk/index.ts')),
    };
    const environment = await environmentOf(of);
    const context = {
      environment,
      api: new Api(environment),
      waitUntil: () => undefined,
    } as unknown as Context;
    const { port } = provider.address() as AddressInfo;
    const config: OAuthConfig = {
      ...{ clientId: 'id', clientSecret: 'secret', authorizeURL: 'https://unused.example/' },
      accessTokenURL: `http://127.0.0.1:${port}/token`,
    };
    return (options?: OAuthTokenOptions) => getOAuthToken(config, context, options);
  }

  /** A call that has begun to renew, and waits for the provider until `resolve`. */
  async function renewing() {
    await connect(CREDENTIALS);
    const token = await call();
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    const asked = token();
    await expect.poll(() => spent).toEqual(['r0']);
    return { asked, resolve };
  }

  test('is renewed once, by calls in isolates that share nothing', async () => {
    await connect({ ...CREDENTIALS, team: { id: 'T1', tags: ['x'] } });
    const calls = await Promise.all(Array.from({ length: 5 }, () => call()));
    expect(await Promise.all(calls.map((token) => token()))).toEqual(Array(5).fill('a1'));
    expect(spent).toEqual(['r0']);
    // Members that the provider leaves out are kept; the time is new.
    const { configuration } = await environmentOf(here);
    const kept = configuration?.['oauth_credentials'] as { expires_at: number };
    expect(kept).toMatchObject({ access_token: 'a1', refresh_token: 'r1', team: { id: 'T1', tags: ['x'] } });
    expect(kept.expires_at).toBeGreaterThan(Date.now() + 3_000_000);
  });

  test('is renewed once within a call, however often its code asks', async () => {
    await connect(CREDENTIALS);
    const token = await call();
    expect(await Promise.all([token(), token(), token()])).toEqual(['a1', 'a1', 'a1']);
    expect(spent).toEqual(['r0']);
  });

  test('that a user replaces meanwhile is kept as the user set it', async () => {
    const { asked, resolve } = await renewing();
    await connect({ access_token: 'chosen', refresh_token: 'new', expires_at: Date.now() + 3_600_000 });
    resolve();
    expect(await asked).toBe('chosen');
    expect((await environmentOf(here)).configuration).toMatchObject({
      oauth_credentials: { access_token: 'chosen' },
    });
  });

  test('is stored although another property was edited meanwhile', async () => {
    const { asked, resolve } = await renewing();
    await ask(annex, 'PATCH', at(), { json: { configuration: { note: 'edited' } } });
    resolve();
    expect(await asked).toBe('a1');
    expect((await environmentOf(here)).configuration).toMatchObject({
      ...{ note: 'edited', oauth_credentials: { access_token: 'a1', refresh_token: 'r1' } },
    });
  });

  // Attack: edits in a loop by the integration's users, so that a rotated token cannot be stored
  // and is lost.
  test('is stored although the rate of edits is used up', async () => {
    const { asked, resolve } = await renewing();
    const { installation } = (await environmentOf(here)).apiTokens;
    const edit = () => ask(annex, 'PATCH', at(), { token: installation, json: { externalIds: ['x'] } });
    while ((await edit()).status !== 429);
    resolve();
    expect(await asked).toBe('a1');
    expect((await environmentOf(here)).configuration).toMatchObject({
      oauth_credentials: { access_token: 'a1', refresh_token: 'r1' },
    });
  });

  test('of the installation serves a space without one, and a space’s own comes first', async () => {
    await connect(CREDENTIALS);
    await ask(annex, 'PATCH', at('/spaces/space-1'), {
      json: { configuration: { oauth_credentials: null } },
    });
    expect(await (await call(space))()).toBe('a1');
    expect(spent).toEqual(['r0']);
    await connect({ ...CREDENTIALS, refresh_token: 's0' }, '/spaces/space-1');
    expect(await (await call(space))()).toBe('a2');
    expect(spent).toEqual(['r0', 's0']);
    expect(await (await call(here))()).toBe('a1');
  });

  test('is used for its remaining time while the provider fails; then the error is reported', async () => {
    status = 503;
    const log = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => log.mockRestore());
    await connect({ ...CREDENTIALS, expires_at: Date.now() + 20_000 });
    expect(await (await call())()).toBe('a0');
    await connect({ ...CREDENTIALS, refresh_token: 'r-1' });
    await expect((await call())()).rejects.toMatchObject({ name: 'ExposableError', status: 503 });
    expect(log.mock.calls).toEqual(Array(2).fill(['OAuth: not renewed: the token endpoint answered 503']));
  });

  test('that is refused for good is told to the product once, and its connection again once', async () => {
    const log = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => log.mockRestore());
    const told = async () => {
      const { body } = await ask(annex, 'GET', '/notices?limit=100');
      const items = body['items'] as { type: string; installation?: string; space?: string }[];
      return items
        .filter(({ type, installation }) => type.startsWith('connection.') && installation === here.id)
        .map(({ type, space: of }) => `${type} ${of}`)
        .reverse();
    };
    const before = await told();
    const since = async () => (await told()).slice(before.length);
    spent = ['s1'];
    await connect({ ...CREDENTIALS, refresh_token: 's1' }, '/spaces/space-1');
    for (let calls = 0; calls < 3; calls += 1)
      await expect((await call(space))()).rejects.toMatchObject({ status: 409 });
    expect(await since()).toEqual(['connection.lost space-1']);
    // Another edit restores nothing, and code without the lease reports nothing.
    await ask(annex, 'PATCH', at('/spaces/space-1'), { json: { configuration: { note: 'edited' } } });
    const { installation: token } = (await environmentOf(space)).apiTokens;
    const forged = await ask(annex, 'POST', at('/spaces/space-1/credentials/lost'), {
      token,
      json: { lease: 'forged' },
    });
    expect(codeOf(forged)).toBe('409 LEASE_OVER');
    expect(await since()).toEqual(['connection.lost space-1']);
    for (const access_token of ['b0', 'b1'])
      await connect({ access_token, refresh_token: 'new' }, '/spaces/space-1');
    expect(await since()).toEqual(['connection.lost space-1', 'connection.restored space-1']);
  });

  test('that a person replaces before the report is not told as lost', async () => {
    const { asked, resolve } = await renewing();
    status = 400;
    const log = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => log.mockRestore());
    await connect({ access_token: 'chosen', refresh_token: 'new', expires_at: Date.now() + 3_600_000 });
    const count = async () =>
      ((await ask(annex, 'GET', '/notices?type=connection.lost&limit=100')).body['items'] as object[]).length;
    const before = await count();
    resolve();
    await expect(asked).rejects.toMatchObject({ status: 409 });
    expect(await count()).toBe(before);
  });

  test.each([
    ['of a target that was never connected', null],
    ['without a refresh token', { access_token: 'a0', expires_at: 1 }],
  ])('%s, is an error', async (_, credentials) => {
    await ask(annex, 'PATCH', at(), { json: { configuration: { oauth_credentials: credentials } } });
    await expect((await call())()).rejects.toMatchObject({ name: 'ExposableError', status: 409 });
    expect(spent).toEqual([]);
  });

  describe('that the provider has refused', () => {
    const LASTING = { ...CREDENTIALS, expires_at: Date.now() + 86_400_000 };
    const fresh = { fresh: true };
    /** Each test has a target, and so a minute, of its own. */
    let of: Installed;
    beforeEach(async () => {
      of = await annex.install('renewing');
      await store(LASTING);
    });
    const store = (credentials: object) =>
      ask(annex, 'PATCH', `/integrations/renewing/installations/${of.id}`, {
        json: { configuration: { oauth_credentials: credentials } },
      });

    test('is renewed before its time, once, by calls in isolates that share nothing', async () => {
      const calls = await Promise.all(Array.from({ length: 5 }, () => call(of)));
      expect(await Promise.all(calls.map((token) => token()))).toEqual(Array(5).fill('a0'));
      expect(await Promise.all(calls.map((token) => token(fresh)))).toEqual(Array(5).fill('a1'));
      const [token] = calls;
      expect([await token?.(), await token?.(fresh)]).toEqual(['a1', 'a1']);
      expect(spent).toEqual(['r0']);
    });

    // Attack: code in a loop of refusals and renewals.
    test('is renewed once in a minute; until then, the present one is returned', async () => {
      vi.useFakeTimers({ toFake: ['Date'], now: Math.ceil(Date.now() / 60_000) * 60_000 });
      onTestFinished(() => {
        vi.useRealTimers();
      });
      expect(await (await call(of))(fresh)).toBe('a1');
      for (let calls = 0; calls < 5; calls += 1) expect(await (await call(of))(fresh)).toBe('a1');
      expect(spent).toEqual(['r0']);
      vi.setSystemTime(Date.now() + 60_000);
      expect(await (await call(of))(fresh)).toBe('a2');
      expect(spent).toEqual(['r0', 'r1']);
    });

    test('is returned while the provider cannot renew it, and then asked for no more in that minute', async () => {
      const log = vi.spyOn(console, 'error').mockReturnValue();
      onTestFinished(() => log.mockRestore());
      vi.useFakeTimers({ toFake: ['Date'], now: Math.ceil(Date.now() / 60_000) * 60_000 });
      onTestFinished(() => {
        vi.useRealTimers();
      });
      status = 503;
      for (let calls = 0; calls < 3; calls += 1) expect(await (await call(of))(fresh)).toBe('a0');
      expect(spent).toEqual(['r0']);
    });

    test('without a refresh token has to be connected again, which is not told as lost', async () => {
      await store({ access_token: 'a0' });
      await expect((await call(of))(fresh)).rejects.toMatchObject({ name: 'ExposableError', status: 409 });
      const { items } = (await ask(annex, 'GET', '/notices?type=connection.lost&limit=100')).body;
      expect(
        (items as { installation: string }[]).filter(({ installation }) => installation === of.id),
      ).toEqual([]);
    });
  });

  test('but a token without an expiry, in milliseconds or in seconds, is never renewed', async () => {
    for (const expires_at of [undefined, Date.now() + 60_000, Math.floor(Date.now() / 1_000) + 60]) {
      await connect({ access_token: 'a0', refresh_token: 'r0', ...(expires_at && { expires_at }) });
      expect(await (await call())()).toBe('a0');
    }
    expect(spent).toEqual([]);
  });
});
