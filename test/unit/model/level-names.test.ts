/** The product's words for spaces and sites: what is read, what is refused, where they stand. */
import { expect, test } from 'vitest';
import { inWordsOf, readLevelNames } from '../../../src/model/level-names.ts';

test.each([
  ['space=Project,site=Shop', { space: 'Project', site: 'Shop' }],
  [' site = Online shop ', { site: 'Online shop' }],
  ['space=Проект', { space: 'Проект' }],
  ['space=プロジェクト', { space: 'プロジェクト' }],
  ['space=Co-op', { space: 'Co-op' }],
  [`space=${'a'.repeat(40)}`, { space: 'a'.repeat(40) }],
  ['space=site,site=space', { space: 'site', site: 'space' }],
])('%s is read', (text, names) => {
  expect(readLevelNames(text)).toEqual(names);
});

// Attack: a name that is markup, ends a value of YAML, or moves the cursor of a terminal.
test.each([
  ...['space', 'space=', 'space==a', 'space=a=b', 'room=Room', 'space=a,space=b', 'space=A,site=a', ','],
  ...[`space=${'a'.repeat(41)}`, 'space=<b>', 'space=a&amp;', "space=a'b", 'space=a"b', 'space=a: b'],
  ...['space=a # b', 'space=*a*', 'space=[a](b)', 'space=`a`', 'space=a\nb', 'space=a\u001b[31m'],
  ...['space=a\u202eb', 'space=a\u200bb', 'space=a  b', 'space=-a', 'space=1', 'space=a|b', 'space=$a'],
  ...['__proto__=a', 'constructor=a'],
])('%j is refused', (text) => {
  expect(readLevelNames(text)).toBeUndefined();
});

test('a sentence has the words of the product, and no other', () => {
  const text = 'Sends what happens in a space or on a site; a spaceship, a space.';
  expect(inWordsOf({}, text)).toBe(text);
  expect(inWordsOf({ space: 'Area', site: 'Shop' }, text)).toBe(
    'Sends what happens in an Area or on a Shop; a spaceship, an Area.',
  );
  expect(inWordsOf({ space: 'site', site: 'space' }, text)).toContain('in a site or on a space');
});
