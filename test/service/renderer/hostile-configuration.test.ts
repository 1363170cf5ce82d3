/**
 * `<annex-configuration>` with a tenant's text in every field: nothing runs, nothing becomes
 * markup, nothing leaves its frame, and the page is not held.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../support/programs.ts';
import { HOSTILE_TEXTS } from '../../support/renderer/hostile-drawings.ts';
import { ProductPage } from '../../support/renderer/product-page.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** Fields with one text in everything that an author, an account or another person writes. */
function fieldsOf(text: string, at: number): { name: string }[] {
  const common = { title: text, description: text, required: false };
  return [
    { ...common, name: 'a', type: 'string', value: text },
    { ...common, name: 'b', type: 'string', enum: [text, 'x'], titles: { [text]: text }, value: text },
    { ...common, name: 'c', type: 'string', enum: [text], multiple: true, value: [text] },
    { ...common, name: 'd', type: 'string', completion: true, value: text },
    { ...common, name: 'e', type: 'number', value: text },
    { ...common, name: 'f', type: 'boolean', value: text },
    { ...common, name: 'g', type: 'button', button_text: text, callback_url: text, value: text },
    {
      ...{ ...common, name: 'oauth_credentials', type: 'button', sealed: true, isSet: true, isLost: true },
      ...{ button_text: text, callback_url: text, account: text },
    },
  ].map((field) => ({ ...field, name: `${field.name}${at}` }));
}

function formOf(texts: readonly string[]): object {
  const properties = texts.flatMap(fieldsOf);
  const problems = properties.map(({ name }, at) => ({ property: name, message: texts[at % texts.length] }));
  return { status: 'pending', properties, problems };
}

/** Several texts a form: each in every field. */
const GROUP = 10;
const GROUPS = Array.from({ length: Math.ceil(HOSTILE_TEXTS.length / GROUP) }, (_, index) => {
  const texts = HOSTILE_TEXTS.slice(index * GROUP, (index + 1) * GROUP);
  return [index * GROUP, index * GROUP + texts.length - 1, texts] as const;
});
/** What a form may hold the page for; one that is quick shows that it can be. */
const HELD_MS = 100;
const ATTEMPTS = 10;

describe('a hostile configuration', needs('chromium'), () => {
  let service: TestService;
  let product: ProductPage;
  let installed: Installed;
  beforeAll(async () => {
    service = await TestService.start();
    await service.publishFixture('hello');
    installed = await service.install('hello');
    product = await ProductPage.start({ service, integration: 'hello', installed });
  });
  afterAll(async () => {
    await product?.stop();
    await service?.stop();
  });

  test('there are 80 texts', () => {
    expect(HOSTILE_TEXTS.length).toBeGreaterThanOrEqual(80);
  });

  test.each(GROUPS)('texts %i to %i are texts', async (_first, _last, texts) => {
    const answers = [{ status: 200, body: formOf(texts) }];
    await product.page.setViewportSize({ width: 360, height: 900 });
    // Parsed in the page: as code, a member `__proto__` would be another thing.
    await product.run(
      `product.configure({ answers: JSON.parse(${JSON.stringify(JSON.stringify(answers))}) })`,
    );
    await product.configuration.getByRole('button', { name: 'Save', exact: true }).waitFor();
    const options = { status: 200, body: { options: texts.map((text) => ({ label: text, value: text })) } };
    await product.run(`product.answers = [JSON.parse(${JSON.stringify(JSON.stringify(options))})]`);
    await product.configuration.locator('input[role=combobox]').last().click();
    await product.configuration.locator('[role=option]').first().waitFor();
    const found = await product.run<Record<string, unknown>>(`(() => {
      const root = document.querySelector('annex-configuration').shadowRoot;
      const known = new Set(['form', 'div', 'p', 'span', 'label', 'input', 'select', 'option', 'button', 'a', 'ul', 'li', 'svg', 'path', 'i', 'code', 'strong']);
      const all = [...root.querySelectorAll('*')];
      return {
        canary,
        strange: all.map((one) => one.localName).filter((name) => !known.has(name)),
        handlers: all.filter((one) => one.getAttributeNames().some((name) => /^on|^style$/.test(name))).length,
        links: all.filter((one) => one.localName === 'a' && !/^https?:/.test(one.href)).length,
        isWide: document.documentElement.scrollWidth > innerWidth,
      };
    })()`);
    expect(found).toEqual({ canary: 0, strange: [], handlers: 0, links: 0, isWide: false });
  });

  test('a form of 100 fields with 500 choices each is drawn without holding the page', async () => {
    const choices = Array.from({ length: 500 }, (_, at) => `choice ${at}`);
    const properties = Array.from({ length: 100 }, (_, at) => ({
      ...{ name: `p${at}`, type: 'string', title: `Field ${at}`, required: false, enum: choices },
    }));
    const answers = [{ status: 200, body: { status: 'active', properties } }];
    let held = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < ATTEMPTS && held > HELD_MS; attempt += 1) {
      await product.run('product.watch()');
      await product.run(`product.configure({ answers: ${JSON.stringify(answers)} })`);
      await product.configuration.getByRole('button', { name: 'Save', exact: true }).waitFor();
      held = (await product.run<{ longest: number }>('product.longestHold()')).longest;
      expect(await product.configuration.locator('[role=combobox]').count()).toBe(100);
    }
    expect(held).toBeLessThanOrEqual(HELD_MS);
  });

  test('no request has left the machine, and nothing was logged', () => {
    expect(product.foreign).toEqual([]);
    expect(product.errors).toEqual([]);
  });
});
