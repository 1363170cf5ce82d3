/**
 * Components on the page of `annex dev`, in a real Chromium: every element drawn, pressed and typed
 * into; each row of a component's states (docs/contract/components.md#state); a modal's return
 * value; steps; dark and light, wide and narrow.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { suiteFolder } from '../../support/cli/author-folder.ts';
import { DevPage } from '../../support/cli/dev-page.ts';
import { needs } from '../../support/programs.ts';
import { GALLERY_BUTTONS, GALLERY_ELEMENTS, seriousViolations } from '../../support/renderer/gallery.ts';
import { ROOT } from '../../support/repository/sources.ts';
import { TestService } from '../../support/service.ts';

const FIXTURE = join(ROOT, 'fixtures/gallery');
const FILES = ['platform-manifest.yaml', 'src/index.tsx', 'src/served.ts'];
/** Steps are a block of their own here. */
const STEPS = '  - id: steps\n    title: Steps\n    description: Steps to follow.\n';

describe('components on the page', needs('chromium'), () => {
  let service: TestService;
  let folder: string;
  let shown: DevPage;

  beforeAll(async () => {
    service = await TestService.start();
    const entries = FILES.map(async (file) => [file, await readFile(join(FIXTURE, file), 'utf8')] as const);
    const { 'platform-manifest.yaml': manifest = '', ...code } = Object.fromEntries(
      await Promise.all(entries),
    );
    folder = await suiteFolder({
      'platform-manifest.yaml': manifest.replace('blocks:\n', `blocks:\n${STEPS}`),
      ...code,
    });
    shown = await DevPage.open(service, folder);
  });

  afterAll(async () => {
    await shown?.end();
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const gallery = () => shown.drawing('gallery');
  const button = (name: string) => gallery().getByRole('button', { name, exact: true });
  const field = (name: string) => gallery().getByLabel(name, { exact: true });
  const words = (selector: string) => gallery().locator(selector).first().textContent();
  /** The action that arrived at the component last. */
  const arrives = (action: object) =>
    expect.poll(async () => JSON.parse((await words('p.text code')) ?? '""')).toEqual(action);
  /** Begins anew, with the state that the component has at first. */
  const anew = async () => {
    await shown.page.reload();
    await expect.poll(() => words('p.text em')).toBe('0');
  };

  test.each(GALLERY_ELEMENTS)('draws: %s', async (_element, selector, text) => {
    const found = gallery().locator(selector).first();
    await found.waitFor({ state: 'attached' });
    expect(await found.textContent()).toContain(text);
  });

  test.each(GALLERY_BUTTONS)('%s is pressed', async (name, action) => {
    await button(name).click();
    await arrives(action);
  });

  test('fields are typed into, chosen from and switched', async () => {
    await field('Note').fill('typed');
    await button('Count').click();
    await arrives({ action: 'count', note: 'typed' });
    await field('Color').selectOption('Green');
    await arrives({ action: 'color', color: 'green' });
    await field('Cities').click();
    await gallery().getByRole('option', { name: 'Cairo' }).click();
    await arrives({ action: 'cities', cities: ['cairo'] });
    await field('Cities').press('Escape');
    await field('Daily').click();
    await arrives({ action: 'daily', daily: true });
    await field('Monday').click();
    await field('Friday').click();
    await arrives({ action: 'days', days: ['monday'] });
    await field('Program').fill('let b;');
    await field('Program').blur();
    await arrives({ action: 'program', program: 'let b;' });
  });

  test('a question is asked before an action that wants it', async () => {
    await button('Delete it').click();
    const question = gallery().getByRole('alertdialog', { name: 'Delete it?' });
    await question.getByRole('button', { name: 'Delete', exact: true }).click();
    await arrives({ action: 'delete' });
  });

  test('a frame gets data, and dispatches an action', async () => {
    const frame = gallery().frameLocator('iframe');
    await field('Note').fill('for the frame');
    await expect.poll(() => frame.locator('#note').textContent()).toBe('for the frame');
    await frame.locator('#send').click();
    await arrives({ action: 'from-frame', value: 7 });
  });

  describe('the state of a component', () => {
    test('is at first the result of initialState', anew);

    test('is what an action returns', async () => {
      await button('Count').click();
      await expect.poll(() => words('p.text em')).toBe('1');
    });

    test('stays where an action returns props, which are replaced', async () => {
      await button('Retitle').click();
      await expect.poll(() => words('p.text strong')).toBe('Another title');
      expect(await words('p.text em')).toBe('1');
    });

    test('stays where an action returns nothing', async () => {
      await button('Keep').click();
      const newest = shown.activity.locator('.title').first();
      await expect.poll(() => newest.textContent()).toMatch(/^gallery, keep: 200/);
      expect(await words('p.text em')).toBe('1');
    });

    test('stays where an action fails, and the failure is shown where it was pressed', async () => {
      await button('Fail').click();
      await gallery().getByRole('alert').getByText('It failed as asked.').waitFor();
      expect(await words('p.text em')).toBe('1');
      await button('Dismiss').click();
    });

    test('ends where an action completes, with its value', async () => {
      await button('Finish').click();
      await shown.component('gallery').getByText('It is complete: {"returnValue":{"count":1}}').waitFor();
      expect(await gallery().locator('.component').textContent()).toBe('');
      await anew();
    });
  });

  test('a modal hands over what it returns', async () => {
    await button('Window').click();
    const window = gallery().getByRole('dialog', { name: 'Name' });
    await window.getByRole('textbox', { name: 'Name' }).fill('Grace');
    await window.getByRole('button', { name: 'Save' }).click();
    await window.waitFor({ state: 'detached' });
    await arrives({ action: '@ui.modal.close', returnValue: { name: 'Grace' } });
  });

  test('steps are followed to their end', async () => {
    const steps = shown.drawing('steps');
    const press = (name: string) => steps.getByRole('button', { name, exact: true }).click();
    await steps.getByLabel('Owner', { exact: true }).fill('Ada');
    await press('Next');
    await press('Go on');
    await press('Done');
    await shown.component('steps').getByText('It is complete: {"returnValue":{"owner":"Ada"}}').waitFor();
  });

  test.each([
    ['light', 1440],
    ['dark', 360],
  ] as const)('axe finds nothing serious, and nothing is cut: %s, %i pixels', async (colorScheme, width) => {
    const { page } = shown;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await anew();
    expect(await seriousViolations(page, 'body')).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  });

  test('no error stands in the console, and no request has left the machine', () => {
    expect(shown.watched.errors).toEqual([]);
    expect(shown.watched.foreign).toEqual([]);
  });
});
