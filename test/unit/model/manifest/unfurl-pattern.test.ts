/**
 * URL patterns of blocks: patterns come from authors, URLs from users who paste them
 * (`docs/contract/components.md#url-patterns`).
 */
import { describe, expect, test } from 'vitest';
import {
  bySpecificity,
  coversUrl,
  readUnfurlPattern,
  unfurledUrl,
  unfurlPatternFault,
  urlParts,
} from '../../../../src/model/manifest/unfurl-pattern.ts';

function covers(pattern: string, text: string): boolean {
  const read = readUnfurlPattern(pattern);
  if (read === undefined) throw new Error(`${pattern} is no pattern`);
  const url = unfurledUrl(text);
  return url !== undefined && coversUrl(read, urlParts(url));
}

describe('a pattern covers URLs with its beginning', () => {
  test.each([
    ['https://e.example', 'https://e.example'],
    ['https://e.example', 'https://e.example/any?thing#there'],
    ['https://e.example/b', 'https://e.example/b'],
    ['https://e.example/b', 'https://e.example/b/1'],
    ['https://e.example/b', 'https://e.example/b?x'],
    ['https://e.example/b', 'https://e.example/b#x'],
    ['https://e.example/b/', 'https://e.example/b/1'],
    ['https://e.example/b/*', 'https://e.example/b/1/2?x'],
    ['https://e.example/b/*', 'https://e.example/b/'],
    ['https://e.example/*/edit', 'https://e.example/a/b/edit'],
    ['https://e.example/*/edit', 'https://e.example/edit/edited/edit?x'],
    ['https://e.example/a*b*c', 'https://e.example/aXbYbZc'],
    ['https://e.example/w?v=', 'https://e.example/w?v=1'],
    ['https://e.example/w?v=1', 'https://e.example/w?v=1&t=2'],
    ['https://*.e.example/b', 'https://x.y.e.example/b'],
    ['https://e.example:8443/b', 'https://e.example:8443/b'],
    ['https://E.example:443/b', 'https://e.EXAMPLE/b'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/x'],
    ['https://e.example/b', 'https://e.example/a/../b'],
    ['http://e.example/b', 'http://e.example/b'],
  ])('%s: %s', (pattern, url) => expect(covers(pattern, url)).toBe(true));
});

describe('and no other URL', () => {
  test.each([
    ['https://e.example/b', 'https://e.example/boards'],
    ['https://e.example/b', 'https://e.example/B'],
    ['https://e.example/b', 'https://e.example/b=1'],
    ['https://e.example/b/', 'https://e.example/b'],
    ['https://e.example/b/*', 'https://e.example/b'],
    ['https://e.example/*/edit', 'https://e.example/a/editor'],
    ['https://e.example/w?v=1', 'https://e.example/w?v=12'],
    ['https://e.example', 'http://e.example'],
    ['https://e.example', 'https://e.example:8443'],
    ['https://e.example', 'https://x.e.example'],
    ['https://*.e.example', 'https://e.example'],
    ['https://*.e.example', 'https://note.example'],
    // Attack: URLs that appear to belong to another host or path than they do.
    ['https://e.example', 'https://e.example.evil.example/'],
    ['https://e.example', 'https://e.example@evil.example/'],
    ['https://e.example', 'https://evil.example/https://e.example/'],
    ['https://*.e.example', 'https://evil.example/.e.example'],
    ['https://e.example/b/*', 'https://e.example/b/../secret'],
    ['https://e.example/b/*', 'https://e.example/b/%2e%2e/secret'],
    ['https://e.example/b/*', 'https://e.example\\b\\..\\secret'],
    // URLs with credentials, and URLs that are not of the web.
    ['https://e.example', 'https://user:password@e.example/'],
    ['https://e.example', 'javascript:alert(1)//https://e.example/'],
    ['https://e.example', `https://e.example/${'x'.repeat(2_048)}`],
    ['https://e.example', 'e.example'],
  ])('%s: not %s', (pattern, url) => expect(covers(pattern, url)).toBe(false));
});

test.each([
  'https://*/b',
  'https://*.com',
  'https://e*.example/',
  'https://a.*.example/',
  'https://e.example:*/',
  'https://user@e.example/',
  'https://e.example/a b',
  'ftp://e.example/',
  'https://',
  'https://%2a/',
  'https://%2a.com/',
  'https://*%2ecom/',
  'https://e.example:99999/',
  `https://e.example/${'*a'.repeat(9)}`,
])('%s is not a pattern', (text) => {
  expect(readUnfurlPattern(text)).toBeUndefined();
  expect(unfurlPatternFault(text)).toMatch(/^must be /);
});

test('the more specific pattern comes first', () => {
  const texts = [
    'https://e.example/boards/*/cards',
    'https://e.example/boards/*',
    'https://e.example',
    'https://*.e.example/boards/',
    'https://*.e.example',
  ];
  const read = texts.flatMap((text) => readUnfurlPattern(text) ?? []);
  expect(read.toReversed().sort(bySpecificity)).toEqual(read);
});

test('attack: a pattern and a URL made for a long search are compared in little time', () => {
  const literal = 'a'.repeat(50);
  const pattern = readUnfurlPattern(`https://e.example/${`*${literal}b`.repeat(8)}`);
  const url = unfurledUrl(`https://e.example/${'a'.repeat(2_000)}`);
  if (pattern === undefined || url === undefined) throw new Error('Both are what they should be.');
  const began = process.cpuUsage();
  for (let at = 0; at < 100; at += 1) expect(coversUrl(pattern, urlParts(url))).toBe(false);
  expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
});
