/** What `fixtures/gallery` draws, for tests of the pages that show it. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Each element: its name, where it is, and words in it. */
export const GALLERY_ELEMENTS: readonly (readonly [name: string, selector: string, words: string])[] = [
  ['block with controls', '[role=toolbar] button', 'Refresh'],
  ['text', 'p.text strong', 'Gallery'],
  ['text in text', 'p.text em', '0'],
  ['struck text', 'p.text s', 'none undone'],
  ['link', 'a[href="https://example.com/more"][rel="noopener noreferrer"]', 'more'],
  ['hint', 'p.hint', 'A remark.'],
  ['divider', 'hr.divider.size-small', ''],
  ['markdown', '.markdown h3', 'Heading'],
  ['list in markdown', '.markdown ul li', 'one'],
  ['hstack', '.hstack.align-center button', 'Count'],
  ['vstack', '.vstack.align-start', 'In a box.'],
  ['box', '.box p.text', 'In a box.'],
  ['card', '.card .card-title', 'Card'],
  ['hint of a card', '.card .remark', 'Can be pressed.'],
  ['image', '.card img[referrerpolicy="no-referrer"]', ''],
  ['icon', '.card-icon svg', ''],
  ['textinput', 'input.textinput[placeholder="A note"]', ''],
  ['multiline textinput', 'textarea.textinput', ''],
  ['password', 'input[type=password][autocomplete=new-password]', ''],
  ['select', 'select.select option', 'A color'],
  ['combo box', '[role=combobox]', ''],
  ['switch', '[role=switch]', ''],
  ['radio', 'input[type=radio]', ''],
  ['checkbox', 'input[type=checkbox]:not([role])', ''],
  ['codeblock', '.codeblock pre.code', 'const one = 1;\nconst two = 2;'],
  ['line numbers', '.codeblock .numbers', '5\n6'],
  ['header of a codeblock', '.codeblock .code-part', 'Above the code.'],
  ['codeblock to edit', '.codeblock textarea.code', ''],
  ['webframe', 'iframe[sandbox="allow-scripts"][referrerpolicy="no-referrer"]', ''],
];

/** Buttons, and the action that arrives. */
export const GALLERY_BUTTONS: readonly (readonly [name: string, action: object])[] = [
  ['Count', { action: 'count', note: 'first' }],
  ['Card', { action: 'card' }],
  ['In the card', { action: 'in-card' }],
  ['Copy', { action: 'copy' }],
  ['Below the frame', { action: 'below' }],
  ['Refresh', { action: 'refresh' }],
];

/**
 * What axe finds in a part of the page that keeps people out: rule, and where it is broken.
 *
 * @param rules all without it
 */
export async function seriousViolations(
  page: Page,
  selector: string,
  rules?: readonly string[],
): Promise<string[][]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axe.source);
  const options = { iframes: false, resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const violations = (await page.evaluate(
    `axe.run(${JSON.stringify(selector)}, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  )) as { id: string; impact: string; nodes: { html: string }[] }[];
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html)]);
}
