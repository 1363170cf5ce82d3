/**
 * Parameters of `createOAuthHandler` and its cookie, without a provider
 * (docs/contract/oauth.md#parameters).
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Context, createOAuthHandler, type OAuthConfig } from '../../../sandbox/sdk/index.ts';

const CONFIG: OAuthConfig = {
  clientId: 'id',
  clientSecret: 'secret',
  authorizeURL: 'https://provider.example/authorize?audience=api',
  accessTokenURL: 'https://provider.example/token',
};

function contextAt(publicEndpoint: string, more: object = { installation: { id: 'ins_1' } }): Context {
  const environment = {
    integration: { name: 'test', urls: { publicEndpoint } },
    signingSecrets: { integration: 'signing secret' },
    ...more,
  };
  return { environment } as unknown as Context;
}

const SHARED = 'https://apps.example.com/key';

describe('the definition', () => {
  test.each([
    [{ clientId: undefined }, 'clientId must be a text or a function'],
    [{ clientSecret: '' }, 'clientSecret must be a text or a function'],
    [{ authorizeURL: 1 }, 'authorizeURL must be a text or a function'],
    [{ accessTokenURL: null }, 'accessTokenURL must be a text or a function'],
    [
      { authorizeUrl: 'https://provider.example' },
      '"authorizeUrl" is not one of grant, clientId, clientSecret',
    ],
    [{ grant: 'password' }, 'grant must be "authorization_code" or "client_credentials"'],
    [{ grant: 'client_credentials' }, '"authorizeURL" is not one of'],
    [{ clientAuthentication: 'form' }, 'clientAuthentication must be "body" or "basic"'],
    [{ responseMode: 'fragment' }, 'responseMode must be "form_post"'],
    [{ scopeSeparator: '' }, 'scopeSeparator must be a text'],
    [{ authorizeParameters: { state: 'mine' } }, 'authorizeParameters cannot set "state"'],
    [{ tokenParameters: { code_verifier: 'mine' } }, 'tokenParameters cannot set "code_verifier"'],
    [{ tokenParameters: { audience: 1 } }, 'tokenParameters.audience must be a text or a function'],
  ])('with %j is refused at once, so that publishing fails', (wrong, message) => {
    const config = { ...CONFIG, ...wrong } as unknown as OAuthConfig;
    expect(() => createOAuthHandler(config)).toThrow(message);
  });
});

test('accepts unchecked members of the answer', () => {
  const handlers: OAuthConfig[] = [
    {
      ...CONFIG,
      extractCredentials: (response) => {
        if (!response.ok) throw new Error(`refused with ${response.status}`);
        return { configuration: { oauth_credentials: { access_token: response['access_token'] } } };
      },
    },
    {
      ...CONFIG,
      extractCredentials: async ({ access_token, team }) => ({
        configuration: { oauth_credentials: { access_token }, team },
        externalIds: [team],
      }),
    },
  ];
  expect(handlers.map((config) => typeof createOAuthHandler(config))).toEqual(['function', 'function']);
});

describe('the beginning', () => {
  const begin = (context: Context, cookie?: string, config: Partial<OAuthConfig> = {}) =>
    createOAuthHandler({ ...CONFIG, ...config })(
      new Request(`${context.environment.integration.urls.publicEndpoint}/oauth?x=1`, {
        headers: cookie === undefined ? {} : { cookie },
      }),
      context,
    );

  test('needs an installation', async () => {
    const response = await begin(contextAt(SHARED, {}));
    expect({ status: response.status, text: await response.text() }).toEqual({
      ...{ status: 400, text: expect.stringContaining('belongs to no installation') },
    });
  });

  test('keeps the parameters of the provider’s URL, and leaves out options that are not set', async () => {
    const location = new URL((await begin(contextAt(SHARED))).headers.get('location') ?? '');
    expect([...location.searchParams.keys()]).toEqual([
      ...['audience', 'client_id', 'redirect_uri', 'response_type', 'state'],
      ...['code_challenge', 'code_challenge_method'],
    ]);
    expect(location.searchParams.get('redirect_uri')).toBe(`${SHARED}/oauth`);
  });

  test.each([
    [SHARED, /^__Secure-annex_oauth=[\w-]{43}; Path=\/key; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/],
    ['https://key.apps.example.com', /^__Host-annex_oauth=[\w-]{43}; Path=\/; .*; Secure$/],
    ['http://127.0.0.1:3000/key', /^annex_oauth=[\w-]{43}; Path=\/key; Max-Age=600; HttpOnly; SameSite=Lax$/],
  ])('at %s leaves a cookie that no other endpoint gets', async (endpoint, cookie) => {
    expect((await begin(contextAt(endpoint))).headers.get('set-cookie')).toMatch(cookie);
  });

  test('gives two windows of one browser the same cookie, and accepts no cookie of another form', async () => {
    const cookieOf = async (sent?: string) =>
      /=([\w-]+);/.exec((await begin(contextAt(SHARED), sent)).headers.get('set-cookie') ?? '')?.[1];
    const first = await cookieOf();
    expect(await cookieOf(`other=1; __Secure-annex_oauth=${first}`)).toBe(first);
    for (const strange of ['short', 'a'.repeat(44), 'a b; c'])
      expect(await cookieOf(`__Secure-annex_oauth=${strange}`)).not.toBe(strange);
  });

  test('is never the same: state and challenge are fresh each time', async () => {
    const seen = new Set<string>();
    for (let turn = 0; turn < 5; turn += 1) {
      const { searchParams } = new URL((await begin(contextAt(SHARED))).headers.get('location') ?? '');
      seen.add(searchParams.get('state') ?? '').add(searchParams.get('code_challenge') ?? '');
    }
    expect(seen.size).toBe(10);
  });

  test('calls the functions of settings each time', async () => {
    const config: Partial<OAuthConfig> = {
      clientId: async ({ id }) => `client of ${id}`,
      authorizeURL: ({ configuration }) => `https://${configuration?.['domain']}/authorize`,
    };
    for (const domain of ['one.example', 'two.example']) {
      const context = contextAt(SHARED, { installation: { id: 'ins_1', configuration: { domain } } });
      const location = new URL((await begin(context, undefined, config)).headers.get('location') ?? '');
      expect(location.host).toBe(domain);
      expect(location.searchParams.get('client_id')).toBe('client of ins_1');
    }
  });

  test.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'https://a:b@provider.example/',
    'provider.example',
    undefined,
  ])('goes nowhere for %s', async (authorizeURL) => {
    const log = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => log.mockRestore());
    const response = await begin(contextAt(SHARED), undefined, { authorizeURL: () => authorizeURL });
    expect({ status: response.status, location: response.headers.get('location') }).toEqual({
      ...{ status: 502, location: null },
    });
  });
});
