/**
 * Integrations that exist elsewhere (`fixtures/compatibility`), drawn by `<annex-component>` and
 * used in a real browser, as on the platform that they were written for.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ExistingService } from '../../support/compatibility/existing-service.ts';
import { png } from '../../support/png.ts';
import { needs } from '../../support/programs.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';

describe('an integration that exists', needs('chromium'), () => {
  let existing: ExistingService;
  beforeAll(async () => {
    existing = await ExistingService.start([]);
  });
  afterAll(() => existing?.stop());

  const show = async (
    name: string,
    files: Record<string, Buffer<ArrayBuffer>> = {},
  ): Promise<ProductPage> => {
    const { id, installation } = await existing.deploy(name, { files });
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

  describe('with pictures, lists and a frame', () => {
    const svg = (shape: string) =>
      Buffer.from(
        `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" onload="${SPY}">${shape}</svg>`,
      );
    /** Reports that it has run, wherever it does. */
    const SPY = "document.title = 'it ran'; fetch('/ran', { method: 'POST' })";
    let product: ProductPage;
    let assets: string;
    beforeAll(async () => {
      product = await show('issue-tracker', {
        'assets/icon.png': png(64, 64),
        'public/status/open.svg': svg(`<circle cx="8" cy="8" r="7" fill="#5e6ad2"/><script>${SPY}</script>`),
      });
      const { body } = await existing.annex.api('GET', '/v1/integrations/issue-tracker');
      assets = (body['urls'] as { assets: string }).assets;
    });
    afterAll(() => product?.stop());
    const text = () => product.component.locator('p.text').last().textContent();

    test('draws a hint of several parts as one line, with pictures as high as the text', async () => {
      await product.mount({ componentId: 'issues' });
      const remark = product.component.locator('.remark').first();
      await expect.poll(() => remark.textContent()).toBe(' Open ABC-1 · Ada');
      const [height = 0, lines] = await product.run<number[]>(`(() => {
        const remark = document.querySelector('annex-component').shadowRoot.querySelector('.remark');
        return [remark.clientHeight, parseFloat(getComputedStyle(remark).lineHeight)];
      })()`);
      expect(height).toBeLessThan(1.5 * (lines ?? 0));
      const pictures = product.component.locator('img.inline');
      expect(await pictures.count()).toBe(2);
      for (const picture of await pictures.all()) {
        const box = await picture.boundingBox();
        expect([box?.width, box?.height].every((pixels = 0) => pixels > 10 && pixels < 22)).toBe(true);
      }
    });

    test('has pictures that anybody sees, and that run nothing, also as a page', async () => {
      await product.mount({ componentId: 'issues' });
      const widths = `Promise.all([...document.querySelector('annex-component').shadowRoot.querySelectorAll('img')].map(async (one) => { one.loading = 'eager'; await one.decode(); return one.naturalWidth; }))`;
      expect(await product.run(widths)).toEqual([64, expect.any(Number), expect.any(Number)]);
      const page = await product.newPage();
      const asked: string[] = [];
      page.on('request', (request) => void asked.push(request.url()));
      await page.goto(`${assets}/public/status/open.svg`);
      expect(await page.locator('circle').count()).toBe(1);
      expect(asked.filter((url) => url.endsWith('/ran'))).toEqual([]);
      await page.close();
    });

    const options = () => product.component.getByRole('listbox').getByRole('option');
    const shown = () => options().allTextContents();

    test('reads lists through the service, page by page, and names what is chosen', async () => {
      await product.mount({ componentId: 'settings' });
      const repository = product.field('Repository');
      await expect.poll(() => repository.inputValue()).toBe('acme/repository 7');
      await repository.click();
      await expect.poll(async () => (await shown()).length).toBe(3);
      await product.button('Show more').click();
      await product.button('Show more').click();
      await expect.poll(async () => (await shown()).length).toBe(9);
      expect(await product.button('Show more').count()).toBe(0);
      // The browser has asked for none of them itself.
      const direct = `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('repositories'))`;
      expect(await product.run(direct)).toEqual([]);
    });

    test('has the service search what is not shown, and does not read the list again for the choice', async () => {
      await product.mount({ componentId: 'settings' });
      const asked = async () =>
        (await product.requests()).flatMap(({ choices }) =>
          choices ? [new URL((choices as { url: string }).url)] : [],
        );
      const repository = product.field('Repository');
      await repository.click();
      await expect.poll(async () => (await shown()).length).toBe(3);
      await repository.fill('8');
      await expect.poll(shown).toEqual(['acme/repository 8']);
      const before = await asked();
      expect(before.at(-1)?.searchParams.get('q')).toBe('8');
      await options().click();
      await expect.poll(text).toBe('["repo-8",["low"]]');
      expect(await repository.inputValue()).toBe('acme/repository 8');
      expect(await asked()).toEqual(before);
    });

    test('ends a list whose pages go round, shows its labels as text, and keeps it open for several', async () => {
      await product.mount({ componentId: 'settings' });
      await product.field('Labels').click();
      await expect.poll(shown).toEqual(['<b>High</b>']);
      await product.button('Show more').click();
      await expect.poll(shown).toEqual(['<b>High</b>', 'Low']);
      expect(await product.button('Show more').count()).toBe(0);
      await options().first().click();
      await expect.poll(text).toBe('["repo-7",["low","high"]]');
      expect(await shown()).toEqual(['<b>High</b>', 'Low']);
      expect(await product.component.locator('.chosen li').allTextContents()).toEqual(['Low', '<b>High</b>']);
    });

    test('ends a list at a page that adds nothing', async () => {
      await product.mount({ componentId: 'settings' });
      await product.field('Endless').click();
      await expect.poll(shown).toEqual(['One']);
      await product.button('Show more').click();
      const note = () => product.component.locator('.combo-note').textContent();
      await expect
        .poll(async () => [await shown(), await note(), await product.button('Show more').count()])
        .toEqual([['One'], '', 0]);
    });

    test('says that a list cannot be read, and shows none of a source that the product has not', async () => {
      await product.mount({ componentId: 'settings' });
      await product.field('Broken').click();
      await expect.poll(() => product.component.locator('.combo-note').textContent()).toContain('no answer');
      await product.field('Broken').press('Escape');
      expect(await product.field('Specification').locator('option').allTextContents()).toEqual(['']);
    });

    describe('in a frame', () => {
      const state = async () =>
        JSON.parse((await product.component.frameLocator('iframe').locator('output').textContent()) || '""');
      const around = (members: object) =>
        product.run(`Object.assign(document.querySelector('annex-component'), ${JSON.stringify(members)})`);
      const page = { id: 'p1', path: 'guides/here', title: 'Here' };
      beforeEach(async () => {
        await product.mount({ componentId: 'board' });
        await around({ page, visitor: { plan: 'pro' } });
      });

      test('gets the state, the page and, by the scope of the integration, the claims of the visitor', async () => {
        await expect.poll(state).toEqual({ content: 'of the state', page, visitor: { plan: 'pro' } });
        await around({ page: { ...page, title: 'There' } });
        await expect.poll(async () => (await state()).page.title).toBe('There');
      });

      test('has the height that it asks for, within bounds', async () => {
        await expect
          .poll(async () => (await product.component.locator('iframe').boundingBox())?.height)
          .toBe(60);
      });

      test('goes to a page of the site when the user presses, and never by itself or elsewhere', async () => {
        await expect.poll(state).not.toBe('nothing');
        const frame = product.component.frameLocator('iframe');
        await frame.locator('#leave').click();
        // As long as a person's press.
        await frame.locator('#go').click({ delay: 200 });
        await expect.poll(() => product.told('page')).toEqual([{ path: 'guides/start', anchor: 'setup' }]);
      });
    });

    test('leaves no error in the console', () => {
      expect(product.errors.filter((error) => !error.includes('Blocked script'))).toEqual([]);
    });
  });
});
