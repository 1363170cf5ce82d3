/**
 * `<annex-configuration>` in a real browser, with a real service: each type of property, what is
 * missing, options from the integration, connections, and two people who save at once; by the mouse
 * and by the keyboard alone, under a policy without inline code.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { needs } from '../../support/programs.ts';
import { seriousViolations } from '../../support/renderer/gallery.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';
import { type Installed, TestService } from '../../support/service.ts';

const GUIDE = new URL('../../../docs/how-to/configuration-form.md', import.meta.url);
const MANIFEST = `target: all
configurations:
  account:
    properties:
      channel: { type: string, title: Channel, description: Where news is posted., completion_url: /channels }
      greeting: { type: string, title: Greeting }
      tone: { type: string, title: Tone, enum: [formal, friendly] }
      events: { type: string, title: Events, enum: [made, changed, gone], multiple: true }
      days: { type: number, title: Days }
      loud: { type: boolean, title: Mention everyone }
      oauth_credentials: { type: button, title: Account, button_text: Connect Chat, callback_url: /oauth }
      project: { type: string, title: Project }
    required: [channel, project, oauth_credentials]
  space:
    properties:
      tone: { type: string, title: Tone of the space }
  site:
    componentId: settings
`;
const CODE = `import { createComponent, createIntegration } from '@annex/sdk';
const channels = Array.from({ length: 120 }, (_, at) => ({ label: '#channel-' + at, value: 'C' + at }));
export default createIntegration({
  components: [createComponent({ componentId: 'settings', initialState: {}, action: async () => ({}),
    render: async () => ({ type: 'configuration', children: [{ type: 'text', children: ['Drawn by the code'] }] }) })],
  fetch: (request) => {
    const url = new URL(request.url);
    if (url.pathname.endsWith('/oauth')) return new Response('The provider.');
    const search = url.searchParams.get('search') ?? '';
    return Response.json(channels.filter(({ label }) => label.includes(search)));
  },
});`;

describe('the configuration', needs('chromium'), () => {
  let service: TestService;
  let product: ProductPage;
  let installed: Installed;
  const path = () => `/v1/integrations/chat/installations/${installed.id}`;
  const stored = async () => (await service.api('GET', path())).body['configuration'];
  const edit = (configuration: object) => service.api('PATCH', path(), { json: { configuration } });
  const field = (name: string) => product.configuration.getByLabel(name);
  const button = (name: string) => product.configuration.getByRole('button', { name, exact: true });
  const says = (text: string) => product.configuration.getByText(text).first().waitFor();

  beforeAll(async () => {
    service = await TestService.start();
    await service.publish('chat', { 'index.js': CODE }, MANIFEST);
    installed = await service.install('chat');
    for (const place of ['space', 'site'])
      await service.api('POST', `${path()}/${place}s`, { json: { [place]: 'p-1' } });
    product = await ProductPage.start({ service, integration: 'chat', installed });
  });
  afterAll(async () => {
    await product?.stop();
    await service?.stop();
  });
  beforeEach(async () => {
    const names = ['channel', 'greeting', 'tone', 'events', 'days', 'loud', 'project', 'oauth_credentials'];
    await service.api('POST', `${path()}/pause`);
    await edit(Object.fromEntries(names.map((name) => [name, null])));
    await service.api('POST', `${path()}/resume`);
    await product.run('product.configure()');
    await button('Save').waitFor();
  });

  test('says at its field what is missing, by its title', async () => {
    await says('Not active yet. Still needed:');
    const described = await field('Channel').first().getAttribute('aria-describedby');
    expect(described?.split(' ')).toHaveLength(2);
    await says('Channel is missing.');
    await says('Account is missing.');
    expect(await product.configuration.textContent()).not.toContain('oauth_credentials');
  });

  test('saves each type of property, and keeps what the manifest does not declare', async () => {
    await edit({ plan: 'pro' });
    await field('Greeting').fill('<b>Hello</b>');
    await field('Tone').selectOption('friendly');
    await field('Days').fill('2.50');
    await field('Mention everyone').click();
    await field('Events').click();
    await product.configuration.getByRole('option', { name: 'made' }).click();
    await product.configuration.getByRole('option', { name: 'gone' }).click();
    await button('Save').click();
    await says('Saved.');
    expect(await stored()).toEqual({
      ...{ plan: 'pro', greeting: '<b>Hello</b>', tone: 'friendly', days: 2.5, loud: true },
      events: ['made', 'gone'],
    });
    expect(await product.told('saved')).toEqual([{ status: 'pending' }]);
  });

  test('finds a choice among pages of options, keeps its name, and takes it back', async () => {
    const options = product.configuration.locator('[role=option]');
    await field('Channel').first().click();
    await expect.poll(() => options.count()).toBe(50);
    await button('Show more').click();
    await expect.poll(() => options.count()).toBe(100);
    await field('Channel').first().fill('channel-77');
    await expect.poll(() => options.count()).toBe(1);
    await options.first().click();
    await button('Save').click();
    await says('Saved.');
    expect(await stored()).toMatchObject({ channel: 'C77' });
    await product.run('product.configure()');
    await expect.poll(() => field('Channel').first().inputValue()).toBe('#channel-77');
  });

  test('an invalid number is refused at its field, which gets the focus, and nothing is sent', async () => {
    await field('Days').fill('many');
    await says('Days must be a number.');
    const before = (await product.requests()).length;
    await button('Save').click();
    const focused = 'document.querySelector("annex-configuration").shadowRoot.activeElement?.ariaInvalid';
    await expect.poll(() => product.run(focused)).toBe('true');
    expect(await product.requests()).toHaveLength(before);
  });

  test('what another person has saved stays, and a field that both have changed asks', async () => {
    await field('Greeting').fill('mine');
    await edit({ days: 4 });
    await button('Save').click();
    await says('Saved.');
    expect(await stored()).toMatchObject({ greeting: 'mine', days: 4 });
    await field('Greeting').fill('mine again');
    await edit({ greeting: 'theirs' });
    await button('Save').click();
    await says('Changed by someone else meanwhile');
    await says('theirs');
    expect(await stored()).toMatchObject({ greeting: 'theirs' });
    await button('Keep mine').click();
    await button('Save').click();
    await says('Saved.');
    expect(await stored()).toMatchObject({ greeting: 'mine again' });
  });

  test('a save that fails leaves what was entered, and says why', async () => {
    await field('Greeting').fill('typed');
    await product.run('product.answers = ["lost"]');
    await button('Save').click();
    await says('There was no answer.');
    expect(await field('Greeting').inputValue()).toBe('typed');
    await product.run('product.answers = []');
    await button('Save').click();
    await says('Saved.');
  });

  test('a connection waits for the other tab, is shown with its account, ends, and is refused', async () => {
    const opened = product.page.context().waitForEvent('page');
    await product.configuration.getByRole('link', { name: 'Connect Chat' }).click();
    const tab = await opened;
    expect(await tab.evaluate('window.opener')).toBeNull();
    await says('Waiting for the other tab.');
    await product.run('window.dispatchEvent(new Event("focus"))');
    await says('Not connected');
    await tab.close();
    await edit({ oauth_credentials: { access_token: 'secret', account: 'ada@example.com' } });
    await says('Connected as ada@example.com');
    await product.configuration.getByRole('link', { name: 'Reconnect' }).waitFor();
    await button('Disconnect').click();
    await product.configuration.getByRole('alertdialog').getByRole('button', { name: 'Disconnect' }).click();
    await product.configuration.getByRole('link', { name: 'Connect Chat' }).waitFor();
  });

  test('an edit that would break an active installation is refused at its field', async () => {
    await edit({ channel: 'C1', project: 'p', oauth_credentials: { access_token: 'secret' } });
    await product.run('product.configure()');
    await field('Project').fill('');
    await button('Save').click();
    await says('Project is missing.');
    await says('Not saved');
    expect(await stored()).toMatchObject({ project: 'p' });
  });

  test('a space has a form of its own, and a component draws the settings of a site', async () => {
    await product.run('product.configure({ place: "/spaces/p-1" })');
    await field('Tone of the space').fill('calm');
    await button('Save').click();
    await says('Saved.');
    const { body } = await service.api('GET', `${path()}/spaces/p-1`);
    expect(body['configuration']).toEqual({ tone: 'calm' });
    await product.run('product.configure({ place: "/sites/p-1" })');
    await says('Drawn by the code');
  });

  test('is filled in and saved by the keyboard alone', async () => {
    const { keyboard } = product.page;
    const at = 'document.querySelector("annex-configuration").shadowRoot.activeElement';
    const tabTo = async (label: string) => {
      const isThere = () =>
        product.run<boolean>(
          `(${at}?.labels?.[0]?.textContent ?? ${at}?.textContent ?? '').includes(${JSON.stringify(label)})`,
        );
      for (let tabs = 0; tabs < 20 && !(await isThere()); tabs += 1) await keyboard.press('Tab');
      expect(await isThere()).toBe(true);
    };
    await tabTo('Channel');
    await keyboard.type('channel-7');
    await product.configuration.getByRole('option', { name: '#channel-7', exact: true }).waitFor();
    await keyboard.press('ArrowDown');
    await keyboard.press('Enter');
    await tabTo('Greeting');
    await keyboard.type('Hello');
    await tabTo('Mention everyone');
    await keyboard.press('Space');
    await tabTo('Save');
    await keyboard.press('Enter');
    await says('Saved.');
    expect(await stored()).toEqual(expect.objectContaining({ channel: 'C7', greeting: 'Hello', loud: true }));
  });

  test.each([
    ['light', 'ltr', 1440],
    ['dark', 'rtl', 360],
  ] as const)('axe finds nothing serious, and nothing is cut: %s, %s, %i', async (theme, dir, width) => {
    await product.page.setViewportSize({ width, height: 900 });
    await product.run(`product.configure({ theme: '${theme}', dir: '${dir}' })`);
    await button('Save').waitFor();
    expect(await seriousViolations(product.page, 'annex-configuration')).toEqual([]);
    expect(await product.run('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  });

  test('is a component of React, and its module is small', async () => {
    await product.run(`document.querySelector('main').replaceChildren()`);
    await product.run(`import('/react-page.js').then(() => product.configureWithReact())`);
    await field('Greeting').fill('from React');
    await button('Save').click();
    await says('Saved.');
    expect(await product.run('product.completed')).toEqual({ status: 'pending' });
    const module = await (await fetch(new URL('/configuration.js', product.page.url()))).bytes();
    expect(brotliCompressSync(module).length).toBeLessThan(25 * 1024);
  });

  // `docs/how-to/configuration-form.md`, as printed.
  test('the guide works in a page that has its lines', async () => {
    const guide = readFileSync(GUIDE, 'utf8');
    const block = (language: string) => guide.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '';
    const backend = `data:text/javascript,${encodeURIComponent(block('js'))}`;
    const { annexToken } = (await import(backend)) as { annexToken(id: string): Promise<string> };
    const document = block('html')
      .replace('@annex/components/configuration', '/configuration.js')
      .replace('http://127.0.0.1:7700', service.service.controlUrl)
      .replace('ins_1', installed.id);
    const module = await (await fetch(new URL('/configuration.js', product.page.url()))).text();
    const server = createServer(async ({ url }, response) => {
      if (url === '/annex-token') return response.end(await annexToken(installed.id));
      const isModule = url === '/configuration.js';
      response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html');
      return response.end(isModule ? module : `<!doctype html>${document}`);
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    vi.stubEnv('ANNEX_URL', service.service.controlUrl);
    vi.stubEnv('ANNEX_TOKEN', service.platform);
    vi.stubEnv('ORIGIN', origin);
    onTestFinished(() => void vi.unstubAllEnvs());
    const page = await product.newPage();
    await page.goto(origin);
    await page.getByLabel('Greeting').fill('from the guide');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await stored()).toMatchObject({ greeting: 'from the guide' });
    await page.close();
  });

  test('no error stands in the console, and no request has left the machine', () => {
    // The browser notes answers that are refused on purpose.
    expect(product.errors.filter((error) => !/status of (404|412|422)/.test(error))).toEqual([]);
    expect(product.foreign).toEqual([]);
  });
});
