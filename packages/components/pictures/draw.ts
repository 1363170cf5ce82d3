/**
 * `npm run docs:pictures`: draws each example in a real Chromium, and writes `docs/contentkit.md` and
 * `docs/pictures/*.png`. Needs Debian's package `chromium`. Reaches nothing but its own page.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { componentsModule } from '../build.ts';
import { drawingOf, EXAMPLES } from './examples.ts';
import { referencePage } from './reference-page.ts';

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));
const WIDTH = 560;
const PAGE = `<!doctype html><html lang="en"><body style="margin:16px"><annex-component></annex-component>
<script type="module" src="/components.js"></script></body></html>`;

const module = await componentsModule();
const server = createServer((request, response) => {
  const isModule = request.url === '/components.js';
  response.writeHead(200, { 'content-type': isModule ? 'text/javascript' : 'text/html' });
  response.end(isModule ? module : PAGE);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 400 } });
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
    const picture = await page.locator('annex-component').screenshot();
    await writeFile(join(DOCS, 'pictures', `${name}.png`), picture);
  }
  await writeFile(join(DOCS, 'contentkit.md'), referencePage());
} finally {
  await browser.close();
  server.close();
}
