/**
 * The way of an author through the console in a real browser, by the mouse and by the keyboard
 * alone: publish a folder, install, configure, press a button of a component, break the code, read
 * the stack at its line, roll back.
 */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../../support/programs.ts';
import { startChromium, watchPage } from '../../support/renderer/chromium.ts';
import { TestService } from '../../support/service.ts';

const COUNTER = fileURLToPath(new URL('../../../fixtures/counter/', import.meta.url));
const SETTINGS = `configurations:
  account:
    properties:
      owner:
        type: string
        title: Owner
        description: Who counts.
    required: [owner]
`;
const INCREMENT = 'return { state: { count: element.state.count + 1 } };';

describe('an author in the console', needs('chromium'), () => {
  let annex: TestService;
  let browser: Browser;
  let folders: string;

  beforeAll(async () => {
    annex = await TestService.start({ flags: ['--marketplace', 'reviewed'] });
    browser = await startChromium();
    folders = await mkdtemp(join(tmpdir(), 'annex-author-'));
  });
  afterAll(async () => {
    await browser?.close();
    await annex?.stop();
    await rm(folders, { recursive: true, force: true });
  });

  /** The counter under another name, with a setting; with a mistake at a line if it is broken. */
  async function counterNamed(name: string): Promise<{ folder: string; break: () => Promise<number> }> {
    const folder = join(folders, name);
    await cp(COUNTER, folder, { recursive: true });
    // Attack: credentials that lie in the folder.
    await writeFile(join(folder, '.env'), 'TOKEN=planted');
    const [manifest, source] = [join(folder, 'platform-manifest.yaml'), join(folder, 'src/index.tsx')];
    const yaml = (await readFile(manifest, 'utf8')).replace('name: counter', `name: ${name}`);
    await writeFile(manifest, `${yaml}${SETTINGS}`);
    return {
      folder,
      async break() {
        const code = await readFile(source, 'utf8');
        const broken = code.replace(INCREMENT, 'throw new RangeError("too many presses");');
        await writeFile(source, broken);
        return broken.split('\n').findIndex((line) => line.includes('RangeError')) + 1;
      },
    };
  }

  /** How a person reaches what they press, and enters a text. */
  const WAYS = {
    mouse: {
      press: (_page: Page, target: Locator) => target.click(),
      enter: async (_page: Page, target: Locator, text: string) => target.fill(text),
    },
    keyboard: {
      async press(page: Page, target: Locator) {
        await reach(page, target);
        await page.keyboard.press('Enter');
      },
      async enter(page: Page, target: Locator, text: string) {
        await reach(page, target);
        await page.keyboard.type(text);
      },
    },
  };

  async function reach(page: Page, target: Locator): Promise<void> {
    await target.waitFor({ state: 'attached' });
    const hasFocus = () =>
      target.evaluate(
        (one: { getRootNode(): { activeElement?: unknown } }) => one.getRootNode().activeElement === one,
      );
    for (let step = 0; step < 80 && !(await hasFocus()); step += 1) await page.keyboard.press('Tab');
    expect(await hasFocus()).toBe(true);
  }

  test.each(['mouse', 'keyboard'] as const)(
    'publishes, installs, configures, breaks and rolls back by %s',
    async (way) => {
      const { press, enter } = WAYS[way];
      const name = `counter-${way}`;
      const counter = await counterNamed(name);
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      onTestFinished(async () => {
        await page.close();
        // Its title is that of the next way's.
        await annex.api('DELETE', `/v1/integrations/${name}?cascade=true`);
      });
      // It bounds a failure: a busy machine takes long for a page.
      page.setDefaultTimeout(60_000);
      const watched = watchPage(page);
      const { body } = await annex.api('POST', '/v1/console-links');
      await page.goto(`${annex.service.controlUrl}${body['url']}`);
      const button = (words: string | RegExp) => page.getByRole('button', { name: words });
      const link = (words: string) => page.getByRole('link', { name: words, exact: true });

      const publish = async () => {
        await press(page, link('Publish'));
        const chooser = page.waitForEvent('filechooser');
        const input = page.locator('input[type=file]');
        await (way === 'mouse' ? page.getByText('Choose a folder').click() : press(page, input));
        await (await chooser).setFiles(counter.folder);
        await page.getByText('is published').waitFor();
        await page.getByText('Not sent: .env').waitFor();
      };
      await publish();
      await press(page, link(name));
      await enter(page, page.getByLabel('For the organization'), 'acme');
      await press(page, button('Install'));
      await page.getByRole('heading', { name: `${name} at acme` }).waitFor();

      await press(page, link('Configuration'));
      await enter(page, page.getByLabel('Owner'), 'Ada');
      await press(page, button('Save'));
      await page.getByText('Saved').first().waitFor();

      await press(page, link('Components'));
      await press(page, button('Pressed 0 times'));
      await button('Pressed 1 times').waitFor();

      const installation = page.url();
      const line = await counter.break();
      await publish();
      await page.goto(installation);
      await press(page, button('Pressed 0 times'));
      await press(page, link('Log'));
      // Lines that are written after the log was read are announced.
      const thrown = page.getByText('RangeError: too many presses').first();
      const announced = button(/^\d+ new$/);
      await thrown.or(announced).first().waitFor();
      if (!(await thrown.isVisible())) await press(page, announced);
      await thrown.waitFor();
      await page.getByText(`src/index.tsx:${line}:`).first().waitFor();

      await press(page, link('Integrations'));
      await press(page, link('Counter'));
      await press(page, link('Versions'));
      await press(page, button('Compare with the active one'));
      await page.getByText('Manifest: the same.').waitFor();
      await press(page, button('Roll back to version 1'));
      await press(
        page,
        page.getByRole('alertdialog').getByRole('button', { name: 'Roll back to version 1' }),
      );
      await button('Activate version 2').waitFor();
      await page.goto(installation);
      await press(page, button('Pressed 0 times'));
      await button('Pressed 1 times').waitFor();
      expect(watched).toEqual({ errors: [], foreign: [] });
    },
  );

  test('has a version that waits until the operator approves it, or reads why not', async () => {
    const token = await organizationToken();
    const publish = async (version: number) => {
      const code = { 'index.js': `export default { fetch: () => new Response('${version}') };` };
      const { body } = await annex.tryPublish('offered', code, '', token);
      expect(body).toMatchObject({ version, waits: {} });
    };
    await publish(1);
    await annex.api('POST', '/v1/integrations/offered/versions/1/approve');
    await publish(2);
    const operator = await signedIn(annex.admin);
    await operator.getByRole('link', { name: /integration to review/ }).click();
    await operator.getByText('1 (2 waits)').waitFor();
    await operator.getByRole('link', { name: 'offered' }).first().click();
    await operator.getByRole('link', { name: 'version 2' }).click();
    await operator.getByRole('button', { name: 'Compare with the active one' }).click();
    await operator.getByText('Manifest: the same.').waitFor();
    await operator.getByRole('button', { name: 'Refuse…' }).click();
    const reason = '<img src=x onerror="canary=1"> asks for too much';
    await operator.getByLabel('Reason').fill(reason);
    await operator.getByRole('button', { name: 'Refuse', exact: true }).click();
    await operator.getByText(reason).waitFor();

    const author = await signedIn(token);
    await author.goto(`${annex.service.controlUrl}/console/integrations/offered?part=versions`);
    await author.getByText(reason).waitFor();
    await publish(3);
    await author.reload();
    await author.getByText('waits for approval').waitFor();
    expect(await author.getByRole('button', { name: 'Approve version 3' }).count()).toBe(0);
    await operator.reload();
    await operator.getByRole('button', { name: 'Approve version 3' }).click();
    await operator.getByRole('alertdialog').getByRole('button', { name: 'Approve version 3' }).click();
    await operator.getByRole('button', { name: 'Roll back to version 1' }).waitFor();
    expect(await operator.evaluate('globalThis.canary')).toBeUndefined();
  });

  const organizationToken = async () => {
    const json = { kind: 'organization', organization: 'acme' };
    return String((await annex.api('POST', '/v1/tokens', { json })).body['token']);
  };

  /** A page of the console. Nothing is asked of other hosts, and no script fails. */
  async function signedIn(token: string): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const watched = watchPage(page);
    onTestFinished(async () => {
      await context.close();
      expect(watched).toEqual({ errors: [], foreign: [] });
    });
    const { body } = await annex.api('POST', '/v1/console-links', { token });
    await page.goto(`${annex.service.controlUrl}${body['url']}`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    return page;
  }
});
