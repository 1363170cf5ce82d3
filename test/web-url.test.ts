/** URL and URLSearchParams inside an isolate, against the data of web-platform-tests. */
import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from './support/web-isolate.ts';

const WPT = new URL('../../shared/wpt/', import.meta.url);
const available = existsSync(WPT);
if (!available) console.warn(`SKIPPED: the data of web-platform-tests is not at ${WPT.pathname}`);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, WPT), 'utf8'));

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate({ memoryMib: 128 });
});
afterAll(() => isolate.dispose());

/** Wrong in whatwg-url 16.0.1: it reads a user name by code units but counts its length in characters. */
const KNOWN_WRONG = ['http://😀x@host/', 'http://a:😀x@host/'];

interface ParseCase {
  input: string;
  base: string | null;
  failure?: true;
  href?: string;
}

describe.skipIf(!available)('web-platform-tests', () => {
  test('every URL of urltestdata.json parses as the standard says', async () => {
    const cases = (read('urltestdata.json') as (string | ParseCase)[]).filter(
      (entry) => typeof entry !== 'string',
    );
    const wrong = await isolate.run(`
      const members = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname',
        'search', 'hash'];
      const wrong = [];
      for (const entry of ${JSON.stringify(cases)}) {
        const url = URL.parse(entry.input, entry.base ?? undefined);
        if (entry.failure) {
          if (url !== null) wrong.push([entry.input, 'parsed', url.href]);
          continue;
        }
        if (url === null) wrong.push([entry.input, entry.base, 'failed']);
        else for (const member of members) {
          if (member in entry && url[member] !== entry[member]) wrong.push([entry.input, member, url[member], entry[member]]);
        }
      }
      return wrong;`);
    expect([...new Set((wrong as string[][]).map(([input]) => input))]).toEqual(KNOWN_WRONG);
    expect(cases.length).toBeGreaterThan(500);
  });

  test('the shortcut for URLs that need no parsing agrees with the parser of Node', async () => {
    const data = (read('urltestdata.json') as (string | ParseCase)[]).flatMap((entry) =>
      typeof entry === 'string' ? [] : [entry.input, entry.href ?? entry.input],
    );
    const paths = [
      '',
      '/',
      '/a',
      '/a/',
      '//',
      '/a//b',
      '/.',
      '/a/..',
      '/..a',
      '/a.b',
      '/%2e',
      '/%2E%2e/',
      '/a%2e',
      '/a b',
      '/ü',
      '/a|b',
    ];
    const hosts = [
      'a',
      'a.b-c.example',
      'xn--a',
      'a.xn--9ca',
      '1.2',
      '127.0.0.1',
      'a.1',
      'a.0x',
      'a.b1',
      'A.b',
      'a..b',
      '-a',
      'a_b',
    ];
    const rests = [
      '',
      ':80',
      ':443',
      ':8080',
      ':65535',
      ':59999',
      ':0808',
      '?',
      '?a=b',
      "?a'b",
      '?ü',
      '#',
      '#a',
    ];
    const inputs = data.concat(
      hosts.flatMap((host) =>
        paths.flatMap((path) => [`http://${host}${path}`, `https://${host}:8080${path}?q#f`]),
      ),
      rests.flatMap((rest) => [
        `https://a.example${rest}`,
        `http://a.example/x${rest}`,
        `http://a.example${rest}/x`,
      ]),
    );
    const members = ['href', 'origin', 'host', 'port', 'pathname', 'search', 'hash'] as const;
    const expected = inputs.map((input) => {
      const url = URL.parse(input);
      const request = url === null || url.username !== '' || url.password !== '' ? 'TypeError' : url.href;
      return [request, url && members.map((member) => url[member])];
    });
    const actual = (await isolate.run(`return ${JSON.stringify(inputs)}.map((input) => {
      const url = URL.parse(input);
      let request;
      try { request = new Request(input).url; } catch (error) { request = error.name; }
      return [request, url && ${JSON.stringify(members)}.map((member) => url[member])];
    })`)) as unknown[];
    const wrong = inputs.filter(
      (input, i) => !KNOWN_WRONG.includes(input) && !isDeepStrictEqual(actual[i], expected[i]),
    );
    expect(wrong).toEqual([]);
  });

  test('every setter of setters_tests.json does what the standard says', async () => {
    const wrong = await isolate.run(`
      const wrong = [];
      for (const [setter, cases] of Object.entries(${JSON.stringify(read('setters_tests.json'))})) {
        if (setter === 'comment') continue;
        for (const { href, new_value, expected } of cases) {
          const url = new URL(href);
          url[setter] = new_value;
          for (const [member, value] of Object.entries(expected)) {
            if (url[member] !== value) wrong.push([href, setter, new_value, member, url[member], value]);
          }
        }
      }
      return wrong;`);
    expect(wrong).toEqual([]);
  });
});

test('a domain that is not ASCII, or claims to be encoded, is converted by the host', async () => {
  expect(
    await isolate.run(`return ['http://é.example', 'http://XN--9CA.example', 'http://日本語.jp/x']
    .map((url) => new URL(url).hostname)`),
  ).toEqual(['xn--9ca.example', 'xn--9ca.example', 'xn--wgv71a119e.jp']);
});

test('a domain with a character that the host would read as syntax never reaches it', async () => {
  expect(
    await isolate.run(`return ['http://é%2541.com', 'http://é%2Fevil.com', 'http://é%3A80', 'http://xn--a%40b']
    .map((url) => URL.canParse(url))`),
  ).toEqual([false, false, false, false]);
});

test('URLSearchParams and its URL follow each other', async () => {
  expect(
    await isolate.run(`
    const url = new URL('https://a.example/?x=1&y=a+b');
    url.searchParams.append('z', 'ü&=');
    const href = url.href;
    url.search = '?q=%F0%9F%98%80';
    return [href, [...url.searchParams], url.searchParams.size, String(new URLSearchParams({ a: '1', b: ' ' }))];`),
  ).toEqual(['https://a.example/?x=1&y=a+b&z=%C3%BC%26%3D', [['q', '😀']], 1, 'a=1&b=+']);
});
