/**
 * Workers in the style of public templates (`fixtures/workers/`): each is imported by its wrangler
 * file, published as it is, and driven; those with bindings that do not exist are refused by name.
 */
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { annex } from '../../support/cli/annex-run.ts';
import { installPackages, suiteFolder } from '../../support/cli/author-folder.ts';
import { CommandWorld } from '../../support/cli/command-world.ts';
import type { Installed } from '../../support/service.ts';

const FIXTURES = new URL('../../../fixtures/workers/', import.meta.url);
/** Workers with packages that are WebAssembly. */
const COMPILED = {
  'flex-layout': 'yoga-layout',
  'svg-image': '@resvg/resvg-wasm',
  'syntax-tokens': 'vscode-oniguruma',
};
const SECRETS = {
  ...{ SLACK_SIGNING_SECRET: 'slack-secret', STRIPE_WEBHOOK_SECRET: 'stripe-secret' },
  ...{
    GITHUB_WEBHOOK_SECRET: 'github-secret',
    JWT_SECRET: 'jwt-secret-jwt-secret-jwt-secret',
    PASSWORD: 'pass',
  },
};

let world: CommandWorld;
let folder: string;
beforeAll(async () => {
  world = await CommandWorld.start();
  folder = await suiteFolder({});
  await cp(FIXTURES, folder, { recursive: true });
  for (const name of ['hono-api', 'hono-assets', 'hono-cron'])
    await installPackages(`${folder}/${name}`, ['hono']);
  await installPackages(`${folder}/itty-router`, ['itty-router']);
  await installPackages(`${folder}/jwt-auth`, ['jose']);
  for (const [name, library] of Object.entries(COMPILED))
    await installPackages(`${folder}/${name}`, [library]);
});
afterAll(async () => {
  await world.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = (name: string, ...words: string[]) =>
  annex({ words, cwd: `${folder}/${name}`, env: { ...world.env, ...SECRETS } });

async function published(name: string): Promise<Installed> {
  expect(await run(name, 'import')).toMatchObject({ code: 0 });
  const { code, stdout, stderr } = await run(name, 'publish');
  expect([code, stdout, stderr]).toEqual([
    0,
    expect.stringContaining(`published ${name}`),
    expect.anything(),
  ]);
  return world.service.install(name, 'acme');
}

interface Step {
  readonly path?: string;
  readonly init?: RequestInit;
  readonly status?: number;
  /** What the body has, or is as JSON. */
  readonly body?: string | object;
  /** Header → its value. */
  readonly headers?: Readonly<Record<string, string>>;
}

async function drive({ endpoint }: Installed, { path = '/', init, status = 200, body, headers = {} }: Step) {
  const response = await fetch(endpoint + path, { redirect: 'manual', ...init });
  const text = await response.text();
  expect([response.status, text]).toEqual([status, expect.anything()]);
  if (typeof body === 'string') expect(text).toContain(body);
  else if (body !== undefined) expect(JSON.parse(text)).toMatchObject(body);
  for (const [name, value] of Object.entries(headers))
    expect(response.headers.get(name)?.replace(endpoint, '{endpoint}')).toBe(value);
  return response;
}

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');
const post = (body: string, headers = {}): RequestInit => ({ method: 'POST', body, headers });
const form = () => {
  const data = new FormData();
  data.append('name', 'Ada');
  data.append('file', new Blob(['contents']), 'a.txt');
  return data;
};
const stripe = `t=1,v1=${hmac('stripe-secret', '1.{"type":"paid"}')}`;
const github = `sha256=${hmac('github-secret', '{"repository":{"full_name":"a/b"}}')}`;
const slack = {
  'x-slack-request-timestamp': '1',
  'x-slack-signature': `v0=${hmac('slack-secret', 'v0:1:text=hi')}`,
};

const TEMPLATES: readonly (readonly [name: string, ...steps: Step[]])[] = [
  [
    'hono-api',
    { body: 'Hello from /' },
    { path: '/notes/a', init: { method: 'PUT', body: 'first' }, status: 204 },
    { path: '/notes/a', body: 'first', headers: { 'access-control-allow-origin': '*' } },
    { path: '/notes', body: { keys: [{ name: 'a' }], list_complete: true } },
    { path: '/notes/none', status: 404 },
  ],
  [
    'hono-assets',
    { body: 'Home' },
    { path: '/about', body: 'About' },
    { path: '/api/time', body: { ok: true } },
    { path: '/page/about', body: 'About' },
    { path: '/none', status: 404 },
  ],
  [
    'itty-router',
    { path: '/todos/7', body: { id: '7', title: 'Write' } },
    { path: '/todos', init: post('{"title":"x"}'), body: { made: 'x' } },
    { path: '/teapot', status: 418, body: { error: 'short and stout' } },
  ],
  [
    'svg-image',
    {
      init: post(
        '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="4"><path d="M0 0h8v4" fill="red"/></svg>',
      ),
      body: 'PNG',
      headers: { 'x-size': '64x32' },
    },
    { init: post('no image'), status: 500 },
  ],
  ['flex-layout', { init: post('{"width":320,"children":3}'), body: { lefts: [10, 110, 210] } }],
  ['syntax-tokens', { init: post('größe 42'), body: { tokens: ['word', 'space', 'number'] } }],
  [
    'slack-command',
    { init: post('text=hi', slack), body: { text: 'You said hi' } },
    { init: post('text=no', slack), status: 401 },
  ],
  [
    'stripe-webhook',
    { init: post('{"type":"paid"}', { 'stripe-signature': stripe }), body: { received: true } },
    { init: post('{"type":"other"}', { 'stripe-signature': stripe }), status: 400 },
  ],
  [
    'github-app',
    {
      init: post('{"repository":{"full_name":"a/b"}}', {
        'x-hub-signature-256': github,
        'x-github-event': 'push',
      }),
      body: 'push on a/b',
    },
    { init: post('{}', { 'x-hub-signature-256': github }), status: 403 },
  ],
  [
    'openapi-service',
    { path: '/openapi.json', body: { openapi: '3.1.0' } },
    { path: '/items/3', body: { result: { id: 3 } } },
    { path: '/items/x', status: 404 },
  ],
  [
    'static-site',
    { body: 'Site', headers: { 'x-frame-options': 'DENY' } },
    { path: '/feed.xml', body: '<rss>', headers: { 'content-type': 'application/xml' } },
    { path: '/none', status: 404, body: 'Lost' },
  ],
  [
    'single-page',
    { body: 'root' },
    {
      path: '/assets/index-DiwrgTd4.js',
      headers: { 'cache-control': 'public, max-age=31536000, immutable' },
    },
    { path: '/api/x', body: { name: 'api' } },
  ],
  [
    'redirects',
    { path: '/docs', status: 301, headers: { location: 'https://docs.example.com/' } },
    { path: '/old', status: 301, headers: { location: '{endpoint}/new' } },
    { path: '/x', status: 404 },
  ],
  ['listener', { path: '/a?b', body: 'hello /a' }],
  [
    'cors-proxy',
    { init: { method: 'OPTIONS' }, headers: { 'access-control-allow-origin': '*' } },
    { path: '/?url=data:text/plain,hi', body: 'hi' },
    { status: 400 },
  ],
  [
    'rate-counter',
    { init: { headers: { 'x-client': 'a' } }, body: '1 of 2' },
    { init: { headers: { 'x-client': 'a' } }, body: '2 of 2' },
    { init: { headers: { 'x-client': 'a' } }, status: 429, headers: { 'retry-after': '60' } },
    { init: { headers: { 'x-client': 'b' } }, body: '1 of 2' },
  ],
  [
    'form-handler',
    { body: '<form' },
    { init: { method: 'POST', body: form() }, body: { name: 'Ada', file: 'contents' } },
  ],
  ['rss-feed', { body: 'First &amp; last', headers: { 'content-type': 'application/rss+xml' } }],
  ['webhook-relay', { init: post('payload'), status: 202, body: 'payload' }],
  [
    'url-shortener',
    {
      init: post('{"url":"https://example.com/x","slug":"s"}'),
      status: 201,
      headers: { location: '{endpoint}/s' },
    },
    { path: '/s', status: 302, headers: { location: 'https://example.com/x' } },
    { path: '/t', status: 404 },
  ],
  ['entrypoint-class', { body: 'class and class' }],
  [
    'basic-auth',
    { init: { headers: { authorization: `Basic ${btoa('admin:pass')}` } }, body: 'Welcome' },
    { init: { headers: { authorization: `Basic ${btoa('admin:pasx')}` } }, status: 401 },
  ],
  ['cached-page', { body: 'Made for nowhere' }],
];

test.each(TEMPLATES.map(([name, ...steps]) => [name, steps as Step[]] as const))(
  '%s runs as it is',
  async (name, steps) => {
    const installed = await published(name);
    for (const step of steps) await drive(installed, step);
  },
);

test('discord-interactions verifies what is signed with the key of its variables', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
  await annex({ words: ['import'], cwd: `${folder}/discord-interactions`, env: world.env });
  const { readFile, writeFile } = await import('node:fs/promises');
  const manifest = `${folder}/discord-interactions/platform-manifest.yaml`;
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace(/[0-9a-f]{64}/, key));
  expect((await run('discord-interactions', 'publish')).code).toBe(0);
  const installed = await world.service.install('discord-interactions', 'acme');
  const signature = sign(null, Buffer.from('1{"type":1}'), privateKey).toString('hex');
  const headers = { 'x-signature-timestamp': '1', 'x-signature-ed25519': signature };
  await drive(installed, { init: post('{"type":1}', headers), body: { type: 1 } });
  await drive(installed, { init: post('{"type":2}', headers), status: 401 });
});

test('kv-session keeps a session, whose cookie stays with the endpoint', async () => {
  const installed = await published('kv-session');
  const { headers } = await drive(installed, {
    path: '/login?user=ada',
    status: 302,
    headers: { location: '{endpoint}/me' },
  });
  const cookie = headers.get('set-cookie') ?? '';
  expect(cookie).toContain(`Path=${new URL(installed.endpoint).pathname}`);
  await drive(installed, { path: '/me', init: { headers: { cookie } }, body: { user: 'ada' } });
  await drive(installed, { path: '/me', status: 401 });
});

test('jwt-auth signs and verifies', async () => {
  const installed = await published('jwt-auth');
  const token = await (await fetch(`${installed.endpoint}/token`)).text();
  await drive(installed, { init: { headers: { authorization: `Bearer ${token}` } }, body: { role: 'user' } });
  await drive(installed, { init: { headers: { authorization: `Bearer ${token}x` } }, status: 401 });
});

test.each([
  ['hono-cron', { path: '/runs', body: '1' }],
  ['listener-cron', { body: '0 * * * *' }],
  ['cron-reporter', { status: 404 }],
])('%s runs by its cron', async (name, step) => {
  const installed = await published(name);
  const path = `/v1/integrations/${name}/installations/${installed.id}/schedules`;
  await world.service.api('POST', `${path}/1/run`, { json: {} });
  await expect
    .poll(async () => (await world.service.api('GET', path)).body['items'])
    .toMatchObject([{ lastRun: { state: 'delivered' } }]);
  // What it leaves to `waitUntil` may end after its delivery.
  await vi.waitFor(() => drive(installed, step), { timeout: 90_000 });
  if (name === 'cron-reporter')
    expect(await world.service.log(installed)).toContainEqual(
      expect.objectContaining({ text: 'weekly report, 0 9 * * mon' }),
    );
});

describe('what needs a binding that does not exist', () => {
  test.each([
    [
      'd1-notes',
      'wrangler.toml:5:1: error: "d1_databases" (env.DB) is not available: Annex has no D1.',
      'index.js:3',
    ],
    ['durable-counter', 'wrangler.jsonc:7:1: error: "durable_objects" (env.COUNTER)', 'index.js:1'],
    ['queue-producer', 'wrangler.toml:5:1: error: "queues" (env.JOBS) is not available', 'index.js:3'],
  ])('%s says which binding, and where', async (name, listed, place) => {
    expect((await run(name, 'import')).stdout).toContain(listed);
    const { code, stdout, stderr } = await run(name, 'publish');
    expect([code, stdout + stderr]).toEqual([1, expect.stringContaining(`${place}:`)]);
  });
});
