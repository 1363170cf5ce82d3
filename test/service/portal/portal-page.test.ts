/**
 * The portal in a real browser: a customer opens a link, installs, configures, sets up a webhook,
 * sends a test event and sees it, by the mouse and by the keyboard alone; and what tenants write
 * runs nothing.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CLIENT, type OidcServer, startOidcServer } from '../../support/oauth/oidc-server.ts';
import { needs } from '../../support/programs.ts';
import { startChromium, type Watched, watchPage } from '../../support/renderer/chromium.ts';
import { seriousViolations } from '../../support/renderer/gallery.ts';
import { HOSTILE_TEXTS } from '../../support/renderer/hostile-drawings.ts';
import { TestService } from '../../support/service.ts';

const SUMMARY = [
  '## Heading\n\nSends **news** to [a site](https://example.com/).',
  '[run](javascript:canary+=1) ![a picture](https://tracker.example/x.png)',
  '<img src=x onerror="canary+=1"><script>canary+=1</script>',
  ...HOSTILE_TEXTS.slice(0, 6).map((text) => JSON.stringify(text)),
].join('\n\n');
const HOSTILE_MANIFEST = `name: hostile
organization: acme
script: index.js
title: ${JSON.stringify((HOSTILE_TEXTS[0] ?? '').slice(0, 30))}
description: ${JSON.stringify((HOSTILE_TEXTS[1] ?? '').slice(0, 100))}
summary: ${JSON.stringify(SUMMARY)}
visibility: public
scopes: [space:content:read]
configurations:
  account:
    properties:
      name: { type: string, title: ${JSON.stringify((HOSTILE_TEXTS[2] ?? '').slice(0, 30))} }
`;
const CODE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: () => new Response('hello') });`;

/** What a customer connects, chooses from and sets up. */
const CHAT = `name: chat
title: Chat
description: Posts news to a channel.
categories: [collaboration, marketing]
organization: acme
visibility: public
scopes: [space:content:read]
script: index.js
secrets: { ISSUER: x, CLIENT_ID: x, CLIENT_SECRET: x }
configurations:
  account:
    properties:
      oauth_credentials: { type: button, title: Account, button_text: Connect Chat, callback_url: /oauth }
      channel: { type: string, title: Channel, completion_url: /channels }
      webhook_url: { type: string, title: Webhook URL }
      event_types: { type: string, title: Event types, multiple: true, enum: ['*'] }
    required: [oauth_credentials, channel]
  space:
    properties:
      webhook_url: { type: string, title: Webhook URL }
      event_types: { type: string, title: Event types, multiple: true, enum: ['*'] }
webhook: { url: webhook_url, eventTypes: event_types }
`;
const CHAT_CODE = `import { createIntegration, createOAuthHandler, deliverTo, endpointPath } from '@annex/sdk';
const at = (path) => (_, { secrets }) => secrets.ISSUER + path;
const connect = createOAuthHandler({
  clientId: (_, { secrets }) => secrets.CLIENT_ID, clientSecret: (_, { secrets }) => secrets.CLIENT_SECRET,
  authorizeURL: at('/auth'), accessTokenURL: at('/token'), scopes: ['openid', 'offline_access'], prompt: 'consent',
});
export default createIntegration({
  events: { '*': (event, { environment }) => deliverTo(environment.installation.configuration.webhook_url, event) },
  fetch: (request, context) =>
    endpointPath(context.environment, request.url) === '/oauth'
      ? connect(request, context)
      : Response.json(['news', 'random'].map((name) => ({ label: '#' + name, value: name }))),
});`;

describe('the portal', needs('chromium'), () => {
  let annex: TestService;
  let oidc: OidcServer;
  let receiver: Server;
  let host: string;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let watched: Watched;

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      request.resume().on('end', () => response.end(`<b>${HOSTILE_TEXTS[1]}</b>`));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    oidc = await startOidcServer();
    annex = await TestService.start({
      flags: [
        ...['--webhook-http', 'allow', '--egress-allow', `${host},${oidc.address}`],
        ...['--level-names', 'space=Project'],
      ],
    });
    await annex.api('PUT', '/v1/event-types/invoice.paid', {
      json: { title: 'Invoice paid', level: 'organization', schema: {}, webhook: true },
    });
    await annex.publishFixture('webhook');
    const secrets = { ISSUER: oidc.issuer, CLIENT_ID: CLIENT.id, CLIENT_SECRET: CLIENT.secret };
    const uploads = [
      [HOSTILE_MANIFEST, CODE, {}],
      [CHAT, CHAT_CODE, secrets],
    ] as const;
    for (const [manifest, code, values] of uploads) {
      const form = new FormData();
      form.append('secrets', JSON.stringify(values));
      form.append('manifest', manifest);
      form.append('files', new Blob([code]), 'index.js');
      expect(await annex.api('POST', '/v1/integrations', { form })).toMatchObject({ status: 201 });
    }
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await annex?.stop();
    await oidc?.stop();
    receiver?.close();
    receiver?.closeAllConnections();
  });
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en' });
    // It bounds a failure: a busy machine takes long for a page.
    context.setDefaultTimeout(60_000);
    page = await context.newPage();
    watched = watchPage(page);
  });
  afterEach(async () => {
    expect(watched).toEqual({ errors: [], foreign: [] });
    await context.close();
  });

  const open = async (organization: string, asked: object = {}, path = '') => {
    const json = { organization, ...asked };
    const { body } = await annex.api('POST', '/v1/portal-links', { token: annex.platform, json });
    await page.goto(`${annex.service.controlUrl}${body['url']}`);
    await page.locator('nav').waitFor();
    if (path !== '') await page.goto(`${annex.service.controlUrl}/portal/${path}`);
  };
  const link = (name: string | RegExp) => page.getByRole('link', { name }).first();
  const button = (name: string) => page.getByRole('button', { name, exact: true });

  /** The provider takes the redirect of the installation that an organization has made. */
  const registered = async (organization: string) => {
    await page.getByLabel('Webhook URL').waitFor();
    const path = `/v1/installations?integration=chat&organization=${organization}`;
    const { body } = await annex.api('GET', path);
    const [{ urls }] = body['items'] as [{ urls: { publicEndpoint: string } }];
    oidc.knows([`${urls.publicEndpoint}/oauth`]);
  };
  /** Presses the button that opens the provider, and signs in there. */
  const connect = async (press: () => Promise<void>, signIn: (provider: Page) => Promise<void>) => {
    const opened = context.waitForEvent('page');
    await press();
    const provider = await opened;
    await signIn(provider);
    await provider.getByText('You may close this window').waitFor();
    await provider.close();
    await page
      .getByText(/^Connected/)
      .first()
      .waitFor();
    // The pages of the provider ask for a font.
    const others = watched.foreign.splice(0).filter((url) => !url.startsWith('https://fonts.'));
    expect(others).toEqual([]);
    watched.errors.splice(0);
  };

  test('a customer installs, connects, configures, sets up a webhook, tests it and sees it', async () => {
    await open('mouse');
    expect(page.url()).toBe(`${annex.service.controlUrl}/portal/`);
    const categories = page.getByRole('combobox', { name: 'Category' });
    await categories.waitFor();
    expect(await categories.locator('option').allTextContents()).toEqual([
      ...['All categories', 'Collaboration', 'Marketing', 'Other'],
    ]);
    await categories.selectOption('Collaboration');
    await expect.poll(() => page.locator('.card').count()).toBe(1);
    expect(new URL(page.url()).searchParams.get('category')).toBe('collaboration');
    await link(/^Chat Posts/).click();
    await page.getByText('Read the content of spaces').waitFor();
    await button('Install').click();
    await registered('mouse');
    await connect(
      () => link('Connect Chat').click(),
      async (provider) => {
        await provider.locator('[name=login]').fill('ada');
        await provider.locator('[name=password]').fill('any');
        await provider.getByRole('button').click();
        await provider.getByRole('button', { name: 'Continue' }).click();
      },
    );
    await page.getByRole('combobox', { name: 'Channel' }).click();
    await page.getByRole('option', { name: '#news' }).click();
    await page.getByLabel('Webhook URL').fill(`http://${host}/hook`);
    await page.getByLabel('Event types').click();
    await page.getByRole('option', { name: 'Invoice paid' }).click();
    await button('Save').click();
    await page.getByText('Saved.').waitFor();
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await link(/The whole organization/).click();
    await button('Send a test event').click();
    await page.locator('.deliveries > li').first().getByText('Delivered').waitFor();
    await page.locator('.deliveries button').first().click();
    await page.getByText('HTTP 200').waitFor();
    await page.getByRole('link', { name: 'Activity' }).click();
    await page.getByText('Invoice paid').first().click();
    await page.getByText('answered 200').first().waitFor();
    expect(new URL(page.url()).searchParams.get('open')).toBeTruthy();
    await page.goBack();
    await button('Send a test event').waitFor();
  });

  test('does the same by the keyboard alone', async () => {
    await open('keyboard');
    const press = (key: string) => page.keyboard.press(key);
    /** The name of what has the focus, through all shadow roots. */
    const focused = () =>
      page.evaluate<string>(`(() => {
        let at = document.body;
        while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
        const labelled = at.getAttribute('aria-labelledby');
        const label = labelled && at.getRootNode().getElementById(labelled)?.textContent;
        return label ?? at.getAttribute('aria-label') ?? (at.matches('main') ? '' : at.textContent);
      })()`);
    const stepTo = async (name: RegExp) => {
      for (let step = 0; step < 60 && !name.test(await focused()); step += 1) await press('Tab');
      expect(await focused()).toMatch(name);
    };
    await link(/^Chat Posts/).waitFor();
    // The initials before the title are not read out, but are in its text.
    await stepTo(/Chat.*Posts/);
    await press('Enter');
    await button('Install').waitFor();
    await stepTo(/^Install$/);
    await press('Enter');
    await registered('keyboard');
    await stepTo(/^Connect Chat/);
    await connect(
      () => press('Enter'),
      async (provider) => {
        await provider.locator('[name=login]:focus').waitFor();
        await provider.keyboard.type('ada');
        await provider.keyboard.press('Tab');
        await provider.keyboard.type('any');
        await provider.keyboard.press('Enter');
        await provider.locator('button:focus', { hasText: 'Continue' }).waitFor();
        await provider.keyboard.press('Enter');
      },
    );
    await page.evaluate('document.body.shadowRoot.querySelector("main").focus()');
    await stepTo(/^Channel/);
    await press('ArrowDown');
    await page.getByRole('option', { name: '#news' }).waitFor();
    await press('ArrowDown');
    await press('Enter');
    await stepTo(/^Webhook URL/);
    await page.keyboard.type(`http://${host}/hook`);
    await stepTo(/^Event types/);
    await press('ArrowDown');
    await page.getByRole('option', { name: 'Invoice paid' }).waitFor();
    await press('ArrowDown');
    await press('Enter');
    await press('Escape');
    await stepTo(/^Save$/);
    await press('Enter');
    await page.getByText('Saved.').waitFor();
    await page.evaluate('document.body.shadowRoot.querySelector("main").focus()');
    for (let step = 0; step < 20 && !/^Webhooks$/.test(await focused()); step += 1) await press('Shift+Tab');
    await press('Enter');
    await link(/The whole organization/).waitFor();
    await stepTo(/The whole organization/);
    await press('Enter');
    await button('Send a test event').waitFor();
    await stepTo(/^Send a test event$/);
    await press('Enter');
    await page.locator('.deliveries > li').first().getByText('Delivered').waitFor();
    await stepTo(/Invoice paid.*ago|Invoice paid.*now|Delivered.*Invoice paid/);
    await press('Enter');
    await page.getByText('HTTP 200').waitFor();
  });

  test('pauses, resumes and removes, and names levels as the product does', async () => {
    await annex.install('webhook', 'levels');
    await open('levels', {}, 'integrations/webhook');
    await page.getByText('Project (its id)').waitFor();
    await page.getByLabel(/^Project/).fill('<i>p-1</i>');
    await button('Add').first().click();
    // An id that is none is refused in the service's words.
    await page.getByRole('alert').first().waitFor();
    expect(watched.errors.splice(0)).toHaveLength(1);
    await page.getByLabel(/^Project/).fill('p-1');
    await button('Add').first().click();
    await link(/Project p-1/).click();
    await button('Pause').click();
    await button('Resume').waitFor();
    await button('Resume').click();
    await button('Pause').waitFor();
    await button('Remove…').click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Project (its id)').waitFor();
    await expect.poll(() => page.getByRole('link', { name: /Project p-1/ }).count()).toBe(0);
  });

  test('shows what could be read beside what could not, and never that as nothing', async () => {
    await annex.install('webhook', 'partial');
    await open('partial', {}, 'elsewhere');
    await page.getByText('There is nothing here.').waitFor();
    expect(await page.locator('nav [aria-current]').count()).toBe(0);
    const failed = /\/portal\/v1\/integrations(\?|\/webhook$)/;
    await page.route(failed, (route) =>
      route.fulfill({ status: 503, json: { error: { message: 'Away.' } } }),
    );
    await link('Integrations').click();
    await page.locator('.card').getByText('webhook').waitFor();
    await page.getByRole('alert').getByText('Away.').waitFor();
    await link('Webhooks').click();
    await page.getByRole('alert').getByText('Away.').waitFor();
    expect(await page.getByText('Install an integration that has them first').isVisible()).toBe(false);
    await page.unroute(failed);
    await button('Try again').click();
    await link(/The whole organization/).waitFor();
    // The browser's own lines about the answers.
    expect(watched.errors.splice(0).every((line) => line.includes('503'))).toBe(true);
  });

  test('speaks German, and looks as the product says', async () => {
    const theme = { name: 'Produkt', scheme: 'dark', accent: '#aa0000', darkAccent: '#ff8800' };
    await open('german', { locale: 'de', theme, returnUrl: 'https://app.example.com/' });
    await page.getByRole('heading', { name: 'Integrationen' }).waitFor();
    await link('Zurück zu Produkt').waitFor();
    expect(await link('Zurück zu Produkt').getAttribute('href')).toBe('https://app.example.com/');
    await link(/^Webhook Sends/).click();
    const install = button('Installieren');
    await install.waitFor();
    const colour = await page.evaluate(
      `getComputedStyle(document.body.shadowRoot.querySelector('.button.primary')).backgroundColor`,
    );
    expect(colour).toBe('rgb(255, 136, 0)');
    await install.click();
    await button('Speichern').waitFor();
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await link(/Die ganze Organisation/).click();
    await page.getByText('Geheimnis der Signatur').waitFor();
  });

  test('keeps no token where a script could read it, and a link opens once', async () => {
    const { body } = await annex.api('POST', '/v1/portal-links', { json: { organization: 'acme' } });
    const url = `${annex.service.controlUrl}${body['url']}`;
    await page.goto(url);
    await page.locator('nav').waitFor();
    const readable = await page.evaluate<string>(
      `[document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), location.href].join(' ')`,
    );
    expect(readable).not.toContain('annex_organization_');
    const other = await (await browser.newContext()).newPage();
    await other.goto(url);
    await other.getByText('This page is opened by a link').waitFor();
    await other.context().close();
  });

  test('shows hostile titles and Markdown as text', async () => {
    await page.addInitScript('globalThis.canary = 0');
    await open('acme', {}, 'integrations/hostile');
    await page.getByText('Heading').waitFor();
    await page.getByText('a picture').waitFor();
    expect(await link('a site').getAttribute('rel')).toBe('noopener noreferrer');
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    await button('Install').click();
    await button('Save').waitFor();
    expect(await page.evaluate('canary')).toBe(0);
  });

  test.each([
    ['light', 1440],
    ['dark', 360],
  ] as const)('axe finds nothing serious, and nothing is cut: %s, %i', async (scheme, width) => {
    await annex.api('POST', '/v1/integrations/webhook/installations', { json: { organization: 'axe' } });
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme });
    await open('axe');
    for (const path of [
      '',
      'integrations/webhook',
      'integrations/hostile',
      'webhooks',
      'activity',
      'nowhere',
    ]) {
      await page.goto(`${annex.service.controlUrl}/portal/${path}`);
      await page.locator('main h1, main .empty').first().waitFor();
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
      expect([path, await seriousViolations(page, 'body')]).toEqual([path, []]);
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, width]);
    }
  });
});
