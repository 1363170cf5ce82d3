/**
 * `npm run docs:pictures`: draws each example, and the states of a configuration and of webhooks, in a real Chromium,
 * and writes `docs/contentkit.md` and `docs/pictures/*.png`. With a folder as its argument, it also
 * writes those states there in both schemes at three widths, to be looked at. Needs Debian's package `chromium`. Reaches nothing but its own page.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { componentsModule, tagModule } from '../build.ts';
import { drawingOf, EXAMPLES } from './examples.ts';
import { FORMS, OPTIONS, WEBHOOKS } from './forms.ts';
import { referencePage } from './reference-page.ts';

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));
const WIDTH = 560;
const WEBHOOKS_WIDTH = 960;
const PAGE = `<!doctype html><html lang="en">
<style>body { margin: 4px; background: light-dark(#fbfcfd, #181b21); } body > * { padding: 12px; }</style>
<body><annex-component></annex-component>
<annex-configuration></annex-configuration><annex-webhooks hidden></annex-webhooks>
<script type="module" src="/index.js"></script>
<script type="module" src="/webhooks.js"></script></body></html>`;

const modules = new Map([
  ['/index.js', await componentsModule()],
  ['/configuration.js', await tagModule('configuration', '')],
  ['/webhooks.js', await tagModule('webhooks', '')],
]);
const server = createServer((request, response) => {
  const module = modules.get(request.url ?? '');
  response.writeHead(200, { 'content-type': module === undefined ? 'text/html' : 'text/javascript' });
  response.end(module ?? PAGE);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const page = await browser.newPage({
    viewport: { width: WIDTH, height: 400 },
    reducedMotion: 'reduce',
  });
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await mkdir(join(DOCS, 'pictures'), { recursive: true });
  for (const [name, example] of Object.entries(EXAMPLES)) {
    const element = drawingOf(example);
    const body = { type: 'element', state: {}, props: {}, element };
    await page.evaluate(`new Promise((resolve) => {
      const component = document.querySelector('annex-component');
      component.addEventListener('annex-render', resolve, { once: true });
      Object.assign(component, { componentId: '${name}', theme: 'light',
        transport: async () => (${JSON.stringify({ status: 200, body })}) });
    })`);
    await shot(page, 'annex-component', name);
  }
  await page.evaluate(`document.querySelector('annex-component').remove()`);
  const [into] = process.argv.slice(2);
  for (const [name, form] of Object.entries(FORMS)) {
    await configure(page, form);
    await shot(page, 'annex-configuration', name);
    if (into !== undefined) await drawAll(page, join(into, name));
  }
  await page.evaluate(`document.querySelector('annex-configuration').remove()`);
  for (const [name, answers] of Object.entries(WEBHOOKS)) {
    await page.setViewportSize({ width: WEBHOOKS_WIDTH, height: 400 });
    await showWebhooks(page, answers);
    await shot(page, 'annex-webhooks', name);
    if (into !== undefined) await drawAll(page, join(into, name));
  }
  await writeFile(join(DOCS, 'contentkit.md'), referencePage());
} finally {
  await browser.close();
  server.close();
}

/** Draws a tag for the guides. */
async function shot(page: Page, tag: string, name: string): Promise<void> {
  await page.locator(tag).screenshot({ path: join(DOCS, 'pictures', `${name}.png`) });
}

/** Shows a configuration, once the name of its channel is there. */
async function configure(page: Page, form: object): Promise<void> {
  await page.evaluate(`{
    const answers = { '/configuration': ${JSON.stringify(form)}, '/completions': ${JSON.stringify({ options: OPTIONS })} };
    document.querySelector('annex-configuration').transport = async ({ path }) => ({ status: 200, body: answers[path] });
  }`);
  await page.getByRole('button', { name: 'Save' }).waitFor();
  await page.waitForLoadState('networkidle');
}

/** Shows the webhook of a target, with its newest delivery open. */
async function showWebhooks(page: Page, answers: object): Promise<void> {
  await page.evaluate(`{
    const answers = ${JSON.stringify(answers)};
    const webhooks = document.querySelector('annex-webhooks');
    webhooks.hidden = false;
    webhooks.transport = async ({ path }) => ({ status: 200, body: answers[path.split('?')[0]] });
  }`);
  await page.getByRole('button', { name: 'Save' }).waitFor();
  const newest = page.locator('.delivery').first();
  if ((await newest.count()) > 0) {
    await newest.click();
    await page.getByRole('tab').first().waitFor();
  }
}

/** Draws what is shown in both schemes, at three widths. */
async function drawAll(page: Page, name: string): Promise<void> {
  await mkdir(dirname(name), { recursive: true });
  for (const scheme of ['light', 'dark'] as const)
    for (const width of [360, 768, 1440]) {
      await page.setViewportSize({ width, height: 400 });
      await page.evaluate(`document.documentElement.style.colorScheme = '${scheme}'`);
      await page.screenshot({ path: `${name}-${scheme}-${width}.png`, fullPage: true });
    }
  await page.setViewportSize({ width: WIDTH, height: 400 });
  await page.evaluate(`document.documentElement.style.colorScheme = 'light'`);
}
