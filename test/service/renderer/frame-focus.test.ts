/**
 * Who has the keyboard, in a real browser: a page in a `webframe` gets what the user types into it,
 * and nothing that the user types elsewhere. A page that takes the focus, or floods the product's
 * page with messages, is stopped until the user asks for it.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../../support/programs.ts';
import { FrameServer } from '../../support/renderer/frame-server.ts';
import { answerOf } from '../../support/renderer/hostile-drawings.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';

const TYPED = 'The quick brown fox jumps over the lazy dog, twice';
const TYPING = { delay: 20 };

describe('a frame', needs('chromium'), () => {
  let product: ProductPage;
  let frames: FrameServer;
  beforeAll(async () => {
    product = await ProductPage.start();
    frames = await FrameServer.start();
    // A field of the product itself, beside the component.
    await product.run(
      `document.body.insertAdjacentElement('afterbegin', Object.assign(document.createElement('input'), { id: 'own' }))`,
    );
    await product.run(
      `document.body.append(Object.assign(document.createElement('div'), { id: 'editor', contentEditable: 'true', textContent: 'Text: ' }))`,
    );
  });
  afterAll(async () => {
    await product?.stop();
    await frames?.stop();
  });
  beforeEach(async () => {
    await product.run(`document.querySelector('main').replaceChildren()`);
    await product.run(
      `document.querySelector('#own').value = ''; document.querySelector('#editor').textContent = 'Text: '`,
    );
    frames.keys.length = 0;
  });

  const show = async (...attacks: string[]) => {
    const children = [
      ...attacks.map((attack) => frames.frame(attack)),
      { type: 'textinput', state: 'inside' },
    ];
    const before = frames.loads;
    await product.mount({ componentId: 'framed', answers: [answerOf({ type: 'block', children })] });
    await expect.poll(() => frames.loads).toBeGreaterThanOrEqual(before + attacks.length);
  };
  const own = () => product.page.locator('#own');
  const editor = () => product.page.locator('#editor');
  const inFrame = (index = 0) =>
    product.component.locator('iframe').nth(index).contentFrame().getByLabel('In the frame');
  const shown = () => product.component.locator('iframe').count();
  /** Asked without the locators of Playwright, which count as acts of the user. */
  const isStopped = (count = 1) =>
    expect
      .poll(() =>
        product.run(
          `document.querySelector('annex-component').shadowRoot.querySelectorAll('.stopped').length`,
        ),
      )
      .toBe(count);
  /** Types into a field while the frame attacks: once it is stopped, not one key is lost. */
  const typedOn = async (attack: string, field: () => Locator, stopped = 1) => {
    for (const key of TYPED) {
      // The answer to a key is lost where the focus moves between its press and its character.
      product.page.keyboard.type(key).catch(() => undefined);
      await wait(TYPING.delay);
    }
    await isStopped(stopped);
    const stolen = frames.typed(attack).length;
    await keyboard.type(TYPED);
    expect(frames.typed(attack)).toHaveLength(stolen);
    const text = await field().evaluate(
      (element) => (element as unknown as { value?: string }).value ?? element.textContent ?? '',
    );
    expect(text.endsWith(TYPED)).toBe(true);
    // Of fifty keys in a second, those of the first turns.
    expect(text.length).toBeGreaterThan(1.5 * TYPED.length);
  };
  const showPage = () => product.button('Show this page');
  const { keyboard } = {
    keyboard: {
      type: (text: string) => product.page.keyboard.type(text, TYPING),
      press: (key: string) => product.page.keyboard.press(key),
    },
  };

  test.each([['every-5-ms'], ['at-load'], ['by-a-frame-in-it']])(
    'that takes the focus %s is stopped, and what the user types goes on',
    async (attack) => {
      await own().click();
      await show(attack);
      await typedOn(attack, own);
      expect(await showPage().count()).toBe(1);
    },
  );

  test('is shown again by its button, and stopped again', async () => {
    const before = frames.loads;
    await own().click();
    await show('every-5-ms');
    await showPage().click();
    await expect.poll(() => frames.loads).toBe(before + 2);
    await own().click();
    await typedOn('every-5-ms', own);
  });

  test('that another page in it has drawn anew each time it is stopped is not shown again', async () => {
    const drawing = (depth: number) => {
      let thief = frames.frame('every-5-ms');
      for (let level = 0; level < depth; level += 1) thief = { type: 'block', children: [thief] };
      return answerOf({ type: 'block', children: [frames.frame('draws-again'), thief] });
    };
    await own().click();
    const before = frames.loads;
    const answers = Array.from({ length: 40 }, (_, index) => drawing(index % 8));
    await product.mount({ componentId: 'framed', answers });
    await expect.poll(() => frames.loads).toBeGreaterThanOrEqual(before + 2);
    await typedOn('every-5-ms', own, 2);
    // Neither again, nor the one that had it drawn.
    expect([frames.loads, await shown()]).toEqual([before + 2, 0]);
  });

  test.each([
    ['the field of the product', () => own()],
    ['a text of the product', () => editor()],
    ['a field of the component', () => product.component.locator('input')],
  ])('that takes the focus back when it loses it to %s is stopped', async (_name, field) => {
    await show('when-it-loses-it');
    await inFrame().click();
    await keyboard.type('mine');
    await expect.poll(() => frames.typed('when-it-loses-it')).toBe('mine');
    const { x = 0, y = 0, width = 0 } = (await field().boundingBox()) ?? {};
    // Without the looks that a locator takes, which count as acts of the user.
    await product.page.mouse.click(x + width - 5, y + 5);
    await typedOn('when-it-loses-it', field);
  });

  test('that takes the focus while the user types loses it, and the caret stays', async () => {
    await show('when-asked');
    await inFrame().waitFor();
    await own().click();
    await keyboard.type('abcd');
    await keyboard.press('ArrowLeft');
    await keyboard.press('ArrowLeft');
    await keyboard.type('x');
    // The frame takes it when it gets this message.
    await product.run(
      `document.querySelector('annex-component').shadowRoot.querySelector('iframe').contentWindow.postMessage('', '*')`,
    );
    await isStopped();
    await keyboard.type('12');
    expect(await own().inputValue()).toBe('abx12cd');
    expect(frames.keys).toEqual([]);
  });

  test('that takes the focus of another frame is stopped, and the other one gets it back', async () => {
    await show('honest', 'when-asked');
    await inFrame(1).waitFor();
    await inFrame(0).click();
    await keyboard.type('one');
    // What the user did in the first frame is no reason for the second one.
    await expect.poll(() => product.run('navigator.userActivation.isActive')).toBe(false);
    await product.run(
      `document.querySelector('annex-component').shadowRoot.querySelectorAll('iframe')[1].contentWindow.postMessage('', '*')`,
    );
    await isStopped();
    await keyboard.type('two');
    await expect.poll(() => frames.typed('honest')).toBe('onetwo');
    expect(frames.typed('when-asked')).toBe('');
  });

  describe('that is used honestly', () => {
    test('gets what the user types into it, also right after another field', async () => {
      await show('honest');
      for (const text of ['first', 'second']) {
        await own().click();
        await keyboard.type('own');
        await inFrame().click();
        await keyboard.type(text);
      }
      await expect.poll(() => inFrame().inputValue()).toBe('firstsecond');
      expect(await own().inputValue()).toBe('ownown');
      expect(await shown()).toBe(1);
    });

    test('is entered and left by Tab', async () => {
      await show('honest');
      await inFrame().waitFor();
      await own().click();
      await keyboard.press('Tab');
      await keyboard.type('in');
      await expect.poll(() => inFrame().inputValue()).toBe('in');
      await keyboard.press('Shift+Tab');
      await keyboard.type('own');
      await expect.poll(() => own().inputValue()).toBe('own');
      expect(await shown()).toBe(1);
    });

    test('gets the focus from another one', async () => {
      await show('honest', 'honest');
      for (const index of [0, 1, 0]) {
        await inFrame(index).click();
        await keyboard.type(`${index}`);
      }
      await expect.poll(() => inFrame(0).inputValue()).toBe('00');
      expect(await inFrame(1).inputValue()).toBe('1');
    });

    test('may be pressed after another one was stopped during a press elsewhere', async () => {
      await show('when-asked');
      await inFrame().waitFor();
      await own().hover();
      await product.page.mouse.down();
      await product.run(
        `document.querySelector('annex-component').shadowRoot.querySelector('iframe').contentWindow.postMessage('', '*')`,
      );
      await isStopped();
      await product.page.mouse.up();
      await show('honest');
      await inFrame().click();
      await keyboard.type('in');
      await expect.poll(() => inFrame().inputValue()).toBe('in');
    });

    test('may ask for the focus where the user has asked for its page', async () => {
      await own().click();
      await show('at-load');
      await showPage().click();
      await inFrame().and(product.page.locator(':focus')).waitFor();
      await keyboard.type('in');
      await expect.poll(() => inFrame().inputValue()).toBe('in');
      expect(await shown()).toBe(1);
    });
  });

  test.each([['flood'], ['one-large-message'], ['large-values']])(
    'that sends too much is stopped: %s',
    async (attack) => {
      await show(attack);
      await isStopped();
      expect(await shown()).toBe(0);
    },
  );

  test('that is stopped has the size that it had, and its name', async () => {
    await show('flood');
    const stopped = product.component.getByRole('group', { name: /^Page of 127/ });
    const { width = 0, height = 1 } = (await stopped.boundingBox()) ?? {};
    expect(width / height).toBeCloseTo(8, 1);
  });

  test('no error stands in the console', () => {
    expect(product.errors).toEqual([]);
  });
});
