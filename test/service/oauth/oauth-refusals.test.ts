/**
 * Refusals of an OAuth handler, and failures of the provider or the author's code: nothing changes,
 * the user reads the reason, and the log has it (docs/contract/oauth.md#outcomes). The provider is
 * real; states are forged with the integration's own secret.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { beginFlow, randomText } from '../../../sandbox/sdk/signed-state.ts';
import { ask } from '../../support/installation-api.ts';
import { Browser, consent, type Page } from '../../support/oauth/oidc-browser.ts';
import { CLIENT, type OidcServer, startOidcServer } from '../../support/oauth/oidc-server.ts';
import { type Installed, TestService } from '../../support/service.ts';

const MANIFEST = `target: all
configurations:
  account: &settings
    properties:
      oauth_credentials: {type: button, title: Account, description: d, button_text: Connect, callback_url: /oauth}
      team: {type: string, title: Team, description: d}
      note: {type: string, title: Note, description: d, default: kept}
    required: [oauth_credentials]
  space: *settings
`;

const source = (issuer: string) => `
import { createIntegration, createOAuthHandler, endpointPath } from '@annex/sdk';
const provider = {
  clientId: '${CLIENT.id}', clientSecret: '${CLIENT.secret}', scopes: ['openid', 'offline_access'], prompt: 'consent',
  authorizeURL: (installation) => '${issuer}/auth?installation=' + installation.id,
  accessTokenURL: async () => '${issuer}/token',
};
const extracting = (extractCredentials, options) => createOAuthHandler({ ...provider, extractCredentials }, options);
const teamOf = async ({ access_token }) => ({
  configuration: { oauth_credentials: { access_token }, team: 'T1' }, externalIds: ['T1'],
});
const handlers = {
  '/oauth': createOAuthHandler(provider),
  '/throws': extracting(({ team }) => { if (!team) throw new Error('the answer names no team'); }),
  '/looks': extracting((response) => {
    const { ok, status, error, ...members } = response;
    console.log(JSON.stringify([ok, status, Object.keys(response).filter((name) => name === 'ok' || name === 'status')]));
    if (!ok) throw new Error('not ok: ' + error);
    return { configuration: { oauth_credentials: { access_token: members.access_token } } };
  }),
  '/numbers': extracting(() => ({ configuration: { oauth_credentials: { access_token: 1 } } })),
  '/rejects': extracting(async () => { throw new Error('the team is unknown'); }),
  '/nothing': extracting(() => ({})),
  '/merges': extracting(teamOf),
  '/replaces': extracting(teamOf, { replace: true }),
  '/nowhere': createOAuthHandler({ ...provider, authorizeURL: 'javascript:alert(1)' }),
  '/elsewhere': createOAuthHandler({ ...provider, redirectURL: 'https://acme.example/oauth?x=1' }),
};
export default createIntegration({
  fetch(request, context) {
    const path = endpointPath(context.environment, request.url);
    if (path === '/secret') return new Response(context.environment.signingSecrets.integration);
    return handlers[path](request, context);
  },
});`;

const PATHS = ['oauth', 'throws', 'looks', 'numbers', 'rejects', 'nothing', 'merges', 'replaces'];

let oidc: OidcServer;
let annex: TestService;
let here: Installed;
let foreign: Installed;
let space: Installed;

beforeAll(async () => {
  oidc = await startOidcServer();
  annex = await TestService.start({ flags: ['--egress-allow', oidc.address] });
  await annex.publish('strict', { 'index.js': source(oidc.issuer) }, MANIFEST);
  here = await annex.install('strict');
  foreign = await annex.install('strict');
  space = await annex.installBelow('strict', here, 'space', 'sp-1');
  const endpoints = [here, foreign, space].map(({ endpoint }) => endpoint);
  oidc.knows(endpoints.flatMap((endpoint) => PATHS.map((name) => `${endpoint}/${name}`)));
});
afterAll(async () => {
  await annex.stop();
  await oidc.stop();
});
afterEach(() => {
  oidc.answerTokens = undefined;
  vi.useRealTimers();
});

const path = ({ id }: Installed) => `/integrations/strict/installations/${id}`;
const view = async (at = path(here)) => {
  const { body, headers } = await ask(annex, 'GET', at);
  return { body, etag: headers.get('etag') };
};
const logTexts = async () => (await annex.log(here)).map(({ text }) => text);

/** Consents at the provider, and stops at its redirect. @returns the URL of the callback */
async function agreed(browser: Browser, handler: string): Promise<string> {
  return (await consent(browser, await browser.open(handler), 'ada', handler)).url;
}

/** A readable page without any markup of its inputs. */
function expectPage(page: Page, status: number, words: string): void {
  expect(page.status, page.text).toBe(status);
  expect(page.text).toContain(words);
  expect(page.text).toContain('Nothing was changed');
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.headers.get('cache-control')).toBe('no-store');
}

/** Asserts that an action leaves the installation unchanged and writes to its log. */
async function expectUnchanged(line: string, work: () => Promise<void>): Promise<void> {
  const before = await view();
  const already = (await logTexts()).length;
  await work();
  expect(await view()).toEqual(before);
  const added = (await logTexts()).slice(already);
  expect(added.filter((text) => text.includes(line))).toHaveLength(1);
  const secrets = [CLIENT.secret, 'code=', 'Bearer '];
  expect(added.filter((text) => secrets.some((secret) => text.includes(secret)))).toEqual([]);
}

describe('the state', () => {
  test('is sent with all that the provider needs, and with a cookie for the endpoint only', async () => {
    const answer = await fetch(`${here.endpoint}/oauth?from=menu`, { redirect: 'manual' });
    const location = answer.headers.get('location') ?? '';
    expect(location).toContain('&scope=openid%20offline_access&prompt=consent&');
    expect(Object.fromEntries(new URL(location).searchParams)).toEqual({
      ...{ installation: here.id, client_id: CLIENT.id, redirect_uri: `${here.endpoint}/oauth` },
      ...{ response_type: 'code', scope: 'openid offline_access', prompt: 'consent' },
      ...{ state: expect.any(String), code_challenge_method: 'S256' },
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    });
    const { pathname } = new URL(here.endpoint);
    const cookie = new RegExp(
      `^annex_oauth=[\\w-]{43}; Path=${pathname}; Max-Age=600; HttpOnly; SameSite=Lax$`,
    );
    expect(answer.headers.getSetCookie()).toEqual([expect.stringMatching(cookie)]);
    const elsewhere = await fetch(`${here.endpoint}/elsewhere`, { redirect: 'manual' });
    const to = new URL(elsewhere.headers.get('location') ?? '');
    expect(to.searchParams.get('redirect_uri')).toBe('https://acme.example/oauth?x=1');
  });

  test('is refused if forged', async () => {
    const browser = new Browser();
    const callback = new URL(await agreed(browser, `${here.endpoint}/oauth`));
    const [payload = '', signature = ''] = (callback.searchParams.get('state') ?? '').split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const made = (more: object) => Buffer.from(JSON.stringify({ ...claims, ...more })).toString('base64url');
    const states = [
      ...[
        '',
        'x',
        '.',
        `${payload}.`,
        payload,
        `${payload}.${signature}.x`,
        `${payload}.${signature.slice(0, -4)}AAAA`,
      ],
      ...[`${made({ expires: 1e12 })}.${signature}`, `${made({ installation: foreign.id })}.${signature}`],
      'a'.repeat(4_000),
    ];
    for (const state of states) {
      callback.searchParams.set('state', state);
      await expectUnchanged('OAuth: the state is refused: forged', async () =>
        expectPage(await browser.open(callback.href), 400, 'does not belong to a request'),
      );
    }
    callback.searchParams.delete('state');
    expectPage(await browser.open(callback.href), 400, 'does not belong to a request');
  });

  test('of another installation, or of a space of this one, is refused', async () => {
    for (const other of [foreign, space]) {
      const browser = new Browser();
      const callback = await agreed(browser, `${other.endpoint}/oauth`);
      const moved = callback.replace(other.endpoint, here.endpoint);
      // The redirect URI is signed too, so the foreign state is made for this one, to pass as many
      // checks as possible.
      expectPage(await browser.open(moved), 400, 'does not belong');
      const id = { installation: other.id, ...(other === space && { space: 'sp-1' }) };
      const { state, cookie } = await madeState({ target: id });
      await expectUnchanged('OAuth: the state is refused: foreign', async () =>
        expectPage(
          await withCookie(`${here.endpoint}/oauth?code=x&state=${state}`, cookie),
          400,
          'another installation',
        ),
      );
    }
  });

  test('is refused if expired', async () => {
    const almost = await madeState({ agoMs: 570_000 });
    oidc.answerTokens = (_request, response) => response.writeHead(500).end();
    const answered = await withCookie(`${here.endpoint}/oauth?code=x&state=${almost.state}`, almost.cookie);
    expectPage(answered, 502, 'could not be connected');
    const { state, cookie } = await madeState({ agoMs: 600_000 });
    await expectUnchanged('OAuth: the state is refused: expired', async () =>
      expectPage(
        await withCookie(`${here.endpoint}/oauth?code=x&state=${state}`, cookie),
        400,
        'took too long',
      ),
    );
  });

  test('of one handler is refused by another', async () => {
    const browser = new Browser();
    const callback = await agreed(browser, `${here.endpoint}/oauth`);
    await expectUnchanged('OAuth: the state is refused: forged', async () =>
      expectPage(await browser.open(callback.replace('/oauth?', '/merges?')), 400, 'does not belong'),
    );
  });

  test('of an attacker’s own flow is refused in the browser of a victim', async () => {
    const callback = await agreed(new Browser(), `${here.endpoint}/oauth`);
    const victim = new Browser();
    for (const _ of ['without a cookie', 'in the middle of a flow of its own']) {
      await expectUnchanged('OAuth: the state is refused: another browser', async () =>
        expectPage(await victim.open(callback), 400, 'another browser'),
      );
      await victim.open(`${here.endpoint}/oauth`, oidc.issuer);
    }
  });

  test('is refused on replay, also in the same browser and with a valid code', async () => {
    const browser = new Browser();
    const [first, second] = [await agreed(browser, `${here.endpoint}/oauth`), new Browser()];
    expect((await browser.open(first)).status).toBe(200);
    await expectUnchanged('OAuth: the state is refused: another browser', async () =>
      expectPage(await browser.open(first), 400, 'was already completed'),
    );
    const fresh = new URL(await agreed(second, `${here.endpoint}/oauth`));
    fresh.searchParams.set('state', new URL(first).searchParams.get('state') ?? '');
    await expectUnchanged('OAuth: the state is refused: another browser', async () =>
      expectPage(await browser.open(fresh.href), 400, 'was already completed'),
    );
  });

  // Attack: a callback that is repeated with its cookie, as one that was recorded can be.
  test('is accepted once, from any client and for any number of concurrent requests', async () => {
    const code = 'c1';
    const { state, cookie } = await madeState();
    let exchanged = 0;
    oidc.answerTokens = (_request, response) => {
      exchanged += 1;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token":"t1"}');
    };
    const url = `${here.endpoint}/oauth?code=${code}&state=${state}`;
    const pages = await Promise.all(Array.from({ length: 8 }, () => withCookie(url, cookie)));
    expect(pages.map(({ status }) => status).toSorted()).toEqual([200, ...new Array(7).fill(400)]);
    expect(exchanged).toBe(1);
    await expectUnchanged('OAuth: the state is refused: spent', async () =>
      expectPage(await withCookie(url.replace('c1', 'c2'), cookie), 400, 'was already completed'),
    );
    expect(exchanged).toBe(1);
    const other = await madeState();
    expect(
      (await withCookie(`${here.endpoint}/oauth?code=c3&state=${other.state}`, other.cookie)).status,
    ).toBe(200);
  });

  test('a stolen code is refused in the thief’s own flow', async () => {
    const stolen =
      new URL(await agreed(new Browser(), `${here.endpoint}/oauth`)).searchParams.get('code') ?? '';
    const thief = new Browser();
    const own = new URL(await agreed(thief, `${here.endpoint}/oauth`));
    own.searchParams.set('code', stolen);
    await expectUnchanged('OAuth: the token endpoint answered 400 (invalid_grant)', async () =>
      expectPage(await thief.open(own.href), 502, 'could not be connected'),
    );
  });
});

describe('failures elsewhere change nothing', () => {
  test('a user who does not consent', async () => {
    const browser = new Browser();
    const page = await browser.open(`${here.endpoint}/oauth`);
    const abort = /href="([^"]*\/abort)"/.exec(page.text)?.[1] ?? '';
    await expectUnchanged('OAuth: the provider answered with the error access_denied', async () =>
      expectPage(await browser.open(new URL(abort, page.url).href), 400, 'Access was not granted'),
    );
  });

  test('text of the provider is shown as text, and only for a flow of this browser', async () => {
    const attack = encodeURIComponent('<script>alert(1)</script><img src=x onerror=alert(2)>');
    const { state, cookie } = await madeState();
    const url = `${here.endpoint}/oauth?error=server%0Aerror&error_description=${attack}`;
    await expectUnchanged('the error of no known form', async () => {
      const page = await withCookie(`${url}&state=${state}`, cookie);
      expectPage(page, 400, '&lt;script&gt;alert(1)&lt;/script&gt;');
      expect(page.text).not.toMatch(/<script|<img/);
    });
    expect((await new Browser().open(url)).text).not.toContain('alert');
  });

  test.each([
    ['refuses', 500, 'text/plain', 'down', 'the token endpoint answered 500'],
    ['redirects', 307, 'text/plain', '', 'the token endpoint answered 307'],
    [
      'answers with a page',
      200,
      'text/html',
      '<h1>Hi</h1>',
      'the token endpoint answered with neither a JSON object nor a form',
    ],
    [
      'answers with a list',
      200,
      'application/json',
      '[]',
      'the token endpoint answered with neither a JSON object nor a form',
    ],
    ['refuses with 200', 200, 'application/json', '{"error":"bad_code"}', 'gave no access token (bad_code)'],
    [
      'gives nothing',
      200,
      'application/json',
      '{"access_token":""}',
      'the token endpoint gave no access token',
    ],
  ])('a token endpoint that %s', async (_, status, type, body, line) => {
    const browser = new Browser();
    const callback = await agreed(browser, `${here.endpoint}/oauth`);
    oidc.answerTokens = (_request, response) => {
      response.writeHead(status, {
        'content-type': type,
        ...(status === 307 && { location: `${oidc.issuer}/x` }),
      });
      response.end(body);
    };
    await expectUnchanged(line, async () =>
      expectPage(await browser.open(callback), 502, 'could not be connected'),
    );
  });

  test('a token endpoint that cannot be reached', async () => {
    const browser = new Browser();
    const callback = await agreed(browser, `${here.endpoint}/oauth`);
    oidc.answerTokens = (request) => request.socket.destroy();
    await expectUnchanged('OAuth: the token endpoint cannot be reached', async () =>
      expectPage(await browser.open(callback), 502, 'could not be connected'),
    );
  });

  test.each([
    ['throws', 'the answer names no team'],
    ['rejects', 'the team is unknown'],
    ['numbers', 'extractCredentials returned an access_token that is not a text'],
    ['nothing', 'extractCredentials must return {configuration: {oauth_credentials: {…}}}'],
  ])('an extractCredentials that %s', async (name, line) => {
    const browser = new Browser();
    const callback = await agreed(browser, `${here.endpoint}/${name}`);
    await expectUnchanged(line, async () =>
      expectPage(await browser.open(callback), 502, 'could not be connected'),
    );
  });

  test.each([
    [200, { ok: false, error: 'invalid_team' }, '[false,200,["ok"]]', 'not ok: invalid_team'],
    [400, { error: 'invalid_grant' }, '[false,400,[]]', 'the token endpoint answered 400 (invalid_grant)'],
  ])(
    'an answer %i of the token endpoint that extractCredentials refuses: %j',
    async (status, body, seen, line) => {
      const browser = new Browser();
      const callback = await agreed(browser, `${here.endpoint}/looks`);
      oidc.answerTokens = (_request, response) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      await expectUnchanged(seen, async () => {
        expectPage(await browser.open(callback), 502, 'could not be connected');
      });
      expect(await annex.log(here)).toContainEqual(
        expect.objectContaining({ text: expect.stringContaining(line) }),
      );
    },
  );

  test('a configuration without a web server, and methods outside the flow', async () => {
    await expectUnchanged('OAuth: authorizeURL is not an allowed http or https URL', async () =>
      expectPage(await new Browser().open(`${here.endpoint}/nowhere`), 502, 'could not be connected'),
    );
    const posted = await fetch(`${here.endpoint}/oauth`, { method: 'POST' });
    expect({ status: posted.status, allow: posted.headers.get('allow') }).toEqual({
      status: 405,
      allow: 'GET',
    });
  });
});

describe('extracted credentials', () => {
  test('are merged into the configuration, with external ids; with `replace` they are all of it', async () => {
    await ask(annex, 'PATCH', path(here), { json: { configuration: { note: 'mine' } } });
    for (const [name, note] of [
      ['merges', { note: 'mine' }],
      ['replaces', {}],
    ] as const) {
      const browser = new Browser();
      expect((await browser.open(await agreed(browser, `${here.endpoint}/${name}`))).status).toBe(200);
      const { body } = await view();
      expect(body).toMatchObject({ status: 'active', sealed: ['oauth_credentials'], externalIds: ['T1'] });
      expect(body['configuration']).toEqual({ ...note, team: 'T1' });
    }
  });

  test('are stored in the space of the endpoint', async () => {
    const before = await view();
    const browser = new Browser();
    expect((await browser.open(await agreed(browser, `${space.endpoint}/oauth`))).status).toBe(200);
    const { body } = await view(`${path(here)}/spaces/sp-1`);
    expect(body).toMatchObject({ status: 'active', sealed: ['oauth_credentials'] });
    expect(await view()).toEqual(before);
  });
});

/** A state as the integration makes it, by default for `/oauth` here. */
async function madeState({ target = { installation: here.id } as object, agoMs = 0 } = {}) {
  const signingSecret = await (await fetch(`${here.endpoint}/secret`)).text();
  const cookie = randomText();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - agoMs });
  const { state } = await beginFlow({
    ...{ signingSecret, cookie, clientId: CLIENT.id, redirectURI: `${here.endpoint}/oauth`, path: '/oauth' },
    target: target as { installation: string },
  });
  vi.useRealTimers();
  return { state, cookie };
}

async function withCookie(url: string, cookie: string): Promise<Page> {
  const response = await fetch(url, { headers: { cookie: `other=1; annex_oauth=${cookie}` } });
  return { url, status: response.status, headers: response.headers, text: await response.text() };
}
