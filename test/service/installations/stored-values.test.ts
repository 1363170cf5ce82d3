/**
 * `…/storage` of the API (docs/contract/storage.md): values of both kinds, conditions, expiry,
 * quotas, and what code and people of another tenant reach.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiTokens } from '../../../src/model/environment.ts';
import { type Installed, TestService } from '../../support/service.ts';

const SHOW_TOKENS = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: (request, { environment }) => Response.json(environment.apiTokens) });`;

const LIMITS = { storageKeys: 20, storageBytes: 20_000, storageValueBytes: 8_000, storageKeyBytes: 512 };

let service: TestService;
let own: Installed;
let sibling: Installed;
let foreign: Installed;
beforeAll(async () => {
  service = await TestService.start({ cells: 1, limits: LIMITS });
  for (const name of ['keeper', 'other']) await service.publish(name, { 'index.js': SHOW_TOKENS });
  own = await service.install('keeper');
  sibling = await service.install('keeper');
  foreign = await service.install('other');
});
afterAll(() => service.stop());

const tokensOf = async ({ endpoint }: Installed): Promise<ApiTokens> =>
  (await (await fetch(`${endpoint}/`)).json()) as ApiTokens;

interface Request {
  readonly from?: Installed;
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly bytes?: Uint8Array<ArrayBuffer>;
}

const at = (key = '', { id }: Installed = own): string =>
  `/integrations/keeper/installations/${id}/storage${key && `/${encodeURIComponent(key)}`}`;
const shared = (key: string): string => `/integrations/keeper/storage/${encodeURIComponent(key)}`;

async function ask(method: string, path: string, request: Request = {}): Promise<Response> {
  const { from = own, json, bytes, headers } = request;
  const token = request.token ?? (await tokensOf(from)).installation;
  const type = bytes ? 'application/octet-stream' : 'application/json';
  const body = bytes ?? (json === undefined ? undefined : JSON.stringify(json));
  return fetch(`${service.service.controlUrl}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': type }),
      ...headers,
    },
    ...(body !== undefined && { body }),
  });
}

const codeOf = async (answer: Response): Promise<string> =>
  `${answer.status} ${((await answer.json()) as { error: { code: string } }).error.code}`;
const codeAsked = async (...asked: Parameters<typeof ask>): Promise<string> => codeOf(await ask(...asked));

describe('values', () => {
  test('JSON of every kind and bytes are read as they were stored', async () => {
    const values = [
      null,
      0,
      -1.5,
      '',
      'ä\ud83d\ude00\u0000',
      '\ud800',
      [],
      {},
      { 'a/b': [1, { c: null }] },
      true,
    ];
    for (const json of values) {
      const put = await ask('PUT', at('a value'), { json });
      expect(put.status).toBe(200);
      const got = await ask('GET', at('a value'));
      expect(got.headers.get('etag')).toBe(put.headers.get('etag'));
      expect(got.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(await got.json()).toEqual(json);
    }
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    await ask('PUT', at('a value'), { bytes });
    const got = await ask('GET', at('a value'));
    expect(got.headers.get('content-type')).toBe('application/octet-stream');
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes);
  });

  test('keys may be any text of up to storageKeyBytes that a path can name', async () => {
    for (const key of [
      'a/b',
      '%2F',
      '..a',
      '?#',
      'ä\u0001 ',
      '😀'.repeat(128),
      'increment',
      '__proto__',
      "' or 1=1",
    ]) {
      expect((await ask('PUT', at(key), { json: key })).status, key).toBe(200);
      expect(await (await ask('GET', at(key))).json()).toBe(key);
      expect((await ask('DELETE', at(key))).status).toBe(204);
      expect(await codeAsked('GET', at(key))).toBe('404 STORED_VALUE_UNKNOWN');
    }
    expect(await codeAsked('PUT', at('x'.repeat(513)), { json: 1 })).toBe('413 REQUEST_TOO_LARGE');
    expect((await ask('PUT', at('x'.repeat(512)), { json: 1 })).status).toBe(200);
    await ask('DELETE', at('x'.repeat(512)));
    expect(await codeAsked('PUT', at('a\0b'), { json: 1 })).toBe('400 REQUEST_INVALID');
  });

  test('hostile values are refused by name, and one beyond storageValueBytes', async () => {
    const put = async (body: string) => {
      const token = (await tokensOf(own)).installation;
      const answer = await fetch(`${service.service.controlUrl}/v1${at('v')}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      });
      return answer.ok
        ? answer.status
        : ((await answer.json()) as { error: { message: string } }).error.message;
    };
    expect(await put('{"__proto__": {"polluted": 1}}')).toContain('"__proto__"');
    expect(await put('{"a": 1e999}')).toContain('too large');
    expect(await put('{"a": ')).toContain('not JSON');
    expect(await put('')).toContain('body is missing');
    expect(await put(`${'['.repeat(40)}${']'.repeat(40)}`)).toContain('nested');
    expect(await put(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)).toContain('nested');
    expect(await put(JSON.stringify('x'.repeat(7_998)))).toBe(200);
    expect(await put(JSON.stringify('x'.repeat(7_999)))).toContain('storageValueBytes');
    expect(await put(JSON.stringify('x'.repeat(100_000)))).toContain('storageValueBytes');
    expect(await codeAsked('PUT', at('v'), { bytes: new Uint8Array(8_001) })).toBe('413 REQUEST_TOO_LARGE');
  });

  test('conditions are kept: If-Match, If-None-Match, 304 and 412', async () => {
    const first =
      (await ask('PUT', at('c'), { json: 1, headers: { 'if-none-match': '*' } })).headers.get('etag') ?? '';
    expect(await codeAsked('PUT', at('c'), { json: 2, headers: { 'if-none-match': '*' } })).toBe(
      '412 STORED_VALUE_CHANGED',
    );
    expect((await ask('GET', at('c'), { headers: { 'if-none-match': first } })).status).toBe(304);
    const second = await ask('PUT', at('c'), { json: 2, headers: { 'if-match': `"none", ${first}` } });
    expect(second.status).toBe(200);
    for (const method of ['PUT', 'DELETE']) {
      const json = method === 'PUT' ? { json: 3 } : {};
      expect(await codeAsked(method, at('c'), { ...json, headers: { 'if-match': first } })).toBe(
        '412 STORED_VALUE_CHANGED',
      );
      expect(await codeAsked(method, at('absent'), { ...json, headers: { 'if-match': '*' } })).toBe(
        '412 STORED_VALUE_CHANGED',
      );
      expect(await codeAsked(method, at('c'), { ...json, headers: { 'if-match': 'W' } })).toBe(
        '400 REQUEST_INVALID',
      );
    }
    expect(await (await ask('GET', at('c'))).json()).toBe(2);
  });

  test('a whole number is incremented; anything else is not', async () => {
    expect(await (await ask('POST', `${at('n')}/increment`)).json()).toMatchObject({ value: 1 });
    expect(await (await ask('POST', `${at('n')}/increment`, { json: { by: -3 } })).json()).toMatchObject({
      value: -2,
    });
    await ask('PUT', at('n'), { json: 'text' });
    expect(await codeAsked('POST', `${at('n')}/increment`)).toBe('409 STORED_VALUE_NOT_WHOLE');
    expect(await codeAsked('POST', `${at('n')}/increment`, { json: { by: 0.5 } })).toBe(
      '400 REQUEST_INVALID',
    );
    await ask('DELETE', at('n'));
  });

  test('an expired value is gone, and one that will expire says when', async () => {
    await ask('PUT', `${at('e')}?expiresIn=3600`, { json: 1 });
    const until = Date.parse((await ask('GET', at('e'))).headers.get('annex-expires-at') ?? '');
    expect(until).toBeGreaterThan(Date.now());
    await ask('PUT', `${at('e')}?expiresIn=0.001`, { json: 1 });
    await expect.poll(async () => (await ask('GET', at('e'))).status).toBe(404);
    for (const wrong of ['0', '-1', 'x', '1e12'])
      expect(await codeAsked('PUT', `${at('e')}?expiresIn=${wrong}`, { json: 1 })).toBe(
        '400 REQUEST_INVALID',
      );
  });
});

describe('lists', () => {
  test('code and people page through keys by prefix, and nobody through a forged cursor', async () => {
    const keys = ['list/a', 'list/b', 'list/ä', 'list/😀'];
    for (const key of keys) await ask('PUT', at(key), { json: 'hidden value' });
    const listed: string[] = [];
    let cursor = '';
    do {
      const { body } = await service.api('GET', `/v1${at()}?prefix=list/&limit=3${cursor}`);
      listed.push(...(body['items'] as { key: string }[]).map(({ key }) => key));
      expect(JSON.stringify(body)).not.toContain('hidden');
      cursor = body['next'] === undefined ? '' : `&cursor=${body['next']}`;
    } while (cursor !== '');
    expect(listed).toEqual(keys);
    const page = (await (await ask('GET', `${at()}?prefix=list/&limit=1`)).json()) as {
      next: { page: string };
    };
    const next = (await (
      await ask('GET', `${at()}?prefix=list/&limit=1&page=${page.next.page}`)
    ).json()) as object;
    expect(next).toMatchObject({ items: [{ key: 'list/b', kind: 'json' }] });
    for (const forged of ['AAAA', page.next.page.slice(0, -2), Buffer.from('xxxxa\0').toString('base64url')])
      expect(await codeAsked('GET', `${at()}?cursor=${forged}`)).toBe('400 REQUEST_INVALID');
    expect(await codeAsked('GET', `${at()}?prefix=%00`)).toBe('400 REQUEST_INVALID');
    for (const key of keys) await ask('DELETE', at(key));
  });
});

describe('tenants', () => {
  test('code reaches no other installation, no other integration, and shares the values of its own', async () => {
    await ask('PUT', at('secret'), { json: 'own' });
    await ask('PUT', shared('secret'), { json: 'shared' });
    for (const from of [sibling, foreign])
      for (const method of ['GET', 'PUT', 'DELETE'])
        expect(await codeAsked(method, at('secret'), { from, ...(method === 'PUT' && { json: 1 }) })).toBe(
          '404 INSTALLATION_UNKNOWN',
        );
    for (const path of [at(), `${at('secret')}/increment`])
      expect(await codeAsked(path === at() ? 'GET' : 'POST', path, { from: foreign })).toBe(
        '404 INSTALLATION_UNKNOWN',
      );
    // The id of one integration's installation below the name of another.
    const mixed = `/integrations/other/installations/${own.id}/storage/secret`;
    for (const from of [own, foreign])
      expect(await codeAsked('GET', mixed, { from })).toBe('404 INSTALLATION_UNKNOWN');
    expect(await (await ask('GET', shared('secret'), { from: sibling })).json()).toBe('shared');
    expect(await codeAsked('GET', shared('secret'), { from: foreign })).toBe('404 INTEGRATION_UNKNOWN');
    expect((await ask('GET', at('secret', sibling), { from: sibling })).status).toBe(404);
    const { integration } = await tokensOf(own);
    expect(await (await ask('GET', at('secret'), { token: integration })).json()).toBe('own');
    expect((await ask('GET', at('secret', sibling), { token: integration })).status).toBe(404);
  });

  test('people see keys and sizes, remove a key with an audit entry, and see no value', async () => {
    for (const path of [at('secret'), shared('secret')])
      expect((await service.api('GET', `/v1${path}`)).status).toBe(403);
    const { body } = await service.api('GET', '/v1/integrations/keeper/storage');
    expect(body).toMatchObject({
      items: [{ key: 'secret' }],
      usage: { keys: 1, keysMax: 20, bytesMax: 20_000 },
    });
    expect((await service.api('DELETE', `/v1${at('secret')}`)).status).toBe(204);
    expect((await service.api('DELETE', `/v1${at('secret')}`)).status).toBe(404);
    const audit = await service.api('GET', `/v1/audit?action=storage.delete&installation=${own.id}`);
    expect(audit.body['items']).toMatchObject([{ details: { key: 'secret' } }]);
  });

  test('a full quota is answered with its limit, and is the quota of one installation', async () => {
    const put = (key: string, from: Installed) => ask('PUT', at(key, from), { from, json: 'x'.repeat(500) });
    const answers = await Promise.all(Array.from({ length: 30 }, (_, number) => put(`k${number}`, sibling)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    const full = answers.find(({ status }) => status === 507);
    expect(await full?.json()).toMatchObject({
      error: { code: 'STORAGE_FULL', limit: { name: 'storageKeys', max: 20, used: 21 } },
    });
    const big = Promise.all(
      ['k0', 'k1'].map((key) => ask('PUT', at(key, sibling), { from: sibling, json: 'x'.repeat(7_900) })),
    );
    expect((await big).map(({ status }) => status).sort()).toEqual([200, 507]);
    expect((await put('k', own)).status).toBe(200);
    const metric = await (await fetch(`${service.service.controlUrl}/metrics`)).text();
    expect(metric).toMatch(/limit="storageKeys".* 10\b/);
    // Lowered for one integration; what is stored stays.
    await service.api('PUT', '/v1/integrations/keeper/limits', { json: { storageKeys: 1 } });
    await expect.poll(async () => (await put('another', own)).status).toBe(507);
    expect((await put('k', own)).status).toBe(200);
    await service.api('DELETE', '/v1/integrations/keeper/limits');
  });
});
