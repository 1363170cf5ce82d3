/**
 * `npm run pages:pictures -- FOLDER`: every view of the console, of the portal and of the page of
 * `annex dev` in its states, in both schemes at three widths, to be looked at; without a folder,
 * the pictures of README and guides. Needs Debian's package `chromium`. Reaches nothing but its own
 * services.
 *
 * After the folder, beginnings of names draw these alone: `portal`, `dev-storage`.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { devSession } from './dev-session.ts';
import { dayOfActivity, type Seeded, seededService } from './seeded-service.ts';

const PICTURES = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const WIDTHS = [360, 768, 1440];
const SCHEMES = ['light', 'dark'] as const;
type Scheme = (typeof SCHEMES)[number];
/** Requests of views, but not of who has signed in. */
const ASKED = /\/(v1|readyz|api)\b/;
const AWAY = {
  status: 503,
  json: {
    error: {
      code: 'STORE_UNAVAILABLE',
      message: 'The database does not answer. Try again in a moment.',
      requestId: 'req-4f1d0c7a',
    },
  },
};

type Prepare = (context: BrowserContext) => Promise<unknown>;

/** What the API does in each state beside the full and the empty one. */
const STATES: Readonly<Record<string, Prepare>> = {
  loading: (context) => context.route(ASKED, () => undefined),
  failed: (context) => context.route(ASKED, (route) => route.fulfill(AWAY)),
  /** Each second request fails. */
  partial: (context) => {
    let asked = 0;
    return context.route(ASKED, (route) => {
      asked += 1;
      return asked % 2 === 0 ? route.fulfill(AWAY) : route.continue();
    });
  },
};

/** Pages of one kind. */
interface Surface {
  /** What the names of its pictures begin with. */
  readonly name: string;
  /** Name → place. */
  readonly places: Readonly<Record<string, string>>;
  /** Opens its first page. */
  open(scheme: Scheme): Promise<Page>;
  /** Address of a place. */
  addressOf(place: string): string;
}

const DEV_PLACES = {
  ...{ components: 'components', component: 'components/open-orders', insert: 'insert' },
  ...{ configuration: 'configuration', events: 'events', schedules: 'schedules', calls: 'calls' },
  ...{ endpoint: 'endpoint', storage: 'storage' },
};

const [into, ...names] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const isWanted = (name: string) => names.length === 0 || names.some((one) => name.startsWith(one));
const isNamed = (name: string) => names.length === 0 || names.some((one) => one.startsWith(name));
try {
  if (into === undefined) await guidePictures();
  else {
    await mkdir(into, { recursive: true });
    if (isNamed('console') || isNamed('portal')) await drawServices(into);
    if (isNamed('dev')) await drawDev(into);
  }
} finally {
  await browser.close();
}

async function drawServices(folder: string): Promise<void> {
  const full = await seededService();
  const empty = await seededService(true);
  try {
    for (const surface of [consoleOf, portalOf]) {
      const { places } = surface(full);
      const roots = Object.entries(places).filter(([, path]) => !path.includes('/'));
      await drawStates(folder, surface(full));
      await drawAll(folder, surface(empty), { places: Object.fromEntries(roots), state: '-empty' });
    }
  } finally {
    await full.end();
    await empty.end();
  }
}

async function drawDev(folder: string): Promise<void> {
  const [full, empty] = [await devSession(), await devSession(true)];
  try {
    await drawStates(folder, devPageOf(full.page, DEV_PLACES));
    await drawAll(folder, devPageOf(empty.page, { components: 'components' }), { state: '-empty' });
  } finally {
    await full.end();
    await empty.end();
  }
}

async function newPage(scheme: Scheme): Promise<Page> {
  const context = await browser.newContext({ colorScheme: scheme, reducedMotion: 'reduce', locale: 'en' });
  return context.newPage();
}

function consoleOf({ controlUrl, annex, places }: Seeded): Surface {
  return {
    ...{ name: 'console', places },
    addressOf: (place) => `${controlUrl}/console/${place}`,
    async open(scheme) {
      const page = await newPage(scheme);
      const { url } = await annex.consoleLinks.create();
      await page.goto(`${controlUrl}${url}`);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await page.context().route('**/v1/activity', (route) => route.fulfill({ json: dayOfActivity() }));
      return page;
    },
  };
}

function portalOf({ controlUrl, annex, portalPlaces: places }: Seeded): Surface {
  return {
    ...{ name: 'portal', places },
    addressOf: (place) => `${controlUrl}/portal/${place}`,
    async open(scheme) {
      const page = await newPage(scheme);
      const { url } = await annex.portalLinks.create({
        ...{ organization: 'acme', returnUrl: 'https://app.example.com/', theme: { name: 'Billing' } },
      });
      await page.goto(`${controlUrl}${url}`);
      await page.getByRole('navigation').waitFor();
      return page;
    },
  };
}

function devPageOf(url: string, places: Surface['places']): Surface {
  return {
    ...{ name: 'dev', places },
    addressOf: (place) => `${url}#${place}`,
    open: newPage,
  };
}

async function drawStates(folder: string, surface: Surface): Promise<void> {
  await drawAll(folder, surface, { state: '' });
  for (const [state, prepare] of Object.entries(STATES))
    await drawAll(folder, surface, { state: `-${state}`, prepare });
}

interface Drawn {
  /** End of the names. */
  readonly state: string;
  readonly places?: Surface['places'];
  readonly prepare?: Prepare;
}

/** Draws views in both schemes, at three widths. */
async function drawAll(folder: string, surface: Surface, drawn: Drawn): Promise<void> {
  const { state, places = surface.places, prepare } = drawn;
  const wanted = Object.entries(places).filter(([view]) => isWanted(`${surface.name}-${view}${state}`));
  if (wanted.length === 0) return;
  for (const scheme of SCHEMES) {
    const page = await surface.open(scheme);
    await prepare?.(page.context());
    for (const [view, place] of wanted) {
      await page.goto(surface.addressOf(place));
      // A view that loads never rests.
      await page.waitForTimeout(prepare === undefined ? 900 : 500);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const name = `${surface.name}-${view}${state}-${scheme}-${width}.png`;
        await page.screenshot({ path: join(folder, name), fullPage: true });
      }
    }
    await page.context().close();
  }
}

/** Overview in both schemes, catalogue of the portal, page of `annex dev`. */
async function guidePictures(): Promise<void> {
  const service = await seededService();
  const session = await devSession();
  const shot = async (page: Page, address: string, name: string) => {
    await page.setViewportSize({ width: 1_180, height: 700 });
    await page.goto(address);
    await page.waitForTimeout(900);
    await page.screenshot({ path: join(PICTURES, `${name}.png`) });
    await page.context().close();
  };
  try {
    for (const scheme of SCHEMES) {
      const surface = consoleOf(service);
      await shot(await surface.open(scheme), surface.addressOf(''), `console-${scheme}`);
    }
    const portal = portalOf(service);
    await shot(await portal.open('light'), portal.addressOf('integrations'), 'portal');
    await shot(await newPage('light'), `${session.page}#endpoint`, 'dev-page');
  } finally {
    await service.end();
    await session.end();
  }
}
