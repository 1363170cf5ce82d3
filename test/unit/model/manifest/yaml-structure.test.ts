/**
 * Deeply nested or repeated YAML is bounded before it is parsed; files within the bounds are read
 * unchanged.
 */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  readYaml,
  YAML_DEPTH_MAX,
  YAML_NODES_MAX,
  YAML_TEXT_CHARS_MAX,
} from '../../../../src/model/manifest/yaml-source.ts';

const problemsOf = (text: string) =>
  readYaml(text, 'm.yaml').problems.map(({ line, column, message }) => `${line}:${column} ${message}`);

/** More levels than any call stack can hold. */
const MANY = 20_000;

describe('nesting', () => {
  test.each([
    ['lists in brackets', '['.repeat(MANY)],
    ['lists in brackets that are closed', '['.repeat(MANY) + ']'.repeat(MANY)],
    ['maps in braces', '{a: '.repeat(MANY / 2)],
    ['lists of dashes', '- '.repeat(MANY)],
    ['lists and keys in turn', '? - '.repeat(MANY / 2)],
    ['explicit keys', '? '.repeat(MANY)],
    ['values without keys', ': '.repeat(MANY)],
    ['keys that are lists', `${'['.repeat(5_000)}a${']: '.repeat(5_000)}`],
    ['anchored lists', '- &a '.repeat(10_000)],
    ['braces in brackets in dashes', `${'- '.repeat(20)}${'['.repeat(20)}`],
  ])('of %s is one problem', (_what, text) => {
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^1:\d+ Values are nested more than 32 deep\.$/),
    ]);
  });

  test.each([
    ['brackets', (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`],
    ['dashes', (depth: number) => `${'- '.repeat(depth - 1)}[]`],
    ['keys', (depth: number) => Array.from({ length: depth }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
  ])('of %s may be as deep as the bound says, and no deeper', (what, make) => {
    // The innermost list is itself a value, so lists reach one level more.
    const deepest = what === 'keys' ? YAML_DEPTH_MAX : YAML_DEPTH_MAX + 1;
    expect(readYaml(make(deepest), 'm.yaml').value).toEqual(parse(make(deepest)));
    expect(problemsOf(make(deepest + 1))).toEqual([expect.stringContaining('nested more than 32 deep')]);
  });

  test('ends where a line is indented less, however many lists a file has', () => {
    const lists = Array.from({ length: 60 }, (_, i) => `k${i}:\n${' '.repeat(i)}- a\n${' '.repeat(i)}- - b`);
    const inText = `text: |\n  - - ${'- '.repeat(40)}\n  ${'['.repeat(100)}\nquoted: "${'{ '.repeat(50)}"\nplain: a ${'-'.repeat(50)}`;
    const text = [...lists, inText, `last: [${'[],'.repeat(100)}]`].join('\n');
    expect(readYaml(text, 'm.yaml')).toMatchObject({ problems: [], value: parse(text) });
  });
});

describe('repetition', () => {
  test('of values ends at the bound, and is read up to it', () => {
    const list = (values: number) => `[${'[],'.repeat(values - 1)}]`;
    expect(readYaml(list(YAML_NODES_MAX), 'm.yaml')).toMatchObject({ problems: [] });
    expect(problemsOf(list(YAML_NODES_MAX + 1))).toEqual([expect.stringContaining('more than 10000 values')]);
    expect(problemsOf('[]'.repeat(32_000))).toEqual([expect.stringContaining('more than 10000 values')]);
  });

  test('of a text by aliases ends at the bound on texts, and is read up to it', () => {
    const text = 'x'.repeat(32 * 1024 - 4);
    // The keys take two characters.
    const repeated = (times: number) => `a: &a ${text}\nb: [${'*a, '.repeat(times - 1)}]`;
    const most = Math.floor((YAML_TEXT_CHARS_MAX - 2) / text.length);
    expect(readYaml(repeated(most), 'm.yaml')).toMatchObject({ problems: [] });
    expect(problemsOf(repeated(most + 1))).toEqual([
      expect.stringContaining('The texts of the file come to more than 262144 characters'),
    ]);
  });
});
