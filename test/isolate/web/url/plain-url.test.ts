/**
 * The fast path for plain URLs compared with the reference implementation of the standard: the same
 * results, also after a setter.
 */
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

/** The library has no types; its class has the interface of Node's. */
const { URL: Reference } = createRequire(import.meta.url)('whatwg-url') as { URL: typeof URL };

const MEMBERS = [
  'href',
  'origin',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;
const SETTERS = [
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;

/** Pieces of URLs: those of the fast path, and those just outside of it. */
const PIECES = [
  ...['https://', 'http://', 'https:/', 'HTTP://', 'ftp://', 'file:///', '//', 'https:', 'mailto:'],
  ...[
    'a',
    'api.example.com',
    '.xn--9ca/',
    'A.b',
    'a..b',
    '-a',
    'a_b',
    'a.',
    '1.2',
    'a.1',
    '0x7f',
    'localhost',
  ],
  ...[
    '127.0.0.1',
    '127.0.0.1.',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3',
    '255.255.255.255',
    '[::1]',
    '1.2.3.4.5',
    '4294967295',
    '1.2.3.4a',
    '.12.34.56',
    'a.b.c.d.e.f.g.h.i.j.k',
    'a'.repeat(64),
  ],
  ...[':80', ':443', ':8080', ':65535', ':65536', ':0808', ':59999', ':', ':x', '@', 'user:pass@'],
  ...[
    '/',
    '//',
    '/.',
    '/..',
    '/./',
    '/../',
    '/...',
    '/.a',
    '/a.',
    '/%2e',
    '/%2E%2e/',
    '/.%2e',
    '/%2ea',
    '/a%2e',
    '/.well-known',
  ],
  ...[
    '/a b',
    '/a|b',
    '/a^b',
    '/a[b]',
    '/a{b}',
    '/a`b',
    "/a'b",
    '/a"b',
    '/a<b>',
    '/%zz',
    '/ü',
    '/\u{1f600}',
    '/a\\b',
    '/~!$&()*+,;=:@-_',
  ],
  ...[
    '?',
    '??',
    '?a=b&c=d',
    "?a'b",
    '?a"b',
    '?<',
    '?ü',
    '?a b',
    '?[]{}|^`\\',
    '?%41',
    '?a?b/c',
    '#',
    '#a',
    '#a`b',
    '#"',
    '#<',
    '#ü',
    '#a#b',
    '#{}|^\\',
  ],
  ...['\t', '\n', ' ', '\0', '\x7f', '\u00ad', '\ud800', '%', 'b', '9', 'Z'],
];

/** A seeded generator, so that a failed run can be repeated. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function texts(count: number, seed: number): string[] {
  const random = chance(seed);
  const piece = () => PIECES[random(PIECES.length)] as string;
  return Array.from({ length: count }, () => {
    const start =
      random(3) > 0 ? `http${random(2) > 0 ? 's' : ''}://${random(2) > 0 ? 'a.example' : ''}` : '';
    return start + Array.from({ length: random(6) }, piece).join('');
  });
}

const members = (url: URL | null) => url && MEMBERS.map((member) => url[member]);

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate({ memoryMib: 128 });
});
afterAll(() => isolate.dispose());

const HELPERS = `const members = (url) => url && ${JSON.stringify(MEMBERS)}.map((member) => url[member]);`;

test('12,000 texts made of pieces of URLs parse as by the reference implementation', async () => {
  const inputs = texts(12_000, 1);
  const results = (await isolate.run(
    `${HELPERS} return ${JSON.stringify(inputs)}.map((text) => members(URL.parse(text)));`,
  )) as unknown[];
  const wrong = inputs.flatMap((text, i) => {
    const expected = JSON.stringify(members(Reference.parse(text)));
    return JSON.stringify(results[i]) === expected ? [] : [[text, results[i], expected]];
  });
  expect(wrong).toEqual([]);
  expect(results.filter((result) => result !== null).length).toBeGreaterThan(2_000);
});

test('so do 8,000 of them beside a base', async () => {
  const inputs = texts(8_000, 2);
  const bases = [
    'https://a.example/x/y?q#f',
    'http://user:p@127.0.0.1:8080',
    'https://a.example',
    'mailto:x',
    'file:///c',
    'ftp://b/',
    'nothing',
  ];
  const pairs = inputs.map((text, i) => [text, bases[i % bases.length] as string] as const);
  const results = (await isolate.run(
    `${HELPERS} return ${JSON.stringify(pairs)}.map(([text, base]) => members(URL.parse(text, base)));`,
  )) as unknown[];
  const wrong = pairs.flatMap(([text, base], i) => {
    const expected = JSON.stringify(members(Reference.parse(text, base)));
    return JSON.stringify(results[i]) === expected ? [] : [[text, base, results[i], expected]];
  });
  expect(wrong).toEqual([]);
});

test('a setter has the same effect on a plain URL as on one that was parsed in full', async () => {
  const random = chance(3);
  const plain = [
    'https://a.example/x/y?q=1#f',
    'http://127.0.0.1:8080/a',
    'https://a.example',
    'http://a.b/.well-known/x?',
  ];
  const changes = Array.from(
    { length: 6_000 },
    () =>
      [
        plain[random(plain.length)] as string,
        SETTERS[random(SETTERS.length)] as (typeof SETTERS)[number],
        PIECES[random(PIECES.length)] as string,
      ] as const,
  );
  const results = (await isolate.run(
    `${HELPERS} return ${JSON.stringify(changes)}.map(([text, member, value]) => { const url = new URL(text); url[member] = value; return members(url); });`,
  )) as unknown[];
  const wrong = changes.flatMap((change, i) => {
    const [text, member, value] = change;
    const url = new Reference(text);
    url[member] = value;
    const expected = JSON.stringify(members(url));
    return JSON.stringify(results[i]) === expected ? [] : [[...change, results[i], expected]];
  });
  expect(wrong).toEqual([]);
});

test('attack: replaced built-ins do not change how a plain URL is parsed', async () => {
  const own = await createWebIsolate();
  try {
    expect(
      await own.run(`
        const evil = () => 'evil';
        for (const key of ['split', 'slice', 'indexOf', 'replace', 'match', 'charCodeAt']) String.prototype[key] = evil;
        for (const key of ['exec', 'test']) RegExp.prototype[key] = evil;
        Object.defineProperty(Object.prototype, 'path', { set() { throw new Error('seen'); }, configurable: true });
        for (let i = 0; i < 8; i++) Object.defineProperty(Array.prototype, i, { set() { throw new Error('seen'); }, configurable: true });
        const url = new URL('https://api.example.com:8080/v1/x?q=1#f');
        const relative = new URL('/v2?r', 'https://127.0.0.1/x');
        return [url.host, url.port, url.search, url.hash, relative.host, relative.search, URL.canParse('http://1.2.3.256/')];`),
    ).toEqual(['api.example.com:8080', '8080', '?q=1', '#f', '127.0.0.1', '?r', false]);
  } finally {
    own.dispose();
  }
});
