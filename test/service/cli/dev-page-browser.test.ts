/**
 * The page of `annex dev` in a real Chromium: components with their buttons and inputs, the form of
 * the configuration, the quick-insert menu, a pasted URL, events, requests, and a save while it is
 * open.
 */
import { rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { manifestOf, suiteFolder } from '../../support/cli/author-folder.ts';
import { DevPage } from '../../support/cli/dev-page.ts';
import { DevProcess } from '../../support/cli/dev-process.ts';
import { needs } from '../../support/programs.ts';
import { seriousViolations } from '../../support/renderer/gallery.ts';
import { TestService } from '../../support/service.ts';

const MANIFEST = manifestOf(
  'dev-shown',
  'index.tsx',
  `blocks:
  - { id: counter, title: Counter, description: Counts. }
  - { id: link, title: Link, urlUnfurl: ['https://boards.example.com'] }
calls: [{ name: total, description: Adds. }]
configurations:
  account:
    properties:
      greeting: { type: string, title: Greeting }
      loud: { type: boolean }
  space:
    properties:
      tone: { type: string, title: Tone }
`,
).replace('scopes: []', 'scopes: [space:content:read]');

const codeOf = (label: string) => `import { createComponent, createIntegration } from '@annex/sdk';
const counter = createComponent({
  componentId: 'counter',
  initialState: () => ({ count: 0, name: '' }),
  action: ({ state }, { action, name }) => {
    if (action === 'break') throw new Error('out of beans');
    return action === 'more' ? { state: { count: state.count + 1, name: String(name) } } : {};
  },
  render: ({ state }) => (
    <block>
      <text>{'${label} ' + state.count + ' for ' + (state.name || 'no name')}</text>
      <input label="Name" element={<textinput state="name" />} />
      <button label="Break" onPress={{ action: 'break' }} />
      <button label="More" onPress={{ action: 'more', name: { $state: 'name' } }} />
    </block>
  ),
});
const link = createComponent({
  componentId: 'link',
  action: (element, { url }) => (url ? { props: { url } } : {}),
  render: ({ props }) => <block><text>{'Board ' + (props.url ?? 'none')}</text></block>,
});
export default createIntegration({
  components: [counter, link],
  calls: { total: ({ of }) => ({ total: of.reduce((sum, each) => sum + each) }) },
  async fetch(request, { environment, storage }) {
    if (request.url.endsWith('/missing')) return new Response('none', { status: 404 });
    await storage.put('greeted', 'a value that the page does not show');
    return new Response('greets ' + environment.installation.configuration.greeting);
  },
  events: { space_content_updated: ({ revisionId }) => console.log('revision ' + revisionId) },
});
`;

describe('the page', needs('chromium'), () => {
  let service: TestService;
  let folder: string;
  let shown: DevPage;
  let page: Page;

  beforeAll(async () => {
    service = await TestService.start({ flags: ['--level-names', 'space=Project'] });
    folder = await suiteFolder({ 'platform-manifest.yaml': MANIFEST, 'index.tsx': codeOf('Counted') });
    shown = await DevPage.open(service, folder);
    page = shown.page;
  }, 120_000);

  afterAll(async () => {
    await shown?.end();
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const drawing = (id: string) => shown.drawing(id);

  test('a component works: a typed text and a pressed button reach the code', async () => {
    const counter = drawing('counter');
    await counter.getByText('Counted 0 for no name').waitFor();
    await counter.getByLabel('Name').fill('Ada');
    await counter.getByRole('button', { name: 'More' }).click();
    await counter.getByText('Counted 1 for Ada').waitFor();
    await shown.activity.getByText('counter, more: 200').waitFor();
  });

  test('a saved form is the configuration that the endpoint sees', async () => {
    await shown.open('Configuration');
    await page.getByLabel('Greeting').fill('Good day');
    const form = page.getByRole('region', { name: 'Configuration', exact: true });
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('Saved.').waitFor();
    await shown.open('Endpoint');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'body' }).getByText('greets Good day').waitFor();
  });

  test('each request of the page is a row, also one that is answered 404', async () => {
    await page.getByLabel('Path').fill('missing');
    await page.getByRole('button', { name: 'Send' }).click();
    await shown.activity.getByText('GET /missing: 404').waitFor();
    await page.reload();
    await shown.activity.getByText('GET /missing: 404').waitFor();
  });

  test('a failed action is a row with its log lines, which lead to the line of the source', async () => {
    await shown.open('Components');
    await drawing('counter').getByRole('button', { name: 'Break' }).click();
    const row = shown.activity.getByRole('listitem').filter({ hasText: 'counter, break: 502' }).first();
    const place = row.getByRole('link', { name: /^index\.tsx:\d+:\d+$/ }).first();
    expect(await place.getAttribute('href')).toBe(`vscode://file${folder}/${await place.textContent()}`);
    await row.getByText('out of beans').first().waitFor();
  });

  test('a view and a component have an address, which survives a reload and the way back', async () => {
    await shown.open('link');
    await drawing('link').waitFor();
    expect(await drawing('counter').count()).toBe(0);
    await shown.open('Storage');
    await page.reload();
    await page.getByRole('heading', { name: 'Storage' }).waitFor();
    await page.goBack();
    await drawing('link').waitFor();
    expect(await drawing('counter').count()).toBe(0);
    await page.goto(`${page.url().replace(/#.*/, '')}#components/<img src=x>`);
    await drawing('counter').waitFor();
  });

  test('the settings of a space have the word of the product', async () => {
    await shown.open('Configuration');
    const settings = page.getByRole('region', { name: 'Configuration in the sample Project' });
    await settings.getByLabel('Tone').waitFor();
  });

  test('what the code has stored is listed without its value, and is deleted', async () => {
    await shown.open('Storage');
    const stored = page.getByRole('region', { name: 'Storage' });
    await stored.getByText('Of the installation: 1 key').waitFor();
    await stored.getByText('greeted').waitFor();
    expect(await stored.textContent()).not.toContain('a value');
    await stored.getByRole('button', { name: 'Delete greeted' }).click();
    await stored.getByText('Of the installation: 0 keys').waitFor();
  });

  test('a call is made as the product makes it, and its answer is shown', async () => {
    await shown.open('Calls');
    const calls = page.getByRole('region', { name: 'Calls' });
    await calls.getByLabel('The input, as JSON').fill('{"of":[1,2]}');
    await calls.getByRole('button', { name: 'Call total' }).click();
    await calls.getByText('"total": 3').waitFor();
  });

  test('a block is inserted from the menu, and from a pasted URL', async () => {
    await shown.open('Insert');
    const menu = page.getByRole('region', { name: 'Insert' });
    await menu.getByRole('button', { name: 'Counter' }).click();
    await menu.locator('.drawing').getByText('Counted 0 for no name').waitFor();
    await menu.getByLabel('Paste a URL').fill('https://boards.example.com/7');
    await menu.getByRole('button', { name: 'Unfurl' }).click();
    await menu.locator('.drawing').getByText('Board https://boards.example.com/7').waitFor();
  });

  test('a sample event is posted, and the feed has its log line and its delivery', async () => {
    await shown.open('Events');
    await page.getByRole('button', { name: 'space_content_updated', exact: true }).click();
    const event = page.getByLabel('The event, as JSON');
    await event.fill((await event.inputValue()).replace('rev-2026-01', 'rev-of-this-test'));
    await page.getByRole('button', { name: 'Post space_content_updated' }).click();
    await page.getByText(/Posted .*: 1 delivery\./).waitFor();
    const feed = page.getByRole('complementary');
    await feed.getByText('revision rev-of-this-test').waitFor();
    await feed.getByText('space_content_updated: delivered').waitFor();
  });

  test('a save draws the components anew, and a refused one is shown', async () => {
    await shown.open('Components');
    await writeFile(join(folder, 'index.tsx'), codeOf('Drawn anew'));
    await drawing('counter').getByText('Drawn anew 0 for no name').waitFor();
    await writeFile(join(folder, 'index.tsx'), `${codeOf('broken')}export const broken = ;\n`);
    await page.getByRole('complementary').getByText('Unexpected ";"').waitFor();
    await drawing('counter').getByText('Drawn anew 0 for no name').waitFor();
  });

  test('the browser has reported no error', () => {
    expect(shown.watched.errors).toEqual([]);
  });
});

const RELAY = `import { createComponent, createIntegration } from '@annex/sdk';
const shown = createComponent({
  componentId: 'shown',
  action: () => { console.log('pressed it'); return {}; },
  render: () => <block><button label="Press" onPress={{ action: 'press' }} /></block>,
});
export default createIntegration({
  components: [shown],
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith('/headers')) return Response.json([...request.headers.keys()]);
    if (pathname.endsWith('/throw')) throw new Error('<b>out of beans</b>');
    for (const to of searchParams.getAll('to')) await fetch(to).catch(() => undefined);
    for (let line = 1; line <= 20; line += 1) console.log('line ' + line);
    return new Response('relayed');
  },
});
`;

describe('the page of a service of its own', needs('chromium'), () => {
  const upstream = createServer((_request, response) => response.writeHead(418).end());
  let folder: string;
  let dev: DevProcess;
  let shown: DevPage;
  let endpoint: string;
  let installation: string;
  let host: string;

  beforeAll(async () => {
    await new Promise<void>((listening) => upstream.listen(0, '127.0.0.1', listening));
    host = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    const blocks = 'blocks: [{ id: shown, title: Shown }]\n';
    folder = await suiteFolder({
      'platform-manifest.yaml': manifestOf('dev-traffic', 'index.tsx', blocks),
      'index.tsx': RELAY,
    });
    dev = new DevProcess(folder, ['--egress-allow', host]);
    const { page } = await dev.next('started');
    ({ endpoint, installation } = await dev.next('live'));
    shown = await DevPage.at(page, () => dev.stop());
  }, 120_000);

  afterAll(async () => {
    await shown?.end();
    upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The row of a request. */
  const row = (title: string) =>
    shown.activity.locator('ol > li').filter({ has: shown.page.getByText(title, { exact: true }) });

  test('a request of others is a row with its log lines, and with what its code fetched', async () => {
    await fetch(`${endpoint}/hook?to=http://${host}/orders?key=secret&to=http://10.0.0.1/`, {
      method: 'POST',
    });
    const hook = row('POST /hook?…: 200');
    await hook.getByText('POST /hook?…: 200').click();
    await hook.getByText(installation).waitFor();
    await hook.getByText(`GET http://${host}/orders?…: 418`).waitFor();
    await hook.getByText('GET http://10.0.0.1/: no answer').waitFor();
    expect(await hook.textContent()).not.toContain('secret');
    // Opened by the keyboard alone.
    const last = hook.getByText('line 20', { exact: true });
    expect(await last.isVisible()).toBe(false);
    await hook.getByText(/^\d+ more$/).focus();
    await shown.page.keyboard.press('Enter');
    await last.waitFor();
  });

  test('one that fails leads to the line of the source, and one for no endpoint is a row', async () => {
    await fetch(`${endpoint}/throw`);
    const failed = row('GET /throw: 500');
    // Whoever reads the rows by the keyboard keeps them in their place.
    await shown.activity.getByRole('button', { name: '1 new' }).waitFor();
    expect(await failed.count()).toBe(0);
    await shown.activity.getByRole('button', { name: '1 new' }).press('Enter');
    await failed.getByText('<b>out of beans</b>').waitFor();
    const place = failed.getByRole('link', { name: /^index\.tsx:\d+:\d+$/ }).first();
    expect(await place.getAttribute('href')).toBe(`vscode://file${folder}/${await place.textContent()}`);
    await fetch(new URL('/no-endpoint', endpoint));
    // As a stranger sends it: no browser would.
    const path = `/<img/src=x/onerror=throw>${'x'.repeat(300)}`;
    request(endpoint, { path, method: 'OPTIONS' }).end();
    await row(`OPTIONS ${path}: 404`).waitFor();
    await row('GET /no-endpoint: 404').getByText('GET /no-endpoint').click();
    await row('GET /no-endpoint: 404').getByText('none has this endpoint').waitFor();
  });

  test('a request of the page itself is one row, with its lines; code does not see how', async () => {
    await shown.drawing('shown').getByRole('button', { name: 'Press' }).click();
    await row('shown, press: 200').getByText('pressed it').waitFor();
    await shown.open('Endpoint');
    await shown.page.getByLabel('Path').fill('headers');
    await shown.page.getByRole('button', { name: 'Send' }).click();
    const body = shown.page.getByRole('region', { name: 'body' });
    await body.getByText('"host"').waitFor();
    expect(await body.textContent()).not.toContain('annex');
    expect(await row('GET /headers: 200').count()).toBe(1);
  });

  test.each([
    ['light', 1440],
    ['dark', 360],
  ] as const)(
    'axe finds nothing serious in its rows, and nothing is cut: %s, %i pixels',
    async (colorScheme, width) => {
      await shown.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await shown.page.setViewportSize({ width, height: 900 });
      expect(await seriousViolations(shown.page, 'body')).toEqual([]);
      expect(await shown.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      expect(shown.watched.errors).toEqual([]);
    },
  );
});
