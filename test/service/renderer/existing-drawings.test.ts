/**
 * Integrations that exist elsewhere (`fixtures/compatibility`), drawn by `<annex-component>` and
 * used in a real browser, as on the platform that they were written for.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ExistingService } from '../../support/compatibility/existing-service.ts';
import { needs } from '../../support/programs.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';

describe('an integration that exists', needs('chromium'), () => {
  let existing: ExistingService;
  beforeAll(async () => {
    existing = await ExistingService.start([]);
  });
  afterAll(() => existing?.stop());

  const show = async (name: string): Promise<ProductPage> => {
    const { id, installation } = await existing.deploy(name);
    return ProductPage.start({
      service: existing.annex,
      integration: name,
      installed: { id, endpoint: installation },
    });
  };

  describe('with a form', () => {
    let product: ProductPage;
    beforeAll(async () => {
      product = await show('form-values');
    });
    afterAll(() => product?.stop());
    beforeEach(() => product.mount({ componentId: 'form' }));

    /** What the code saw in its state at the last action. */
    const seen = async () =>
      JSON.parse((await product.component.locator('p.text').last().textContent()) || 'null');
    const sees = (action: string, values: object) => expect.poll(seen).toMatchObject([action, values]);

    test('shows the state of each name in its field', async () => {
      expect(await product.field('Name').inputValue()).toBe('Ada');
      expect(await product.field('Note').inputValue()).toBe('no note');
      expect(await product.field('Color').locator('option:checked').textContent()).toBe('green');
      expect(await product.component.locator('.chosen li').allTextContents()).toEqual(['red']);
      expect(await product.field('Code').inputValue()).toBe('let a;');
      for (const [name, isChecked] of [
        ['Public', true],
        ['Monday', false],
        ['Friday', true],
        ['Small', false],
        ['Large', true],
      ] as const)
        expect(await product.field(name).isChecked(), name).toBe(isChecked);
    });

    test('finds what was entered in its state, with all else that it holds', async () => {
      await product.field('Note').fill('two\nlines');
      await product.field('Color').selectOption('blue');
      await product.field('Colors').click();
      await product.component.getByRole('listbox').getByRole('option', { name: 'blue' }).click();
      await product.field('Monday').click();
      await product.field('Small').click();
      await product.field('Code').fill('let b;');
      await product.field('Public').click();
      await sees('public', {
        name: 'Ada',
        note: 'two\nlines',
        color: 'blue',
        colors: ['red', 'blue'],
        public: false,
        days: ['friday', 'monday'],
        size: 'small',
        code: 'let b;',
        kept: { by: 'the code' },
      });
    });

    test('empties a field by its state, and what is typed meanwhile stays', async () => {
      await product.field('Name').fill('Grace');
      await product.button('Add').click();
      await sees('add', { name: 'Grace' });
      expect(await product.field('Name').inputValue()).toBe('');
      await product.field('Name').fill('Edsger');
      await product.run('product.close()');
      await product.button('Add').click();
      await product.field('Name').press('End');
      await product.field('Name').pressSequentially(' W.');
      await product.run('product.open()');
      await sees('add', { name: 'Edsger', count: 1 });
      expect(await product.field('Name').inputValue()).toBe('Edsger W.');
    });

    test('refuses, and is tried again with what was entered since', async () => {
      const failure = () => product.component.getByRole('alert').textContent();
      await product.button('Refuse').click();
      await expect.poll(failure).toContain('Not Ada');
      await product.field('Name').fill('Grace');
      await product.button('Try again').click();
      await expect.poll(failure).toContain('Not Grace');
    });

    test('binds values of fields and of the state, as before', async () => {
      await product.field('Name').fill('Grace');
      await product.button('Bound').click();
      await sees('bound', { name: 'Grace' });
      const requests = await product.requests();
      expect(requests.at(-1)?.['action']).toEqual({
        action: 'bound',
        name: 'Grace',
        kept: { by: 'the code' },
      });
    });

    test('opens a modal, whose fields are its own', async () => {
      await product.field('Name').fill('of the block');
      await product.button('Window').click();
      const window = product.component.getByRole('dialog');
      const inWindow = (name: string) => window.getByRole('textbox', { name });
      await inWindow('Text').waitFor();
      expect(await inWindow('Name').inputValue()).toBe('of the window');
      expect(await inWindow('Text').inputValue()).toBe('from the block');
      await inWindow('Text').fill('of the window');
      await product.button('Done').click();
      await sees('@ui.modal.close', { name: 'of the block' });
      expect(await product.field('Note').inputValue()).toBe('of the window');
    });

    test('composes characters, and no drawing ends it', async () => {
      const name = product.field('Name');
      await name.fill('');
      await name.focus();
      await product.compose('か');
      // The drawing sets another value, and arrives between two characters.
      await product.run(`document.querySelector('annex-component').refresh()`);
      await product.compose('かん');
      await expect.poll(async () => (await product.told('render')).length).toBe(2);
      expect(await name.inputValue()).toBe('かん');
      await product.page.keyboard.insertText('漢');
      expect(await name.inputValue()).toBe('漢');
      await product.button('Add').click();
      await sees('add', { name: '漢' });
    });

    test('two components of a page share no field', async () => {
      const named = `[...document.querySelectorAll('annex-component')].map((one) => one.shadowRoot.querySelector('input').value)`;
      await product.run(
        `document.querySelector('main').append(product.another({ componentId: 'form', props: { name: 'Grace' } }))`,
      );
      await expect.poll(() => product.run(named)).toEqual(['Ada', 'Grace']);
      await product.field('Name').first().fill('typed');
      expect(await product.run(named)).toEqual(['typed', 'Grace']);
    });

    test('leaves no error in the console', () => {
      expect([product.errors, product.foreign]).toEqual([[], []]);
    });
  });
});
