/** URL and URLSearchParams inside an isolate, against the data of web-platform-tests. */
import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

const WPT = new URL('../../../../../shared/wpt/', import.meta.url);
const available = existsSync(WPT);
if (!available) console.warn(`SKIPPED: the data of web-platform-tests is not at ${WPT.pathname}`);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, WPT), 'utf8'));

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate({ memoryMib: 128 });
});
afterAll(() => isolate.dispose());

interface ParseCase {
  input: string;
  base: string | null;
  failure?: true;
  href?: string;
}

describe.skipIf(!available)('web-platform-tests', () => {
  test('every URL of urltestdata.json parses as in the standard', async () => {
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
    expect(wrong).toEqual([]);
    expect(cases.length).toBeGreaterThan(500);
  });

  test('queries and fragments of percent-encoding.json are encoded as UTF-8', async () => {
    const cases = (
      read('percent-encoding.json') as (string | { input: string; output: Record<string, string> })[]
    ).flatMap((entry) => (typeof entry === 'string' ? [] : [[entry.input, entry.output['utf-8']]]));
    const wrong = await isolate.run(`
      return ${JSON.stringify(cases)}.filter(([input, expected]) => {
        const url = new URL('https://doesnotmatter.invalid/?' + input + '#' + input);
        return url.search !== '?' + expected || url.hash !== '#' + expected;
      });`);
    expect(wrong).toEqual([]);
    expect(cases.length).toBeGreaterThan(5);
  });

  test('the fast path for plain URLs agrees with the parser of Node', async () => {
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
    const wrong = inputs.filter((_input, i) => !isDeepStrictEqual(actual[i], expected[i]));
    expect(wrong).toEqual([]);
  });

  test('every setter of setters_tests.json behaves as in the standard', async () => {
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

test('a domain that is not ASCII, or has a Punycode label, is converted by the cell', async () => {
  expect(
    await isolate.run(`return ['http://é.example', 'http://XN--9CA.example', 'http://日本語.jp/x']
    .map((url) => new URL(url).hostname)`),
  ).toEqual(['xn--9ca.example', 'xn--9ca.example', 'xn--wgv71a119e.jp']);
});

test('attack: a domain with a character that the cell would read as syntax never reaches it', async () => {
  expect(
    await isolate.run(`return ['http://é%2541.com', 'http://é%2Fevil.com', 'http://é%3A80', 'http://xn--a%40b']
    .map((url) => URL.canParse(url))`),
  ).toEqual([false, false, false, false]);
});

test('forbidden characters are checked after the mapping: one that became part of another is allowed', async () => {
  expect(
    await isolate.run(`
      const hostOf = (host) => URL.parse('http://' + host + '/')?.hostname ?? null;
      // "<", ">" and "=" with a long solidus overlay are the signs for "not less", "not greater"
      // and "not equal".
      return ['<\u0338', '>\u0338', '=\u0338', '<\u00fc', '\u00fc>', '<', 'a\uff1cb', 'a\uff0fb', '%3C%CC%B8'].map(hostOf);`),
  ).toEqual(['xn--gdh', 'xn--hdh', 'xn--1ch', null, null, null, null, null, 'xn--gdh']);
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

test('an astral character is escaped before the host, and stays itself to a base URL', async () => {
  expect(
    await isolate.run(`
      return [new URL('http://😀:😀@host/').href, new URL('//a😀@b/', 'http://host/').username, new URL('ws://😀@host/😀?😀#😀').href,
        new URL('x://😀@😀/').host, new URL('😀:a@b', 'http://host/').href, new URL('x:😀@').href];`),
  ).toEqual([
    'http://%F0%9F%98%80:%F0%9F%98%80@host/',
    'a%F0%9F%98%80',
    'ws://%F0%9F%98%80@host/%F0%9F%98%80?%F0%9F%98%80#%F0%9F%98%80',
    '%F0%9F%98%80',
    'http://host/%F0%9F%98%80:a@b',
    'x:%F0%9F%98%80@',
  ]);
});

test('URL.parse and URL.canParse convert their arguments as the constructor does', async () => {
  expect(
    await isolate.run(`
      const attempt = (run) => { try { return run(); } catch (error) { return error.name; } };
      const pairs = [[undefined, undefined], ['aaa:b', undefined], [undefined, 'aaa:b'], ['aaa:/b', undefined], [undefined, 'aaa:/b'], ['https://test:test', undefined],
        ['a', 'https://b/'], [undefined, 'https://test:test/'], ['c:b', undefined], ['https://a', 'no base'], [{ toString: () => 'x:y' }, undefined]];
      const agree = pairs.filter(([url, base]) => {
        const made = attempt(() => new URL(url, base).href);
        return URL.canParse(url, base) !== (made !== 'TypeError') || (URL.parse(url, base)?.href ?? 'TypeError') !== made;
      });
      return [agree, pairs.map(([url, base]) => URL.canParse(url, base)), attempt(() => URL.parse()), attempt(() => URL.canParse()), attempt(() => URL.parse(Symbol())),
        attempt(() => URL('https://a')), URL.parse('https://a') !== URL.parse('https://a'), URL.length, URL.parse.length, URL.canParse.length, 'domainToASCII' in URL];`),
  ).toEqual([
    [],
    [false, true, false, true, true, false, true, false, true, false, true],
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    true,
    1,
    1,
    1,
    false,
  ]);
});

test('setters drop tabs and line breaks, but for user name and password', async () => {
  expect(
    await isolate.run(`
      const wrong = [];
      const at = (text, char) => [char + text, text.slice(0, 2) + char + text.slice(2), text + char];
      for (const scheme of ['https', 'wpt++']) for (const char of ['\\0', '\\t', '\\n', '\\r', '\\x1f']) {
        const stripped = '\\t\\n\\r'.includes(char);
        const check = (property, input, expected) => {
          const url = new URL(scheme + '://username:password@host:8000/path?query#fragment');
          url[property] = input;
          if (url[property] !== expected) wrong.push([scheme, property, input, url[property], expected]);
        };
        const other = scheme === 'https' ? 'http' : 'wpt--';
        for (const input of [char + other, other + char]) check('protocol', input, (stripped ? other : scheme) + ':');
        for (const input of at('test', char)) {
          const encoded = input.replace(char, encodeURIComponent(char));
          check('username', input, encoded);
          check('password', input, encoded);
          const refused = char === '\\0' || (scheme === 'https' && !stripped);
          check('hostname', input, refused ? 'host' : stripped ? 'test' : encoded);
          check('host', input, (refused ? 'host' : stripped ? 'test' : encoded) + ':8000');
          for (const [property, sign] of [['pathname', '/'], ['search', '?'], ['hash', '#']]) check(property, input, sign + (stripped ? 'test' : encoded));
        }
        check('port', char + '9000', stripped ? '9000' : '8000');
        check('port', '90' + char + '00', stripped ? '9000' : '90');
        check('port', '9000' + char, '9000');
      }
      return wrong;`),
  ).toEqual([]);
});

test('URLSearchParams is made from text, pairs, or the keys of an object', async () => {
  expect(
    await isolate.run(`
      const made = (init) => { try { return [...new URLSearchParams(init)]; } catch (error) { return error.name; } };
      const seed = new URLSearchParams('a=b');
      const custom = new URLSearchParams('a=b');
      custom[Symbol.iterator] = function* () { yield ['c', 'd']; };
      const [first] = [new URLSearchParams(seed)]; seed.append('e', 'f');
      return [made(undefined), made(null), made(''), made('?a=b'), made('??a'), made(5), made({}), made([]), made([['a', 'b'], new Set(['c', 'd'])]), made([[1]]), made([[1, 2, 3]]), made(['ab']),
        made([1]), made({ [Symbol.iterator]: 1 }), made({ [Symbol('s')]: 1 }), made(Symbol()), made({ '\\uD835x': '1', xx: '2', '\\uD83Dx': '3' }), made({ c: 'x', a: null }), made(custom),
        made(DOMException).length, made(DOMException.prototype), [...first], made(Object.defineProperty({}, 'hidden', { value: 1 })), made(new Map([['a', 1]])),
        made('&a&&& &&&&&a+b=& c&m%c3%b8'), made('b=%2sf%2a'), made('b=%%2a'), made('a=b\\0c%00'), made('%FF=%F0%9F%92%A9')];`),
  ).toEqual([
    [],
    [['null', '']],
    [],
    [['a', 'b']],
    [['?a', '']],
    [['5', '']],
    [],
    [],
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    [
      ['\ufffdx', '3'],
      ['xx', '2'],
    ],
    [
      ['c', 'x'],
      ['a', 'null'],
    ],
    [['c', 'd']],
    25,
    'TypeError',
    [['a', 'b']],
    [],
    [['a', '1']],
    [
      ['a', ''],
      [' ', ''],
      ['a b', ''],
      [' c', ''],
      ['mø', ''],
    ],
    [['b', '%2sf*']],
    [['b', '%*']],
    [['a', 'b\0c\0']],
    [['\ufffd', '💩']],
  ]);
});

test('URLSearchParams counts, finds, deletes by value, sorts and serialises as in the standard', async () => {
  expect(
    await isolate.run(`
      const params = new URLSearchParams('a=1&b=2&a=3&a=1&undefined=u');
      const before = [params.size, params.has('a', '1'), params.has('a', '2'), params.has('a', undefined), params.has('c'), params.get('c'), params.getAll('a'), params.has(undefined)];
      params.delete('a', '1'); const one = String(params);
      params.delete('a', undefined); const two = String(params);
      params.set('b', 'x'); params.append('b', 'y'); params.set('b', 'z'); const three = String(params);
      const sorted = ['z=b&a=b&z=a&a=a', '\\uFFFD=x&\\uFFFC&\\uFFFD=a', 'ﬃ&🌈', 'bbb&bb&aaa&aa=x&aa=y', 'z=z&=f&=t&=x']
        .map((text) => { const sorting = new URLSearchParams(text); sorting.sort(); return [...sorting].map((pair) => pair.join('=')); });
      const written = new URLSearchParams([['a b', "*-._~!'()"], ['é', '\\n\\r💩'], ['', '+%&='], ['\\uD800', '']]);
      return [before, one, two, three, sorted, String(written)];`),
  ).toEqual([
    [5, true, false, true, false, null, ['1', '3', '1'], true],
    'b=2&a=3&undefined=u',
    'b=2&undefined=u',
    'b=z&undefined=u',
    [
      ['a=b', 'a=a', 'z=b', 'z=a'],
      ['\ufffc=', '\ufffd=x', '\ufffd=a'],
      ['🌈=', 'ﬃ='],
      ['aa=x', 'aa=y', 'aaa=', 'bb=', 'bbb='],
      ['=f', '=t', '=x', 'z=z'],
    ],
    'a+b=*-._%7E%21%27%28%29&%C3%A9=%0A%0D%F0%9F%92%A9&=%2B%25%26%3D&%EF%BF%BD=',
  ]);
});

test('a query without parameters loses its question mark, and iteration sees changes', async () => {
  expect(
    await isolate.run(`
      const emptied = ['sort', 'delete'].map((method) => { const url = new URL('http://example.com/?'); url.searchParams[method]('a'); return url.href; });
      const deleting = new URL('http://a.b/?p0=0&p1=1&p2=2').searchParams; const seen = [];
      for (const [name] of deleting) { seen.push(name); deleting.delete(name); }
      const url = new URL('http://a.b/c?a=1&b=2&c=3&d=4'); const found = [];
      for (const pair of url.searchParams) { url.search = 'x=1&y=2&z=3'; found.push(pair.join('')); }
      const same = new URL('http://a.b/file?a=b'); const { searchParams } = same;
      same.href = 'http://a.b/file??c=d';
      let refused; try { (() => { 'use strict'; same.searchParams = 1; })(); } catch (error) { refused = error.name; }
      return [emptied, seen, String(deleting), found, same.searchParams === searchParams, String(searchParams), refused];`),
  ).toEqual([
    ['http://example.com/', 'http://example.com/'],
    ['p0', 'p2'],
    'p1=1',
    ['a1', 'y2', 'z3'],
    true,
    '%3Fc=d',
    'TypeError',
  ]);
});

test('URL and URLSearchParams have the shape of interfaces', async () => {
  expect(
    await isolate.run(`
      const shape = ({ prototype }) => Object.keys(prototype).sort().map((name) => {
        const { get, set, value } = Object.getOwnPropertyDescriptor(prototype, name);
        let refused; try { Reflect.apply(get ?? value, {}, ['a', 'b']); } catch (error) { refused = error instanceof TypeError; }
        return name + (value ? value.length : set ? ' rw' : '') + (refused ? '' : ' unbranded');
      }).join();
      const { prototype } = URLSearchParams;
      const iterator = new URLSearchParams('a=b').entries();
      return [shape(URL), shape(URLSearchParams), prototype[Symbol.iterator] === prototype.entries, String(new URLSearchParams().keys()), Object.keys(Object.getPrototypeOf(iterator)),
        String(Object.prototype.toString.call(new URL('x:y'))), URLSearchParams.length, JSON.stringify(new URL('https://a'))];`),
  ).toEqual([
    'hash rw,host rw,hostname rw,href rw,origin,password rw,pathname rw,port rw,protocol rw,search rw,searchParams,toJSON0,toString0,username rw',
    'append2,delete1,entries0,forEach1,get1,getAll1,has1,keys0,set2,size,sort0,toString0,values0',
    true,
    '[object URLSearchParams Iterator]',
    ['next'],
    '[object URL]',
    0,
    '"https://a/"',
  ]);
});
