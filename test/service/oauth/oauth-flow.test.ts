/**
 * The whole life of an OAuth connection, with a real provider and a browser's requests: button,
 * consent, stored credentials, and a token that is renewed once for any number of calls
 * (docs/contract/oauth.md#beginning).
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { uploadFolder } from '../../../src/local/demo/folder-form-data.ts';
import { ask } from '../../support/installation-api.ts';
import { Browser, consent } from '../../support/oauth/oidc-browser.ts';
import { CLIENT, type OidcServer, startOidcServer } from '../../support/oauth/oidc-server.ts';
import { type Installed, TestService } from '../../support/service.ts';

const FIXTURE = fileURLToPath(new URL('../../../fixtures/oauth', import.meta.url));

let oidc: OidcServer;
let annex: TestService;
let here: Installed;
let untouched: Installed;

beforeAll(async () => {
  oidc = await startOidcServer();
  annex = await TestService.start({ flags: ['--egress-allow', oidc.address] });
  const secrets = { OAUTH_ISSUER: oidc.issuer, CLIENT_ID: CLIENT.id, CLIENT_SECRET: CLIENT.secret };
  const form = await uploadFolder(FIXTURE, secrets);
  const { status, body } = await annex.api('POST', '/v1/integrations', { form });
  expect({ status, body }).toMatchObject({ status: 201 });
  here = await annex.install('oauth', 'acme', { notified: true });
  untouched = await annex.install('oauth', 'other', { notified: true });
  oidc.knows([here, untouched].map(({ endpoint }) => `${endpoint}/oauth`));
});
afterAll(async () => {
  await annex.stop();
  await oidc.stop();
});
beforeEach(() => {
  oidc.grants.length = 0;
});

const path = ({ id }: Installed) => `/integrations/oauth/installations/${id}`;
const view = async (of: Installed) => {
  const { body, headers } = await ask(annex, 'GET', path(of));
  return { body, etag: headers.get('etag') };
};
/** Follows the provider's pages to the end. */
async function connected(browser: Browser, of: Installed, account: string) {
  const button = await annex.api('GET', `/v1${path(of)}/configuration`);
  const [property] = button.body['properties'] as { name: string; callback_url: string }[];
  expect(property).toMatchObject({ name: 'oauth_credentials', callback_url: `${of.endpoint}/oauth` });
  return consent(browser, await browser.open(property?.callback_url ?? ''), account);
}

describe('from the button to a renewed token', () => {
  test('a user who consents connects the installation', async () => {
    expect(await view(here)).toMatchObject({ body: { status: 'pending', sealed: [] } });
    const page = await connected(new Browser(), here, 'ada');
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('You may close this window') });
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(oidc.grants).toEqual(['authorization_code']);
    const { body } = await view(here);
    expect(body).toMatchObject({ status: 'active', sealed: ['oauth_credentials'] });
    // Merged: earlier members are kept, and sealed values are in no answer.
    expect(body['configuration']).toEqual({ greeting: 'Hello' });
  });

  test('its integration gets the lifecycle event', async () => {
    const texts = async () => (await annex.log(here)).map(({ text }) => text);
    await expect.poll(texts).toContain('active, connected');
    expect(await texts()).toContain('pending, not connected');
  });

  test('concurrent calls with an expired token renew it once', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => fetch(`${here.endpoint}/me`)));
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(Array(6).fill('Hello, ada!'));
    expect(oidc.grants).toEqual(['refresh_token']);
    // The new token is stored and valid; a refresh token that is used twice would have ended the
    // grant.
    expect(await (await fetch(`${here.endpoint}/me`)).text()).toBe('Hello, ada!');
    expect(oidc.grants).toEqual(['refresh_token']);
  });

  test('another installation has none of it', async () => {
    expect(await view(untouched)).toMatchObject({ body: { status: 'pending', sealed: [] } });
    const answer = await fetch(`${untouched.endpoint}/me`);
    expect(answer.status).toBe(409);
    expect(await answer.json()).toEqual({ error: expect.stringContaining('Connect the integration again') });
  });

  test('a second connection replaces the account', async () => {
    await connected(new Browser(), here, 'grace');
    expect(await (await fetch(`${here.endpoint}/me`)).text()).toBe('Hello, grace!');
  });

  test('a connection that the provider has ended is an error with a hint', async () => {
    await connected(new Browser(), here, 'ada');
    oidc.answerTokens = (_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'invalid_grant', error_description: 'a word too many' }));
    };
    try {
      const answer = await fetch(`${here.endpoint}/me`);
      expect({ status: answer.status, body: await answer.json() }).toEqual({
        ...{ status: 409, body: { error: expect.stringContaining('Connect the integration again') } },
      });
    } finally {
      oidc.answerTokens = undefined;
    }
    const lines = (await annex.log(here)).map(({ text }) => text);
    expect(lines).toContain('OAuth: not renewed: the token endpoint answered 400 (invalid_grant)');
    // The lease was released: the connection works again as soon as the provider does.
    expect(await (await fetch(`${here.endpoint}/me`)).text()).toBe('Hello, ada!');
  });
});
