/**
 * Every field that a tenant controls, full of hostile texts, by one real service on all that people
 * see: console, portal, page of `annex dev`, components, and the forms of a host's page. Nothing
 * runs, nothing leaves its place, and nothing holds a page.
 */
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { suiteFolder } from '../../support/cli/author-folder.ts';
import { DevPage } from '../../support/cli/dev-page.ts';
import { needs } from '../../support/programs.ts';
import { type Watched, watchPage } from '../../support/renderer/chromium.ts';
import { HOSTILE_TEXTS } from '../../support/renderer/hostile-drawings.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';
import { type Installed, PATIENT, TestService } from '../../support/service.ts';

/** As the store takes them: a manifest with U+0000 is refused. */
const TEXTS = HOSTILE_TEXTS.map((text) => text.toWellFormed().replaceAll('\u0000', '\u0001'));
const SHORT = TEXTS.map((text) => text.slice(0, 200));
const inGroups = (size: number) =>
  Array.from({ length: Math.ceil(SHORT.length / size) }, (_, at) => SHORT.slice(at * size, (at + 1) * size));
/** Texts of one integration's title and summary, and of one answer of a receiver. */
const GROUPS = inGroups(27);
/** Texts of one component. */
const PARTS = inGroups(10);
/** A drawing with more marks on one character is refused. */
const DRAWN = PARTS.map((texts) =>
  texts.map((text) => text.replace(/(\p{M}{20})\p{M}*/u, '$1').slice(0, 100)),
);
/** A picture that is a document with scripts. */
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="parent.canary++" width="9" height="9"><script>parent.canary++</script>
<image href="https://attacker.example/x.png"/><foreignObject><body xmlns="http://www.w3.org/1999/xhtml" onload="parent.canary++"/></foreignObject></svg>`;

const manifestOf = (name: string, title: string, words: string, more = '') =>
  `name: ${name}\ntitle: ${JSON.stringify(title.slice(0, 250))}\ndescription: ${JSON.stringify(words.slice(0, 2_000))}\n` +
  `summary: ${JSON.stringify(words.slice(0, 2_000))}\norganization: acme\nvisibility: public\n` +
  `scopes: []\nscript: index.js\n${more}`;

const WEBHOOK = {
  webhook_url: { type: 'string', title: SHORT[0] },
  event_types: { type: 'string', title: SHORT[1], multiple: true, enum: ['*'] },
};
const SETTINGS = {
  ...WEBHOOK,
  ...Object.fromEntries(
    SHORT.map((text, at) => [
      `p${at}`,
      [
        { type: 'string', title: text, description: text },
        { type: 'string', title: text, enum: [text, 'other'], default: text },
        { type: 'boolean', title: text, description: text },
        { type: 'string', title: text, enum: [text], multiple: true },
        { type: 'button', title: text, button_text: text, callback_url: '/callback' },
      ][at % 5],
    ]),
  ),
};
const MANIFEST = manifestOf(
  'hostile',
  SHORT[0] ?? '',
  SHORT.slice(0, 10).join('\n\n'),
  [
    `blocks: ${JSON.stringify(PARTS.map((texts, at) => ({ id: `b${at}`, title: texts[0], description: texts.join(' ') })))}`,
    `configurations: ${JSON.stringify({ account: { properties: SETTINGS }, space: { properties: WEBHOOK } })}`,
    'webhook: { url: webhook_url, eventTypes: event_types }\n',
  ].join('\n'),
);
const CODE = `import { createComponent, createIntegration, deliverTo, endpointURL } from '@annex/sdk';
const TEXTS = ${JSON.stringify(TEXTS)};
const SVG = ${JSON.stringify(SVG)};
const text = (...children) => ({ type: 'text', children });
const drawn = (texts, at) => createComponent({
  componentId: 'b' + at, initialState: {},
  action: async () => { throw new Error(texts[0]); },
  render: async (_element, { environment }) => ({ type: 'block', children: texts.flatMap((words, index) => [
    text(words, { type: 'link', target: { url: 'https://example.com/?' + encodeURIComponent(words) }, children: [text(words)] }),
    { type: 'hint', children: [text(words)] },
    { type: 'markdown', content: words },
    { type: 'button', label: words, tooltip: words, onPress: { action: 'a', [words]: words }, confirm: { title: words, text: words, confirm: words.slice(0, 30) } },
    { type: 'card', title: words, hint: words, children: [text(words)] },
    { type: 'input', label: words, hint: words, error: words, element: { type: 'textinput', state: 't' + index, initialValue: words, placeholder: words } },
    { type: 'input', label: words, element: { type: 'select', state: 's' + index, placeholder: words, options: [{ id: words, label: words }] } },
    { type: 'codeblock', content: words },
    { type: 'image', source: { url: endpointURL(environment, '/x.svg') }, aspectRatio: 1 },
  ]) }),
});
export default createIntegration({
  components: ${JSON.stringify(DRAWN)}.map(drawn),
  events: { '*': (event, context) => deliverTo(context.environment.installation.configuration.webhook_url, event) },
  async fetch(request, context) {
    if (request.url.endsWith('.svg')) return new Response(SVG, { headers: { 'content-type': 'image/svg+xml' } });
    const refused = [];
    for (const words of TEXTS) {
      console.log(words);
      await context.storage.put(words.slice(0, 100), { [words.slice(0, 50)]: words }).catch((error) => refused.push(String(error)));
    }
    throw new Error(TEXTS.slice(0, 20).join('\\n at ' ));
  },
});`;

/** What a page must not have, in all of its trees, and the words that it shows. */
const LOOK = `(() => {
  performance.mark('look');
  const roots = [document.body];
  if (document.body.shadowRoot) roots.push(document.body.shadowRoot);
  const all = [];
  for (const root of roots)
    for (const one of root.querySelectorAll('*')) {
      all.push(one);
      if (one.shadowRoot) roots.push(one.shadowRoot);
    }
  const tags = 'script iframe object embed base meta link style template noscript math video'.split(' ');
  // A place in the stack of an error opens the author's editor.
  const schemes = ['http:', 'https:', 'mailto:', 'blob:', 'vscode:'];
  const found = all.flatMap((one) => [
    ...(tags.includes(one.localName) ? [one.localName] : []),
    ...one.getAttributeNames().filter((name) => /^on|srcdoc|formaction/i.test(name)),
    ...['href', 'src', 'action']
      .filter((name) => one.hasAttribute(name))
      .filter((name) => !schemes.includes(new URL(one.getAttribute(name), location.href).protocol))
      .map((name) => name + '=' + one.getAttribute(name).slice(0, 80)),
  ]);
  return {
    found,
    canary,
    violations,
    isWide: document.documentElement.scrollWidth > innerWidth,
    words: roots.map((root) => root.textContent).join(' ') + all.map((one) => one.value ?? '').join(' '),
  };
})()`;
const BEGIN = `globalThis.canary = 0; globalThis.violations = [];
document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI));`;

/** What the browser notes: a picture that the policy stops, and an upload that is refused. */
const NOTED = /x\.svg' violates .{0,80}"img-src |status of 422/;
/** The policy of the page stops the picture of a component. */
const PICTURE = /img-src .{0,200}\/x\.svg/;

interface Looked {
  readonly found: readonly string[];
  readonly canary: number;
  readonly violations: readonly string[];
  readonly isWide: boolean;
  readonly words: string;
}

/** A text as it can be found in a page: blanks and what is not seen left out. */
const plain = (text: string) => text.replaceAll(/[\p{Cc}\p{Cf}\s\ufffd]+/gu, '');

type Noted = Readonly<Record<keyof Watched, readonly string[]>>;

/** A page that is led through its views, and remembers which of the texts it has shown. */
class Tour {
  readonly page: Page;
  readonly #watched: Noted;
  readonly #seen = new Set<number>();
  readonly #others: string[] = [];

  constructor(page: Page, watched: Noted = watchPage(page)) {
    this.page = page;
    this.#watched = watched;
    page.setDefaultTimeout(60_000);
    page.on('dialog', (dialog) => {
      this.#others.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('popup', (popup) => void this.#others.push(`window ${popup.url()}`));
  }

  static async opened(browser: Browser, url: string): Promise<Tour> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.addInitScript(BEGIN);
    const tour = new Tour(page);
    await page.goto(url);
    return tour;
  }

  /** Goes to a view as a link of the page does, and looks. */
  async visit(address: string, ready: string): Promise<void> {
    const go = `history.pushState(undefined, '', ${JSON.stringify(address)}); dispatchEvent(new PopStateEvent('popstate'))`;
    await this.page.evaluate(go);
    await this.page.locator(ready).first().waitFor();
    await expect.poll(() => this.page.locator('.skeleton').count()).toBe(0);
    await this.look(address);
  }

  async look(where: string): Promise<void> {
    await this.page.evaluate(WORK);
    const { words, violations: all, ...others } = await this.page.evaluate<Looked>(LOOK);
    // The pages of the service show no picture of a tenant: its server would learn of the reader.
    const looked = { ...others, violations: all.filter((one) => !PICTURE.test(one)) };
    expect([where, looked]).toEqual([where, { found: [], canary: 0, violations: [], isWide: false }]);
    const shown = plain(words);
    for (const [at, text] of TEXTS.entries())
      if (shown.includes(plain(text).slice(0, 40))) this.#seen.add(at);
  }

  end(): void {
    const errors = this.#watched.errors.filter((text) => !NOTED.test(text));
    expect({ errors, foreign: this.#watched.foreign, others: this.#others }).toEqual({
      ...{ errors: [], foreign: [], others: [] },
    });
    expect(TEXTS.filter((_, at) => !this.#seen.has(at))).toEqual([]);
  }
}

/** A piece of work that takes a processor 10 ms: a busy machine makes it and the page slower. */
const WORK = `(() => {
  performance.mark('work');
  Array.from({ length: 20_000 }, (_, at) => String((at * 7919) % 20_011)).sort();
})()`;
/** What a task of a page may take, in such pieces: 100 ms. */
const PIECES_MAX = 10;

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Begin and length, and its time of a processor (µs). */
  readonly ts: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/** The task of a page that took longest while something was done, in pieces of `WORK`. */
async function longestTask(page: Page, work: () => Promise<void>): Promise<number> {
  const browser = page.context().browser() as Browser;
  await browser.startTracing(page, { categories: ['toplevel', 'blink.user_timing'] });
  const failure = await work().then(
    () => undefined,
    (error: Error) => error,
  );
  const { traceEvents } = JSON.parse(String(await browser.stopTracing())) as { traceEvents: TraceEvent[] };
  if (failure) throw failure;
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const mains = new Set(traceEvents.filter(({ args }) => args.name === 'CrRendererMain').map(threadOf));
  const tasks = traceEvents
    .filter((event) => event.name.endsWith('RunTask') && mains.has(threadOf(event)))
    .toSorted((one, other) => (other.tdur ?? 0) - (one.tdur ?? 0));
  const marks = (name: string) => traceEvents.filter((event) => event.name === name);
  const taskOf = (mark: TraceEvent) =>
    tasks.find(({ pid, ts, dur = 0 }) => mark.pid === pid && mark.ts >= ts && mark.ts <= ts + dur);
  const pieces = marks('work').map((mark) => taskOf(mark)?.tdur ?? 0);
  // What the test itself does in a page is no part of the page.
  const own = new Set([...marks('look'), ...marks('work')].map(taskOf));
  const longest = tasks.find((task) => !own.has(task));
  return (longest?.tdur ?? Number.POSITIVE_INFINITY) / Math.max(...pieces);
}

describe('a tenant with hostile texts everywhere', needs('chromium'), () => {
  let annex: TestService;
  let receiver: Server;
  let dev: DevPage;
  let product: ProductPage;
  let browser: Browser;
  let folder: string;
  let installed: Installed;
  const path = () => `/v1/integrations/hostile/installations/${installed.id}`;

  beforeAll(async () => {
    let answered = 0;
    receiver = createServer((request, response) => {
      const texts = GROUPS[answered % GROUPS.length] ?? [];
      answered += 1;
      request.resume().on('end', () => response.writeHead(200).end(texts.join('\n')));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    annex = await TestService.start({
      limits: PATIENT,
      flags: ['--webhook-http', 'allow', '--egress-allow', host, '--level-names', 'space=Project'],
    });
    for (const [at, text] of SHORT.entries()) {
      const json = { title: text.slice(0, 100), level: 'organization', schema: {}, webhook: true };
      expect([text, (await annex.api('PUT', `/v1/event-types/hostile.t${at}`, { json })).status]).toEqual([
        text,
        200,
      ]);
    }
    for (const [at, group] of GROUPS.entries()) {
      const form = new FormData();
      form.append('manifest', manifestOf(`titles-${at}`, group.join(' '), group.join('\n\n')));
      form.append(
        'files',
        new Blob(["import { createIntegration } from '@annex/sdk'; export default createIntegration({});"]),
        'index.js',
      );
      const { status, body } = await annex.api('POST', '/v1/integrations', { form });
      if (status !== 201) throw new Error(JSON.stringify(body));
    }
    folder = await suiteFolder({ 'platform-manifest.yaml': MANIFEST, 'index.js': CODE });
    dev = await DevPage.open(annex, folder);
    const { body } = await annex.api('GET', '/v1/installations?integration=hostile');
    const [{ id, urls }] = body['items'] as [{ id: string; urls: { publicEndpoint: string } }];
    const endpoint = urls.publicEndpoint;
    installed = { id, endpoint };
    const configuration = {
      webhook_url: `http://${host}/`,
      event_types: TEXTS.map((_, at) => `hostile.t${at}`),
      ...Object.fromEntries(SHORT.map((text, at) => [`p${at}`, text]).filter((_, at) => at % 5 === 0)),
    };
    const patched = await annex.api('PATCH', path(), { json: { configuration } });
    if (patched.status !== 200) throw new Error(JSON.stringify(patched));
    await fetch(endpoint, { method: 'POST' });
    for (const [at] of GROUPS.entries()) {
      const event = { type: `hostile.t${at}`, organization: 'acme', data: { texts: GROUPS[at] } };
      expect(await annex.api('POST', '/v1/events', { json: event })).toMatchObject({ status: 202 });
    }
    const waiting = async () =>
      ((await annex.api('GET', '/v1/deliveries?state=pending')).body['items'] as unknown[]).length;
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 60_000 });
    browser = dev.page.context().browser() as Browser;
    product = await ProductPage.start({ service: annex, integration: 'hostile', installed }, browser);
  });
  afterAll(async () => {
    await product?.stop();
    await dev?.end();
    await annex?.stop();
    receiver?.close();
    receiver?.closeAllConnections();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const deliveries = async () =>
    (await annex.api('GET', '/v1/deliveries?limit=100')).body['items'] as { id: string; eventId: string }[];

  test('in the console', async () => {
    const { body } = await annex.api('POST', '/v1/console-links');
    const tour = await Tour.opened(browser, `${annex.service.controlUrl}${body['url']}`);
    await tour.page.locator('main h1').waitFor();
    const longest = await longestTask(tour.page, async () => {
      const lists = [
        'integrations',
        'installations',
        'events',
        'deliveries',
        'webhooks',
        'event-types',
        'audit',
        'logs',
      ];
      const [one] = await deliveries();
      for (const view of [
        ...lists,
        ...['versions', 'errors', 'secrets', 'limits', ''].map((part) => `integrations/hostile?part=${part}`),
        ...['', 'configuration', 'components', 'storage', 'log'].map(
          (part) => `installations/hostile/${installed.id}?part=${part}`,
        ),
        ...['titles-0', 'titles-2'].map((name) => `integrations/${name}`),
        ...(await deliveries()).map(({ id }) => `deliveries/${encodeURIComponent(id)}`),
        `events/${encodeURIComponent(one?.eventId ?? '')}`,
      ])
        await tour.visit(`/console/${view}`, 'main h1');
    });
    expect(longest).toBeLessThanOrEqual(PIECES_MAX);
    // Names of files, and a line of one, which does not compile.
    const named = await suiteFolder({ 'platform-manifest.yaml': manifestOf('named', 'x', 'x') });
    const names = SHORT.map((text) => text.replaceAll(/[/\p{Cc}]/gu, '').slice(0, 60));
    for (const name of new Set(names)) await writeFile(join(named, `${name}.pem`), 'x');
    for (const name of new Set(names)) await writeFile(join(named, `${name}.js`), SHORT[1] ?? '');
    const script = names[1] ?? '';
    await writeFile(join(named, 'index.js'), `import ${JSON.stringify(`./${script}.js`)};`);
    await tour.visit('/console/publish', 'main h1');
    await tour.page.locator('input[type=file]').setInputFiles(named);
    await tour.page.getByText(`${script}.js`).first().waitFor();
    await tour.look('publish');
    await rm(named, { recursive: true });
    tour.end();
  });

  test('in the portal', async () => {
    const json = { organization: 'acme' };
    const { body } = await annex.api('POST', '/v1/portal-links', { token: annex.platform, json });
    const tour = await Tour.opened(browser, `${annex.service.controlUrl}${body['url']}`);
    await tour.page.locator('main h1').waitFor();
    const longest = await longestTask(tour.page, async () => {
      const opened = (await deliveries()).map(({ id }) => `activity?open=${encodeURIComponent(id)}`);
      for (const view of [
        'integrations',
        ...GROUPS.map((_, at) => `integrations/titles-${at}`),
        `integrations/hostile/${installed.id}`,
        'webhooks',
        `webhooks/hostile/${installed.id}`,
        'activity',
        ...opened,
      ])
        await tour.visit(`/portal/${view}`, 'main h1');
    });
    expect(longest).toBeLessThanOrEqual(PIECES_MAX);
    tour.end();
  });

  test('on the page of annex dev', async () => {
    const tour = new Tour(dev.page, dev.watched);
    await dev.page.addInitScript(BEGIN);
    await dev.page.reload();
    await dev.page.locator('main h2').first().waitFor();
    const longest = await longestTask(dev.page, async () => {
      for (const view of [
        'components',
        'insert',
        'configuration',
        'events',
        'calls',
        'endpoint',
        'storage',
      ]) {
        await dev.page.evaluate(`location.hash = '#${view}'`);
        await dev.page.locator('main h2, main h3').first().waitFor();
        await tour.look(view);
      }
    });
    expect(longest).toBeLessThanOrEqual(PIECES_MAX);
    tour.end();
  });

  test('in the components and forms of a host’s page', async () => {
    const tour = new Tour(product.page, product);
    await product.run(BEGIN);
    const longest = await longestTask(product.page, async () => {
      for (const at of PARTS.keys()) {
        const { event, ...told } = await product.mount({ componentId: `b${at}` });
        expect([at, event, told]).toEqual([at, 'render', expect.anything()]);
        await tour.look(`component ${at}`);
      }
      await product.run('product.configure()');
      await product.configuration.getByRole('button', { name: 'Save', exact: true }).waitFor();
      await tour.look('configuration');
      await product.run('product.webhooks()');
      await product.webhooks.locator('.deliveries > li').first().waitFor();
      await tour.look('webhooks');
      const { body } = await annex.api('GET', '/v1/blocks?organization=acme');
      await product.run(`import('/insert-menu.js').then(() => {
      const menu = document.createElement('annex-insert-menu');
      menu.read = async () => JSON.parse(${JSON.stringify(JSON.stringify(body['items']))});
      menu.transport = () => product.transport;
      document.querySelector('main').replaceChildren(menu);
    })`);
      await product.page.keyboard.press('Control+/');
      await product.page.getByRole('dialog', { name: 'Insert' }).getByRole('option').first().waitFor();
      await tour.look('insert menu');
    });
    expect(longest).toBeLessThanOrEqual(PIECES_MAX);
    tour.end();
  });
});
