/**
 * Fetches of this service itself, its API and endpoints, are served in process: without a reachable
 * address, with the answer that the network would give, and with a bound on chains of calls.
 */
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loopbackListeners } from '../../../src/host/http/loopback-listeners.ts';
import { HOP_BY_HOP } from '../../../src/model/hop-by-hop.ts';
import { serve } from '../../support/http/egress.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

/** An integration that runs posted code as the body of an async function of the query. */
const RUNNER = `
  const AsyncFunction = (async () => {}).constructor;
  export default { async fetch(envelope) {
    const form = await envelope.formData();
    const event = JSON.parse(form.get('event'));
    const query = Object.fromEntries(new URL(event.request.url).searchParams);
    try {
      const value = await new AsyncFunction('query', await form.get('fetch-body').text())(query);
      return value instanceof Response ? value : Response.json({ value });
    } catch (error) {
      return Response.json({ error: { name: error?.name, message: error?.message } }, { status: 500 });
    }
  } };`;

/** An integration that echoes its body as a stream, describes its request, or redirects. */
const ECHO = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: async (request) => {
  const { pathname, searchParams } = new URL(request.url);
  const to = searchParams.get('to');
  if (to !== null) return new Response(null, { status: 307, headers: { location: to } });
  if (searchParams.has('wait')) return new Promise(() => undefined);
  if (searchParams.has('back')) return new Response(request.body);
  const headers = { 'x-echo': 'yes', 'set-cookie': 'a=b' };
  const seen = { method: request.method, path: pathname.slice(33), headers: Object.fromEntries(request.headers.entries().filter(([name]) => name !== 'sec-fetch-mode')) };
  return Response.json(seen, { status: 201, headers });
} });`;

/**
 * An integration that fetches itself, or a given URL, until it is refused; returns the refusal and
 * the depth.
 */
const LOOP = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: async (request, { environment }) => {
  const { searchParams } = new URL(request.url);
  const n = Number(searchParams.get('n') ?? 0);
  const [next = environment.integration.urls.publicEndpoint, other = next] = searchParams.get('ring')?.split(',') ?? [];
  const query = new URLSearchParams({ n: n + 1, ring: [other, next].join(), fan: searchParams.get('fan') ?? 1 });
  const ways = Array.from({ length: Number(searchParams.get('fan') ?? 1) }, () =>
    fetch(next + '/?' + query).then((answer) => answer.text(), (error) => n + ' ' + error.name + ': ' + error.message));
  return new Response((await Promise.all(ways))[0]);
} });`;

const post = (installed: Installed, code: string, query: Record<string, string> = {}) =>
  fetch(`${installed.endpoint}/?${new URLSearchParams(query)}`, { method: 'POST', body: code });

describe('an integration that fetches', () => {
  let service: TestService;
  let runner: Installed;
  let echo: Installed;
  let outside: string;
  beforeAll(async () => {
    service = await TestService.start({ cells: 1 });
    runner = await service.deploy('runner', RUNNER);
    echo = await service.deploy('echo', ECHO);
    outside = service.service.controlUrl;
  });
  afterAll(() => service.stop());

  /** The answer to the integration, in the form of `overNetwork`. */
  const inProcess = async (url: string, init: RequestInit = {}) => {
    const code = `const answer = await fetch(query.url, JSON.parse(query.init));
      return { status: answer.status, headers: [...answer.headers], body: await answer.text() };`;
    const { value } = (await (await post(runner, code, { url, init: JSON.stringify(init) })).json()) as {
      value: { status: number; headers: [string, string][]; body: string };
    };
    return comparable(value.status, value.headers, value.body);
  };
  const overNetwork = async (url: string, init: RequestInit = {}) => {
    const answer = await fetch(url, init);
    return comparable(answer.status, [...answer.headers], await answer.text());
  };
  const comparable = (status: number, headers: [string, string][], body: string) => ({
    status,
    headers: headers.filter(([name]) => name !== 'date' && !HOP_BY_HOP.has(name)).sort(),
    body: body.replace(/"requestId":"[^"]*"/, '"requestId":"…"'),
  });

  const headers = { 'accept-language': '*', 'user-agent': 'test', accept: '*/*', 'accept-encoding': 'gzip' };
  const bearer = () => ({ ...headers, authorization: `Bearer ${service.platform}` });
  test.each<[string, () => string, () => RequestInit, number]>([
    ['an endpoint', () => `${echo.endpoint}/a/b?c=%20d`, () => ({ headers }), 201],
    ['its head', () => `${echo.endpoint}/a`, () => ({ headers, method: 'HEAD' }), 201],
    ['with a body', () => `${echo.endpoint}/?back`, () => ({ headers, method: 'POST', body: 'a ß' }), 200],
    ['with another method', () => echo.endpoint, () => ({ headers, method: 'DELETE' }), 201],
    [
      'an endpoint that is not there',
      () => `${echo.endpoint.slice(0, -32)}${'a'.repeat(32)}/`,
      () => ({}),
      404,
    ],
    ['a version that is not there', () => `${echo.endpoint}/v9`, () => ({ method: 'POST', body: 'x' }), 400],
    ['an envelope without credentials', () => `${echo.endpoint}/v1`, () => ({ method: 'POST' }), 401],
    ['the API', () => `${outside}/v1/integrations?limit=1`, () => ({ headers: bearer() }), 200],
    ['the API without a token', () => `${outside}/v1/integrations`, () => ({}), 401],
    ['the API, nonsense', () => `${outside}/v1/nothing`, () => ({ headers: bearer() }), 404],
  ])(
    'gets the answer of the network, although no address is allowed: %s',
    async (_what, url, init, status) => {
      const expected = await overNetwork(url(), init());
      expect(expected.status).toBe(status);
      expect(await inProcess(url(), init())).toEqual(expected);
    },
  );

  test.each([
    '/metrics',
    '/healthz',
    '/',
    '/v1',
    '/v1/../metrics',
    '/v1/%2e%2e/metrics',
    '/v1/..%2fmetrics',
    '/v1/..%5cmetrics',
    '/v1\\..\\metrics',
    '/v1/.//../../metrics',
    '/v1//../../healthz',
    '/v1/?/../../metrics',
    '/v1x',
  ])('gets nothing else of the control listener: %s', async (path) => {
    const code = `try { const { status } = await fetch(query.url); return status; } catch (error) { return error.name; }`;
    const { value } = (await (await post(runner, code, { url: `${outside}${path}` })).json()) as {
      value: unknown;
    };
    expect([401, 404, 'TypeError']).toContain(value);
  });

  test('a body streams both ways at once, and megabytes come through whole', async () => {
    const code = `
      const { readable, writable } = new TransformStream();
      const writer = writable.getWriter();
      void writer.write(new TextEncoder().encode('ping'));
      const answer = await fetch(query.url, { method: 'POST', body: readable, duplex: 'half' });
      const reader = answer.body.getReader();
      const first = new TextDecoder().decode((await reader.read()).value);
      const sent = 3 * 1024 * 1024;
      const sending = (async () => {
        for (let at = 0; at < sent; at += 65536) await writer.write(new Uint8Array(65536));
        await writer.close();
      })();
      let got = 0;
      for (let part = await reader.read(); !part.done; part = await reader.read()) got += part.value.length;
      await sending;
      return { first, got };`;
    const answer = await post(runner, code, { url: `${echo.endpoint}/?back` });
    expect(await answer.json()).toEqual({ value: { first: 'ping', got: 3 * 1024 * 1024 } });
  });

  test('aborts, and the call that it began ends', async () => {
    const before = await service.metric('annex_calls_total{outcome="canceled"}');
    const code = `try { await fetch(query.url, { signal: AbortSignal.timeout(50) }); } catch (error) { return error.name; }`;
    expect(await (await post(runner, code, { url: `${echo.endpoint}/?wait` })).json()).toEqual({
      value: 'TimeoutError',
    });
    await expect.poll(() => service.metric('annex_calls_total{outcome="canceled"}')).toBe(before + 1);
    await expect.poll(() => service.metric('annex_calls_in_flight')).toBe(0);
  });

  test('follows a redirect to another endpoint of the same origin without credentials', async () => {
    const other = await service.install('echo');
    const seen = async (to: string) => {
      const url = `${echo.endpoint}/?${new URLSearchParams({ to })}`;
      const { body } = await inProcess(url, {
        headers: { authorization: 'Bearer s3cret', cookie: 'a=b', 'x-kept': '1' },
      });
      return (JSON.parse(body) as { headers: Record<string, string> }).headers;
    };
    expect(await seen(`${echo.endpoint}/x`)).toMatchObject({ authorization: 'Bearer s3cret', 'x-kept': '1' });
    const elsewhere = await seen(`${other.endpoint}/x`);
    expect(elsewhere).toMatchObject({ 'x-kept': '1' });
    expect(Object.keys(elsewhere)).not.toContain('authorization');
    expect(Object.keys(elsewhere)).not.toContain('cookie');
  });

  test('is redirected from the network to an endpoint, and served in process without credentials', async () => {
    let location = '';
    const base = await serve((_request, response) => response.writeHead(302, { location }).end());
    const open = await startTestService({ flags: ['--egress-allow', base.slice('http://'.length)] });
    const asking = await open.deploy('runner', RUNNER);
    location = `${(await open.deploy('echo', ECHO)).endpoint}/x`;
    const code = `const answer = await fetch(query.url, { headers: { authorization: 'Bearer s3cret', 'x-kept': '1' } });
      return { redirected: answer.redirected, seen: (await answer.json()).headers };`;
    const { value } = (await (await post(asking, code, { url: base })).json()) as { value: object };
    expect(value).toMatchObject({ redirected: true, seen: { 'x-kept': '1' } });
    expect(JSON.stringify(value)).not.toContain('s3cret');
    // The endpoint of another service on this machine is not reached in process.
    const foreign = await post(asking, code, { url: echo.endpoint });
    expect(await foreign.json()).toMatchObject({ error: { name: 'TypeError' } });
  });

  test('itself without end is refused at call depth eight, with the reason in the log', async () => {
    const loop = await service.deploy('loop', LOOP);
    const text = await (await fetch(loop.endpoint)).text();
    expect(text).toMatch(/^8 TypeError: .*8.*callDepth/);
    expect((await service.log(loop)).map((line) => line.text).join()).toMatch(/callDepth/);
    const another = await service.install('loop');
    const ring = new URLSearchParams({ ring: [another.endpoint, loop.endpoint].join() });
    expect(await (await fetch(`${loop.endpoint}/?${ring}`)).text()).toMatch(/^8 TypeError: .*callDepth/);
    await expect.poll(() => service.metric('annex_calls_in_flight')).toBe(0);
  });
});

// Attack: another name or address of this machine than that of the endpoint's URL. Each call began
// a chain of its own: three hundred calls in a second, without end.
test.each(['http://localhost', 'http://localhost.', 'http://127.9.9.9', 'http://0.0.0.0'])(
  'attack: an integration that calls itself at %s is refused, although the operator allows the address',
  async (origin) => {
    const service = await startTestService({
      flags: ['--public-host', '0.0.0.0', '--egress-allow', '0.0.0.0/0,localhost'],
    });
    const loop = await service.deploy('loop', LOOP);
    const { port, pathname } = new URL(loop.endpoint);
    const ring = new URLSearchParams({ ring: `${origin}:${port}${pathname}` });
    expect(await (await fetch(`${loop.endpoint}/?${ring}`)).text()).toMatch(/^0 TypeError/);
    expect(await service.metric('annex_calls_total{outcome="ok"}')).toBe(1);
  },
);

test('attack: an integration that calls itself many times at each depth ends, and others are served meanwhile', async () => {
  const service = await startTestService({
    cells: 1,
    limits: { callWallMs: 3_000, firstByteMs: 3_000, requestsPerSecondPerAddress: 1_000_000 },
  });
  const bomb = await service.deploy('bomb', LOOP);
  const echo = await service.deploy('echo', ECHO);
  let over = false;
  const exploding = fetch(`${bomb.endpoint}/?fan=6`).then((answer) => {
    over = true;
    return answer.status;
  });
  const statuses: number[] = [];
  while (!over) statuses.push((await fetch(echo.endpoint)).status);
  expect(statuses.length).toBeGreaterThan(0);
  expect(new Set(statuses)).toEqual(new Set([201]));
  expect([200, 503, 504]).toContain(await exploding);
  await expect.poll(() => service.metric('annex_calls_in_flight')).toBe(0);
  await expect.poll(() => service.metric('annex_fetches_in_flight')).toBe(0);
});

test('attack: an integration that uses all its connections and then calls itself ends at its wall time', async () => {
  const limits = { callsInFlightPerInstallation: 2, callWallMs: 1_000, firstByteMs: 1_000 };
  const service = await startTestService({ cells: 1, limits });
  const loop = await service.deploy('loop', LOOP);
  const answers = await Promise.all([fetch(loop.endpoint), fetch(loop.endpoint), fetch(loop.endpoint)]);
  for (const { status } of answers) expect([200, 503, 504]).toContain(status);
  await expect.poll(() => service.metric('annex_calls_in_flight')).toBe(0);
  expect((await fetch(`${loop.endpoint}/?n=x&ring=http://127.0.0.1:1`)).status).toBe(200);
});

describe('a URL of this service', () => {
  const KEY = 'a'.repeat(32);
  const listener = { emit: () => true };
  const found = (url: string, publicUrl: string, apiEndpoint = 'https://api.example.com/annex') => {
    const contentUrl = publicUrl.replace('.com', '.net');
    const origins = { publicUrl, contentUrl, apiEndpoint };
    const entrance = loopbackListeners({ origins, control: listener, open: listener })(new URL(url));
    return entrance && `${entrance.kind} ${entrance.path}`;
  };

  test.each([
    ['https://api.example.com/annex/v1/integrations?a=b', 'api /v1/integrations?a=b'],
    ['https://API.example.com:443/annex/./v1/x', 'api /v1/x'],
    ['https://api.example.com/annex/v1', 'api /v1'],
    ['https://api.example.com/annex/v1/v1/x', 'api /v1/v1/x'],
    ['https://api.example.com/annex/v10', 'product /v10'],
    ['https://api.example.com/annex/metrics', 'product /metrics'],
    ['https://api.example.com/annex', 'product /'],
    ['https://api.example.com/annexed', undefined],
    ['https://api.example.com/v1/integrations', undefined],
    ['http://api.example.com/annex/v1/x', undefined],
    ['https://api.example.com:444/annex/v1/x', undefined],
    ['https://api.example.com.evil.com/annex/v1/x', undefined],
    [`https://hooks.example.com/in/${KEY}/a?b`, `endpoint /${KEY}/a?b`],
    [`https://hooks.example.com/in/${KEY}`, `endpoint /${KEY}`],
    // The same name, written as an absolute one.
    [`https://hooks.example.com./in/${KEY}/a`, `endpoint /${KEY}/a`],
    ['https://api.example.com.:443/annex/v1/x', 'api /v1/x'],
    ['https://api.example.com../annex/v1/x', undefined],
    [`https://hooks.example.com/in`, 'endpoint /'],
    [`https://hooks.example.com/${KEY}/a`, undefined],
    ['https://hooks.example.com/in/../other', undefined],
  ])('is below the base URLs, and nowhere else: %s', (url, expected) => {
    expect(found(url, 'https://hooks.example.com/in')).toBe(expected);
  });

  test.each([
    [`https://${KEY}.apps.example.com/a?b`, 'endpoint /a?b'],
    [`https://${KEY}.apps.example.com`, 'endpoint /'],
    [`https://${KEY}.apps.example.com./a`, 'endpoint /a'],
    [`https://${KEY}.apps.example.com:8443/`, undefined],
    [`http://${KEY}.apps.example.com/`, undefined],
    ['https://www.apps.example.com/', undefined],
    ['https://apps.example.com/', undefined],
    [`https://x.${KEY}.apps.example.com/`, undefined],
    [`https://${KEY}.evil.com/`, undefined],
  ])('is found by its host, if endpoints have hosts of their own: %s', (url, expected) => {
    expect(found(url, 'https://{endpoint}.apps.example.com')).toBe(expected);
  });

  test.each(['https://hooks.invalid/in', 'https://{endpoint}.apps.invalid'])(
    'is served if its public name does not resolve: %s',
    async (publicUrl) => {
      const flags = ['--public-url', publicUrl, '--api-url', 'https://api.invalid/annex/v1'];
      const service = await startTestService({ flags });
      const runner = await service.deploy('runner', RUNNER);
      const echo = await service.deploy('echo', ECHO);
      const code = `
        const endpoint = await fetch('${echo.endpoint}/a/b');
        const api = await fetch('https://api.invalid/annex/v1/integrations');
        return [endpoint.status, endpoint.url, api.status];`;
      const { host, pathname } = new URL(runner.endpoint);
      // As a proxy in front would request it.
      const url = `${service.service.publicUrl}${pathname.replace('/in/', '/')}`;
      const body = await new Promise<string>((resolve, reject) => {
        const asked = httpRequest(url, { method: 'POST', headers: { host } }, (answer) => {
          answer.toArray().then((parts) => resolve(parts.join('')), reject);
        });
        asked.on('error', reject).end(code);
      });
      expect(JSON.parse(body)).toEqual({ value: [201, `${echo.endpoint}/a/b`, 401] });
    },
  );
});
