/**
 * Host names of the listeners, and endpoints with origins of their own.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/host/config.ts';
import { controlHosts, endpointHosts, hostName, publicHosts } from '../../../src/host/http/request-head.ts';
import { errorOf, exchange, statuses } from '../../support/http/raw-http.ts';
import { startTestService, TestService } from '../../support/service.ts';

const ask = (url: string, host: string, path: string, ...headers: string[]) =>
  exchange(
    url,
    [`GET ${path} HTTP/1.1`, `host: ${host}`, ...headers, 'connection: close', '', ''].join('\r\n'),
  );

describe('the control listener', () => {
  let annex: TestService;
  beforeAll(async () => {
    annex = await TestService.start({
      flags: ['--api-url', 'https://api.example.com/v1', '--control-names', 'annex, Annex.Internal'],
    });
  });
  afterAll(() => annex.stop());

  // Attack: DNS rebinding. A page of evil.example, whose name now resolves to 127.0.0.1, sends
  // requests from the operator's browser.
  test.each(['/metrics', '/healthz', '/v1/openapi.json', '/v1/tokens', '/nothing'])(
    'answers a page of another site nothing for %s, even with a token',
    async (path) => {
      for (const host of [
        'evil.example',
        'evil.example:7700',
        '127.0.0.1.evil.example',
        'localhost..',
        'a_b c',
      ]) {
        const text = await ask(annex.service.controlUrl, host, path, `authorization: Bearer ${annex.admin}`);
        expect([host, statuses(text), errorOf(text).code]).toEqual([host, [421], 'HOST_UNKNOWN']);
      }
    },
  );

  test.each([
    '127.0.0.1',
    '127.0.0.1:7700',
    '[::1]:7700',
    '10.1.2.3',
    'localhost',
    'LOCALHOST:1',
    'localhost.',
    'annex.internal.:7700',
    'api.example.com',
    'annex',
    'annex.internal:80',
  ])('answers to %s', async (host) => {
    expect(statuses(await ask(annex.service.controlUrl, host, '/healthz'))).toEqual([200]);
  });
});

describe('the public listener', () => {
  test('answers to any name without a public URL', async () => {
    const annex = await startTestService();
    expect(statuses(await ask(annex.service.publicUrl, 'whatever.example', '/'))).toEqual([404]);
  });

  test('answers to the host of its public URL, and to no other', async () => {
    const annex = await startTestService({ flags: ['--public-url', 'https://hooks.example.com/in'] });
    const { endpoint } = await annex.deploy(
      'hello',
      `export default { fetch: () => new Response('hello') };`,
    );
    const path = new URL(endpoint).pathname.replace('/in', '');
    const host = async (name: string) => statuses(await ask(annex.service.publicUrl, name, path))[0];
    expect(endpoint).toMatch(/^https:\/\/hooks\.example\.com\/in\/[a-z2-7]{32}$/);
    expect([await host('hooks.example.com'), await host('Hooks.Example.Com:443')]).toEqual([200, 200]);
    expect([await host('hooks.example.com.'), await host('hooks.example.com..')]).toEqual([200, 421]);
    expect([await host('other.example.com'), await host('127.0.0.1')]).toEqual([421, 421]);
  });
});

// RFC 9112, section 3.2.2: servers accept the target that clients send to proxies.
describe('a target with scheme and host', () => {
  let annex: TestService;
  let endpoint: string;
  beforeAll(async () => {
    annex = await TestService.start({ flags: ['--public-url', 'https://hooks.example.com'] });
    const source = `export default { async fetch(envelope) {
      const form = await envelope.formData();
      return new Response(JSON.parse(await form.get('event')).request.url);
    } };`;
    endpoint = (await annex.deploy('echo', source)).endpoint;
  });
  afterAll(() => annex.stop());

  test('is read as its path, and the host is that of `Host`', async () => {
    const path = new URL(endpoint).pathname;
    for (const [target, seen] of [
      [`http://hooks.example.com${path}/a%zz?b=c`, `${endpoint}/a%zz?b=c`],
      [`HTTPS://Hooks.Example.Com${path}`, endpoint],
    ] as const) {
      const text = await ask(annex.service.publicUrl, 'hooks.example.com', target);
      expect([statuses(text), text.split('\r\n\r\n')[1]]).toEqual([[200], seen]);
    }
    const api = await ask(annex.service.controlUrl, 'localhost:1', 'http://localhost:1/healthz?x');
    expect(statuses(api)).toEqual([200]);
    expect(statuses(await ask(annex.service.controlUrl, 'localhost', 'http://localhost?x'))).toEqual([404]);
  });

  test('has the host of HTTP/1.0, which may have no other', async () => {
    const get = (target: string) => exchange(annex.service.publicUrl, `GET ${target} HTTP/1.0\r\n\r\n`);
    const { pathname } = new URL(endpoint);
    expect(statuses(await get(`http://hooks.example.com${pathname}`))).toEqual([200]);
    expect(statuses(await get(`http://other.example.com${pathname}`))).toEqual([421]);
  });

  // Attack: a cache in front that goes by the one host, while the routes go by the other.
  test.each([
    'http://other.example.com/',
    'http://hooks.example.com:81/',
    'http://user@hooks.example.com/',
    'ftp://hooks.example.com/',
    'http:/hooks.example.com/',
    'http://hooks.example.com/#x',
    'hooks.example.com:443',
  ])('is refused if it has another host, or is no URL of HTTP: %s', async (target) => {
    const text = await ask(annex.service.publicUrl, 'hooks.example.com', target);
    expect([statuses(text), errorOf(text).code]).toEqual([[400], 'REQUEST_INVALID']);
  });
});

describe('endpoints with origins of their own', () => {
  let annex: TestService;
  let endpoint: string;
  beforeAll(async () => {
    annex = await TestService.start({ flags: ['--public-url', 'https://{endpoint}.apps.example.com'] });
    const source = `export default { async fetch(envelope) {
      const form = await envelope.formData();
      return new Response(JSON.parse(await form.get('event')).request?.url ?? 'envelope');
    } };`;
    endpoint = (await annex.deploy('echo', source)).endpoint;
  });
  afterAll(() => annex.stop());

  test('are found by the host, and the whole path belongs to them', async () => {
    const { host } = new URL(endpoint);
    expect(endpoint).toMatch(/^https:\/\/[a-z2-7]{32}\.apps\.example\.com$/);
    for (const name of [host, host.toUpperCase(), `${host}:443`]) {
      expect(await ask(annex.service.publicUrl, name, '/a/b?c=d')).toContain(`\r\n\r\n${endpoint}/a/b?c=d`);
    }
  });

  test('accept envelopes at /v1', async () => {
    const { host } = new URL(endpoint);
    const text = await exchange(
      annex.service.publicUrl,
      `POST /v1 HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
    );
    expect(errorOf(text).code).toBe('ENVELOPE_UNAUTHORIZED');
  });

  test('are not found by a path, nor below another name', async () => {
    const [key = ''] = new URL(endpoint).host.split('.');
    const code = async (host: string, path: string) =>
      errorOf(await ask(annex.service.publicUrl, host, path)).code;
    expect(await code(`${'a'.repeat(32)}.apps.example.com`, `/${key}`)).toBe('ENDPOINT_UNKNOWN');
    expect(await code('apps.example.com', `/${key}`)).toBe('HOST_UNKNOWN');
    expect(await code(`${key}.evil.example`, '/')).toBe('HOST_UNKNOWN');
    expect(await code(`${key}.apps.example.com.evil.example`, '/')).toBe('HOST_UNKNOWN');
    expect(await code(`x.${key}.apps.example.com`, '/')).toBe('HOST_UNKNOWN');
    expect(await code(`${key}xapps.example.com`, '/')).toBe('HOST_UNKNOWN');
  });
});

test.each([
  ['127.0.0.1:80', '127.0.0.1'],
  ['[::1]:80', '::1'],
  ['A.example', 'a.example'],
  ['a.example:', undefined],
  ['user@a.example', undefined],
  ['a.example/x', undefined],
  ['a b', undefined],
  ['', undefined],
])('a host header of "%s" names %s', (header, name) => {
  expect(hostName(header)).toBe(name);
});

test('a missing host is accepted from HTTP/1.0 clients only, which no browser is', () => {
  expect(controlHosts([])(undefined)).toBe(true);
  expect(publicHosts('https://a.example')(undefined)).toBe(false);
  expect(endpointHosts('https://{endpoint}.a.example')(undefined)).toBeUndefined();
});

test.each([
  'https://a.{endpoint}.example',
  'https://{endpoint}',
  'https://a.example/{endpoint}',
  'https://{endpoint}.a.example/in//x',
  'https://{endpoint}.a.example/.',
  'https://{endpoint}.a.example/%41',
  'https://{endpoint}.{endpoint}.a',
  'https://u@a.example',
])('the invalid public URL %s is reported', (url) => {
  expect(() => readConfig(['--public-url', url], {})).toThrow(ConfigError);
});
