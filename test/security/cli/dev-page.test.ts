/**
 * The page of `annex dev` acts with the token of the operator: only the author's browser reaches
 * it, on the page itself. A real session, and requests as other pages and users would send them.
 */
import { rm } from 'node:fs/promises';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { annex, type Ran } from '../../support/cli/annex-run.ts';
import { manifestOf, suiteFolder } from '../../support/cli/author-folder.ts';
import { TestService } from '../../support/service.ts';

const ending = new AbortController();
let service: TestService;
let session: Promise<Ran>;
let folder: string;
let page: URL;

beforeAll(async () => {
  service = await TestService.start();
  folder = await suiteFolder({
    'platform-manifest.yaml': manifestOf('dev-page', 'index.js'),
    'index.js': `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: ({ url }) => new Response(new URL(url).pathname) });`,
  });
  const live = Promise.withResolvers<string>();
  session = annex({
    words: ['dev', folder, '--service', '--json', '--page-port', '0'],
    env: { ANNEX_URL: service.service.controlUrl, ANNEX_TOKEN: service.admin },
    signal: ending.signal,
    onOutput: (output) => {
      const [, url] = /"page":"([^"]+)"/.exec(output) ?? [];
      if (url !== undefined && output.includes('"event":"live"')) live.resolve(url);
    },
  });
  page = new URL(await Promise.race([live.promise, session.then(({ stderr }) => Promise.reject(stderr))]));
});

afterAll(async () => {
  ending.abort('SIGINT');
  await session;
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function ask(path: string, { method = 'GET', headers = {}, body = '' }: Asked = {}) {
  const sent = request({ host: '127.0.0.1', port: page.port, path, method, headers });
  sent.end(body);
  const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>();
  sent.once('response', resolve);
  sent.once('error', reject);
  const answer = await promise;
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

const json = (origin: string) => ({ origin, 'content-type': 'application/json' });
const at = (path: string) => `${page.pathname}${path}`;

test('the page and its operations answer the page itself', async () => {
  expect((await ask(page.pathname)).status).toBe(200);
  const called = await ask(at('api/call'), {
    method: 'POST',
    headers: json(page.origin),
    body: JSON.stringify({ path: 'orders' }),
  });
  expect(JSON.parse(called.body)).toMatchObject({ status: 200, body: expect.stringMatching(/orders$/) });
});

test('another name in `Host`, as after a rebinding of DNS, is refused', async () => {
  for (const host of ['attacker.example', `attacker.example:${page.port}`, '127.0.0.1', '[::1]'])
    expect((await ask(page.pathname, { headers: { host } })).status).toBe(421);
});

test('without the token of its address there is no page', async () => {
  for (const path of ['/', '/page.js', '/api/session', `/${'x'.repeat(32)}/api/session`, '//api/session'])
    expect((await ask(path)).status).toBe(404);
});

test('a request from another page is refused, whatever it asks', async () => {
  const foreign = [
    { origin: 'https://attacker.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of foreign) {
    expect((await ask(at('api/session'), { headers })).status).toBe(403);
    const post = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } };
    expect((await ask(at('api/form'), post)).status).toBe(403);
  }
});

test('a change without an origin, and a form, are refused', async () => {
  const body = JSON.stringify({ method: 'PATCH', body: { configuration: {} } });
  const plain = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  expect((await ask(at('api/form'), plain)).status).toBe(403);
  const form = { origin: page.origin, 'content-type': 'application/x-www-form-urlencoded' };
  expect((await ask(at('api/form'), { method: 'POST', headers: form, body })).status).toBe(415);
});

test('a form that others have changed meanwhile is not saved over their change', async () => {
  const body = JSON.stringify({ method: 'PATCH', ifMatch: '"older"', body: { configuration: {} } });
  const saved = await ask(at('api/form'), { method: 'POST', headers: json(page.origin), body });
  expect(JSON.parse(saved.body)).toMatchObject({ status: 412 });
});

test('each answer forbids foreign scripts, frames and readers', async () => {
  for (const path of [page.pathname, at('page.js'), at('api/session'), '/']) {
    const { headers } = await ask(path);
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringMatching(
        /default-src 'none'; script-src 'self';.*frame-ancestors 'none'.*require-trusted-types-for 'script'/,
      ),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  }
});

test('no answer has the token of the service', async () => {
  for (const path of ['', 'page.js', 'api/session', 'api/form', 'api/blocks'])
    expect((await ask(at(path))).body).not.toContain(service.admin);
});

test('a request to the endpoint cannot be led to another host', async () => {
  for (const path of ['//attacker.example/', 'https://attacker.example/', '/\\attacker.example']) {
    const post = { method: 'POST', headers: json(page.origin), body: JSON.stringify({ path }) };
    const { body } = await ask(at('api/call'), post);
    expect(JSON.parse(body)).toMatchObject({
      status: 200,
      body: expect.stringContaining('attacker.example'),
    });
  }
});
