/**
 * Runtime tokens in use: an integration calls the API of its own service in process, with the
 * tokens of its environment, and reaches only what they allow.
 */

import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { authenticate, FOR_RUNTIME, principalOf } from '../../../src/host/http/control/authenticate.ts';
import { Credentials } from '../../../src/host/http/credentials.ts';
import { answerErrors } from '../../../src/host/http/error-answer.ts';
import type { Store } from '../../../src/host/store/store.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';
import { AddressList } from '../../../src/model/address-list.ts';
import type { ApiTokens, Environment } from '../../../src/model/environment.ts';
import { type Installed, TestService } from '../../support/service.ts';
import { targetsOf } from '../../support/store/targets.ts';
import { CLOCK, OPERATOR, published, temporaryStore } from '../../support/store/temporary-store.ts';

/**
 * Sends the requested call to the API, with its own tokens or a given one; or shows its
 * environment.
 */
const ASKER = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: async (request, { environment }) => {
  const seen = Object.fromEntries(request.headers);
  if (request.method === 'GET') return Response.json({ environment, seen });
  const { kind, token = environment.apiTokens[kind], method = 'GET', path, json } = await request.json();
  const answer = await fetch(environment.apiEndpoint + path, {
    method,
    headers: { authorization: 'Bearer ' + token, ...(json && { 'content-type': 'application/json' }) },
    ...(json && { body: JSON.stringify(json) }),
  });
  return Response.json({ status: answer.status, body: JSON.parse(await answer.text() || '{}') });
} });`;
const MORE = `target: all
configurations:
  account: { properties: { color: { type: string, title: Color, description: Of it all } } }
  space: { properties: { room: { type: string, title: Room, description: To tell } } }
`;

interface Asked {
  readonly kind?: 'integration' | 'installation';
  readonly token?: string;
  readonly method?: string;
  readonly path: string;
  readonly json?: object;
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & {
    readonly error?: { readonly code: string; readonly message: string };
  };
}

describe('an integration that calls its own service', () => {
  let service: TestService;
  let own: Installed;
  let sibling: Installed;
  let foreign: Installed;
  let space: Installed;
  beforeAll(async () => {
    service = await TestService.start({ cells: 1 });
    for (const name of ['asker', 'other']) await service.publish(name, { 'index.js': ASKER }, MORE);
    own = await service.install('asker');
    sibling = await service.install('asker');
    foreign = await service.install('other');
    space = await service.installBelow('asker', own, 'space', 'sp-1');
  });
  afterAll(() => service.stop());

  const ask = async (asked: Asked, from = own): Promise<Answer> => {
    const answer = await fetch(`${from.endpoint}/`, { method: 'POST', body: JSON.stringify(asked) });
    return (await answer.json()) as Answer;
  };
  const shown = async (from = own, headers: Record<string, string> = {}) =>
    (await (await fetch(`${from.endpoint}/`, { headers })).json()) as {
      environment: Environment;
      seen: Record<string, string>;
    };
  const tokensOf = async (from = own): Promise<ApiTokens> => (await shown(from)).environment.apiTokens;
  const at = ({ id }: Installed, name = 'asker') => `/integrations/${name}/installations/${id}`;

  test('reads its own record and its own installation', async () => {
    const record = await ask({ kind: 'integration', path: '/integrations/asker' });
    expect(record).toMatchObject({ status: 200, body: { name: 'asker', version: 1 } });
    const read = await ask({ kind: 'installation', path: at(own) });
    expect(read).toMatchObject({ status: 200, body: { id: own.id, configuration: {} } });
  });

  test("lists its installations with the integration's token, with their configurations", async () => {
    const { status, body } = await ask({ kind: 'integration', path: '/integrations/asker/installations' });
    const items = body['items'] as Record<string, unknown>[];
    expect(status).toBe(200);
    expect(items.map(({ id }) => id).sort()).toEqual([own.id, sibling.id].sort());
    for (const item of items) expect(item).toHaveProperty('configuration');
    const alone = await ask({ kind: 'installation', path: '/integrations/asker/installations' });
    expect((alone.body['items'] as { id: string }[]).map(({ id }) => id)).toEqual([own.id]);
  });

  test('changes its configuration, and its next call sees the change', async () => {
    const json = { configuration: { color: 'blue' } };
    const changed = await ask({ kind: 'installation', method: 'PATCH', path: at(own), json });
    expect(changed).toMatchObject({ status: 200, body: { configuration: { color: 'blue' } } });
    expect((await shown()).environment.configuration).toEqual({ color: 'blue' });
  });

  test('from a space it changes that space, and sees the installation that it belongs to', async () => {
    const json = { configuration: { room: 'lobby' } };
    const path = `${at(own)}/spaces/sp-1`;
    const changed = await ask({ kind: 'installation', method: 'PATCH', path, json }, space);
    expect(changed).toMatchObject({ status: 200, body: { space: 'sp-1', configuration: { room: 'lobby' } } });
    const { environment } = await shown(space);
    expect(environment).toMatchObject({ space: 'sp-1', configuration: { room: 'lobby' } });
    expect(environment.installation?.id).toBe(own.id);
  });

  test('attack: from a space it can neither read nor change another space', async () => {
    const spaces = `${at(own)}/spaces`;
    await service.api('POST', `/v1${spaces}`, { json: { space: 'sp-2' } });
    const json = { configuration: { room: 'room-of-another-space' } };
    await service.api('PATCH', `/v1${spaces}/sp-2`, { json });
    const kind = 'installation';
    for (const asked of [{ path: `${spaces}/sp-2` }, { method: 'PATCH', path: `${spaces}/sp-2`, json }])
      expect(await ask({ kind, ...asked }, space)).toMatchObject({ status: 404 });
    expect(JSON.stringify(await ask({ kind, path: spaces }, space))).not.toContain('room-of-another-space');
    // Both spaces belong to the installation.
    expect(await ask({ kind, path: `${spaces}/sp-2` })).toMatchObject({ status: 200, body: json });
  });

  test('finds nothing of another tenant', async () => {
    const paths = [at(sibling), at(foreign, 'other'), '/integrations/other', at(foreign)];
    for (const path of paths) {
      const answer = await ask({ kind: 'installation', path });
      expect(answer.status, path).toBe(404);
    }
    const json = { configuration: { color: 'red' } };
    for (const kind of ['installation', 'integration'] as const) {
      const path = at(foreign, 'other');
      const changed = await ask({ kind, method: 'PATCH', path, json });
      expect([403, 404]).toContain(changed.status);
    }
    expect((await shown(foreign)).environment.configuration).toEqual({});
  });

  test('is refused with a forged token', async () => {
    const { installation = '' } = await tokensOf();
    const [payload = '', signature = ''] = installation.slice('annex_run_'.length).split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...claims, installation: sibling.id })).toString('base64url');
    for (const token of [
      `annex_run_${forged}.${signature}`,
      installation.slice(0, -2),
      'annex_run_',
      'none',
    ]) {
      const answer = await ask({ token, path: at(sibling) });
      expect(answer, token).toMatchObject({ status: 401, body: { error: { code: 'TOKEN_INVALID' } } });
    }
  });

  test('a stolen token works from anywhere, as bearer tokens do, until it expires', async () => {
    const { installation = '' } = await tokensOf();
    const { status, body } = await service.api('GET', `/v1${at(own)}`, { token: installation });
    expect({ status, id: body['id'] }).toEqual({ status: 200, id: own.id });
  });

  test('envelopes are refused with runtime tokens, valid or not', async () => {
    const { installation = '', integration } = await tokensOf();
    const event = { type: 'fetch', request: { method: 'GET', url: own.endpoint, headers: {} } };
    for (const token of [installation, integration]) {
      const refused = await service.envelope(own, event, { token });
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({ error: { code: 'TOKEN_FORBIDDEN' } });
    }
    const forged = await service.envelope(own, event, { token: `${installation.slice(0, -2)}AA` });
    expect(forged.status).toBe(401);
    expect(await forged.json()).toMatchObject({ error: { code: 'ENVELOPE_UNAUTHORIZED' } });
  });

  test('a token that is sent to an endpoint by mistake is not passed on to a tenant', async () => {
    const { installation = '' } = await tokensOf();
    const { seen } = await shown(foreign, { authorization: `Bearer ${installation}`, 'x-kept': 'yes' });
    expect(seen['x-kept']).toBe('yes');
    expect(seen['authorization']).toBeUndefined();
  });

  test('the host product can introspect a runtime token, but no stored token', async () => {
    const introspect = async (token: string, by = service.platform) =>
      service.api('POST', '/v1/tokens/introspect', { json: { token }, token: by });
    const { integration, installation = '' } = await tokensOf(space);
    expect((await introspect(installation)).body).toEqual({
      ...{ active: true, kind: 'installation', integration: 'asker', installation: own.id, space: 'sp-1' },
      ...{ organization: 'org-1', scopes: [], expiresAt: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
    expect((await introspect(integration, service.admin)).body).toEqual({
      ...{
        active: true,
        kind: 'integration',
        integration: 'asker',
        scopes: [],
        expiresAt: expect.any(String),
      },
    });
    for (const token of [service.admin, service.platform, 'x', `${installation.slice(0, -2)}AA`])
      expect((await introspect(token)).body).toEqual({ active: false });
    expect((await introspect(installation, installation)).status).toBe(403);
    const path = `/v1${at(own)}/spaces/sp-1`;
    expect((await service.api('DELETE', path)).status).toBe(204);
    expect((await introspect(installation)).body).toEqual({ active: false });
    expect((await service.api('GET', `/v1${at(own)}`, { token: installation })).status).toBe(401);
  });
});

describe('at the control listener', () => {
  const opened = async () => {
    const store = await temporaryStore();
    await store.registry.publish(
      { manifest: published(), script: '', sourceMap: '{}', secrets: new Map() },
      OPERATOR,
    );
    const asked = { integration: 'hello', organization: 'acme', externalIds: [] };
    const { endpointKey } = await store.installations.install(asked, OPERATOR);
    const tokens = async () => (await targetsOf(store).targets.get(endpointKey))?.environment.apiTokens;
    return { tokens, app: listenerWith(store, { failedCredentialsPerMinutePerAddress: 3 }) };
  };
  const get = async (app: FastifyInstance, url: string, token = '') => {
    const answer = await app.inject({ url, headers: { authorization: `Bearer ${token}` } });
    return { status: answer.statusCode, ...(answer.json() as { error?: { code: string; message: string } }) };
  };

  test('a route that does not declare runtime tokens is closed to them', async () => {
    const { app, tokens } = await opened();
    const { integration, installation } = (await tokens()) ?? {};
    for (const token of [integration, installation]) {
      expect(await get(app, '/open', token)).toEqual({ status: 200 });
      const error = { code: 'TOKEN_FORBIDDEN', message: expect.stringContaining('not for runtime tokens') };
      expect(await get(app, '/silent', token)).toMatchObject({ status: 403, error });
    }
  });

  test('an expired token is refused as expired, and any number of genuine expired tokens are no guesses', async () => {
    const { app, tokens } = await opened();
    const old = await tokens();
    CLOCK.now += 3_600_000;
    const error = { code: 'TOKEN_INVALID', message: expect.stringContaining('expired') };
    expect(await get(app, '/open', old?.installation)).toMatchObject({ status: 401, error });
    const now = await tokens();
    expect(now?.installation).not.toBe(old?.installation);
    for (let i = 0; i < 2; i += 1) await get(app, '/open', old?.integration);
    expect((await get(app, '/open', old?.integration)).status).toBe(429);
    expect((await get(app, '/open', 'annex_run_x.x')).status).toBe(429);
    // A genuine token is no guess, however many are sent.
    expect(await get(app, '/open', now?.installation)).toEqual({ status: 200 });
  });
});

/** A listener with one route that accepts runtime tokens, and one that does not declare it. */
function listenerWith(store: Store, limits: Partial<Limits>): FastifyInstance {
  const app = fastify();
  answerErrors(app);
  const credentials = new Credentials({
    ...{ tokens: store.tokens, ...targetsOf(store) },
    limits: { ...DEFAULT_LIMITS, ...limits },
    ...{ trustedProxies: new AddressList(), monotonicNow: () => 0 },
  });
  authenticate(app, credentials);
  const known = async (request: Parameters<typeof principalOf>[0]) => {
    expect(principalOf(request)).toMatchObject({ integration: 'hello' });
    return {};
  };
  app.get('/open', { config: FOR_RUNTIME }, known);
  app.get('/silent', known);
  onTestFinished(() => app.close());
  return app;
}
