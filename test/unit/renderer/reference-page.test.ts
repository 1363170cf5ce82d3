/**
 * `docs/contentkit.md`, the pictures of the elements: written by `npm run docs:pictures`. Here the
 * page is compared, and its examples are checked as the service checks a drawing.
 */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { drawingOf, EXAMPLES } from '../../../packages/components/pictures/examples.ts';
import { jsx, referencePage } from '../../../packages/components/pictures/reference-page.ts';
import { ELEMENTS } from '../../../src/model/contentkit/contentkit.ts';
import { checkDrawing } from '../../../src/model/contentkit/contentkit-check.ts';
import { ROOT, read } from '../../support/repository/sources.ts';

/** Parts of others, and what shows something that is elsewhere. */
const WITHOUT_PICTURE = ['step', 'image', 'webframe'];

test('the page is that of the catalogue and the examples', () => {
  expect(read('docs/contentkit.md')).toBe(referencePage());
});

test('every element has an example', () => {
  expect([...Object.keys(EXAMPLES), ...WITHOUT_PICTURE].sort()).toEqual(Object.keys(ELEMENTS).sort());
});

describe.each(Object.entries(EXAMPLES))('the example of %s', (name, example) => {
  test('has a picture', () => {
    expect(existsSync(`${ROOT}docs/pictures/${name}.png`)).toBe(true);
  });

  test('is a valid drawing, of which nothing is left out', () => {
    const checked = checkDrawing(drawingOf(example));
    expect(checked.ok || checked.problems).toBe(true);
    if (checked.ok) expect(JSON.stringify(checked.warnings)).not.toContain('element.');
  });
});

test('an example is shown as the JSX that makes it', () => {
  const example = {
    type: 'vstack',
    align: 'start',
    children: [
      { type: 'button', label: "It's", disabled: true, onPress: { action: 'a', on: { $state: 's' } } },
    ],
  };
  expect(jsx(example)).toBe(
    '<vstack align="start">\n' +
      `  <button label="It's" disabled onPress={{ action: 'a', on: element.dynamicState('s') }} />\n` +
      '</vstack>',
  );
});
