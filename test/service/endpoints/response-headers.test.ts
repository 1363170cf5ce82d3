/**
 * Response headers that an integration may not set, and answers of tenants that are no pages of the
 * host.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { confineCookie } from '../../../src/host/http/public/answer.ts';
import { WITHHELD, type WithheldOn } from '../../../src/host/http/withheld-headers.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { type Installed, TestService } from '../../support/service.ts';

const WORKER = `export default { async fetch(envelope) {
  const form = await envelope.formData();
  const { request } = JSON.parse(await form.get('event'));
  const headers = new Headers();
  for (const [name, value] of JSON.parse(decodeURIComponent(new URL(request.url).search.slice(1)))) headers.append(name, value);
  return new Response('<script>alert(1)</script>', { headers });
} };`;

type Pairs = [string, string][];

/** Raw headers of the answer to a call that sets these. */
async function answered(annex: TestService, { endpoint }: Installed, pairs: Pairs): Promise<string[]> {
  const { host, pathname } = new URL(endpoint);
  const query = encodeURIComponent(JSON.stringify(pairs));
  const text = await exchange(
    annex.service.publicUrl,
    `GET ${pathname}?${query} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
  );
  const [head = ''] = text.split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 200 /);
  return head.split('\r\n').slice(1);
}
const logged = async (annex: TestService, installed: Installed) =>
  (await annex.log(installed)).map(({ level, text }) => `${level} ${text}`);

/** A name for each row of the table; what stands for the rest of a name is `x`. */
const named = (origins: WithheldOn) => WITHHELD[origins].names.map((name) => name.replace('*', 'x'));
/** An attack on every origin. */
const NOT_EVEN_OWN = named('every origin');
/** Legitimate on an origin of one's own, an attack on a shared one. */
const OWN_ORIGIN = named('a shared origin').filter((name) => !NOT_EVEN_OWN.includes(name));
const FRAMING = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
];

describe('on an origin that endpoints share', () => {
  let annex: TestService;
  let worker: Installed;
  beforeAll(async () => {
    annex = await TestService.start();
    worker = await annex.deploy('worker', WORKER);
  });
  afterAll(() => annex.stop());

  test.each([...OWN_ORIGIN, ...NOT_EVEN_OWN])('%s is withheld, and the log says why', async (name) => {
    const headers = await answered(annex, worker, [
      [name, '"x"'],
      [name, '"y"'],
      ['x-kept', 'yes'],
    ]);
    expect(headers.filter((line) => line.toLowerCase().startsWith(`${name}:`))).toEqual([]);
    expect(headers).toContain('x-kept: yes');
    const lines = await logged(annex, worker);
    expect(
      lines.filter((line) => line.startsWith(`warn Response header withheld: ${name}, which`)),
    ).toHaveLength(1);
  });

  test.each(FRAMING)('%s is set by the host only', async (name) => {
    const headers = await answered(annex, worker, [[name, '77']]);
    expect(headers.filter((line) => line.toLowerCase() === `${name}: 77`)).toEqual([]);
  });

  test('the reason phrase is the statusText of the code, and never more than one line', async () => {
    const source = `export default { async fetch(envelope) {
      const { request } = JSON.parse(await (await envelope.formData()).get('event'));
      const [statusText, streamed] = JSON.parse(decodeURIComponent(new URL(request.url).search.slice(1)));
      try { return new Response(streamed ? new Blob(['a']).stream() : 'a', { status: 404, statusText }); }
      catch (error) { return new Response('', { statusText: error.name }); }
    } };`;
    const { endpoint } = await annex.deploy('reasons', source);
    const { host, pathname } = new URL(endpoint);
    for (const [given, line] of [
      ['Not here, \xe4nd "gone"', 'HTTP/1.1 404 Not here, \xe4nd "gone"'],
      ['', 'HTTP/1.1 404 Not Found'],
      ['x'.repeat(257), 'HTTP/1.1 404 Not Found'],
      ['OK\r\nset-cookie: a=b', 'HTTP/1.1 200 TypeError'],
      ['a\u2028b', 'HTTP/1.1 200 TypeError'],
    ] as const)
      for (const streamed of [false, true]) {
        const query = encodeURIComponent(JSON.stringify([given, streamed]));
        const request = `GET ${pathname}?${query} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
        const answer = await exchange(annex.service.publicUrl, request);
        expect(answer.slice(0, answer.indexOf('\r\n'))).toBe(line);
      }
  });

  test('a cookie stays below its endpoint', async () => {
    const path = new URL(worker.endpoint).pathname;
    const headers = await answered(annex, worker, [
      ['set-cookie', 'a=1; Domain=example.com; Path=/; HttpOnly'],
      ['set-cookie', 'b=2'],
      ['set-cookie', `c=3; Path=${path}/x; Secure`],
      ['set-cookie', '__Host-d=4; Path=/; Secure'],
    ]);
    expect(headers.filter((line) => /^set-cookie/i.test(line))).toEqual([
      `set-cookie: a=1; HttpOnly; Path=${path}`,
      `set-cookie: b=2; Path=${path}`,
      `set-cookie: c=3; Path=${path}/x; Secure`,
    ]);
    const lines = await logged(annex, worker);
    expect(lines).toContain('warn Response header withheld: Domain and Path of a cookie.');
    expect(lines).toContain(
      'warn Response header withheld: a __Host- cookie, which needs an origin of its own.',
    );
  });
});

test('an envelope is answered with every header unchanged', async () => {
  const annex = await TestService.start();
  try {
    const installed = await annex.deploy(
      'worker',
      `export default { fetch: () => new Response('', { headers: [
         ['set-cookie', 'a=1; Domain=example.com; Path=/'], ['set-cookie', '__Host-b=2; Path=/; Secure'], ['nel', '{}'],
       ] }) };`,
    );
    const { headers } = await annex.envelope(installed, { type: 'site_view' });
    expect(headers.getSetCookie()).toEqual(['a=1; Domain=example.com; Path=/', '__Host-b=2; Path=/; Secure']);
    expect(headers.get('nel')).toBe('{}');
  } finally {
    await annex.stop();
  }
});

test.each([
  ['a=1', '/k', 'a=1; Path=/k'],
  ['a=1; Path=x', '/k', 'a=1; Path=/k'],
  ['a=1; Path=/k/x', '/k', 'a=1; Path=/k/x'],
])('the cookie "%s", set at %s itself, becomes "%s"', (given, path, kept) => {
  expect(confineCookie(given, { path, isRoot: true }).value).toBe(kept);
});

describe('on an origin of its own', () => {
  let annex: TestService;
  let worker: Installed;
  beforeAll(async () => {
    annex = await TestService.start({ flags: ['--public-url', 'https://{endpoint}.apps.example.com'] });
    worker = await annex.deploy('worker', WORKER);
  });
  afterAll(() => annex.stop());

  test.each(OWN_ORIGIN)('an endpoint may set %s', async (name) => {
    expect(await answered(annex, worker, [[name, '?1']])).toContain(`${name}: ?1`);
  });

  test.each(NOT_EVEN_OWN)('and may not set %s', async (name) => {
    const headers = await answered(annex, worker, [[name, 'x']]);
    expect(headers.filter((line) => line.toLowerCase().startsWith(`${name}:`))).toEqual([]);
  });

  // Attack: a cookie with Domain=apps.example.com, which would go to all other endpoints.
  test('a cookie has no Domain, and any path', async () => {
    const headers = await answered(annex, worker, [
      ['set-cookie', '__Host-a=1; Path=/; Secure'],
      ['set-cookie', 'b=2; Domain=apps.example.com; Path=/x'],
    ]);
    expect(headers).toContain('set-cookie: __Host-a=1; Path=/; Secure');
    expect(headers).toContain('set-cookie: b=2; Path=/x');
  });
});

test.each([
  ['a=1', 'a=1'],
  ['a=1;Path=/k', 'a=1;Path=/k'],
  ['a=1; path=/k/x', 'a=1; path=/k/x'],
  ['a=1; Path=/kk', 'a=1; Path=/k'],
  ['a=1; Path=/k; Path=/', 'a=1; Path=/k'],
  ['a=1; Path=/; Path=/k/y', 'a=1; Path=/; Path=/k/y'],
  ['a=1; Path=/k; Path=x', 'a=1; Path=/k; Path=x'],
  ['a=1; \tPATH\t=\t/', 'a=1; Path=/k'],
  ['a=1; DOMAIN =x.example', 'a=1'],
  ['a=1; domain', 'a=1'],
  ['a=1; domain=x; SameSite=Lax', 'a=1; SameSite=Lax'],
  ['', ''],
  ['__host-a=1; Path=/', undefined],
  ['a=Domain=x', 'a=Domain=x'],
])('the cookie "%s" becomes "%s"', (given, kept) => {
  expect(confineCookie(given, { path: '/k' }).value).toBe(kept);
});

test('no answer of a tenant is a page of the control listener', async () => {
  const annex = await TestService.start();
  try {
    const script = '<script>alert(1)</script>';
    await annex.publish(
      'pages',
      {
        'index.js': `export default { fetch() { console.log(${JSON.stringify(script)}); throw new Error(${JSON.stringify(script)}) } };`,
      },
      `summary: "${script}"\n`,
    );
    const installed = await annex.install('pages');
    await fetch(installed.endpoint);
    await annex.log(installed);
    const broken = new FormData();
    broken.append('manifest', `name: ${script}\n`);
    broken.append('script', script);
    const headers = { authorization: `Bearer ${annex.admin}`, origin: 'https://evil.example' };
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(`${annex.service.controlUrl}${path}`, { headers, ...init });
    const answers = [
      await ask('/v1/integrations/pages'),
      await ask(`/v1/logs?installation=${installed.id}`),
      await ask(`/v1/integrations/${encodeURIComponent(script)}`),
      await ask(`/v1/${encodeURIComponent(script)}`),
      await ask('/v1/integrations', { method: 'POST', body: broken }),
      await ask('/v1/tokens', {
        method: 'POST',
        body: script,
        headers: { ...headers, 'content-type': 'application/json' },
      }),
      await ask('/v1/openapi.json'),
      await ask('/healthz'),
      await ask('/v1/tokens', { headers: {} }),
      await ask('/v1/tokens', {
        method: 'OPTIONS',
        headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
      }),
    ];
    for (const answer of answers) {
      expect([answer.url, answer.headers.get('content-type')]).toEqual([
        answer.url,
        expect.stringMatching(/^application\/json/),
      ]);
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
      expect(answer.headers.get('set-cookie')).toBeNull();
    }
    expect(await answers[1]?.text()).toContain('<script>');
  } finally {
    await annex.stop();
  }
});
