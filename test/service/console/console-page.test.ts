/**
 * The console in a real browser: what an operator sees and does, by mouse and by keyboard, and that
 * what tenants write runs nothing.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../../support/programs.ts';
import { startChromium, type Watched, watchPage } from '../../support/renderer/chromium.ts';
import { seriousViolations } from '../../support/renderer/gallery.ts';
import { HOSTILE_TEXTS } from '../../support/renderer/hostile-drawings.ts';
import { type Installed, TestService } from '../../support/service.ts';

const WRITER = `
import { createIntegration } from '@annex/sdk';
export default createIntegration({
  fetch: async (request) => {
    for (const line of await request.json()) console.log(line);
    return new Response('noted');
  },
});`;

describe('the console', needs('chromium'), () => {
  let annex: TestService;
  let receiver: Server;
  let status = 500;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let watched: Watched;
  let webhook: string;
  let writer: Installed;

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status).end(`<b>${HOSTILE_TEXTS[1]}</b>`));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    annex = await TestService.start({
      flags: ['--webhook-http', 'allow', '--egress-allow', host, '--webhook-retries', '1s'],
    });
    await annex.publishFixture('webhook');
    ({ id: webhook } = await annex.install('webhook', 'acme'));
    await annex.installBelow('webhook', { id: webhook, endpoint: '' }, 'space', 'garden');
    const configuration = { webhook_url: `http://${host}/hook`, event_types: ['space_content_updated'] };
    const edit = { json: { configuration } };
    const patched = await annex.api(
      'PATCH',
      `/v1/integrations/webhook/installations/${webhook}/spaces/garden`,
      edit,
    );
    expect(patched).toMatchObject({ status: 200, body: { status: 'active' } });
    await annex.publish('writer', { 'index.js': WRITER });
    writer = await annex.install('writer');
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await annex?.stop();
    receiver?.close();
    receiver?.closeAllConnections();
  });
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    // It bounds a failure: a busy machine takes long for a page.
    context.setDefaultTimeout(60_000);
    page = await context.newPage();
    watched = watchPage(page);
  });
  afterEach(async () => {
    expect(watched).toEqual({ errors: [], foreign: [] });
    await context.close();
  });

  const open = async (path = '') => {
    const { body } = await annex.api('POST', '/v1/console-links');
    await page.goto(`${annex.service.controlUrl}${body['url']}`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    if (path !== '') await page.goto(`${annex.service.controlUrl}/console/${path}`);
  };

  test('opens by a link, which leaves the address, and signs in once', async () => {
    const { body } = await annex.api('POST', '/v1/console-links');
    const url = `${annex.service.controlUrl}${body['url']}`;
    await page.goto(url);
    await page.getByText('All is well.').waitFor();
    expect(page.url()).toBe(`${annex.service.controlUrl}/console/`);
    const other = await (await browser.newContext()).newPage();
    await other.goto(url);
    await other.getByText('This link was used').waitFor();
    await other.context().close();
  });

  test('keeps no token where a script could read it', async () => {
    await open();
    const readable = await page.evaluate<string>(
      `[document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), location.href].join(' ')`,
    );
    expect(readable).not.toContain('annex_admin_');
  });

  /** An event whose only delivery fails for good. @returns its id */
  const failedDelivery = async (): Promise<string> => {
    status = 500;
    const event = {
      type: 'space_content_updated',
      organization: 'acme',
      spaceId: 'garden',
      revisionId: 'r1',
    };
    const { body } = await annex.api('POST', '/v1/events', { json: event });
    const path = `/v1/deliveries?event=${body['eventId']}&state=failed`;
    const failed = async () => ((await annex.api('GET', path)).body['items'] as { id: string }[])[0]?.id;
    await expect.poll(failed).toBeDefined();
    return String(await failed());
  };

  const cell = (words: string) => page.getByRole('cell', { name: words }).first();

  test('leads from the overview to what failed, and delivers it again', async () => {
    const id = await failedDelivery();
    await open();
    await page.getByText('1 webhook is failing.').waitFor();
    await page.getByRole('link', { name: /failed deliver/ }).click();
    expect(page.url()).toMatch(/\/console\/deliveries\?state=failed$/);
    await cell('space_content_updated').getByRole('link').click();
    expect(decodeURIComponent(page.url())).toContain(id);
    await page.getByText('answered 500').first().waitFor();
    expect(await page.locator('.attempts > li').count()).toBe(2);
    // What the receiver has answered is text.
    await page.locator('summary').first().click();
    await page.getByText(`<b>${HOSTILE_TEXTS[1]}</b>`).first().waitFor();
    status = 200;
    await page.getByRole('button', { name: 'Deliver again' }).click();
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Refresh' }).click();
        return page.locator('.facts .state').textContent();
      })
      .toBe('delivered');
    await page.goBack();
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
  });

  test('does the same by the keyboard alone', async () => {
    await failedDelivery();
    await open();
    const press = async (key: string, times = 1) => {
      for (let time = 0; time < times; time += 1) await page.keyboard.press(key);
    };
    /** Steps through the page to what has the focus by this name. */
    const stepTo = async (name: RegExp) => {
      const focused = () =>
        page.evaluate<string>(`(() => {
          const inside = document.body.shadowRoot.activeElement;
          if (!inside?.matches('a, button')) return '';
          return inside.getAttribute('aria-label') ?? inside.textContent;
        })()`);
      for (let step = 0; step < 60 && !name.test(await focused()); step += 1) await press('Tab');
      expect(await focused()).toMatch(name);
    };
    await stepTo(/failed deliver/);
    await press('Enter');
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    await cell('space_content_updated').waitFor();
    await stepTo(/^space_content_updated$/);
    await press('Enter');
    await page.getByRole('heading', { name: 'Attempts' }).waitFor();
    status = 200;
    await stepTo(/Deliver again/);
    await press('Enter');
    await page.getByText('delivered', { exact: true }).first().waitFor();
  });

  test('replays what filters select, counted first, and shows what is new without a move', async () => {
    await failedDelivery();
    await open(`deliveries?installation=${webhook}&state=failed`);
    await page.getByText('live', { exact: true }).waitFor();
    const before = await page.getByRole('row').count();
    // Another one fails meanwhile.
    await failedDelivery();
    await page.getByRole('button', { name: '1 new' }).waitFor();
    expect(await page.getByRole('row').count()).toBe(before);
    await page.getByRole('button', { name: '1 new' }).click();
    await expect.poll(() => page.getByRole('row').count()).toBe(before + 1);
    status = 200;
    await page.getByRole('button', { name: 'Deliver all again' }).click();
    const question = page.getByRole('alertdialog');
    await question.getByText(new RegExp(`^${before} failed`)).waitFor();
    await question.getByRole('button', { name: 'Deliver all again' }).click();
    const failed = async () => {
      const path = `/v1/deliveries?installation=${webhook}&state=failed`;
      return ((await annex.api('GET', path)).body['items'] as unknown[]).length;
    };
    await expect.poll(failed).toBe(0);
    await page.goto(`${annex.service.controlUrl}/console/`);
    await page.getByRole('link', { name: /^0 ?failing webhooks/ }).waitFor();
  });

  test('finds by the palette, and removes after what it says it deletes', async () => {
    const gone = await annex.install('writer', 'leaving');
    await open();
    await page.keyboard.press('Control+k');
    const find = page.getByRole('combobox', { name: 'Find' });
    await find.fill('leaving');
    await page.getByRole('option', { name: 'Installations of leaving' }).waitFor();
    await page.keyboard.press('Enter');
    await cell('writer').getByRole('link').click();
    await page.getByRole('button', { name: 'Remove' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove' });
    await dialog.getByText('Cancels 0 pending deliveries.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Remove' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Type leaving to confirm').fill('leaving');
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('heading', { name: 'Installations' }).waitFor();
    expect((await annex.api('GET', `/v1/integrations/writer/installations/${gone.id}`)).status).toBe(404);
  });

  test('shows what one organization has, chosen once, and the errors of all', async () => {
    for (const organization of ['hooli', 'initech']) {
      const { endpoint } = await annex.install('writer', organization);
      await fetch(endpoint, { method: 'POST', body: `{"${organization}": 1}` });
    }
    await open('errors');
    // The message differs by the organization's name alone, and is one row all the same.
    const found = page.getByRole('row').filter({ hasText: 'is not iterable' });
    await found.waitFor();
    const choice = page.getByRole('combobox', { name: 'Organization' });
    await choice.fill('hooli');
    await choice.press('Enter');
    await page.getByRole('link', { name: 'writer at hooli' }).waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: 'Installations', exact: true }).first().click();
    await cell('hooli').waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await choice.fill('');
    await choice.press('Enter');
    await cell('initech').waitFor();
  });

  test('makes a token that is shown once, and revokes it', async () => {
    await open('tokens');
    await page.getByText('Make a token').click();
    await page.getByLabel('Name').fill('for a test');
    await page.getByRole('button', { name: 'Make it' }).click();
    const token = (await page.getByText(/^annex_platform_/).textContent()) ?? '';
    expect((await annex.api('GET', '/v1/installations', { token })).status).toBe(200);
    const row = page.getByRole('row').filter({ hasText: 'for a test' });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await annex.api('GET', '/v1/installations', { token })).status).toBe(401);
  });

  test('shows a hundred thousand rows without a jump', async () => {
    const actor = { kind: 'admin' };
    const entry = { at: '2026-01-01T00:00:00Z', action: 'token.create', actor, requestId: 'r', details: {} };
    const items = Array.from({ length: 100_000 }, (_, index) => ({
      ...entry,
      ...{ id: `entry-${index}`, organization: `org-${index}` },
    }));
    await page.route(/\/v1\/audit\?/, (route) => route.fulfill({ json: { items } }));
    await open('audit');
    await cell('org-0').waitFor();
    const rows = () => page.locator('tbody tr').count();
    expect(await rows()).toBeLessThan(300);
    const height = await page.evaluate<number>('document.documentElement.scrollHeight');
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)');
    await page
      .getByText(/^org-50\d{3}$/)
      .first()
      .waitFor();
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await page.getByText('org-99999', { exact: true }).waitFor();
    expect(await rows()).toBeLessThan(300);
    expect(await page.evaluate<number>('document.documentElement.scrollHeight')).toBe(height);
  });

  test('pauses an installation after a question, and resumes it', async () => {
    await open(`installations/writer/${writer.id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    const question = page.getByRole('alertdialog', { name: 'Pause' });
    await question.getByRole('button', { name: 'Leave it' }).click();
    expect((await fetch(writer.endpoint, { method: 'POST', body: '[]' })).status).toBe(200);
    await page.getByRole('button', { name: 'Pause' }).click();
    await question.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect((await fetch(writer.endpoint, { method: 'POST', body: '[]' })).status).toBe(503);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
  });

  test('shows hostile titles, log lines and payloads as text', async () => {
    await page.addInitScript('globalThis.canary = 0');
    await fetch(writer.endpoint, { method: 'POST', body: JSON.stringify(HOSTILE_TEXTS.slice(0, 18)) });
    const [title = ''] = HOSTILE_TEXTS;
    const declared = await annex.api('PUT', '/v1/event-types/hostile.title', {
      json: { title, level: 'organization', schema: {} },
    });
    expect(declared.status).toBe(200);
    await open(`installations/writer/${writer.id}?part=log`);
    await page.getByText(HOSTILE_TEXTS[1] ?? '', { exact: true }).waitFor();
    await page.goto(`${annex.service.controlUrl}/console/event-types`);
    await page.getByText(title).waitFor();
    const names = HOSTILE_TEXTS.map((text) => encodeURIComponent(text.toWellFormed()));
    for (const name of names.slice(0, 10)) {
      await page.goto(`${annex.service.controlUrl}/console/installations?organization=${name}`);
      await page
        .getByText(/Nothing fits|must/)
        .first()
        .waitFor();
    }
    expect(await page.evaluate('canary')).toBe(0);
    // The browser notes each refusal of the service, which the page shows.
    const noted = watched.errors.splice(0);
    expect(noted.filter((text) => !text.includes('status of 400'))).toEqual([]);
  });

  test('has nothing serious for axe in either scheme, and fits 360 pixels', async () => {
    await open();
    const lists = ['installations', 'deliveries', 'events', 'webhooks', 'notices', 'tokens', 'audit'];
    const parts = ['configuration', 'components', 'storage', 'log'].map(
      (part) => `installations/webhook/${webhook}?part=${part}`,
    );
    const others = ['versions', 'errors', 'secrets', 'limits'].map(
      (part) => `integrations/webhook?part=${part}`,
    );
    const paths = ['', ...lists, 'publish', 'logs', 'errors', 'system', ...parts, ...others];
    for (const path of [...paths, `installations/webhook/${webhook}`, 'integrations/webhook', 'nowhere']) {
      // As a link of the page: it stays loaded.
      await page.evaluate(
        `history.pushState(undefined, '', '/console/${path}'); dispatchEvent(new PopStateEvent('popstate'))`,
      );
      await page.locator('main h1, main .callout').first().waitFor();
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
      expect([path, await seriousViolations(page, 'body')]).toEqual([path, []]);
      await page.emulateMedia({ colorScheme: 'dark' });
      // The scheme changes colours alone.
      expect([path, await seriousViolations(page, 'body', ['color-contrast'])]).toEqual([path, []]);
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 360, height: 740 });
      const overflow = await page.evaluate('document.documentElement.scrollWidth');
      expect([path, overflow]).toEqual([path, 360]);
      await page.setViewportSize({ width: 1280, height: 800 });
    }
  });

  test('shows a customer’s author what is theirs, and says so of the rest', async () => {
    const { body } = await annex.api('POST', '/v1/tokens', {
      json: { kind: 'organization', organization: 'globex' },
    });
    await page.goto(`${annex.service.controlUrl}/console/`);
    await page.getByLabel('Token').fill(String(body['token']));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.getByRole('link', { name: 'Tokens' }).count()).toBe(0);
    await page.goto(`${annex.service.controlUrl}/console/installations`);
    await page.getByText('An integration at work for one organization.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
  });
});
