/**
 * Every element of ContentKit in a real browser: drawn by `<annex-component>`, pressed, chosen from
 * and typed into, through the render API of a real service.
 */
import { brotliCompressSync } from 'node:zlib';
import { decodeHTMLStrict } from 'entities/decode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../support/programs.ts';
import { GALLERY_BUTTONS, GALLERY_ELEMENTS, seriousViolations } from '../../support/renderer/gallery.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';
import { TestService } from '../../support/service.ts';

describe('the gallery', needs('chromium'), () => {
  let service: TestService;
  let product: ProductPage;
  beforeAll(async () => {
    service = await TestService.start();
    await service.publishFixture('gallery');
    const installed = await service.install('gallery');
    product = await ProductPage.start({ service, integration: 'gallery', installed });
    await product.mount({ componentId: 'gallery' });
  });
  afterAll(async () => {
    await product?.stop();
    await service?.stop();
  });

  /** The action that arrived at the component last. */
  const last = async (): Promise<unknown> =>
    JSON.parse((await product.component.locator('p.text code').first().textContent()) ?? '""');
  const arrives = (action: object) => expect.poll(last).toEqual(action);

  test.each(GALLERY_ELEMENTS)('draws: %s', async (_element, selector, words) => {
    const found = product.component.locator(selector).first();
    await found.waitFor({ state: 'attached' });
    expect(await found.textContent()).toContain(words);
  });

  test.each(GALLERY_BUTTONS)('%s is pressed', async (name, action) => {
    await product.button(name).click();
    await arrives(action);
  });

  test('a disabled button cannot be pressed', async () => {
    expect(await product.button('Off').isDisabled()).toBe(true);
  });

  test('a button with an icon alone has the name of its tooltip, and asks before it acts', async () => {
    const before = (await product.requests()).length;
    await product.button('Delete it').click();
    const question = product.component.getByRole('alertdialog', { name: 'Delete it?' });
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'detached' });
    expect(await product.requests()).toHaveLength(before);
    await product.button('Delete it').click();
    await question.getByRole('button', { name: 'Delete', exact: true }).click();
    await arrives({ action: 'delete' });
  });

  test('what is typed fills the bindings of an action, and opens the URL that it is', async () => {
    await product.field('Note').fill('typed');
    await product.button('Count').click();
    await arrives({ action: 'count', note: 'typed' });
    await product.field('Site').fill('https://example.com/typed');
    await product.button('Site').click();
    await expect.poll(() => product.told('navigate')).toEqual([{ url: 'https://example.com/typed' }]);
  });

  test('a choice of a list is dispatched', async () => {
    await product.field('Color').selectOption('Green');
    await arrives({ action: 'color', color: 'green' });
  });

  test('choices of a URL are searched, read page by page, and several are chosen', async () => {
    const cities = product.field('Cities');
    const choice = (name: string) => product.component.getByRole('option', { name });
    await cities.click();
    await choice('Cairo').waitFor();
    expect(await choice('Delhi').count()).toBe(0);
    await product.button('Show more').click();
    await choice('Delhi').click();
    await arrives({ action: 'cities', cities: ['delhi'] });
    await cities.fill('gh');
    await choice('Ghent').waitFor();
    await cities.press('ArrowDown');
    await cities.press('Enter');
    await arrives({ action: 'cities', cities: ['delhi', 'ghent'] });
    await cities.press('Escape');
    await product.button('Remove: Ghent').click();
    await arrives({ action: 'cities', cities: ['delhi'] });
  });

  test('a value outside of the list is entered where it may be', async () => {
    await product.field('Tag').fill('own');
    await product.field('Tag').press('Enter');
    await arrives({ action: 'tag', tag: 'own' });
  });

  test('a switch, a radio button with a question, and checkboxes are pressed', async () => {
    await product.field('Daily').click();
    await arrives({ action: 'daily', daily: true });
    await product.field('Large').click();
    await product.button('Cancel').click();
    expect(await product.field('Small').isChecked()).toBe(true);
    await product.field('Large').click();
    await product.button('Yes').click();
    await arrives({ action: 'size', size: 'large' });
    expect(await product.field('Small').isChecked()).toBe(false);
    await product.field('Monday').click();
    await product.field('Friday').click();
    await arrives({ action: 'days', days: ['monday'] });
  });

  test('code is edited, and dispatched when the field is left', async () => {
    await product.field('Program').fill('let b;\nlet c;');
    await product.field('Program').blur();
    await arrives({ action: 'program', program: 'let b;\nlet c;' });
  });

  test('a frame gets the declared data, at first and after a change, and dispatches an action', async () => {
    const frame = product.component.frameLocator('iframe');
    await expect.poll(() => frame.locator('#note').textContent()).toBe('typed');
    await product.field('Note').fill('for the frame');
    await expect.poll(() => frame.locator('#note').textContent()).toBe('for the frame');
    await frame.locator('#send').click();
    await arrives({ action: 'from-frame', value: 7 });
  });

  test.each([
    ['light', 'ltr', 1440],
    ['dark', 'rtl', 360],
  ] as const)(
    'axe finds nothing serious, and nothing is cut: %s, %s, %i pixels',
    async (theme, dir, width) => {
      await product.page.setViewportSize({ width, height: 900 });
      await product.mount({ componentId: 'gallery', theme, dir });
      expect(await seriousViolations(product.page, 'annex-component')).toEqual([]);
      expect(await product.run('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    },
  );

  test('is used by the keyboard alone', async () => {
    await product.mount({ componentId: 'gallery' });
    const { keyboard } = product.page;
    const focused = () =>
      product.run<string>(
        `document.querySelector('annex-component').shadowRoot.activeElement?.textContent ?? ''`,
      );
    for (let tabs = 0; tabs < 10 && (await focused()) !== 'Count'; tabs += 1) await keyboard.press('Tab');
    await keyboard.press('Enter');
    await arrives({ action: 'count', note: 'first' });
    expect(await focused()).toBe('Count');
  });

  test('characters with a name are those of HTML', async () => {
    const names = ['amp', 'semi', 'NewLine', 'copy', 'NotEqualTilde', 'CounterClockwiseContourIntegral'];
    const written = [...names, 'constructor', 'toString', 'nosuch', '#169'].map((name) => `&${name};`);
    const content = written.map((text) => `\`x\`${text}`).join('');
    const element = { type: 'block', children: [{ type: 'markdown', content }] };
    const body = { type: 'element', state: {}, props: {}, element };
    await product.mount({ componentId: 'gallery', answers: [{ status: 200, body }] });
    expect(await product.component.locator('.markdown').textContent()).toBe(
      written.map((text) => `x${decodeHTMLStrict(text)}`).join(''),
    );
  });

  test('its module has at most 60 KB compressed', async () => {
    const module = await (await fetch(new URL('/index.js', product.page.url()))).bytes();
    expect(brotliCompressSync(module).length).toBeLessThan(60 * 1024);
  });

  test('no error stands in the console, and no request has left the machine', () => {
    expect(product.errors).toEqual([]);
    expect(product.foreign).toEqual([]);
  });
});
