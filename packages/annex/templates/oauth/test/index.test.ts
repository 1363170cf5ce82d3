import { load } from '@annex/testing';
import { expect, test } from 'vitest';

const secrets = { OAUTH_ISSUER: 'https://id.example.com', CLIENT_ID: 'id', CLIENT_SECRET: 'secret' };
const app = await load('.', { secrets });
/** An account that is connected, with a token that does not expire during a test. */
const configuration = {
  oauth_credentials: { access_token: 'token-1', expires_at: Date.now() + 3_600_000 },
};

test('leads to the page of the account', async () => {
  const installation = await app.install({ configuration });
  const answer = await installation.fetch('/');
  expect([answer.status, answer.headers.get('location')]).toEqual([302, `${installation.endpoint}/me`]);
});

test('shows the owner of the account, whom the provider knows by the token', async () => {
  const installation = await app.install({
    configuration,
    fetches: { 'GET https://id.example.com/me': Response.json({ sub: 'Ada' }) },
  });
  const answer = await installation.fetch('/me');
  expect(await answer.text()).toBe('Hello, Ada!');
  expect(installation.fetches[0]?.headers.get('authorization')).toBe('Bearer token-1');
});
