/**
 * The product's own API behind Annex: calls of integrations that Annex does not serve reach the
 * product with a statement that it verifies offline, and nothing else does.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { callerVerifier, mayRead } from '../../../docs/product/verify-caller.js';
import { ConfigError, readConfig } from '../../../src/host/config.ts';
import type { ApiTokens } from '../../../src/model/environment.ts';
import { type Asked, FakeProduct } from '../../support/http/fake-product.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { type Installed, TestService } from '../../support/service.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';

/** Sends the requested call with its own token, or shows its environment. */
const CALLER = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: async (request, { environment }) => {
  if (request.method === 'GET') return Response.json(environment);
  const { kind = 'installation', method = 'GET', path, headers, body } = await request.json();
  const answer = await fetch(environment.apiEndpoint + path, {
    method, redirect: 'manual', ...(body && { body }),
    headers: { ...headers, authorization: 'Bearer ' + environment.apiTokens[kind] },
  });
  return Response.json({ status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() });
} });`;

/** Paths that servers read in different ways. */
const NOT_CANONICAL = [
  '/v1/pages/..;/..;/internal/admin',
  '/v1/pages/%252e%252e/admin',
  '/v1/pages/%25252e/admin',
  '/v1/pages;x=1/a',
  '/v1/pages%3bx=1',
  '/v1/pages%3Fadmin',
  '/v1/pages%23admin',
  '/v1/pages\\admin',
  '/v1//pages',
  '/v1/pages//',
  '/v1/pages%2f%2fadmin',
  '/v1/./pages',
  '/v1/pages./a',
  '/v1/pages%20/a',
  '/v1/pages/..%20/admin',
  '/v1/pages%00.json',
  '/v1/pages/%c0%ae%c0%ae/admin',
  '/v1/pages/\xc0\xae\xc0\xae/admin',
  '/v1/pages/%u002e%u002e/admin',
  '/v1/pages/%25u002e%25u002e/admin',
];
/** Names that PHP, or a server that separates parameters by `;`, reads as `_method`. */
const OVERRIDES = [
  '%5fMethod',
  '.method',
  '%2Emethod',
  '+_method',
  '[method',
  '_method[]',
  'a=1;_method',
  '_method%00x',
];
const CANONICAL = [
  '/v1/pages/a.b',
  '/v1/pages/',
  '/v1/pages/100%25',
  '/v1/pages/a%2Fb',
  '/v1/pages/h%C3%A4user?x=..;/',
];

interface Asking {
  readonly kind?: 'integration' | 'installation';
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

const codeOf = ({ body }: { readonly body: string }): string => JSON.parse(body).error.code;

describe('with --product-api', () => {
  let product: FakeProduct;
  let service: TestService;
  let own: Installed;
  let space: Installed;
  let keys: JSONWebKeySet;
  beforeAll(async () => {
    product = await FakeProduct.start();
    service = await TestService.start({ flags: ['--product-api', product.url] });
    await service.publish('caller', { 'index.js': CALLER }, 'target: all\n');
    own = await service.install('caller', 'acme-2');
    space = await service.installBelow('caller', own, 'space', 'sp-1');
    keys = (await (
      await fetch(`${service.service.controlUrl}/v1/.well-known/jwks.json`)
    ).json()) as JSONWebKeySet;
  });
  afterAll(async () => {
    await service.stop();
    await product.close();
  });
  beforeEach(() => {
    product.asked.length = 0;
  });

  const ask = async (asking: Asking, from = own): Promise<Answer> =>
    (await (
      await fetch(`${from.endpoint}/`, { method: 'POST', body: JSON.stringify(asking) })
    ).json()) as Answer;
  const tokens = async (): Promise<ApiTokens> =>
    ((await (await fetch(`${own.endpoint}/`)).json()) as { apiTokens: ApiTokens }).apiTokens;
  const api = () => `${service.service.controlUrl}/v1`;
  const raw = (lines: readonly string[]) =>
    exchange(service.service.controlUrl, `${lines.join('\r\n')}\r\n\r\n`);
  const verified = () => product.verified(keys, api());

  test('a call that Annex does not serve reaches the product, and its answer comes back', async () => {
    const path = '/spaces/sp-1/content?format=markdown&x=%2F';
    const headers = { 'content-type': 'text/plain', accept: 'application/json', 'x-trace': '7' };
    const answer = await ask({ method: 'PUT', path, headers, body: 'häuser' });
    expect(answer).toMatchObject({ status: 200, headers: { 'x-served-by': 'product' } });
    expect(product.last).toMatchObject({ method: 'PUT', url: `/v1${path}`, body: 'häuser', headers });
    const { installation } = await tokens();
    expect(product.last?.headers.authorization).toMatch(/^Bearer annex_run_/);
    expect(installation).toMatch(/^annex_run_/);
  });

  test('the statement is verified offline, and says whose code calls', async () => {
    await ask({ path: '/user' });
    const claims = await verified();
    expect(claims).toMatchObject({
      ...{ kind: 'installation', integration: 'caller', version: 1, installation: own.id },
      ...{ organization: 'acme-2', scopes: [], iss: api(), aud: product.url },
      jti: expect.stringMatching(/^[\w-]{22}$/),
    });
    expect(Number(claims.exp) - Number(claims.iat)).toBe(60);
    expect(claims).not.toHaveProperty('space');
    await ask({ path: '/user' }, space);
    expect(await verified()).toMatchObject({ installation: own.id, space: 'sp-1' });
    await ask({ kind: 'integration', path: '/user' });
    const whole = await verified();
    expect(whole).toMatchObject({ kind: 'integration', integration: 'caller', organization: 'acme' });
    expect(whole).not.toHaveProperty('installation');
  });

  test('requests of one token share a statement; another token has another', async () => {
    const { installation, integration } = await tokens();
    for (const token of [installation, installation, integration])
      await fetch(`${api()}/user`, { headers: { authorization: `Bearer ${token}` } });
    const [first, second, other] = product.asked.map(({ headers }) => headers['x-platform-caller']);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  test('what Annex serves itself is not forwarded, whatever the method and the spelling', async () => {
    const paths = [
      ['GET', '/integrations/caller', 200],
      ['DELETE', '/integrations/caller', 403],
      ['PUT', '/integrations/caller', 404],
      ['POST', '/integr%61tions/caller', 404],
      ['GET', '/integrations/unknown', 404],
      ['GET', '/tokens', 403],
      ['PATCH', '/tokens', 404],
      ['GET', '/openapi.json', 200],
    ] as const;
    for (const [method, path, status] of paths)
      expect(await ask({ method, path }), `${method} ${path}`).toMatchObject({ status });
    expect(product.asked).toEqual([]);
  });

  test('other tokens, and none, open nothing: the path is unknown, as without a product', async () => {
    for (const token of ['', service.admin, service.platform, 'annex_organization_x']) {
      const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
      const answer = await fetch(`${api()}/spaces/sp-1`, { headers });
      expect([answer.status, codeOf({ body: await answer.text() })]).toEqual([404, 'ROUTE_UNKNOWN']);
    }
    const forged = await fetch(`${api()}/spaces/sp-1`, {
      headers: { authorization: 'Bearer annex_run_x.y' },
    });
    expect([forged.status, codeOf({ body: await forged.text() })]).toEqual([401, 'TOKEN_INVALID']);
    expect(product.asked).toEqual([]);
  });

  test('a call over the network is forwarded like one in process', async () => {
    const { installation } = await tokens();
    const headers = { authorization: `Bearer ${installation}` };
    const answer = await fetch(`${api()}/spaces`, { method: 'POST', headers, body: '{"a":1}' });
    expect([answer.status, (await answer.json()) as unknown]).toEqual([
      200,
      { method: 'POST', url: '/v1/spaces', body: '{"a":1}' },
    ]);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  test('attack: a client cannot forge the statement, its address, cookies or a second token', async () => {
    const { installation } = await tokens();
    const answer = await raw([
      'GET /v1/spaces HTTP/1.1',
      'Host: 127.0.0.1',
      `Authorization: Bearer ${installation}`,
      'X-Platform-Caller: forged',
      'x_platform_caller: forged',
      'Cookie: a=forged',
      'X-Forwarded-For: forged',
      'X-HTTP-Method-Override: DELETE',
      'X_HTTP_METHOD: forged',
      'X-Original-URL: /forged',
      'X-Rewrite-URL: /forged',
      'X-Original-Method: forged',
      'X-Envoy-Original-Path: /forged',
      'X-Middleware-Subrequest: forged',
      'X-Matched-Path: /forged',
      'X-Invoke-Path: /forged',
      'X-Script-Name: /forged',
      'X-Sendfile-Type: forged',
      'X-Accel-Mapping: /forged',
      'X-Forward-For: forged',
      'WL-Proxy-Client-IP: forged',
      'True-Client-IP: forged',
      'X-Auth-Request-User: forged',
      'Remote_User: forged',
      'Proxy: forged',
      'X-Request-Id: kept',
      'X-Dropped: forged',
      'Connection: close, x-dropped',
    ]);
    expect(answer).toContain('200 OK');
    expect(JSON.stringify(product.last?.rawHeaders)).not.toMatch(/forged|override/i);
    expect(product.last?.headers).toMatchObject({ 'x-request-id': 'kept' });
    expect(await verified()).toMatchObject({ installation: own.id });
  });

  test('attack: a path that leaves the API of the product is refused', async () => {
    const { installation } = await tokens();
    const paths = [
      '/v1/../admin',
      '/v1/%2e%2E/admin',
      '/v1/a/..%2f..%2Fadmin',
      '/v1/a/..%5cadmin',
      '/v1/%zz',
      ...NOT_CANONICAL,
      ...OVERRIDES.map((name) => `/v1/spaces?x=1&${name}=DELETE`),
    ];
    for (const path of paths) {
      const lines = [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${installation}`];
      const answer = await raw([...lines, 'Connection: close']);
      expect(answer, path).toMatch(/^HTTP\/1\.1 40[04] /);
    }
    const inProcess = await ask({ path: '/v1/pages/..;/..;/internal/admin'.slice('/v1'.length) });
    expect([inProcess.status, codeOf(inProcess)]).toEqual([400, 'REQUEST_INVALID']);
    expect(product.asked).toEqual([]);
  });

  test('a canonical path passes as it was sent', async () => {
    const { installation } = await tokens();
    for (const path of CANONICAL) {
      const answer = await fetch(`${api()}${path.slice('/v1'.length)}`, {
        headers: { authorization: `Bearer ${installation}` },
      });
      expect([path, answer.status, product.last?.url]).toEqual([path, 200, path]);
    }
  });

  test('keys are rotated without a gap: the next one is published before it signs', async () => {
    expect(keys.keys).toHaveLength(2);
    await ask({ path: '/user' });
    const before = product.last?.headers['x-platform-caller'];
    const rotated = await service.api('POST', '/v1/statement-keys/rotate');
    expect(rotated).toMatchObject({
      ...{ status: 200, body: { keys: [{ state: 'next' }, { state: 'signing' }, { state: 'previous' }] } },
    });
    await ask({ path: '/user' });
    expect(product.last?.headers['x-platform-caller']).not.toBe(before);
    // With the keys that were fetched before the rotation.
    expect(await verified()).toMatchObject({ installation: own.id });
    const after = (await (await fetch(`${api()}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
    expect(after.keys).toHaveLength(3);
    expect(await product.verified(after, api(), String(before))).toMatchObject({ installation: own.id });
    const forgotten = await service.api('POST', '/v1/statement-keys/rotate', { json: { forget: true } });
    expect(forgotten.body).toMatchObject({ keys: [{ state: 'next' }, { state: 'signing' }] });
    const anew = (await (await fetch(`${api()}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
    await expect(product.verified(anew, api(), String(before))).rejects.toThrow('no applicable key');
    const tenant = await service.api('POST', '/v1/statement-keys/rotate', { token: service.platform });
    expect(tenant.status).toBe(403);
  });
});

test('without --product-api the answer names the setting', async () => {
  const service = await TestService.start();
  const own = await service.deploy('caller', CALLER);
  const asking = { method: 'POST', body: JSON.stringify({ path: '/spaces/sp-1' }) };
  const answer = (await (await fetch(`${own.endpoint}/`, asking)).json()) as Answer;
  expect([answer.status, codeOf(answer)]).toEqual([404, 'ROUTE_UNKNOWN']);
  expect(answer.body).toContain('--product-api');
  await service.stop();
});

test('the example of the documentation verifies a statement, also while Annex is down', async () => {
  const product = await FakeProduct.start();
  const service = await TestService.start({ flags: ['--product-api', product.url] });
  const own = await service.deploy('reader', CALLER);
  const asking = { method: 'POST', body: JSON.stringify({ path: '/spaces/sp-1' }) };
  await fetch(`${own.endpoint}/`, asking);
  const annex = service.service.controlUrl;
  const verify = callerVerifier({ annex, issuer: `${annex}/v1`, audience: product.url });
  const { headers } = product.last as Asked;
  const caller = await verify(headers);
  expect(caller).toMatchObject({ kind: 'installation', integration: 'reader', installation: own.id });
  expect(mayRead(caller, { organization: String(caller['organization']) })).toBe(false);
  await service.stop();
  expect(await verify(headers)).toEqual(caller);
  const [head, payload, signature] = String(headers['x-platform-caller']).split('.');
  const claims = JSON.parse(Buffer.from(String(payload), 'base64url').toString()) as object;
  const raised = Buffer.from(JSON.stringify({ ...claims, scopes: ['space:content:read'] })).toString(
    'base64url',
  );
  for (const statement of [`${head}.${raised}.${signature}`, `${head}.${payload}.`, 'x', undefined])
    await expect(verify({ 'x-platform-caller': statement })).rejects.toThrow();
  const other = callerVerifier({ annex, issuer: `${annex}/v1`, audience: 'https://other.example' });
  await expect(other(headers)).rejects.toThrow();
  await product.close();
});

describe('with --product-scopes', () => {
  const RULES = "- { method: GET, path: '/v1/spaces/{space}', scope: space:metadata:read }";

  test('a call whose scope the manifest lacks is 403, and the log of the installation says so', async () => {
    const file = join(await temporaryFolder(), 'scopes.yaml');
    await writeFile(file, RULES);
    const product = await FakeProduct.start();
    const flags = ['--product-api', product.url, '--product-scopes', file];
    const service = await TestService.start({ flags });
    const manifest = (scopes: string) =>
      `name: reader\ntitle: r\ndescription: r\norganization: acme\nvisibility: public\nscopes: [${scopes}]\nscript: index.js\n`;
    const publish = async (scopes: string) => {
      const form = new FormData();
      form.append('manifest', manifest(scopes));
      form.append('files', new Blob([CALLER]), 'index.js');
      expect((await service.api('POST', '/v1/integrations', { form })).status).toBe(201);
    };
    await publish('');
    const own = await service.install('reader');
    const ask = async (path: string) => {
      const asking = { method: 'POST', body: JSON.stringify({ path }) };
      return (await (await fetch(`${own.endpoint}/`, asking)).json()) as Answer;
    };
    const refused = await ask('/spaces/sp-1');
    expect([refused.status, codeOf(refused)]).toEqual([403, 'SCOPE_MISSING']);
    expect(product.asked).toEqual([]);
    const [line] = await service.log(own);
    expect(line).toMatchObject({ level: 'warn', text: expect.stringContaining('space:metadata:read') });
    expect((await ask('/user')).status).toBe(200);
    await publish('space:metadata:read');
    expect((await ask('/spaces/sp-1')).status).toBe(200);
    const keys = await fetch(`${service.service.controlUrl}/v1/.well-known/jwks.json`);
    expect(
      await product.verified((await keys.json()) as JSONWebKeySet, `${service.service.controlUrl}/v1`),
    ).toMatchObject({ version: 2, scopes: ['space:metadata:read'] });
    await service.stop();
    await product.close();
  });

  test.each([
    [['--product-scopes', '/nowhere/scopes.yaml', '--product-api', 'https://x.example'], 'ENOENT'],
    [['--product-api', 'ftp://x.example'], '--product-api must be an http or https URL'],
    [['--product-api', 'https://u:p@x.example'], 'must not have a user name'],
  ])('mistakes in the settings stop the start: %j', (flags, problem) => {
    expect(() => readConfig(flags, {})).toThrow(ConfigError);
    expect(() => readConfig(flags, {})).toThrow(problem);
  });
});
