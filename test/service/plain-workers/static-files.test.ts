/**
 * Static files of a worker in a real service (docs/contract/plain-workers.md#static-files): what a
 * path means, headers, ranges, rules, and what a site cannot do to others.
 */
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

const WORKER = `export default { async fetch(request, env) {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith('/asset/')) return env.ASSETS.fetch(new URL(pathname.slice(6), request.url));
  return new Response('worker ' + pathname);
} };`;
const FILES = {
  'public/index.html': '<h1>Home</h1>',
  'public/about.html': 'About',
  'public/docs/index.html': 'Docs',
  'public/docs/404.html': 'No such page of the docs',
  'public/404.html': 'No such page',
  'public/app.3f2a1b9c.js': 'app()',
  'public/data.txt': '0123456789',
  'public/empty.css': '',
  'public/.env': 'SECRET=1',
  'public/.well-known/security.txt': 'mail',
  'public/api/shadowed': 'a file',
  'public/_redirects': `
# comment
/old /about 301
/blog/* /docs/:splat
/u/:name/x /users/:name?a=b 308
/away https://other.example/to
/any/* https://other.example/:splat
/rewritten /data.txt 200
/self/* /:splat
nonsense
/teapot /x 418
`,
  'public/_headers': `
/data.txt
  X-Own: yes
  Cache-Control: public, max-age=60
  ! X-Content-Type-Options
  Set-Cookie: a=b
  Service-Worker-Allowed: /
/*
  Content-Security-Policy: default-src *
  Clear-Site-Data: "*"
`,
};
const MANIFEST = `contentSecurityPolicy: "default-src 'self'"\n`;

let annex: TestService;
let site: Installed;
let published: { status: number; body: Record<string, unknown> };
beforeAll(async () => {
  annex = await TestService.start();
  const assets = 'assets: {folder: ./public, notFound: 404-page, workerFirst: [/api/*, "!/api/public/*"]}\n';
  published = await annex.tryPublish('site', { 'index.js': WORKER, ...FILES }, MANIFEST + assets);
  site = await annex.install('site');
});
afterAll(() => annex.stop());

test('attack: files that the worker guards, by the header of its own code or another spelling', async () => {
  const guarded = { status: 200, text: 'worker /api/shadowed' };
  const headers = { 'annex-files-only': '1' };
  expect(await get('/api/shadowed', { headers })).toMatchObject(guarded);
  for (const path of ['/%61pi/shadowed', '/api%2fshadowed', '/%61%70%69%2Fshadowed'])
    expect(await get(path)).toMatchObject({ status: 200, text: `worker ${path}` });
  expect(await get('/nothing', { headers })).toMatchObject({ status: 200, text: 'worker /nothing' });
  const thief = `export default { fetch: (request) => fetch(new URL(request.url).searchParams.get('of'), { headers: ${JSON.stringify(headers)} }) };`;
  await annex.tryPublish('thief', { 'index.js': thief }, 'entry: request\n');
  const at = await annex.install('thief');
  const of = encodeURIComponent(`${site.endpoint}/api/shadowed`);
  expect(await get(`/?of=${of}`, {}, at)).toMatchObject(guarded);
  // Its own code reads them.
  expect(await get('/asset/api/shadowed')).toMatchObject({ status: 200, text: 'a file' });
});

const get = async (path: string, init: RequestInit = {}, { endpoint } = site) => {
  const response = await fetch(endpoint + path, { redirect: 'manual', ...init });
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
};
const base = () => new URL(site.endpoint).pathname;

test('the publish says which lines of the rules are ignored', () => {
  expect(published.status).toBe(201);
  const warnings = published.body['warnings'] as { file: string; line: number; message: string }[];
  expect(warnings.map(({ file, line }) => `${file}:${line}`).sort()).toEqual([
    'public/_headers:6',
    'public/_redirects:10',
    'public/_redirects:11',
  ]);
});

describe('a path', () => {
  test.each([
    ['/', 200, '<h1>Home</h1>'],
    ['', 200, '<h1>Home</h1>'],
    ['/about', 200, 'About'],
    ['/docs/', 200, 'Docs'],
    ['/data.txt?x=1', 200, '0123456789'],
    ['/d%61ta.txt', 200, '0123456789'],
    ['/empty.css', 200, ''],
    ['/.well-known/security.txt', 200, 'mail'],
    ['/rewritten', 200, '0123456789'],
    ['/api/shadowed', 200, 'worker /api/shadowed'],
    ['/nothing', 200, 'worker /nothing'],
    ['/.env', 200, 'worker /.env'],
    ['/_headers', 200, 'worker /_headers'],
    ['/_redirects', 200, 'worker /_redirects'],
    ['/%2e%2e%2findex.js', 200, 'worker /%2e%2e%2findex.js'],
    ['/public/index.html', 200, 'worker /public/index.html'],
    ['/%00', 200, 'worker /%00'],
    ['/%ff', 200, 'worker /%ff'],
    ['/asset/about', 200, 'About'],
    ['/asset/docs/none', 404, 'No such page of the docs'],
    ['/asset/none/x', 404, 'No such page'],
  ])('%j is answered %i by what it means', async (path, status, text) => {
    expect(await get(path)).toMatchObject({ status, text });
  });

  test.each([
    ['/index.html', 307, '/'],
    ['/about.html?a=b', 307, '/about?a=b'],
    ['/about/', 307, '/about'],
    ['/docs', 307, '/docs/'],
    ['/old', 301, '/about'],
    ['/blog/a/b?c=d', 302, '/docs/a/b?c=d'],
    ['/u/joe/x', 308, '/users/joe?a=b'],
  ])('%j is led elsewhere below the endpoint', async (path, status, to) => {
    const { headers, ...found } = await get(path);
    expect([found.status, headers.get('location')]).toEqual([status, base() + to]);
  });

  test('may be led to another server that the author names', async () => {
    expect((await get('/away')).headers.get('location')).toBe('https://other.example/to');
  });

  test('is the worker’s with another method', async () => {
    expect(await get('/about', { method: 'POST' })).toMatchObject({ text: 'worker /about' });
  });
});

describe('a file', () => {
  test('has its type, a tag, and is asked for again; one with a hash in its name is kept', async () => {
    const { headers } = await get('/about');
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      ...{ 'content-length': '5', 'accept-ranges': 'bytes', 'x-content-type-options': 'nosniff' },
      'cache-control': 'public, max-age=0, must-revalidate',
    });
    const again = await get('/about', { headers: { 'if-none-match': headers.get('etag') ?? '' } });
    expect([again.status, again.text]).toEqual([304, '']);
    const hashed = await get('/app.3f2a1b9c.js');
    expect(hashed.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const head = await get('/about', { method: 'HEAD' });
    expect([head.text, head.headers.get('content-length')]).toEqual(['', '5']);
  });

  test.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=3-1', 200, '0123456789', null],
    ['bytes=0-1,3-4', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
  ])('of a range %s', async (range, status, text, contentRange) => {
    const found = await get('/data.txt', { headers: { range } });
    expect([found.status, found.text, found.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ]);
  });

  test('has the headers of _headers', async () => {
    const { headers } = await get('/data.txt');
    expect([
      headers.get('x-own'),
      headers.get('cache-control'),
      headers.has('x-content-type-options'),
    ]).toEqual([...['yes', 'public, max-age=60', false]]);
  });
});

describe('attack:', () => {
  test('_headers sets no cookie, and nothing that speaks for the origin', async () => {
    const { headers } = await get('/data.txt');
    for (const name of ['set-cookie', 'service-worker-allowed', 'clear-site-data'])
      expect(headers.has(name)).toBe(false);
  });

  test('_headers does not weaken the policy of the manifest', async () => {
    expect((await get('/about')).headers.get('content-security-policy')).toBe(
      "default-src *, default-src 'self'",
    );
  });

  test.each([
    '/self//evil.example',
    '/self/.//evil.example',
    '/self/%5cevil.example',
    '/self/\\evil.example',
  ])('a redirect by %s stays below the endpoint', async (path) => {
    const location = (await get(path)).headers.get('location') ?? base();
    expect(new URL(location, site.endpoint).href.startsWith(`${site.endpoint}`)).toBe(true);
  });

  test.each(['/any//evil.example', '/any/@evil.example', '/any/..%2fx'])(
    'a redirect by %s stays on the server that the author names',
    async (path) => {
      const location = (await get(path)).headers.get('location') ?? '';
      expect(new URL(location).origin).toBe('https://other.example');
    },
  );

  test('a path of thousands of slashes is compared with no rule, and is the worker’s', async () => {
    expect((await get('/'.repeat(3_000))).text).toContain('worker ///');
  });

  test('a service worker at the endpoint itself is refused, which would serve all endpoints', async () => {
    expect((await get('', { headers: { 'service-worker': 'script' } })).status).toBe(400);
  });

  test.each([
    [
      'staticFiles',
      (more: number) =>
        Object.fromEntries(Array.from({ length: 1_000 + more }, (_, at) => [`public/${at}.txt`, 'x'])),
      'There are 1,001 static files; the limit is 1,000 (staticFiles).',
    ],
    [
      'staticFileBytes',
      (more: number) => ({ 'public/a.txt': 'x'.repeat(5 * 1024 * 1024 + more) }),
      'The static file has 5,242,881 bytes; the limit is 5 MiB (staticFileBytes).',
    ],
  ])('%s: at the limit is published, and one more refuses the publish', async (name, files, message) => {
    const publish = (more: number) =>
      annex.tryPublish(name.toLowerCase(), { 'index.js': WORKER, ...files(more) }, 'assets: public\n');
    expect(await publish(0)).toMatchObject({ status: 201 });
    const { status, body } = await publish(1);
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining(message)]);
  });

  test.each(['../public', '/etc', '.', '.git', 'a/../b', 'C:/x'])(
    'the folder %s is refused',
    async (folder) => {
      const { status } = await annex.tryPublish('out', { 'index.js': WORKER }, `assets: "${folder}"\n`);
      expect(status).toBe(422);
    },
  );
});

describe('a site', () => {
  const manifest = (rest: string) =>
    `name: pages\ntitle: p\ndescription: p\norganization: acme\nvisibility: public\nscopes: []\n${rest}`;
  const publish = (rest: string) => {
    const form = new FormData();
    form.append('manifest', manifest(rest));
    form.append('files', new Blob(['<h1>App</h1>']), 'dist/index.html');
    form.append('files', new Blob(['app()']), 'dist/app.js');
    return annex.api('POST', '/v1/integrations', { form });
  };

  test('without code needs no script', async () => {
    expect(await publish('assets: dist\n')).toMatchObject({ status: 201, body: { warnings: [] } });
    const pages = await annex.install('pages');
    expect(await get('/', {}, pages)).toMatchObject({ status: 200, text: '<h1>App</h1>' });
    expect(await get('/none', {}, pages)).toMatchObject({ status: 404, text: '' });
  });

  test('of one page answers with it where a browser opens a page, and the code anything else', async () => {
    const assets = 'assets: {folder: dist, notFound: single-page-application}\n';
    await annex.publish('app', { 'index.js': WORKER, 'dist/index.html': '<h1>App</h1>' }, assets);
    const app = await annex.install('app');
    // `fetch` of Node.js says by itself what it asks for.
    const open = async (mode: string) => {
      const request = httpGet(`${app.endpoint}/a/b`, { headers: { 'sec-fetch-mode': mode } });
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      return readText(answer);
    };
    expect(await open('navigate')).toBe('<h1>App</h1>');
    expect(await open('cors')).toBe('worker /a/b');
    expect(await get('/asset/none', {}, app)).toMatchObject({ status: 200, text: '<h1>App</h1>' });
  });
});
