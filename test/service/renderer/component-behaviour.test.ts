/**
 * The states of a component in a page (docs/contract/components.md#state), row by row. Also what
 * the renderer adds: a queue of actions, failures with a retry, client state, cached answers,
 * modals and steps. Through the render API of a real service, in a real browser.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../../support/programs.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';
import { TestService } from '../../support/service.ts';

describe('a component in a page', needs('chromium'), () => {
  let service: TestService;
  let product: ProductPage;
  beforeAll(async () => {
    service = await TestService.start();
    await service.publishFixture('gallery');
    const installed = await service.install('gallery');
    product = await ProductPage.start({ service, integration: 'gallery', installed });
  });
  afterAll(async () => {
    await product?.stop();
    await service?.stop();
  });
  beforeEach(() => product.mount({ componentId: 'gallery', props: { title: 'Title' } }));

  const words = (selector: string) => product.component.locator(selector).first().textContent();
  const count = () => words('p.text em');
  const lastRequest = async () => (await product.requests()).at(-1);
  const busy = (name: string) => product.button(name).getAttribute('aria-busy');
  const failure = () => product.component.getByRole('alert');

  describe('its state', () => {
    test('is the result of initialState at first, of which the page sends none', async () => {
      expect(await product.requests()).toEqual([{ componentId: 'gallery', props: { title: 'Title' } }]);
      expect(await count()).toBe('0');
    });

    test('is what an action returns, and is drawn again', async () => {
      await product.button('Count').click();
      await expect.poll(count).toBe('1');
      expect(await lastRequest()).toMatchObject({
        state: { count: 0, last: 'nothing', step: 'first' },
        action: { action: 'count', note: 'first' },
      });
      await product.button('Count').click();
      await expect.poll(count).toBe('2');
    });

    test('stays, and the props are replaced, where an action returns props', async () => {
      await product.button('Count').click();
      await product.button('Retitle').click();
      await expect.poll(() => words('p.text strong')).toBe('Another title');
      expect(await count()).toBe('1');
      await product.button('Keep').click();
      await expect.poll(async () => (await lastRequest())?.['props']).toEqual({ title: 'Another title' });
    });

    test('stays where an action returns nothing', async () => {
      await product.button('Keep').click();
      await expect.poll(() => product.told('render')).toHaveLength(2);
      expect(await count()).toBe('0');
    });

    test('ends where an action completes: nothing is drawn, and the page gets the value', async () => {
      await product.button('Finish').click();
      await expect.poll(() => product.told('complete')).toEqual([{ returnValue: { count: 0 } }]);
      expect(await product.component.locator('.component').textContent()).toBe('');
    });
  });

  test('actions that are pressed while one runs wait for it, and none is lost', async () => {
    await product.run('product.close()');
    for (let presses = 0; presses < 3; presses += 1) await product.button('Count').click();
    expect(await product.requests()).toHaveLength(2);
    expect(await busy('Count')).toBe('true');
    expect(await busy('Keep')).toBe('false');
    await product.run('product.open()');
    await expect.poll(count).toBe('3');
    await expect.poll(() => busy('Count')).toBe('false');
  });

  test('an action that fails shows why, where it was pressed, and can be repeated', async () => {
    await product.button('Fail').click();
    await expect.poll(() => failure().textContent()).toContain('It failed as asked.');
    expect(await product.told('error')).toEqual([
      { componentId: 'gallery', code: 'RENDER_REFUSED', message: 'It failed as asked.' },
    ]);
    const isBeside = `document.querySelector('annex-component').shadowRoot.querySelector('.danger + .failure') !== null`;
    expect(await product.run(isBeside)).toBe(true);
    await product.button('Try again').click();
    await expect.poll(() => product.told('error')).toHaveLength(2);
    await product.button('Dismiss').click();
    expect(await failure().count()).toBe(0);
    expect(await count()).toBe('0');
  });

  test('an answer that is lost is asked for again', async () => {
    await product.run(`product.answers = ['lost', undefined]`);
    await product.button('Count').click();
    await expect.poll(() => failure().textContent()).toContain('There was no answer.');
    await product.button('Try again').click();
    await expect.poll(count).toBe('1');
    expect(await failure().count()).toBe(0);
  });

  test('a field that an action refuses says why, and gets the focus', async () => {
    const story = product.field('Story');
    expect(await story.getAttribute('aria-invalid')).toBeNull();
    await product.button('Check').click();
    await expect.poll(() => story.getAttribute('aria-invalid')).toBe('true');
    const described = (await story.getAttribute('aria-describedby')) ?? '';
    expect(await product.component.locator(`[id="${described}"]`).textContent()).toBe('Tell a story.');
    const focused = `document.querySelector('annex-component').shadowRoot.activeElement?.tagName`;
    await expect.poll(() => product.run(focused)).toBe('TEXTAREA');
    await story.fill('Once upon a time');
    await product.button('Check').click();
    await expect.poll(() => story.getAttribute('aria-invalid')).toBeNull();
  });

  test('attack: a field that is refused takes no focus from the page', async () => {
    await product.button('Check').click();
    await product.run('product.close()');
    await product.field('Story').fill('');
    await product.button('Check').click();
    await product.run(`(() => {
      const field = document.createElement('input');
      field.id = 'of-the-page';
      document.body.append(field);
      field.focus();
      product.open();
    })()`);
    await expect.poll(() => product.told('render').then((told) => told.length)).toBe(3);
    expect(await product.run('document.activeElement.id')).toBe('of-the-page');
  });

  test('what the user enters stays, also what is typed while an action runs', async () => {
    await product.field('Note').fill('kept');
    await product.run('product.close()');
    await product.button('Count').click();
    await product.field('Note').fill('kept, and more');
    await product.run('product.open()');
    await expect.poll(count).toBe('1');
    expect(await product.field('Note').inputValue()).toBe('kept, and more');
    expect((await lastRequest())?.['action']).toEqual({ action: 'count', note: 'kept' });
  });

  test('a refresh draws it again with its state', async () => {
    await product.button('Count').click();
    await expect.poll(count).toBe('1');
    await product.run(`document.querySelector('annex-component').refresh()`);
    await expect.poll(lastRequest).toMatchObject({ state: { count: 1 } });
    await expect.poll(async () => (await product.told('render')).length).toBe(3);
    expect(await count()).toBe('1');
  });

  test('an answer that may be cached is asked for once', async () => {
    await product.mount({ componentId: 'cached' });
    expect(await words('p.text')).toBe('Drawing 1');
    await product.mount({ componentId: 'cached' });
    expect(await words('p.text')).toBe('Drawing 1');
    expect(await product.requests()).toEqual([]);
    await product.mount({ componentId: 'cached', props: { other: true } });
    expect(await words('p.text')).toBe('Drawing 2');
    await product.run(`document.querySelector('annex-component').refresh()`);
    await expect.poll(() => words('p.text')).toBe('Drawing 3');
  });

  describe('a modal', () => {
    const window = () => product.component.getByRole('dialog', { name: 'Name' });
    const arrives = (returnValue: object) =>
      expect
        .poll(async () => JSON.parse((await words('p.text code')) ?? '""'))
        .toEqual({ action: '@ui.modal.close', returnValue });

    beforeEach(async () => {
      await product.button('Window').click();
      await window().waitFor();
    });

    test('has the props of its opener, and hands over what it returns', async () => {
      const name = window().getByRole('textbox', { name: 'Name' });
      expect(await name.inputValue()).toBe('Ada');
      await name.fill('Grace');
      await product.button('Save').click();
      await window().waitFor({ state: 'detached' });
      await arrives({ name: 'Grace' });
    });

    test('is closed by its own action', async () => {
      await product.button('Leave').click();
      await arrives({ left: true });
    });

    test.each(['the key Escape', 'its button'])(
      'is closed by %s, and hands over its returnValue',
      async (by) => {
        if (by === 'its button') await product.button('Close').click();
        else await product.page.keyboard.press('Escape');
        await window().waitFor({ state: 'detached' });
        await arrives({ closed: true });
      },
    );

    test('has the focus while it is open, and gives it back', async () => {
      const focused = (in_: string) =>
        product.run<boolean>(
          `document.querySelector('annex-component').shadowRoot.activeElement?.matches(${JSON.stringify(in_)})`,
        );
      await expect.poll(() => focused('dialog input')).toBe(true);
      await product.page.keyboard.press('Escape');
      await window().waitFor({ state: 'detached' });
      expect(await focused('.hstack button')).toBe(true);
    });
  });

  test('steps are followed in the order of the component, and the last one completes', async () => {
    await product.mount({ componentId: 'steps' });
    const current = () => product.component.locator('[aria-current=step]').textContent();
    expect(await current()).toBe('1Owner');
    await product.field('Owner').fill('Ada');
    await product.button('Next').click();
    await expect.poll(current).toBe('2Check');
    await product.button('Go on').click();
    await expect.poll(current).toBe('3End');
    await product.button('Owner').click();
    await expect.poll(current).toBe('1Owner');
    expect(await product.field('Owner').inputValue()).toBe('Ada');
    await product.button('End').click();
    await product.button('Done').click();
    await expect.poll(() => product.told('complete')).toEqual([{ returnValue: { owner: 'Ada' } }]);
  });

  test('other properties draw it anew in its place, and its end ends what it waits for', async () => {
    const height = () =>
      product.run(
        `document.querySelector('annex-component').shadowRoot.querySelector('.component').offsetHeight`,
      );
    const before = await height();
    await product.run('product.close()');
    await product.run(`document.querySelector('annex-component').props = { title: 'Third' }`);
    await product.component.locator('.skeleton').first().waitFor({ state: 'attached' });
    expect(await height()).toBe(before);
    await product.run('product.open()');
    await expect.poll(() => words('p.text strong')).toBe('Third');
    await product.run('product.close()');
    await product.button('Count').click();
    await product.run(`document.querySelector('annex-component').remove()`);
    await product.run('product.open()');
    expect(await product.told('error')).toEqual([]);
  });

  test('is a component of React, which sets its properties and hears its events', async () => {
    await product.run(`import('/react-page.js').then(() => {
      document.querySelector('main').replaceChildren();
      product.showWithReact({ componentId: 'gallery', props: { title: 'By React' } });
    })`);
    await expect.poll(() => words('p.text strong')).toBe('By React');
    await product.run(`product.showWithReact({ componentId: 'gallery', props: { title: 'Again' } })`);
    await expect.poll(() => words('p.text strong')).toBe('Again');
    await product.button('Finish').click();
    await expect.poll(() => product.run('product.completed')).toEqual({ returnValue: { count: 0 } });
  });

  test('no error stands in the console, and no request has left the machine', () => {
    expect(product.errors).toEqual([]);
    expect(product.foreign).toEqual([]);
  });
});
