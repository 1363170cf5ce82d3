/**
 * `npm run console:pictures -- FOLDER`: every view of the console in its states, in both schemes at
 * three widths, to be looked at; and the two pictures of the README. Needs Debian's package
 * `chromium`. Reaches nothing but its own service.
 *
 * After the folder, names of views draw these alone.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { dayOfActivity, type Seeded, seededService } from './seeded-service.ts';

const PICTURES = fileURLToPath(new URL('../../../docs/pictures/', import.meta.url));
const WIDTHS = [360, 768, 1440];
const SCHEMES = ['light', 'dark'] as const;
/** Requests of views, but not of who has signed in. */
const ASKED = /\/(v1|readyz)\b/;

/** What the API does in each state beside the full and the empty one. */
const STATES = {
  loading: (context: BrowserContext) => context.route(ASKED, () => undefined),
  failed: (context: BrowserContext) =>
    context.route(ASKED, (route) =>
      route.fulfill({
        status: 503,
        json: {
          error: {
            code: 'STORE_UNAVAILABLE',
            message: 'The database does not answer. Try again in a moment.',
            requestId: 'req-4f1d0c7a',
          },
        },
      }),
    ),
};

const [into, ...names] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const full = await seededService();
const empty = await seededService(true);
try {
  if (into === undefined) await readmePictures(full);
  else {
    await mkdir(into, { recursive: true });
    const places = Object.entries(full.places).filter(([name]) => names.length === 0 || names.includes(name));
    for (const [name, path] of places) await drawAll(full, path, join(into, name));
    for (const [name, path] of places)
      if (!path.includes('/')) await drawAll(empty, path, join(into, `${name}-empty`));
    for (const [name, path] of places)
      for (const [state, prepare] of Object.entries(STATES))
        await drawAll(full, path, join(into, `${name}-${state}`), prepare);
  }
} finally {
  await browser.close();
  await full.end();
  await empty.end();
}

async function signedIn({ controlUrl, annex }: Seeded, scheme: 'light' | 'dark'): Promise<Page> {
  const context = await browser.newContext({ colorScheme: scheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const { url } = await annex.consoleLinks.create();
  await page.goto(`${controlUrl}${url}`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await context.route('**/v1/activity', (route) => route.fulfill({ json: dayOfActivity() }));
  return page;
}

/** Draws a view in both schemes, at three widths. */
async function drawAll(
  service: Seeded,
  path: string,
  file: string,
  prepare?: (context: BrowserContext) => Promise<unknown>,
): Promise<void> {
  for (const scheme of SCHEMES) {
    const page = await signedIn(service, scheme);
    await prepare?.(page.context());
    await page.goto(`${service.controlUrl}/console/${path}`);
    // A view that loads never rests.
    await page.waitForTimeout(prepare === undefined ? 600 : 400);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({ path: `${file}-${scheme}-${width}.png`, fullPage: true });
    }
    await page.context().close();
  }
}

/** The overview in both schemes. */
async function readmePictures(service: Seeded): Promise<void> {
  for (const scheme of SCHEMES) {
    const page = await signedIn(service, scheme);
    await page.setViewportSize({ width: 1_180, height: 700 });
    await page.goto(`${service.controlUrl}/console/`);
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: join(PICTURES, `console-${scheme}.png`) });
    await page.context().close();
  }
}
