/**
 * Workers that know nothing of envelopes, in a real service (docs/contract/plain-workers.md):
 * requests, `env`, stores, schedules, and how a publish recognises them.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

const WORKER = `
import { other } from './other.js';
let warned = 0;
export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    switch (pathname) {
      case '/redirect': return Response.redirect(new URL(searchParams.get('to'), request.url));
      case '/pass': ctx.passThroughOnException(); return new Response('passed');
      case '/throw': throw new Error('on purpose');
      case '/secret': return new Response(env.API_KEY + other());
      case '/later': ctx.waitUntil(Promise.resolve().then(() => console.log('later', pathname))); return new Response('now');
      case '/equal': return Response.json(crypto.subtle.timingSafeEqual(new Uint8Array([1]), new Uint8Array([Number(searchParams.get('byte'))])));
      case '/platform': {
        await caches.default.put(request, new Response('x'));
        await scheduler.wait(1);
        return Response.json({ cached: (await caches.default.match(request)) ?? null, country: request.cf.country ?? null, agent: navigator.userAgent });
      }
    }
    return Response.json({
      url: request.url, original: ctx.originalUrl, endpoint: ctx.endpoint, method: request.method,
      body: await request.text(), names: Object.keys(env), greeting: env.GREETING, list: env.LIST,
      configuration: env.CONFIGURATION, integration: env.ANNEX.environment.integration.name,
    });
  },
  async scheduled(controller, env, ctx) {
    console.log('scheduled', controller.cron, controller.scheduledTime > 0, env.GREETING);
    if (controller.cron === '0 5 * * *') controller.noRetry();
    if (controller.cron !== '0 3 * * *') throw new Error('the run fails');
  },
};`;
const OTHER = `import { env, waitUntil } from 'cloudflare:workers';
export const other = () => ' and ' + env.API_KEY + ' ' + env.GREETING;`;
const MANIFEST = `entry: request
vars: {GREETING: hello, LIST: [1, {a: b}]}
kv: [STORE]
secrets: {API_KEY: value-of-the-key}
configurations:
  account:
    properties:
      team: {type: string}
schedules:
  - {id: good, cron: '0 3 * * *'}
  - {id: bad, cron: '0 4 * * *'}
  - {id: once, cron: '0 5 * * *'}
`;

let annex: TestService;
let installed: Installed;
beforeAll(async () => {
  annex = await TestService.start();
  await annex.publish('worker', { 'index.js': WORKER, 'other.js': OTHER }, MANIFEST);
  installed = await annex.install('worker');
});
afterAll(() => annex.stop());

const get = async (path: string, init: RequestInit = {}, { endpoint } = installed) => {
  const response = await fetch(endpoint + path, { redirect: 'manual', ...init });
  return { status: response.status, location: response.headers.get('location'), text: await response.text() };
};
const origin = () => new URL(installed.endpoint).origin;

describe('a request', () => {
  test.each(['', '/', '/a/b?c=1', '//double', '/v1/x', '/%2e%2e%2fx'])(
    'to %j arrives below the root, and the context has what was asked for',
    async (path) => {
      const { text } = await get(path, { method: 'PUT', body: 'sent' });
      const url = new URL(`${origin()}${path.startsWith('/') ? '' : '/'}${path}`).href;
      expect(JSON.parse(text)).toMatchObject({
        ...{ url, original: installed.endpoint + path, endpoint: installed.endpoint },
        ...{ method: 'PUT', body: 'sent' },
      });
    },
  );

  test('at the endpoint of the integration has no installation', async () => {
    const { body } = await annex.api('GET', '/v1/integrations/worker');
    const { publicEndpoint: endpoint } = body['urls'] as { publicEndpoint: string };
    const { text } = await get('/x', {}, { id: '', endpoint });
    expect(JSON.parse(text)).toMatchObject({ url: `${origin()}/x`, endpoint, configuration: {} });
  });

  test('that fails is an exception of the call', async () => {
    expect((await get('/throw')).status).toBe(500);
    // Another write may be on its way to the database, which takes the line with it.
    await expect
      .poll(() => annex.log(installed))
      .toContainEqual(
        expect.objectContaining({ level: 'error', text: expect.stringContaining('on purpose') }),
      );
  });

  test.each([
    ['/there?x=1#y', '/there?x=1#y'],
    ['//double', undefined],
    ['https://other.example/x', undefined],
  ])('that is led to %s stays below the endpoint, or goes where the code says', async (to, below) => {
    const { status, location } = await get(`/redirect?to=${encodeURIComponent(to)}`);
    const expected = below === undefined ? new URL(to, origin()).href : installed.endpoint + below;
    expect([status, location]).toEqual([302, expected]);
  });

  test('ends with what waitUntil was given', async () => {
    expect((await get('/later')).text).toBe('now');
    await expect
      .poll(() => annex.log(installed))
      .toContainEqual(expect.objectContaining({ text: 'later /later' }));
  });

  test('asks in vain for another server behind the worker, which the log says once', async () => {
    expect([(await get('/pass')).text, (await get('/pass')).text]).toEqual(['passed', 'passed']);
    const warned = (await annex.log(installed)).filter(({ text }) => text.includes('passThroughOnException'));
    expect(warned).toHaveLength(1);
  });
});

describe('env', () => {
  test('has variables, secrets, stores, the configuration, and what Annex adds', async () => {
    const path = `/v1/integrations/worker/installations/${installed.id}`;
    await annex.api('PATCH', path, { json: { configuration: { team: 'T1' } } });
    expect(JSON.parse((await get('/')).text)).toMatchObject({
      names: ['GREETING', 'LIST', 'API_KEY', 'STORE', 'CONFIGURATION', 'ANNEX'],
      ...{ greeting: 'hello', list: [1, { a: 'b' }], configuration: { team: 'T1' }, integration: 'worker' },
    });
  });

  test('is the same where it is imported', async () => {
    expect((await get('/secret')).text).toBe('value-of-the-key and value-of-the-key hello');
  });

  test('comes with what libraries for Workers ask for', async () => {
    expect(JSON.parse((await get('/platform')).text)).toEqual({
      ...{ cached: null, country: null, agent: 'Cloudflare-Workers' },
    });
    expect([(await get('/equal?byte=1')).text, (await get('/equal?byte=2')).text]).toEqual(['true', 'false']);
  });

  test('of an import has no secrets while the script loads, which refuses the publish', async () => {
    const code = `import { env } from 'cloudflare:workers';
      const key = env.API_KEY;
      export default { fetch: () => new Response(key) };`;
    const { status, body } = await annex.tryPublish(
      'eager',
      { 'index.js': code },
      'entry: request\nsecrets: {API_KEY: x}\n',
    );
    expect([status, JSON.stringify(body)]).toEqual([
      422,
      expect.stringContaining('env.API_KEY is known only during a call: read it in a handler.'),
    ]);
  });
});

test('a schedule runs `scheduled`; one that fails is repeated like a task, unless it says not to', async () => {
  const path = `/v1/integrations/worker/installations/${installed.id}/schedules`;
  for (const id of ['good', 'bad', 'once'])
    expect((await annex.api('POST', `${path}/${id}/run`, { json: {} })).status).toBe(202);
  await expect
    .poll(async () => (await annex.api('GET', path)).body['items'])
    .toMatchObject([
      { lastRun: { state: 'delivered' } },
      { lastRun: { state: 'failed' } },
      { lastRun: { state: 'failed' } },
    ]);
  const lines = (await annex.log(installed)).map(({ text }) => text);
  const runs = (cron: string) => lines.filter((text) => text === `scheduled ${cron} true hello`).length;
  expect([runs('0 3 * * *'), runs('0 4 * * *'), runs('0 5 * * *')]).toEqual([1, 4, 1]);
  expect(lines).toContainEqual(expect.stringContaining('Error: the run fails'));
});

test('lifecycle events are not sent to a worker, and leave nothing in its log', async () => {
  const code = 'export default { fetch: () => new Response("x") };';
  await annex.publish('quiet', { 'index.js': code }, 'entry: request\n');
  const quiet = await annex.install('quiet', 'org-of-quiet', { notified: true });
  await expect
    .poll(async () => (await annex.api('GET', `/v1/events?installation=${quiet.id}`)).body['items'])
    .toMatchObject([{ state: 'unhandled', attempts: 0 }]);
  expect(await annex.log(quiet)).toEqual([]);
});

describe('a store', () => {
  const STORE = `
export default { async fetch(request, env) {
  const { pathname } = new URL(request.url);
  const steps = await request.json();
  const results = [];
  for (const [method, ...given] of steps) {
    try {
      const args = given.map((one) => one?.bytes ? new Uint8Array(one.bytes) : one?.stream ? new Response(one.stream).body : one);
      let result = await env[pathname.slice(1)][method](...args);
      if (result instanceof Map) result = Object.fromEntries(result);
      if (result instanceof ArrayBuffer) result = [...new Uint8Array(result)];
      if (result instanceof ReadableStream) result = { stream: await new Response(result).text() };
      results.push(result ?? null);
    } catch (error) { results.push(error.message); }
  }
  return Response.json(results);
} };`;
  let store: Installed;
  beforeAll(async () => {
    await annex.publish('store', { 'index.js': STORE }, 'kv: [SESSIONS, CACHE]\n');
    store = await annex.install('store');
  });
  const steps = async (list: unknown[], binding = 'SESSIONS', at = store) =>
    JSON.parse((await get(`/${binding}`, { method: 'POST', body: JSON.stringify(list) }, at)).text);

  test('keeps text, bytes and streams, and reads each in four ways', async () => {
    expect(
      await steps([
        ['put', 'text', '{"a":1}'],
        ['put', 'bytes', { bytes: [104, 105, 0, 255] }],
        ['put', 'stream', { stream: 'streamed' }],
        ['put', 'empty', ''],
        ['get', 'text'],
        ['get', 'text', 'json'],
        ['get', 'text', { type: 'json' }],
        ['get', 'bytes', 'arrayBuffer'],
        ['get', 'stream', 'stream'],
        ['get', 'empty'],
        ['get', 'nothing'],
        ['get', ['text', 'nothing']],
        ['get', 'text', 'xml'],
      ]),
    ).toEqual([
      ...[
        null,
        null,
        null,
        null,
        '{"a":1}',
        { a: 1 },
        { a: 1 },
        [104, 105, 0, 255],
        { stream: 'streamed' },
        '',
      ],
      ...[null, { text: '{"a":1}', nothing: null }, expect.stringContaining('Unknown response type')],
    ]);
  });

  test('keeps metadata with the value', async () => {
    const metadata = { of: 'it' };
    expect(
      await steps([
        ['put', 'm', 'value', { metadata }],
        ['put', 'mb', { bytes: [0, 200] }, { metadata }],
        ['getWithMetadata', 'm'],
        ['getWithMetadata', 'mb', 'arrayBuffer'],
        ['get', 'm'],
        ['put', 'm', 'plain'],
        ['getWithMetadata', 'm'],
        ['getWithMetadata', 'nothing'],
        ['put', 'm', 'x', { metadata: 'y'.repeat(1_100) }],
      ]),
    ).toMatchObject([
      ...[null, null, { value: 'value', metadata }, { metadata }, 'value', null],
      ...[
        { value: 'plain', metadata: null },
        { value: null, metadata: null },
      ],
      expect.stringContaining('Metadata'),
    ]);
  });

  test('lists keys in pages, by a prefix, with what a list of Workers KV has', async () => {
    await steps([
      ['put', 'l/1', 'a', { metadata: { n: 1 } }],
      ['put', 'l/2', 'b', { expirationTtl: 60 }],
      ['put', 'l/3', 'c'],
    ]);
    const [first] = await steps([['list', { prefix: 'l/', limit: 2 }]]);
    expect(first).toMatchObject({
      keys: [
        { name: 'l/1', metadata: { n: 1 } },
        { name: 'l/2', expiration: expect.any(Number) },
      ],
      ...{ list_complete: false, cursor: expect.any(String) },
    });
    expect(await steps([['list', { prefix: 'l/', cursor: first.cursor }]])).toEqual([
      { keys: [{ name: 'l/3' }], list_complete: true, cacheStatus: null },
    ]);
  });

  test('deletes, expires and refuses as Workers KV does', async () => {
    const past = [
      ['put', 'e', 'x', { expirationTtl: 5 }],
      ['put', 'e', 'x', { expiration: 1_000 }],
    ];
    expect(
      await steps([
        ['put', 'd', 'x'],
        ['delete', 'd'],
        ['get', 'd'],
        ...past,
        ['put', '', 'x'],
        ['put', 'n', { a: 1 }],
      ]),
    ).toEqual([
      ...[null, null, null, expect.stringContaining('at least 60'), expect.stringContaining('at least 60')],
      ...[expect.stringContaining('a key cannot be'), expect.stringContaining('accepts only')],
    ]);
  });

  test('is apart from other stores, and from other installations', async () => {
    const other = await annex.install('store');
    await steps([['put', 'own', 'x']]);
    expect(await steps([['get', 'own']], 'CACHE')).toEqual([null]);
    expect(await steps([['get', 'own']], 'SESSIONS', other)).toEqual([null]);
    expect(await steps([['list']], 'CACHE')).toMatchObject([{ keys: [] }]);
  });
});

describe('publishing', () => {
  const problems = async (code: string, manifest = '', files = {}) => {
    const { status, body } = await annex.tryPublish('tried', { 'index.js': code, ...files }, manifest);
    const { error, warnings } = body as { error?: { problems: unknown }; warnings?: unknown };
    return [status, error?.problems ?? warnings] as const;
  };
  const PLAIN = 'export default { fetch: async (request) => new Response(new URL(request.url).pathname) };';
  const LISTENER = 'addEventListener("fetch", (event) => event.respondWith(new Response(GREETING)));';
  const ENVELOPE = `export default { async fetch(request) {
    const event = JSON.parse((await request.formData()).get('event')); return new Response(event.type); } };`;
  const warning = (message: string) => [
    expect.objectContaining({ severity: 'warning', message: expect.stringContaining(message) }),
  ];

  test.each([
    [
      'code that reads no envelope gets them as before, and its author is told',
      PLAIN,
      '',
      {},
      'seems to expect requests',
    ],
    [
      'a wrangler file beside the manifest',
      PLAIN,
      '',
      { 'wrangler.toml': 'name = "x"' },
      'because there is a "wrangler.toml"',
    ],
    [
      'a listener without an export',
      'addEventListener("fetch", (e) => e.respondWith(new Response()));',
      '',
      {},
      'registers a listener',
    ],
    ['an import of env', `import { env } from 'cloudflare:workers'; ${PLAIN}`, '', {}, 'it imports'],
  ])('says what it has detected: %s', async (_, code, manifest, files, message) => {
    expect(await problems(code, manifest, files)).toEqual([201, warning(message)]);
  });

  test.each([
    ['entry: request', PLAIN, 'entry: request\n'],
    ['entry: envelope', PLAIN, 'entry: envelope\n'],
    ['variables', LISTENER, 'vars: {GREETING: x}\n'],
    ['code that reads envelopes', ENVELOPE, ''],
    ['the SDK', `import { createIntegration } from '@annex/sdk'; export default createIntegration({});`, ''],
    [
      'the SDK as a request worker',
      `import { createIntegration } from '@annex/sdk'; export default createIntegration({});`,
      'entry: request\n',
    ],
  ])('says nothing of %s', async (_, code, manifest) => {
    expect(await problems(code, manifest)).toEqual([201, []]);
  });

  test.each([
    ['env.DB.prepare("SELECT 1")', 'D1'],
    ['env.ROOMS.idFromName("a")', 'Durable Objects'],
    ['env.JOBS.sendBatch([])', 'Queues'],
  ])('refuses %s by the name of its binding, with its line', async (expression, name) => {
    const code = `export default { async fetch(request, env) {\n  return Response.json(await ${expression});\n} };`;
    expect(await problems(code, 'entry: request\n')).toEqual([
      422,
      [
        expect.objectContaining({
          severity: 'error',
          line: 2,
          message: expect.stringContaining(`binding of ${name}`),
        }),
      ],
    ]);
  });

  test.each(['HTMLRewriter', 'WebSocketPair'])(
    'refuses %s by its name, unless the code asks first',
    async (name) => {
      const using = (before: string) =>
        `export default { fetch: () => new Response(${before} String(new ${name}())) };`;
      expect(await problems(using(''), 'entry: request\n')).toEqual([
        422,
        [
          expect.objectContaining({
            severity: 'error',
            line: 1,
            message: `"${name}" is not available: Annex has none.`,
          }),
        ],
      ]);
      expect(await problems(using(`typeof ${name} !== 'undefined' &&`), 'entry: request\n')).toEqual([
        201,
        [],
      ]);
      expect(await problems(`globalThis.${name} = class {}; ${using('')}`, 'entry: request\n')).toEqual([
        201,
        [],
      ]);
    },
  );

  test('warns of a name that is not in the manifest', async () => {
    const code = 'export default { fetch: (request, env) => new Response(env.TOKEN) };';
    expect(await problems(code, 'entry: request\n')).toEqual([
      201,
      warning('env.TOKEN is not in the manifest'),
    ]);
    expect(await problems(code, 'vars: {TOKEN: x}\n')).toEqual([201, []]);
  });

  test.each([
    ['DurableObject', '"cloudflare:workers" has no "DurableObject" here: Annex has no Durable Objects.'],
    ['WorkflowEntrypoint', '"cloudflare:workers" has no "WorkflowEntrypoint" here: Annex has no Workflows.'],
  ])('refuses an import of %s', async (name, message) => {
    const code = `import { ${name} } from 'cloudflare:workers';\nexport class Own extends ${name} {}\n${PLAIN}`;
    expect(await problems(code, 'entry: request\n')).toEqual([
      422,
      [expect.objectContaining({ severity: 'error', line: 1, message })],
    ]);
  });

  test.each([
    ['cloudflare:sockets', 'Reach other services with fetch.'],
    ['cloudflare:node', 'Export an object with fetch'],
    ['cloudflare:workflows', 'Do without it'],
    ['__STATIC_CONTENT_MANIFEST', 'Write "assets: ./folder"'],
  ])('refuses %s, and says what to do instead', async (name, hint) => {
    const message = expect.stringContaining(`"${name}" does not exist here`);
    const found = expect.objectContaining({ line: 1, message, hint: expect.stringContaining(hint) });
    const code = `import one from '${name}';\none();\n${PLAIN}`;
    expect(await problems(code, 'entry: request\n')).toEqual([422, [found]]);
  });

  test('refuses a worker without a handler', async () => {
    const [status, found] = await problems('export default {};', 'entry: request\n');
    expect([status, JSON.stringify(found)]).toEqual([
      422,
      expect.stringContaining('The worker has no handler'),
    ]);
  });
});

describe('the kinds of workers that there are', () => {
  test.each([
    [
      'a class',
      `import { WorkerEntrypoint } from 'cloudflare:workers';
      export default class extends WorkerEntrypoint { async fetch(request) { return new Response(this.env.GREETING + new URL(request.url).pathname); } }`,
    ],
    [
      'a promise of a worker',
      'export default Promise.resolve({ fetch: (request, env) => new Response(env.GREETING + new URL(request.url).pathname) });',
    ],
    [
      'CommonJS',
      'module.exports = { fetch: (request, env) => new Response(env.GREETING + new URL(request.url).pathname) };',
    ],
    [
      'a function with a handler',
      'const app = () => {}; app.fetch = (request, env) => new Response(env.GREETING + new URL(request.url).pathname); export default app;',
    ],
    [
      'a listener',
      'addEventListener("fetch", (event) => event.respondWith(answer(event.request)));\nconst answer = async (request) => { await null; return new Response(GREETING + new URL(request.url).pathname); };',
    ],
    [
      'a listener of self',
      'self.addEventListener("fetch", { handleEvent(event) { event.respondWith(new Response(GREETING + new URL(event.request.url).pathname)); } });',
    ],
  ])('%s', async (name, code) => {
    const own = `kind-${name.replaceAll(/\W+/g, '-').toLowerCase()}`;
    await annex.publish(own, { 'index.js': code }, 'entry: request\nvars: {GREETING: "hello "}\n');
    const { endpoint } = await annex.install(own);
    expect(await (await fetch(`${endpoint}/x`)).text()).toBe('hello /x');
  });
});
