/**
 * Origins of endpoints (docs/contract/endpoints.md#urls): an origin for each endpoint, with and
 * without a path, and the origin without cookies.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/host/config.ts';
import { askPublic, MODULE_WORKER, type Shown } from '../../support/module-worker.ts';
import { TestService } from '../../support/service.ts';

interface Urls {
  readonly publicEndpoint: string;
  readonly publicContentEndpoint: string;
}

describe.each([
  ['a shared origin', 'https://hooks.example.com', 'https://content.example.net'],
  ['origins of their own', 'https://{endpoint}.apps.example.com', 'https://{endpoint}.content.example.net'],
  [
    'a shared origin, with a path',
    'https://hooks.example.com/in/annex',
    'https://content.example.net/in/annex',
  ],
  [
    'origins of their own, with a path',
    'https://{endpoint}.apps.example.com/i',
    'https://{endpoint}.content.example.net/i',
  ],
])('endpoints on %s', (form, publicUrl, contentUrl) => {
  let annex: TestService;
  let urls: Urls[];
  beforeAll(async () => {
    const flags = ['--public-url', publicUrl, '--content-url', contentUrl];
    annex = await TestService.start({ flags });
    await annex.publish('echo', { 'index.js': MODULE_WORKER });
    const { id } = await annex.install('echo');
    const paths = ['/v1/integrations/echo', `/v1/integrations/echo/installations/${id}`];
    const read = await Promise.all(paths.map((path) => annex.api('GET', path)));
    urls = read.map(({ body }) => body['urls'] as Urls);
  });
  afterAll(() => annex.stop());

  const showAt = async (url: string, options?: Parameters<typeof askPublic>[2]): Promise<Shown> =>
    JSON.parse((await askPublic(annex, url, options)).text) as Shown;

  test('are the integration’s and the installation’s, on both origins', async () => {
    for (const { publicEndpoint, publicContentEndpoint } of urls) {
      for (const endpoint of [publicEndpoint, publicContentEndpoint]) {
        expect(endpoint).not.toMatch(/\/$/);
        const { url, event, environment } = await showAt(`${endpoint}/a?b=c`);
        expect(url).toBe(`${new URL(publicEndpoint).origin}/v1`);
        expect(event.request?.url).toBe(`${endpoint}/a?b=c`);
        const own = environment.urls ?? environment.integration.urls;
        expect(own).toMatchObject({ publicEndpoint, publicContentEndpoint });
      }
    }
  });

  test.runIf(form === 'a shared origin, with a path')(
    'answer where a proxy has taken the path off, in the same way, and with cookies for the whole path',
    async () => {
      for (const { publicEndpoint, publicContentEndpoint } of urls)
        for (const endpoint of [publicEndpoint, publicContentEndpoint]) {
          const path = new URL(endpoint).pathname;
          const bare = path.replace('/in/annex', '');
          expect(bare).toMatch(/^\/[a-z2-7]{32}$/);
          for (const at of [path, bare]) {
            const { event } = await showAt(endpoint, { path: `${at}/in/annex/x?y` });
            expect(event.request?.url).toBe(`${endpoint}/in/annex/x?y`);
            const headers = { 'sec-fetch-mode': 'navigate' };
            const sent = await askPublic(annex, endpoint, { path: at, headers });
            expect([sent.status, sent.headers.location]).toEqual([307, `${bare.slice(1)}/`]);
          }
          const { headers } = await askPublic(annex, publicEndpoint, { path: `${bare}/cookie` });
          expect(headers['set-cookie']).toEqual([
            expect.stringContaining(`Path=${new URL(publicEndpoint).pathname}`),
          ]);
        }
    },
  );

  test('take envelopes of a path that is exactly /v1 below the endpoint', async () => {
    for (const { publicEndpoint } of urls) {
      const options = { method: 'POST', headers: { 'content-length': '0' } };
      const { status, text } = await askPublic(annex, `${publicEndpoint}/v1`, options);
      expect([status, JSON.parse(text).error.code]).toEqual([401, 'ENVELOPE_UNAUTHORIZED']);
    }
  });

  test('get and set no cookies on the content origin', async () => {
    for (const { publicEndpoint, publicContentEndpoint } of urls) {
      const headers = { cookie: 'session=secret', 'x-kept': 'yes' };
      const asked = async (endpoint: string) => {
        const answer = await askPublic(annex, `${endpoint}/cookie`, { headers });
        const { event } = JSON.parse(answer.text) as Shown;
        return [
          event.request?.headers['cookie'],
          event.request?.headers['x-kept'],
          answer.headers['set-cookie'],
        ];
      };
      expect(await asked(publicEndpoint)).toEqual([
        'session=secret',
        'yes',
        [expect.stringContaining('a=b')],
      ]);
      expect(await asked(publicContentEndpoint)).toEqual([undefined, 'yes', undefined]);
    }
  });

  test('attack: a path that leaves the endpoint is refused on both origins', async () => {
    for (const url of urls.flatMap(({ publicEndpoint, publicContentEndpoint }) => [
      publicEndpoint,
      publicContentEndpoint,
    ])) {
      const path = `${new URL(url).pathname.replace(/\/$/, '')}/../x`;
      expect((await askPublic(annex, url, { path })).status).toBe(400);
    }
  });

  test.runIf(form === 'origins of their own')('route `//x` as `/x`', async () => {
    for (const { publicEndpoint } of urls)
      expect((await showAt(publicEndpoint, { path: '//installations?a' })).event.request?.url).toBe(
        `${publicEndpoint}/installations?a`,
      );
  });

  test.runIf(form === 'origins of their own, with a path')('answer below their path only', async () => {
    for (const { publicEndpoint } of urls)
      for (const path of ['/', '/x', '/ix', '/v1']) {
        const { status, text } = await askPublic(annex, publicEndpoint, { path });
        expect([path, status, JSON.parse(text).error.code]).toEqual([path, 404, 'ENDPOINT_UNKNOWN']);
      }
    expect((await showAt(urls[0]?.publicEndpoint ?? '', { path: '/i' })).calls).toBeGreaterThan(0);
  });
});

test.each([
  ['without --public-url', ['--content-url', 'https://content.example.net']],
  [
    'of another form',
    ['--content-url', 'https://{endpoint}.content.example.net', '--public-url', 'https://a.example'],
  ],
  [
    'with another path',
    ['--content-url', 'https://content.example.net/x', '--public-url', 'https://a.example'],
  ],
  ['of the same host', ['--content-url', 'https://a.example:8443', '--public-url', 'https://a.example']],
])('a content URL %s is reported', (_, flags) => {
  expect(() => readConfig(flags, {})).toThrow(ConfigError);
});

test.each([
  'https://api.example.com/annex',
  'https://api.example.com/annex/v1',
  'https://api.example.com/annex/v1/',
])('an API URL may have the version at its end: %s', (url) => {
  expect(readConfig(['--api-url', url], {}).apiUrl).toBe('https://api.example.com/annex');
});
