import { afterEach, expect, test, vi } from 'vitest';
import integration from '../src/index.ts';
import { call, requestEvent } from './call.ts';

const ENDPOINT = 'https://apps.example.com/abc';
const urls = { publicEndpoint: ENDPOINT, publicContentEndpoint: ENDPOINT };
/** An installation whose account is connected, with a token that does not expire during a test. */
const environment = {
  integration: { urls },
  urls,
  secrets: { OAUTH_ISSUER: 'https://id.example.com', CLIENT_ID: 'id', CLIENT_SECRET: 'secret' },
  installation: {
    urls,
    configuration: { oauth_credentials: { access_token: 'token-1', expires_at: Date.now() + 3_600_000 } },
  },
};

afterEach(() => vi.unstubAllGlobals());

test('leads to the page of the account', async () => {
  const answer = await call(integration, requestEvent('GET', `${ENDPOINT}/`), environment);
  expect([answer.status, answer.headers.get('location')]).toEqual([302, `${ENDPOINT}/me`]);
});

test('shows the owner of the account, whom the provider knows by the token', async () => {
  const provider = vi.fn(async () => Response.json({ sub: 'Ada' }));
  vi.stubGlobal('fetch', provider);
  const answer = await call(integration, requestEvent('GET', `${ENDPOINT}/me`), environment);
  expect(await answer.text()).toBe('Hello, Ada!');
  expect(provider).toHaveBeenCalledWith('https://id.example.com/me', {
    headers: { authorization: 'Bearer token-1' },
  });
});
