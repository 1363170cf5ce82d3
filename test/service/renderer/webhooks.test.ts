/**
 * `<annex-webhooks>` in a real browser, with a real service and a real receiver: a person sets up a
 * webhook, sees a test event arrive, finds out why one failed and sends it again; by the mouse and
 * by the keyboard alone, under a policy without inline code.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { brotliCompressSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { needs } from '../../support/programs.ts';
import { seriousViolations } from '../../support/renderer/gallery.ts';
import { HOSTILE_TEXTS } from '../../support/renderer/hostile-drawings.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';
import { type Installed, TestService } from '../../support/service.ts';

const GUIDE = new URL('../../../docs/how-to/configuration-form.md', import.meta.url);
const MANIFEST = `target: all
configurations:
  account: &settings
    properties:
      address: { type: string, title: Address }
      events: { type: string, title: Events, multiple: true, enum: ['*'] }
  space: *settings
webhook: { url: address, eventTypes: events }
`;
const CODE = `import { createComponent, createIntegration } from '@annex/sdk';
export default createIntegration({
  components: [createComponent({ componentId: 'news', initialState: {}, action: async () => ({}),
    render: async () => ({ type: 'block', children: [{ type: 'text', children: ['The news'] }] }) })],
});`;

describe('the webhooks of a page', needs('chromium'), () => {
  let service: TestService;
  let product: ProductPage;
  let receiver: Server;
  let host: string;
  let status = 200;
  let answer = 'taken';
  const received: { headers: NodeJS.Dict<string | string[]>; body: string }[] = [];
  let installed: Installed;
  const path = () => `/v1/integrations/webhook/installations/${installed.id}`;
  const button = (name: string) => product.webhooks.getByRole('button', { name, exact: true });
  const says = (words: string) => product.webhooks.getByText(words).first().waitFor();
  const rows = () => product.webhooks.locator('.deliveries > li');
  const configure = (configuration: object) =>
    service.api('PATCH', `${path()}/spaces/garden`, { json: { configuration } });
  const setUp = () =>
    configure({ webhook_url: `http://${host}/hook`, event_types: ['space_content_updated'] });

  beforeAll(async () => {
    receiver = createServer(async (request, response) => {
      received.push({ headers: request.headers, body: await text(request) });
      response.writeHead(status).end(answer);
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    service = await TestService.start({
      flags: ['--webhook-http', 'allow', '--egress-allow', host, '--webhook-retries', '1s'],
    });
    await service.publishFixture('webhook');
    installed = await service.install('webhook', 'acme');
    await service.installBelow('webhook', installed, 'space', 'garden');
    product = await ProductPage.start({ service, integration: 'webhook', installed });
  });
  afterAll(async () => {
    await product?.stop();
    await service?.stop();
    receiver?.close();
    receiver?.closeAllConnections();
  });
  beforeEach(async () => {
    [status, answer] = [200, 'taken'];
    await setUp();
    await product.run('product.webhooks({ place: "/spaces/garden" })');
    await button('Send a test event').waitFor();
  });

  test('a person sets one up, and sees a test event arrive with what was sent and answered', async () => {
    await service.installBelow('webhook', installed, 'space', 'shed');
    await product.run('product.webhooks({ place: "/spaces/shed" })');
    await says('Not set up');
    expect(await button('Send a test event').isDisabled()).toBe(true);
    await product.webhooks.getByLabel('Webhook URL').fill(`http://${host}/hook`);
    await product.webhooks.getByLabel('Event types').click();
    await product.webhooks.getByRole('option', { name: 'space_content_updated' }).click();
    await button('Save').click();
    await expect.poll(() => button('Send a test event').isEnabled()).toBe(true);
    const before = received.length;
    await button('Send a test event').click();
    await rows().first().getByText('Delivered').waitFor();
    expect(received).toHaveLength(before + 1);
    await rows().first().getByRole('button').first().click();
    await says('HTTP 200');
    await says('taken');
    await rows().first().getByRole('tab', { name: 'Request' }).click();
    await says(`POST http://${host}/hook`);
    await says('"type": "space_content_updated"');
    expect(await rows().first().getByText('Content has changed').count()).toBe(1);
  });

  test('what has failed says why, and is sent again', async () => {
    [status, answer] = [500, 'the database is full'];
    await button('Send a test event').click();
    await rows().first().getByText('Failed').waitFor();
    await says('Failing');
    await rows().first().getByRole('button').first().click();
    await expect.poll(() => rows().first().locator('details').count()).toBe(2);
    await says('HTTP 500');
    await says('the database is full');
    status = 200;
    await button('Send again').click();
    await rows().first().getByText('Delivered').waitFor();
    await expect.poll(() => rows().first().locator('details').count()).toBe(3);
    await says('Well');
  });

  test('shows the secret when it is asked for, and replaces it with a day for both', async () => {
    const { body: before } = await service.api('GET', `${path()}/spaces/garden/webhook-secret`);
    expect(await product.webhooks.textContent()).not.toContain(before['secret']);
    await button('Show').click();
    await says(String(before['secret']));
    await button('Replace…').click();
    await product.webhooks.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
    await button('Replace…').click();
    await product.webhooks.getByRole('alertdialog').getByRole('button', { name: 'Replace' }).click();
    await says('The one before signs, too, until:');
    const { body: after } = await service.api('GET', `${path()}/spaces/garden/webhook-secret`);
    expect(after['secret']).not.toBe(before['secret']);
    await says(String(after['secret']));
    await button('Hide').click();
    expect(await product.webhooks.textContent()).not.toContain(after['secret']);
  });

  test('a disabled one says so, and is enabled with what was held', async () => {
    const json = { note: 'too noisy' };
    const organization = { kind: 'organization', organization: 'acme' };
    const { body: own } = await service.api('POST', '/v1/tokens', { json: organization });
    const token = String(own['token']);
    await service.api('POST', `${path()}/spaces/garden/webhook/disable`, { json, token });
    const event = { type: 'space_content_updated', organization: 'acme', spaceId: 'garden', revisionId: 'r' };
    await service.api('POST', '/v1/events', { json: event });
    const held = async () => (await service.api('GET', `${path()}/spaces/garden/webhook`)).body['held'];
    await expect.poll(held).toBe(1);
    await product.run('product.webhooks({ place: "/spaces/garden" })');
    await says('too noisy');
    expect(await button('Send a test event').isDisabled()).toBe(true);
    await button('Enable, and deliver what is held').click();
    await rows().first().getByText('Delivered').waitFor();
    await expect.poll(held).toBe(0);
  });

  test('is used by the keyboard alone', async () => {
    const { keyboard } = product.page;
    const at = 'document.querySelector("annex-webhooks").shadowRoot.activeElement';
    const tabTo = async (label: string) => {
      const isThere = () =>
        product.run<boolean>(`(${at}?.textContent ?? '').includes(${JSON.stringify(label)})`);
      for (let tabs = 0; tabs < 40 && !(await isThere()); tabs += 1) await keyboard.press('Tab');
      expect(await isThere()).toBe(true);
    };
    await tabTo('Send a test event');
    await keyboard.press('Enter');
    await says('Sent.');
    await rows().first().getByText('Delivered').waitFor();
    await tabTo('Content has changed');
    await keyboard.press('Enter');
    await says('HTTP 200');
    await tabTo('Response');
    await keyboard.press('ArrowRight');
    await says(`POST http://${host}/hook`);
    expect(await product.run(`${at}.textContent`)).toBe('Request');
  });

  test('what receivers answer, and what events are called, is text', async () => {
    const webhook = {
      state: 'disabled',
      ...{ failing: { since: HOSTILE_TEXTS[0], outcome: HOSTILE_TEXTS[1] }, held: 1 },
      disabled: { reason: 'request', note: HOSTILE_TEXTS[2] },
      types: HOSTILE_TEXTS.map((title, at) => ({ type: `t.${at}`, title })),
    };
    const delivery = {
      ...{ id: 'd', type: 't.3', kind: 'webhook', state: 'failed', attempts: 1, outcome: HOSTILE_TEXTS[4] },
      createdAt: HOSTILE_TEXTS[5],
    };
    const attempt = {
      ...{
        number: 1,
        at: '2026-01-01T00:00:00Z',
        durationMs: 1,
        result: 'failed',
        outcome: HOSTILE_TEXTS[6],
      },
      ...{ status: 500, reason: HOSTILE_TEXTS[7], response: HOSTILE_TEXTS.join(' ').slice(0, 60_000) },
      destination: HOSTILE_TEXTS[8],
    };
    const answers = {
      '/webhook': { status: 200, body: webhook },
      '/deliveries': { status: 200, body: { items: [delivery] } },
      '/deliveries/d': { status: 200, body: { ...delivery, history: [attempt], payload: HOSTILE_TEXTS[9] } },
    };
    const before = await product.run('canary');
    await product.run(`product.webhooks(JSON.parse(${JSON.stringify(JSON.stringify({ answers }))}))`);
    await rows().first().getByRole('button').first().click();
    await rows().first().getByRole('tab', { name: 'Request' }).click();
    await rows()
      .first()
      .getByText(HOSTILE_TEXTS[9] ?? '')
      .first()
      .waitFor();
    expect(await product.run('canary')).toBe(before);
  });

  test.each([
    ['light', 'ltr', 1440],
    ['dark', 'rtl', 360],
  ] as const)('axe finds nothing serious, and nothing is cut: %s, %s, %i', async (theme, dir, width) => {
    await product.page.setViewportSize({ width, height: 900 });
    await product.run(`product.webhooks({ place: '/spaces/garden', theme: '${theme}', dir: '${dir}' })`);
    await rows().first().getByRole('button').first().click();
    await rows().first().getByRole('tab', { name: 'Request' }).waitFor();
    expect(await seriousViolations(product.page, 'annex-webhooks')).toEqual([]);
    expect(await product.run('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await product.page.setViewportSize({ width: 1280, height: 900 });
  });

  test('an installation without one says so', async () => {
    await product.run('product.webhooks()');
    await says('There are no webhooks here.');
  });

  test('is a component of React, and its modules are small', async () => {
    await product.run(`document.querySelector('main').replaceChildren()`);
    await product.run(`import('/react-page.js').then(() => product.webhooksWithReact())`);
    await button('Send a test event').waitFor();
    const sizeOf = async (name: string) =>
      brotliCompressSync(await (await fetch(new URL(name, product.page.url()))).bytes()).length;
    expect((await sizeOf('/webhooks.js')) + (await sizeOf('/configuration.js'))).toBeLessThan(60 * 1024);
  });

  // `docs/how-to/configuration-form.md`, as printed.
  test('the guide shows all three in a page, in 25 lines', async () => {
    await service.api('PUT', '/v1/event-types/invoice.paid', {
      json: { title: 'Invoice paid', level: 'organization', schema: {}, webhook: true },
    });
    await service.publish('chat', { 'index.js': CODE }, MANIFEST);
    const { id } = await service.install('chat');
    const guide = readFileSync(GUIDE, 'utf8');
    const block = (language: string) => guide.split(`\`\`\`${language}\n`)[2]?.split('```')[0] ?? '';
    const lines = (block('html') + block('js')).trim().split('\n');
    expect(lines.length).toBeLessThanOrEqual(25);
    const answers = new Map([['/', ['text/html', '']]]);
    for (const name of ['index', 'configuration', 'webhooks'])
      answers.set(`/${name}.js`, [
        'text/javascript',
        await (await fetch(new URL(`/${name}.js`, product.page.url()))).text(),
      ]);
    const document = block('html')
      .replace("'@annex/components'", "'/index.js'")
      .replace("'@annex/components/webhooks'", "'/webhooks.js'")
      .replace('http://127.0.0.1:7700', service.service.controlUrl)
      .replace('ins_1', id);
    answers.set('/', ['text/html', `<!doctype html>${document}`]);
    let backend: {
      annexToken(installation: string): Promise<string>;
      annexRender(installation: string, body: string): Promise<Response>;
    };
    const server = createServer(async (request, response) => {
      if (request.url === '/annex-token') return response.end(await backend.annexToken(id));
      if (request.url === '/annex-render')
        return response.end(await (await backend.annexRender(id, await text(request))).text());
      const [type = '', body] = answers.get(request.url ?? '') ?? [];
      return response.setHeader('content-type', type).end(body);
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    vi.stubEnv('ANNEX_URL', service.service.controlUrl);
    vi.stubEnv('ANNEX_TOKEN', service.platform);
    vi.stubEnv('ORIGIN', origin);
    onTestFinished(() => void vi.unstubAllEnvs());
    backend = await import(`data:text/javascript,${encodeURIComponent(block('js'))}`);
    const page = await product.newPage();
    await page.goto(origin);
    await page.getByText('The news').waitFor();
    const webhooks = page.locator('annex-webhooks');
    await webhooks.getByLabel('Events').click();
    await webhooks.getByRole('option', { name: 'Invoice paid' }).click();
    await webhooks.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => webhooks.getByLabel('Event', { exact: true }).count()).toBe(1);
    await page.close();
  });

  test('no error stands in the console, and no request has left the machine', () => {
    expect(product.foreign).toEqual([]);
    expect(product.errors.filter((error) => !/status of 404/.test(error))).toEqual([]);
  });
});
