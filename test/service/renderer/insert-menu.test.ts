/**
 * `<annex-insert-menu>` in a real browser: opened by its keys, searched, and what is chosen is
 * drawn by the service; by the keyboard alone and by the mouse, with hostile titles as text.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../../support/programs.ts';
import { seriousViolations } from '../../support/renderer/gallery.ts';
import { HOSTILE_TEXTS } from '../../support/renderer/hostile-drawings.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';
import { type Installed, TestService } from '../../support/service.ts';

const MANIFEST = `blocks:
  - { id: poll, title: Poll, description: Asks readers }
  - { id: news, title: News }
`;
const CODE = `import { createComponent, createIntegration } from '@annex/sdk';
const drawn = (componentId) => createComponent({ componentId, initialState: {}, action: async () => ({}),
  render: async () => ({ type: 'block', children: [{ type: 'text', children: ['The block ' + componentId] }] }) });
export default createIntegration({ components: [drawn('poll'), drawn('news')] });`;

describe('the insert menu', needs('chromium'), () => {
  let service: TestService;
  let product: ProductPage;
  let installed: Installed;
  const dialog = () => product.page.getByRole('dialog', { name: 'Insert' });
  const show = async (blocks: readonly unknown[]) => {
    await product.run('import("/insert-menu.js").then(() => undefined)');
    await product.run(`{
      document.querySelector('main').innerText = '';
      const menu = document.createElement('annex-insert-menu');
      menu.read = async () => JSON.parse(${JSON.stringify(JSON.stringify(blocks))});
      menu.transport = () => product.transport;
      const field = document.createElement('input');
      document.querySelector('main').append(field, menu);
      menu.addEventListener('annex-insert', ({ detail }) => document.querySelector('main').append(detail.component));
      field.focus();
    }`);
  };

  beforeAll(async () => {
    service = await TestService.start();
    await service.publish('blocks', { 'index.js': CODE }, MANIFEST);
    installed = await service.install('blocks', 'acme');
    await service.api('PATCH', `/v1/integrations/blocks/installations/${installed.id}`, {
      json: { space_selection: 'all' },
    });
    product = await ProductPage.start({ service, integration: 'blocks', installed });
  });
  afterAll(async () => {
    await product?.stop();
    await service?.stop();
  });
  beforeEach(async () => {
    const { body } = await service.api('GET', '/v1/blocks?organization=acme');
    await show(body['items'] as unknown[]);
  });

  test.each(['Control', 'Meta'])(
    '%s and the slash open it, and the keys insert a block',
    async (modifier) => {
      const { keyboard } = product.page;
      await keyboard.press(`${modifier}+/`);
      await dialog().getByRole('option', { name: 'News' }).waitFor();
      await keyboard.type('po');
      await expect.poll(() => dialog().getByRole('option').count()).toBe(1);
      await keyboard.press('Enter');
      await product.component.getByText('The block poll').waitFor();
      expect(await dialog().count()).toBe(0);
    },
  );

  test('arrows and the mouse choose, and Escape gives the focus back', async () => {
    const { keyboard } = product.page;
    await keyboard.press('Control+/');
    await dialog().getByRole('option', { name: 'News' }).waitFor();
    expect(await seriousViolations(product.page, 'annex-insert-menu')).toEqual([]);
    await keyboard.press('Escape');
    await expect.poll(() => dialog().count()).toBe(0);
    expect(await product.run('document.activeElement.tagName')).toBe('INPUT');
    await keyboard.press('Control+/');
    await keyboard.press('ArrowDown');
    await dialog().getByRole('option', { name: 'News' }).click();
    await product.component.getByText('The block news').waitFor();
  });

  test('titles that are markup are text, and nothing that fits is said', async () => {
    const block = { integration: 'x', installation: 'y', description: HOSTILE_TEXTS[1] };
    await show(HOSTILE_TEXTS.map((title, at) => ({ ...block, title, componentId: `c${at}` })));
    const before = await product.run('canary');
    await product.page.keyboard.press('Control+/');
    await expect.poll(() => dialog().getByRole('option').count()).toBe(HOSTILE_TEXTS.length);
    await product.page.keyboard.type('no title has this');
    await dialog().getByText('No block fits.').waitFor();
    expect(await product.run('canary')).toBe(before);
    await product.page.keyboard.press('Escape');
  });

  test('is a component of React', async () => {
    await product.run(`document.querySelector('main').replaceChildren()`);
    const { body } = await service.api('GET', '/v1/blocks?organization=acme');
    await product.run(
      `import('/react-page.js').then(() => product.insertWithReact(${JSON.stringify(body['items'])}))`,
    );
    await product.page.keyboard.press('Control+/');
    await dialog().getByRole('option', { name: 'Poll' }).click();
    await product.component.getByText('The block poll').waitFor();
  });

  test('no error stands in the console', () => {
    expect([product.errors, product.foreign]).toEqual([[], []]);
  });
});
