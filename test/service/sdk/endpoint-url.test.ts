/** The URL utilities of the SDK, with hostile URLs (docs/contract/runtime.md#url-utilities). */
import { describe, expect, test } from 'vitest';
import {
  type Environment,
  ExposableError,
  endpointPath,
  endpointURL,
  readQuery,
  resolveInEndpoint,
  safeRedirect,
  withQuery,
} from '../../../sandbox/sdk/index.ts';
import { startTestService } from '../../support/service.ts';

const environmentAt = (publicEndpoint: string) =>
  ({ integration: { urls: { publicEndpoint } } }) as unknown as Environment;
const SHARED = environmentAt('https://apps.example.com/key');
const OWN = environmentAt('https://key.apps.example.com');

/** Ways out of an endpoint, as browsers read URLs. */
const WAYS_OUT = [
  ...[
    '//evil.example',
    '///evil.example',
    '\\\\evil.example',
    '/\\evil.example',
    '\\/evil.example',
    '/\t/evil.example',
  ],
  ...[
    'https://evil.example',
    'https:\\\\evil.example',
    'HTTPS://EVIL.EXAMPLE',
    '\thttps://evil.example',
    'ht\ntps://evil.example',
  ],
  ...[
    'http://apps.example.com/key',
    'https://apps.example.com:8443/key/',
    'https://apps.example.com.evil.example/key',
  ],
  ...[
    'https://apps.example.com@evil.example/key',
    'https://user:pass@apps.example.com/key/',
    '//apps.example.com\\@evil.example',
  ],
  ...[
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    '\u0001javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
  ],
  ...[
    'blob:https://apps.example.com/key',
    'file:///etc/passwd',
    'ftp://apps.example.com/key/',
    'mailto:a@b.c',
  ],
  ...[
    '..',
    '../other',
    './../other',
    'a/../../other',
    '%2e%2e/other',
    '.%2E/other',
    '..\\other',
    'a\\..\\..\\other',
  ],
  ...['/other', '/key-of-another', '/key%2f..%2fother/../..', 'https://[', 'http://'],
];

describe('endpointURL', () => {
  test.each([
    ['', 'https://apps.example.com/key', 'https://key.apps.example.com/'],
    ['/', 'https://apps.example.com/key/', 'https://key.apps.example.com/'],
    ['oauth', 'https://apps.example.com/key/oauth', 'https://key.apps.example.com/oauth'],
    ['/oauth', 'https://apps.example.com/key/oauth', 'https://key.apps.example.com/oauth'],
    ['/a/./b/../c', 'https://apps.example.com/key/a/c', 'https://key.apps.example.com/a/c'],
    [
      'a b/ü?q=1#top',
      'https://apps.example.com/key/a%20b/%C3%BC?q=1#top',
      'https://key.apps.example.com/a%20b/%C3%BC?q=1#top',
    ],
    [
      '//evil.example/x',
      'https://apps.example.com/key/evil.example/x',
      'https://key.apps.example.com/evil.example/x',
    ],
    [
      '\\\\evil.example',
      'https://apps.example.com/key/evil.example',
      'https://key.apps.example.com/evil.example',
    ],
    [
      'javascript:alert(1)',
      'https://apps.example.com/key/javascript:alert(1)',
      'https://key.apps.example.com/javascript:alert(1)',
    ],
  ])('joins %j below the endpoint', (path, shared, own) => {
    expect([endpointURL(SHARED, path), endpointURL(OWN, path)]).toEqual([shared, own]);
  });

  test('takes a query', () => {
    const query = { a: 'x y', b: ['1', '2'], c: null };
    expect(endpointURL(SHARED, '/list?c=3', query)).toBe('https://apps.example.com/key/list?a=x%20y&b=1&b=2');
  });

  test.each(['..', '../other', 'a/../../other', '%2e%2e/other', '..\\other', '/../key-of-another', './..'])(
    'refuses %j, which leads out',
    (path) => {
      expect(() => endpointURL(SHARED, path)).toThrow(TypeError);
    },
  );

  test('never leaves the endpoint, whatever the path', () => {
    for (const path of WAYS_OUT) {
      for (const environment of [SHARED, OWN]) {
        let url = '';
        try {
          url = endpointURL(environment, path);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          continue;
        }
        expect(`${url}/`.startsWith(`${environment.integration.urls.publicEndpoint}/`), path).toBe(true);
      }
    }
  });
});

describe('resolveInEndpoint', () => {
  const from = 'https://apps.example.com/key/docs/guide?x=1';
  test.each([
    ['image.png', 'https://apps.example.com/key/docs/image.png'],
    ['../logo.png', 'https://apps.example.com/key/logo.png'],
    ['/key/logo.png', 'https://apps.example.com/key/logo.png'],
    ['https://apps.example.com/key', 'https://apps.example.com/key'],
    ['?y=2', 'https://apps.example.com/key/docs/guide?y=2'],
    ['#top', 'https://apps.example.com/key/docs/guide?x=1#top'],
  ])('resolves %j against the document it was found in', (reference, expected) => {
    expect(resolveInEndpoint(SHARED, reference, from)).toBe(expected);
  });

  test.each(WAYS_OUT)('is undefined for %j', (reference) => {
    expect(resolveInEndpoint(SHARED, reference)).toBeUndefined();
  });

  test('is undefined for documents elsewhere', () => {
    for (const elsewhere of ['https://evil.example/', 'https://apps.example.com/other/', 'none://'])
      expect(resolveInEndpoint(SHARED, 'a', elsewhere)).toBeUndefined();
    expect(resolveInEndpoint(OWN, '/anything')).toBe('https://key.apps.example.com/anything');
  });
});

test.each([
  ['https://apps.example.com/key', '/'],
  ['https://apps.example.com/key/', '/'],
  ['https://apps.example.com/key?code=1', '/'],
  ['https://apps.example.com/key/oauth?code=1#x', '/oauth'],
  ['https://apps.example.com/key/a%2Fb/', '/a%2Fb/'],
  ['https://apps.example.com/key-of-another/oauth', undefined],
  ['https://apps.example.com/other', undefined],
  ['https://evil.example/key/oauth', undefined],
])('endpointPath of %s is %s', (url, path) => {
  expect(endpointPath(SHARED, url)).toBe(path);
  if (path === '/oauth') expect(endpointPath(OWN, 'https://key.apps.example.com/oauth')).toBe(path);
});

describe('queries', () => {
  test('are read: the first of each name, decoded, and no name is special', () => {
    const query = readQuery('/x?a=1&a=2&b=x+y%20z&empty&__proto__=p&constructor=c&bad=%zz#?a=3');
    expect({ ...query }).toEqual({
      ...{ a: '1', b: 'x y z', empty: '', constructor: 'c', bad: '%zz' },
      ['__proto__']: 'p',
    });
    expect(query['toString']).toBeUndefined();
    expect({ ...readQuery('https://e.example/') }).toEqual({});
  });

  test.each([
    ['/list', { page: 2 }, '/list?page=2'],
    ['/list?page=1&q=a#top', { page: 2, q: null }, '/list?page=2#top'],
    ['/list?page=1&page=9&q=a', { page: 2 }, '/list?page=2&q=a'],
    [
      '/list?q=a',
      { tag: ['x', 'y'], n: 0, on: false, none: undefined },
      '/list?q=a&tag=x&tag=y&n=0&on=false',
    ],
    ['/list?tag=a', { tag: [] }, '/list'],
    ['https://e.example?a=1', { b: '&=#?/ ü+' }, 'https://e.example?a=1&b=%26%3D%23%3F%2F%20%C3%BC%2B'],
    ['', { a: '1' }, '?a=1'],
    ['#x?y=1', { a: '1' }, '?a=1#x?y=1'],
    [
      '/list?a=1',
      { next: 'https://e.example/?b=2#c' },
      '/list?a=1&next=https%3A%2F%2Fe.example%2F%3Fb%3D2%23c',
    ],
  ])('are merged: %s with %j', (url, changes, expected) => {
    expect(withQuery(url, changes)).toBe(expected);
  });
});

describe('safeRedirect', () => {
  const locationOf = (to: string, options?: Parameters<typeof safeRedirect>[2]) =>
    safeRedirect(SHARED, to, options).headers.get('location');

  test('redirects below the endpoint, and to allowed origins', () => {
    const response = safeRedirect(SHARED, 'done?x=1');
    expect({ status: response.status, location: response.headers.get('location') }).toEqual({
      ...{ status: 302, location: 'https://apps.example.com/key/done?x=1' },
    });
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(safeRedirect(SHARED, '.', { status: 303 }).status).toBe(303);
    expect(locationOf('/key/done')).toBe('https://apps.example.com/key/done');
    const allow = ['https://app.example.com', 'http://localhost:3000'];
    expect(locationOf('https://app.example.com/a?b#c', { allow })).toBe('https://app.example.com/a?b#c');
    expect(locationOf('//app.example.com', { allow })).toBe('https://app.example.com/');
    expect(locationOf('http://localhost:3000/x', { allow })).toBe('http://localhost:3000/x');
  });

  test.each(WAYS_OUT)('refuses %j', (to) => {
    for (const options of [{}, { allow: ['https://app.example.com'] }])
      expect(() => safeRedirect(SHARED, to, options)).toThrow(ExposableError);
  });

  test.each([
    'https://app.example.com.evil.example',
    'https://app.example.com:444',
    'http://app.example.com',
    'https://app.example.com@evil.example',
    'https://evil.example/https://app.example.com',
  ])('takes an origin for itself alone: not %s', (to) => {
    expect(() => safeRedirect(SHARED, to, { allow: ['https://app.example.com'] })).toThrow(ExposableError);
  });

  test('names the member of allow that is not an origin', () => {
    for (const origin of ['app.example.com', 'https://app.example.com/path', '*', 'javascript:'])
      expect(() => safeRedirect(SHARED, 'https://app.example.com', { allow: [origin] })).toThrow(
        /not an origin/,
      );
  });
});

test('in an isolate, which has another URL parser, the same ways out are refused', async () => {
  const annex = await startTestService();
  const { endpoint } = await annex.deploy(
    'urls',
    `import { createIntegration, resolveInEndpoint, safeRedirect } from '@annex/sdk';
    const goes = (environment, to) => {
      try { return safeRedirect(environment, to).headers.get('location'); } catch { return null; }
    };
    export default createIntegration({
      async fetch(request, { environment }) {
        const references = await request.json();
        return Response.json(references.map((to) => [goes(environment, to), resolveInEndpoint(environment, to) ?? null]));
      },
    });`,
  );
  const references = [...WAYS_OUT, 'page?x=1'];
  const answer = await fetch(endpoint, { method: 'POST', body: JSON.stringify(references) });
  const page = `${endpoint}/page?x=1`;
  expect(await answer.json()).toEqual([...WAYS_OUT.map(() => [null, null]), [page, page]]);
});
