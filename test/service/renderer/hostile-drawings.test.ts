/**
 * Drawings of an attacker in a real browser, as if the service had let them pass: nothing runs,
 * nothing leads elsewhere, nothing leaves its frame, and nothing holds the page.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../support/programs.ts';
import { answerOf, drawingOf, HOSTILE_TEXTS, LARGE_TREES } from '../../support/renderer/hostile-drawings.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';

/** A longer time without a turn of the browser holds the page (ms). */
const HELD_MS = 100;
/**
 * Of a drawing that takes long, no hold is more than this share: a machine that is busy with other
 * work makes both longer. In one piece, the share would be almost 1.
 */
const HELD_SHARE = 1 / 4;
/** For short drawings: one that is quick shows that it can be. */
const ATTEMPTS = 10;

interface Hold {
  readonly longest: number;
  readonly total: number;
}

/** Elements of the page that a component has. */
const ELEMENTS = `document.querySelector('annex-component').shadowRoot.querySelectorAll('*').length`;
/** Some are drawn by several: a button with its words, a field with its label. */
const ELEMENTS_A_DRAWING = 40_000;

/** The cheapest nodes of a slice. */
const NODES_A_SLICE = 150;

/** Several texts a drawing: each in every field. */
const GROUP = 10;
const GROUPS = Array.from({ length: Math.ceil(HOSTILE_TEXTS.length / GROUP) }, (_, index) => {
  const first = index * GROUP;
  const texts = HOSTILE_TEXTS.slice(first, first + GROUP);
  return { first, last: first + texts.length - 1, texts };
});

/** What must not be in the page, whatever is drawn. */
const FORBIDDEN = `(() => {
  const { shadowRoot } = document.querySelector('annex-component');
  const all = [...shadowRoot.querySelectorAll('*')];
  const tags = 'script object embed base meta link style form template noscript math video'.split(' ');
  const schemes = ['http:', 'https:', 'mailto:'];
  return all.flatMap((element) => [
    ...(tags.includes(element.localName) ? [element.localName] : []),
    ...element.getAttributeNames().filter((name) => /^on|srcdoc|formaction|innerhtml/i.test(name)),
    ...['href', 'src', 'data', 'action']
      .filter((name) => element.hasAttribute(name))
      .filter((name) => !schemes.includes(new URL(element.getAttribute(name), 'none:').protocol))
      .map((name) => name + '=' + element.getAttribute(name)),
    ...(element.localName === 'iframe' && element.getAttribute('sandbox') !== 'allow-scripts' ? ['sandbox'] : []),
    ...(element.localName !== 'dialog' && getComputedStyle(element).position === 'fixed' ? ['fixed'] : []),
    ...(element.namespaceURI.includes('Math') ? ['math'] : []),
  ]);
})()`;

/** Presses everything that can be pressed, answers each question, and follows each link. */
const PRESS_ALL = `(async () => {
  const { shadowRoot } = document.querySelector('annex-component');
  const all = (selector) => [...shadowRoot.querySelectorAll(selector)];
  for (const element of all('button, a, input, [role=combobox]')) {
    element.click();
    element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
    // Time for the question, if there is one.
    for (let turn = 0; turn < 6; turn += 1) await null;
    for (const confirm of all('[role=alertdialog] button')) confirm.click();
  }
  await new Promise((resolve) => setTimeout(resolve));
})()`;

/** The component is clipped to its frame, and the page is not wider than it was. */
const ESCAPED = `(() => {
  const element = document.querySelector('annex-component');
  const { left, right } = element.getBoundingClientRect();
  return [
    ...(getComputedStyle(element).contain.includes('paint') ? [] : ['not clipped']),
    ...(left < 0 || right > innerWidth ? ['wider than the page'] : []),
    ...(document.documentElement.scrollWidth > innerWidth ? ['the page scrolls'] : []),
  ];
})()`;

describe('a hostile drawing', needs('chromium'), () => {
  let product: ProductPage;
  beforeAll(async () => {
    product = await ProductPage.start();
  });
  afterAll(() => product?.stop());

  test('the corpus has more than sixty texts', () => {
    expect(HOSTILE_TEXTS.length).toBeGreaterThan(60);
  });

  test.each(GROUPS)('texts $first to $last are texts wherever they stand', async ({ texts }) => {
    const element = { type: 'block', children: texts.map(drawingOf) };
    await product.mount({ componentId: 'hostile', answers: [answerOf(element)] });
    // What is pressed waits, so that the drawing stays until it is looked at.
    await product.run('product.close()');
    await product.run(PRESS_ALL);
    expect(await product.run(FORBIDDEN)).toEqual([]);
    expect(await product.run(ESCAPED)).toEqual([]);
    expect(await product.run('canary')).toBe(0);
    expect(await product.run('product.opened')).toEqual([]);
    const led = (await product.told('navigate')) as { url: string }[];
    for (const { url } of led) expect(url).toMatch(/^(https?|mailto):/);
  });

  test.each([
    ['null', null],
    ['a text', 'block'],
    ['a list', [{ type: 'block', children: [] }]],
    ['an unknown root', { type: 'script', children: ['canary++'] }],
    ['an element of a page', { type: 'iframe', src: 'javascript:canary++' }],
    ['a root that may only be a child', { type: 'text', children: ['x'] }],
  ])('that is %s is refused', async (_name, element) => {
    const told = await product.mount({ componentId: 'hostile', answers: [answerOf(element)] });
    expect(told).toMatchObject({ event: 'error', code: 'ANSWER_INVALID' });
  });

  test.each([
    ['nothing', undefined],
    ['a text', { status: 200, body: '<script>canary++</script>' }],
    ['an error without a message', { status: 500, body: {} }],
    [
      'an error with markup',
      { status: 500, body: { error: { code: 'X', message: '<img src=x onerror=canary++>' } } },
    ],
    ['members that are none', { status: 200, body: { type: 'element', state: 7, props: [], element: {} } }],
  ])('an answer that is %s is a failure', async (_name, answer) => {
    const told = await product.mount({ componentId: 'hostile', answers: [answer] });
    expect(told.event).toBe('error');
    expect(await product.run(FORBIDDEN)).toEqual([]);
  });

  test('the measure sees a task that holds the page', async () => {
    const hold = `for (const end = performance.now() + ${2 * HELD_MS}; performance.now() < end; );`;
    await product.run(`new Promise((resolve) => {
      product.watch();
      setTimeout(() => { ${hold} setTimeout(resolve); });
    })`);
    expect((await product.run<Hold>('product.longestHold()')).longest).toBeGreaterThan(HELD_MS);
  });

  test.each(Object.entries(LARGE_TREES))('is drawn in slices, up to a bound: %s', async (_name, code) => {
    let held = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < ATTEMPTS && held > 1; attempt += 1) {
      const told = await product.run<{ nodes: number; slices: number }>(`(() => {
        const block = (children) => ({ type: 'block', children });
        const body = { type: 'element', state: {}, props: {}, element: ${code} };
        // The tree itself is made before the clock starts.
        return new Promise((resolve) => setTimeout(() => {
          product.watch();
          resolve(product.mount({ componentId: 'large', answers: [{ status: 200, body }] }));
        }));
      })()`);
      expect(told.nodes).toBeLessThanOrEqual(10_000);
      expect(told.slices).toBeGreaterThanOrEqual(Math.floor(told.nodes / NODES_A_SLICE));
      expect(await product.run(ELEMENTS)).toBeLessThanOrEqual(ELEMENTS_A_DRAWING);
      const { longest, total } = await product.run<Hold>('product.longestHold()');
      held = longest / Math.max(HELD_MS, total * HELD_SHARE);
    }
    expect(held).toBeLessThanOrEqual(1);
    expect(await product.run(ESCAPED)).toEqual([]);
  });

  test('says where it is cut off', async () => {
    await product.run(`product.mount({ componentId: 'large', answers: [{ status: 200, body: { type: 'element', state: {}, props: {},
      element: { type: 'block', children: Array.from({ length: 20_000 }, () => 'x') } } }] })`);
    expect(await product.component.locator('.cut').textContent()).toContain('cut off');
  });

  test('a message counts by the window that sent it', async () => {
    await product.mount({ componentId: 'hostile', answers: [answerOf(drawingOf('http://127.0.0.1:1/'))] });
    const before = await product.requests();
    await product.run(`postMessage({ version: 1, action: { action: 'forged' } }, '*')`);
    await product.run('new Promise((resolve) => setTimeout(resolve))');
    expect(await product.requests()).toEqual(before);
  });

  test('has reached nothing outside of the machine but what it may show: pictures and frames', () => {
    const others = product.foreign.filter((url) => !/^https?:/.test(url));
    expect(others).toEqual([]);
  });
});
