/**
 * The control listener's routes over a real store: authentication, visibility and error answers.
 */
import fastify, { type FastifyInstance } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeLayers, UNCONFINED } from '../../../src/host/confinement/layers.ts';
import { controlRoutes } from '../../../src/host/http/control/control-routes.ts';
import { Followers } from '../../../src/host/http/control/following/followers.ts';
import { Credentials } from '../../../src/host/http/credentials.ts';
import { answerErrors } from '../../../src/host/http/error-answer.ts';
import { Publisher } from '../../../src/host/publish/publish.ts';
import type { Store } from '../../../src/host/store/store.ts';
import type { TokenGrant } from '../../../src/host/store/tokens.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { AddressList } from '../../../src/model/address-list.ts';
import { HEADER_PREFIX } from '../../../src/model/signature.ts';
import { intakeOf } from '../../support/deliveries/intake.ts';
import { targetsOf } from '../../support/store/targets.ts';
import { CLOCK, OPERATOR, ORIGINS, published, temporaryStore } from '../../support/store/temporary-store.ts';

interface Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  // Each test asserts the shape of its JSON answer.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly body: any;
}

/** The listener, and a client with a given token. */
class Control {
  readonly store: Store;
  readonly #app: FastifyInstance;

  constructor(store: Store, app: FastifyInstance) {
    this.store = store;
    this.#app = app;
  }

  async as(grant: TokenGrant) {
    const { token } = await this.store.tokens.create(grant, OPERATOR);
    const headers = { authorization: `Bearer ${token}` };
    return {
      get: (url: string) => this.ask('GET', url, headers),
      post: (url: string, payload?: unknown) => this.ask('POST', url, headers, payload),
      delete: (url: string) => this.ask('DELETE', url, headers),
    };
  }

  async ask(
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    headers: Record<string, string> = {},
    payload?: unknown,
  ): Promise<Answer> {
    const body = payload === undefined ? {} : { payload: payload as object };
    const answer = await this.#app.inject({ method, url, headers, ...body });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answer.body === '' ? undefined : JSON.parse(answer.body),
    };
  }
}

async function control(): Promise<Control> {
  const store = await temporaryStore();
  const app = fastify();
  answerErrors(app);
  // Uploads of these tests are refused before their code would run.
  const probe = () => Promise.reject(new Error('This upload must not be run.'));
  const publisher = new Publisher({ registry: store.registry, limits: DEFAULT_LIMITS, probe });
  const metrics = { contentType: 'text/plain', metrics: async () => '"up 1"' };
  const credentials = new Credentials({
    tokens: store.tokens,
    ...targetsOf(store),
    limits: DEFAULT_LIMITS,
    trustedProxies: new AddressList(),
    monotonicNow: () => 0,
  });
  const cells = { count: 1, layers: describeLayers(UNCONFINED, {}) };
  const disk = { on: false, detail: 'a test' };
  const bundlers = { layers: { ...cells.layers, disk } };
  const limitMet = () => undefined;
  const after = () => () => undefined;
  const followers = new Followers({ limits: DEFAULT_LIMITS, after, limitMet });
  // These tests call no integration.
  const dispatch = { call: () => Promise.reject(new Error('This call must not be made.')) };
  const observer = { log: () => undefined, productFailed: () => undefined };
  const parts = {
    publisher,
    dispatch,
    scripts: { script: () => Promise.reject(new Error('No script must be asked for.')) },
    egress: { fetch: () => Promise.reject(new Error('Nothing must be fetched.')) },
    observer,
    credentials,
    limits: DEFAULT_LIMITS,
    monotonicNow: () => 0,
    wallNow: () => 0,
    metrics,
    cells,
    bundlers,
    database: () => ({ ...store.integrity.state, ...store.database.state }),
    limitMet,
    followers,
    console: true,
    settings: [],
    portal: undefined,
    webhookHeaderPrefix: HEADER_PREFIX,
    levelNames: {},
  };
  controlRoutes(app, { ...store, ...intakeOf(store), ...targetsOf(store), origins: ORIGINS, ...parts });
  onTestFinished(() => app.close());
  return new Control(store, app);
}

const ADMIN = { kind: 'admin' } as const;
const PLATFORM = { kind: 'platform' } as const;
const member = (organization: string) => ({ kind: 'organization', organization }) as const;

const publish = (store: Store, fields: Parameters<typeof published>[0] = {}) =>
  store.registry.publish(
    { manifest: published(fields), script: '', sourceMap: '{}', secrets: new Map() },
    OPERATOR,
  );

const codeOf = ({ status, body }: Answer) => `${status} ${body?.error?.code}`;

describe('every route under /v1', () => {
  test('needs a token, and says so as RFC 6750 requires', async () => {
    const { ask } = await control().then((found) => ({ ask: found.ask.bind(found) }));
    const missing = await ask('GET', '/v1/integrations');
    expect(codeOf(missing)).toBe('401 TOKEN_MISSING');
    expect(missing.headers['www-authenticate']).toBe('Bearer');
    const unknown = { authorization: `Bearer annex_admin_${'x'.repeat(43)}` };
    expect(codeOf(await ask('GET', '/v1/integrations', unknown))).toBe('401 TOKEN_INVALID');
    expect(codeOf(await ask('GET', '/v1/integrations', { authorization: 'Basic eDp5' }))).toBe(
      '401 TOKEN_MISSING',
    );
  });

  test('refuses before it reads the body', async () => {
    const found = await control();
    const headers = { 'content-type': 'application/json' };
    expect(codeOf(await found.ask('POST', '/v1/tokens', headers, '{'))).toBe('401 TOKEN_MISSING');
  });

  test('answers errors in one shape, with the request id', async () => {
    const found = await control();
    const admin = await found.as(ADMIN);
    const { body } = await admin.get('/v1/integrations/nothing');
    expect(body).toEqual({
      error: {
        code: 'INTEGRATION_UNKNOWN',
        status: 404,
        message: 'There is no integration "nothing".',
        requestId: expect.any(String),
      },
    });
    expect(codeOf(await admin.get('/v1/nothing'))).toBe('404 ROUTE_UNKNOWN');
    expect(codeOf(await admin.post('/v1/integrations', { a: 1 }))).toBe('400 REQUEST_INVALID');
  });

  test('names the invalid field, and refuses unknown ones', async () => {
    const found = await control();
    await publish(found.store);
    const admin = await found.as(ADMIN);
    const message = async (payload: unknown) =>
      (await admin.post('/v1/integrations/hello/installations', payload)).body.error.message;
    expect(await message({})).toContain('organization');
    expect(await message({ organization: 'a', extra: 1 })).toBe('body has unknown members: extra.');
    expect(await message({ organization: 7 })).toBe('body.organization must be string.');
    expect(await message({ organization: 'a', externalIds: ['ok', 7] })).toBe(
      'body.externalIds[1] must be string.',
    );
    expect(await message({ organization: 'a', externalIds: Array(6).fill('x') })).toContain(
      'body.externalIds',
    );
    expect(await message({ organization: 'a', externalIds: ['a\0b'] })).toContain('body.externalIds[0]');
    const query = async (text: string) => (await admin.get(`/v1/integrations?${text}`)).body.error?.message;
    expect(await query('limit=0')).toContain('query.limit');
    expect(await query('limit=1001')).toContain('query.limit');
    expect(await query('limit=1000')).toBeUndefined();
    expect(await query('limt=1')).toContain('limt');
    expect(await query('limit=1&limit=2')).toContain('query.limit');
    expect(await query('cursor=%00')).toContain('query.cursor');
    expect(await query('page=%00')).toContain('query.page');
    expect(await query('page=YWJj')).toContain('query.page is not the `next`');
    expect(await query('page=YWJj&cursor=YWJj')).toContain('query.page and query.cursor are the same');
  });
});

describe('integrations', () => {
  test('are listed as far as the token may see them, and those of another tenant are unknown', async () => {
    const found = await control();
    await publish(found.store, { name: 'ours', organization: 'acme', visibility: 'private' });
    await publish(found.store, { name: 'theirs', organization: 'rival', visibility: 'private' });
    await publish(found.store, { name: 'open', organization: 'rival', visibility: 'public' });
    const names = async (grant: TokenGrant) =>
      (await (await found.as(grant)).get('/v1/integrations')).body.items.map(
        ({ name }: { name: string }) => name,
      );
    expect(await names(ADMIN)).toEqual(['open', 'ours', 'theirs']);
    expect(await names(PLATFORM)).toEqual(['open', 'ours', 'theirs']);
    expect(await names(member('acme'))).toEqual(['open', 'ours']);
    const acme = await found.as(member('acme'));
    expect((await acme.get('/v1/integrations/open')).body).toMatchObject({
      organization: 'rival',
      version: 1,
    });
    expect(codeOf(await acme.get('/v1/integrations/theirs'))).toBe('404 INTEGRATION_UNKNOWN');
  });

  test('page by cursor', async () => {
    const found = await control();
    for (const name of ['a', 'b', 'c']) await publish(found.store, { name });
    const admin = await found.as(ADMIN);
    const first = (await admin.get('/v1/integrations?limit=2')).body;
    expect(first.items).toHaveLength(2);
    const second = (await admin.get(`/v1/integrations?limit=2&cursor=${first.next}`)).body;
    expect(second.items).toMatchObject([{ name: 'c' }]);
    expect(second).not.toHaveProperty('next');
  });
});

describe('publishing', () => {
  test('is refused for the host product', async () => {
    const found = await control();
    const platform = await found.as(PLATFORM);
    const form = new FormData();
    form.set('manifest', 'x');
    expect(codeOf(await platform.post('/v1/integrations', form))).toBe('403 TOKEN_FORBIDDEN');
  });

  test('lists every problem of an upload in one answer', async () => {
    const found = await control();
    const acme = await found.as(member('acme'));
    const form = new FormData();
    form.set('manifest', 'name: not good\nscript: a.ts');
    form.append('files', new Blob(['export default {']), 'a.ts');
    const answer = await acme.post('/v1/integrations', form);
    expect(codeOf(answer)).toBe('422 PUBLISH_INVALID');
    expect(answer.body.error.problems).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ severity: 'error', file: 'platform-manifest.yaml', line: 1, column: 7 }),
        expect.objectContaining({ severity: 'error', file: 'a.ts', line: 1 }),
      ]),
    );
  });
});

describe('versions', () => {
  test('are listed newest first, and an older one can be activated again', async () => {
    const found = await control();
    for (let i = 0; i < 3; i += 1) await publish(found.store);
    const acme = await found.as(member('acme'));
    expect((await acme.post('/v1/integrations/hello/versions/1/activate')).body).toEqual({
      integration: 'hello',
      version: 1,
    });
    const { items, next } = (await acme.get('/v1/integrations/hello/versions?limit=2')).body;
    expect(items).toMatchObject([
      { version: 3, active: false },
      { version: 2, active: false },
    ]);
    const rest = (await acme.get(`/v1/integrations/hello/versions?cursor=${next}`)).body;
    expect(rest.items).toEqual([{ version: 1, active: true, createdAt: new Date(CLOCK.now).toISOString() }]);
    expect(codeOf(await acme.post('/v1/integrations/hello/versions/4/activate'))).toBe('404 VERSION_UNKNOWN');
    expect(codeOf(await acme.post('/v1/integrations/hello/versions/x/activate'))).toBe('400 REQUEST_INVALID');
  });

  test('are visible to the owner only, even if the integration is public', async () => {
    const found = await control();
    await publish(found.store);
    const url = '/v1/integrations/hello/versions';
    expect(codeOf(await (await found.as(member('rival'))).get(url))).toBe('404 INTEGRATION_UNKNOWN');
    expect(codeOf(await (await found.as(member('rival'))).post(`${url}/1/activate`))).toBe(
      '404 INTEGRATION_UNKNOWN',
    );
    expect(codeOf(await (await found.as(PLATFORM)).get(url))).toBe('403 TOKEN_FORBIDDEN');
    expect((await (await found.as(ADMIN)).get(url)).status).toBe(200);
  });
});

describe('installations', () => {
  const url = '/v1/integrations/hello/installations';

  test('answer with their id, status and public endpoint', async () => {
    const found = await control();
    await publish(found.store);
    const acme = await found.as(member('acme'));
    const { status, body } = await acme.post(url, { organization: 'acme', externalIds: ['x'] });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      integration: 'hello',
      organization: 'acme',
      status: 'active',
      externalIds: ['x'],
    });
    expect(body.urls.publicEndpoint).toMatch(new RegExp(`^${ORIGINS.publicUrl}/[a-z2-7]{32}$`));
    expect((await acme.get(`${url}/${body.id}`)).body).toEqual(body);
    expect((await acme.get(`${url}?externalId=x`)).body.items).toEqual([body]);
    expect((await acme.get(`${url}?externalId=y`)).body.items).toEqual([]);
    expect(JSON.stringify(body)).not.toMatch(/secret/i);
    expect(codeOf(await acme.post(url, { organization: 'acme' }))).toBe('409 INSTALLATION_EXISTS');
  });

  test("are made for the token's own organization, and by the host product for any", async () => {
    const found = await control();
    await publish(found.store);
    const acme = await found.as(member('acme'));
    expect(codeOf(await acme.post(url, { organization: 'rival' }))).toBe('403 TOKEN_FORBIDDEN');
    expect((await (await found.as(PLATFORM)).post(url, { organization: 'rival' })).status).toBe(201);
  });

  test('of a private integration are refused as unknown to others', async () => {
    const found = await control();
    await publish(found.store, { visibility: 'private' });
    const rival = await found.as(member('rival'));
    expect(codeOf(await rival.post(url, { organization: 'rival' }))).toBe('404 INTEGRATION_UNKNOWN');
    expect(codeOf(await rival.get(url))).toBe('404 INTEGRATION_UNKNOWN');
    const admin = await found.as(ADMIN);
    expect(codeOf(await admin.post(url, { organization: 'rival' }))).toBe('403 INSTALLATION_FORBIDDEN');
  });

  test("of other organizations are unknown to a token, also to the author's", async () => {
    const found = await control();
    await publish(found.store);
    const { body } = await (await found.as(PLATFORM)).post(url, { organization: 'rival' });
    const acme = await found.as(member('acme'));
    expect((await acme.get(url)).body.items).toEqual([]);
    expect(codeOf(await acme.get(`${url}/${body.id}`))).toBe('404 INSTALLATION_UNKNOWN');
    expect((await (await found.as(PLATFORM)).get(url)).body.items).toHaveLength(1);
    expect(codeOf(await (await found.as(ADMIN)).get(`/v1/integrations/other/installations/${body.id}`))).toBe(
      '404 INSTALLATION_UNKNOWN',
    );
  });

  test('stay visible to their organization after the owner makes the integration private', async () => {
    const found = await control();
    await publish(found.store);
    const rival = await found.as(member('rival'));
    await rival.post(url, { organization: 'rival' });
    await publish(found.store, { visibility: 'private' });
    expect((await rival.get(url)).body.items).toHaveLength(1);
  });
});

describe('tokens', () => {
  test('are shown once, listed without their text, and invalid once revoked', async () => {
    const found = await control();
    const admin = await found.as(ADMIN);
    const made = (await admin.post('/v1/tokens', { kind: 'organization', organization: 'acme' })).body;
    const bearer = { authorization: `Bearer ${made.token}` };
    expect((await found.ask('GET', '/v1/integrations', bearer)).status).toBe(200);
    const listed = (await admin.get('/v1/tokens')).body;
    expect(listed.items).toHaveLength(2);
    expect(JSON.stringify(listed)).not.toContain(made.token);
    expect((await admin.delete(`/v1/tokens/${made.id}`)).status).toBe(204);
    expect(codeOf(await found.ask('GET', '/v1/integrations', bearer))).toBe('401 TOKEN_INVALID');
    expect(codeOf(await admin.delete(`/v1/tokens/${made.id}`))).toBe('404 TOKEN_UNKNOWN');
  });

  test('have a name, rights, an end and a last use, where they are asked for', async () => {
    const found = await control();
    const admin = await found.as(ADMIN);
    const asked = { kind: 'platform', name: 'billing', rights: ['events:post', 'read'], expiresIn: 3_600 };
    const { token, ...made } = (await admin.post('/v1/tokens', asked)).body;
    const { expiresIn, ...shown } = asked;
    const at = (ms: number) => new Date(CLOCK.now + ms).toISOString();
    expect(made).toEqual({ id: made.id, ...shown, createdAt: at(0), expiresAt: at(expiresIn * 1_000) });
    const bearer = { authorization: `Bearer ${token}` };
    expect((await found.ask('GET', '/v1/integrations', bearer)).status).toBe(200);
    const refused = await found.ask('GET', '/v1/integrations/hello/render', bearer);
    expect(codeOf(refused)).toBe('403 TOKEN_FORBIDDEN');
    expect(refused.body.error.message).toBe(
      'This needs the right `render`; the request came with a token that has `events:post`, `read` alone.',
    );
    const { items } = (await admin.get('/v1/tokens')).body;
    expect(items).toContainEqual({ ...made, lastUsedAt: at(0) });
    for (const wrong of [
      { kind: 'platform', rights: ['publish'] },
      { kind: 'organization', organization: 'acme', rights: ['events:post'] },
      { kind: 'admin', rights: ['tokens'] },
      { kind: 'admin', rights: [] },
      { kind: 'admin', rights: ['read', 'read'] },
      { kind: 'admin', name: '' },
      { kind: 'admin', name: 'two\nlines' },
      { kind: 'admin', expiresIn: 0 },
      { kind: 'admin', expiresIn: 1e12 },
    ])
      expect([wrong, codeOf(await admin.post('/v1/tokens', wrong))]).toEqual([wrong, '400 REQUEST_INVALID']);
  });

  test('that have expired say so, and the last admin token stays', async () => {
    const found = await control();
    const admin = await found.as(ADMIN);
    const { token } = await found.store.tokens.create({ kind: 'platform', expiresInMs: 0 }, OPERATOR);
    const late = await found.ask('GET', '/v1/integrations', { authorization: `Bearer ${token}` });
    expect(codeOf(late)).toBe('401 TOKEN_INVALID');
    expect(late.body.error.message).toMatch(/^The token has expired: it was made with an end\./);
    const { items } = (await admin.get('/v1/tokens')).body;
    const own = items.find(({ kind }: { kind: string }) => kind === 'admin');
    expect(codeOf(await admin.delete(`/v1/tokens/${own.id}`))).toBe('409 TOKEN_LAST');
    expect((await admin.get('/v1/tokens')).status).toBe(200);
  });

  test('are for the operator alone', async () => {
    const found = await control();
    for (const grant of [PLATFORM, member('acme')]) {
      const other = await found.as(grant);
      expect(codeOf(await other.get('/v1/tokens'))).toBe('403 TOKEN_FORBIDDEN');
      expect(codeOf(await other.post('/v1/tokens', { kind: 'admin' }))).toBe('403 TOKEN_FORBIDDEN');
    }
  });

  test('name an organization exactly if they are of kind organization', async () => {
    const found = await control();
    const admin = await found.as(ADMIN);
    for (const body of [
      { kind: 'organization' },
      { kind: 'admin', organization: 'acme' },
      { kind: 'root' },
    ]) {
      expect(codeOf(await admin.post('/v1/tokens', body))).toBe('400 REQUEST_INVALID');
    }
  });
});

describe('logs', () => {
  test('are visible to the organization that installed and to the author only', async () => {
    const found = await control();
    const { installations, logs } = found.store;
    await publish(found.store);
    const { installationId: id } = await installations.install(
      { integration: 'hello', organization: 'user', externalIds: [] },
      OPERATOR,
    );
    const line = { tenant: id, version: 1, requestId: 'r1', at: CLOCK.now };
    logs.append({ ...line, level: 'info', text: 'one' });
    logs.append({ ...line, level: 'error', text: 'two' });
    await logs.pass();
    const url = `/v1/logs?installation=${id}`;
    for (const grant of [ADMIN, PLATFORM, member('user'), member('acme')]) {
      expect((await (await found.as(grant)).get(url)).body.items).toHaveLength(2);
    }
    expect(codeOf(await (await found.as(member('rival'))).get(url))).toBe('404 INSTALLATION_UNKNOWN');
    const admin = await found.as(ADMIN);
    const { items } = (await admin.get(`${url}&level=warn`)).body;
    expect(items).toMatchObject([
      { installation: id, version: 1, requestId: 'r1', level: 'error', text: 'two' },
    ]);
    expect(codeOf(await admin.get('/v1/logs'))).toBe('400 REQUEST_INVALID');
    expect(codeOf(await admin.get('/v1/logs?installation=ins_none'))).toBe('404 INSTALLATION_UNKNOWN');
  });
});

// `route-permissions.test.ts` checks that every route is described, with its permissions.
test('the OpenAPI description has routes with their parameters and answers', async () => {
  const found = await control();
  const { body } = await found.ask('GET', '/v1/openapi.json');
  expect(body.openapi).toBe('3.1.0');
  const install = body.paths['/v1/integrations/{name}/installations'].post;
  expect(install.requestBody.content['application/json'].schema.required).toEqual(['organization']);
  expect(Object.keys(install.responses)).toEqual(expect.arrayContaining(['201', '4XX', '5XX']));
});

test('a supervisor needs no token', async () => {
  const found = await control();
  for (const path of ['/healthz', '/readyz'])
    expect((await found.ask('GET', path)).body).toMatchObject({
      ...{ status: 'ok', cells: { count: 1 } },
      database: { reachable: true, writable: true },
    });
  expect((await found.ask('GET', '/metrics')).status).toBe(200);
});
