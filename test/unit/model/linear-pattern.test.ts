/** Patterns of schemas: the same answers as V8's, in linear time. */
import { describe, expect, test } from 'vitest';
import { linearPattern, PatternFault } from '../../../src/model/linear-pattern.ts';

const TEXTS = [
  '',
  'ABC',
  'abc',
  'ababc',
  '12.34',
  '123',
  'é',
  'x@ab.de',
  'ab c!',
  'xy',
  '😀',
  '-',
  '\n',
  ']',
];

test.each([
  ...['^[A-Z]{3}$', '^(\\w+\\s?)*$', 'a|bc|', '[^a-c]+x', '^\\d{1,3}(\\.\\d{2})?$', '(?:ab)+?c$', '\\p{L}+'],
  ...[
    '^$',
    '^.{2,}$',
    '[\\w-]+@[a-z]+\\.[a-z]{2,}',
    '(a*)*b',
    '^(a|b|ab)*c',
    'x{0}y',
    '\\u{1F600}',
    '[\\d\\-x]',
  ],
  ...['(?<year>\\d+)', '[^]', '^(?:^a|b$)', '\\x41', '\\cJ', '[\\b]', '\\S\\s\\D\\W', '.'],
])('%s matches what it matches elsewhere', (source) => {
  const found = TEXTS.filter((text) => linearPattern(source).test(text));
  expect(found).toEqual(TEXTS.filter((text) => new RegExp(source, 'u').test(text)));
});

test.each<[source: string, why: RegExp]>([
  ['(a)\\1', /references to groups/],
  ['(?<a>a)\\k<a>', /references to groups/],
  ['a(?=b)', /looks ahead/],
  ['(?<!a)b', /looks ahead or behind/],
  ['\\bword', /word boundaries/],
  ['(', /no regular expression/],
  ['a{501}', /repeats more than/],
  ['(a{100}){100}', /too large/],
  ['((){500}){500}', /repetitions of repetitions/],
  [`${'('.repeat(30)}${')'.repeat(30)}`, /nested/],
])('%s is refused', (source, why) => {
  expect(() => linearPattern(source)).toThrow(why);
  expect(() => linearPattern(source)).toThrow(PatternFault);
});

describe('a pattern that backtracks elsewhere', () => {
  test.each(['^(\\w+\\s?)*$', '(a*)*b', '^(a|a)*b', '(.*)*x', '^(a|b|ab)*c'])(
    '%s takes linear time',
    (source) => {
      const stepsOf = (length: number): number => {
        let steps = 0;
        linearPattern(source, (some) => {
          steps += some;
        }).test('a'.repeat(length));
        return steps;
      };
      expect(stepsOf(40_000)).toBeLessThan(4.1 * stepsOf(10_000));
    },
  );
});
