/**
 * docs/tutorial.md, followed word by word outside the repository: with the packed npm packages, on
 * the oldest Node that they promise, each command as printed, its pages in a real Chromium. The
 * account is connected at the tutorial's own OAuth provider.
 */
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPackages } from '../../../packages/build.ts';
import { freePort } from '../../support/free-port.ts';
import { nodeFolders, userVariables } from '../../support/packages/nodes.ts';
import { needs } from '../../support/programs.ts';
import { startChromium, type Watched, watchPage } from '../../support/renderer/chromium.ts';
import { ROOT, read } from '../../support/repository/sources.ts';
import { TutorialWalk } from '../../support/repository/tutorial-walk.ts';

const STEP_MS = 600_000;
/** Ports that the tutorial names. */
const PORTS = ['4000', '7700', '7701', '7710', '7711', '8080'];

describe('the tutorial', needs('chromium'), () => {
  let watched: Watched;
  let base: string;
  let walk: TutorialWalk;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'annex-tutorial-'));
    const clone = join(base, 'annex');
    await mkdir(clone);
    await symlink(join(ROOT, 'docs'), join(clone, 'docs'));
    const [nodes] = await Promise.all([
      nodeFolders(['20'], join(base, 'nodes')),
      buildPackages(join(clone, 'dist')),
    ]);
    const ports = Object.fromEntries(
      await Promise.all(PORTS.map(async (port) => [port, String(await freePort())] as const)),
    );
    walk = new TutorialWalk({
      text: read('docs/tutorial.md'),
      folder: clone,
      variables: {
        ...userVariables(nodes.get('20')),
        npm_config_prefer_offline: 'true',
        ANNEX_CONTROL_PORT: ports['7700'] ?? '',
        ANNEX_PUBLIC_PORT: ports['7701'] ?? '',
        ANNEX_URL: `http://127.0.0.1:${ports['7700']}`,
      },
      replaced: {
        ...ports,
        // The packages are built from the sources of this test.
        'npm ci && npm run packages': 'ls dist',
        'annex dev --egress-allow': `annex dev --port ${ports['7711']} --page-port ${ports['7710']} --egress-allow`,
        'docs/tutorial/tracker.mjs"': `docs/tutorial/tracker.mjs" ${ports['4000']}`,
      },
    });
    browser = await startChromium();
    page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    watched = watchPage(page);
  }, STEP_MS);

  afterAll(async () => {
    await browser?.close();
    await walk?.end();
    await rm(base, { recursive: true, force: true });
  });

  const drawing = () => page.getByRole('region', { name: 'Components' }).locator('.drawing');

  test('1. A place to work', () => walk.section('1. A place to work'), STEP_MS);

  test(
    '2. A block: the page draws it, and its button counts',
    async () => {
      await walk.section('2. A block');
      const [, url = ''] = await walk.terminal('dev').shows(/page +(http\S+)/);
      await page.goto(url);
      await drawing().getByRole('button', { name: 'Pressed 0 times' }).click();
      await drawing().getByRole('button', { name: 'Pressed 1 times' }).waitFor();
    },
    STEP_MS,
  );

  test(
    '3. An account: it is connected on the page, and a chore is done',
    async () => {
      await walk.section('3. An account');
      const opened = page.waitForEvent('popup');
      await drawing().getByRole('button', { name: 'Connect your account' }).click();
      const provider = await opened;
      await provider.getByRole('link', { name: 'Allow' }).click();
      await provider.getByText('Connected').first().waitFor();
      await provider.close();
      await drawing().getByRole('button', { name: 'Water the plants' }).click();
      await expect
        .poll(() => drawing().getByRole('button').allTextContents())
        .toEqual(['Answer the mail of Grace']);
    },
    STEP_MS,
  );

  test('4. Tests', () => walk.section('4. Tests'), STEP_MS);

  test(
    '5. A webhook: the new settings are on the page',
    async () => {
      await walk.section('5. A webhook');
      await page.getByRole('link', { name: 'Configuration' }).click();
      await page.getByLabel('URL of the team').waitFor();
      await page.goto('about:blank');
      await walk.terminal('dev').interrupt();
    },
    STEP_MS,
  );

  test(
    '6. Published: the account of the installation is connected',
    async () => {
      await walk.section('6. Published');
      await page.goto(walk.printed);
      await page.getByRole('link', { name: 'Allow' }).click();
      await page.getByText('Connected').first().waitFor();
    },
    STEP_MS,
  );

  test(
    '7. A bad rating: the receiver has the webhook, and the block has the chore',
    async () => {
      await walk.section('7. A bad rating');
      await walk.terminal('receiver').shows(/page_feedback/);
      expect(await walk.run('annex render chores chores')).toContain('Improve https://');
      expect(await walk.run('annex deliveries list chores')).toContain('delivered');
    },
    STEP_MS,
  );

  test('the browser has reported no error, and has reached this machine alone', () => {
    expect(watched).toEqual({ errors: [], foreign: [] });
  });
});
