/**
 * The audit: every change leaves one entry, a refused change leaves none, and no entry can be
 * changed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { AUDIT_ACTIONS } from '../../../src/host/store/audit-rows.ts';
import type { ApiTokens } from '../../../src/model/environment.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { installed, publication } from '../../support/store/installed.ts';
import { CLOCK, OPERATOR, temporaryStore } from '../../support/store/temporary-store.ts';

const DAY_MS = 86_400_000;

const SOURCE = { 'index.js': 'export default { fetch: () => new Response() };' };
/** A handler that does not end by itself. */
const BUSY = `
import { createIntegration } from '@annex/sdk';
const never = () => new Promise(() => {});
export default createIntegration({
  fetch: (request, { environment }) => Response.json(environment.apiTokens),
  events: { space_content_updated: never, site_view: never },
});`;
const PROPERTIES = 'note: { type: string }, oauth_credentials: { type: button, callback_url: /oauth }';
const webhook = (event: string) =>
  `receiver: { type: string, default: 'https://receiver.example/in' }, events: { type: string, multiple: true, enum: [${event}], default: [${event}] }`;
const manifest = (secrets: string) => `
target: all
secrets: ${secrets}
webhook: { url: receiver, eventTypes: events }
schedules:
  - { id: daily, cron: '0 9 * * *' }
  - { id: whole, cron: '0 9 * * *', level: integration }
configurations:
  account: { properties: { ${PROPERTIES} } }
  space: { properties: { ${PROPERTIES}, ${webhook('space_content_updated')} } }
  site: { properties: { ${PROPERTIES}, ${webhook('site_view')} } }
`;
const SETTINGS = { note: 'hush-note', oauth_credentials: { access_token: 'hush-credentials' } };

type Sent = [method: string, path: string, options?: { json?: unknown; form?: FormData; token?: string }];

interface Step {
  /** Route as the API describes it. */
  readonly route: string;
  readonly action: (typeof AUDIT_ACTIONS)[number];
  /** Request, and one that is refused. */
  readonly refused: Sent;
  readonly change: Sent;
  /** Preparation that is not counted. */
  readonly before?: () => Promise<unknown>;
  /** Subject of the entry. */
  readonly about?: object;
  /** Further entries of the same request. */
  readonly beside?: number;
}

const ROUTE = '/v1/integrations/{name}';
const URL_ = '/v1/integrations/noted';

/** Ids of what the steps create; steps name them as `{installation}` and `{delivery}`. */
interface Ids {
  installation?: string;
  delivery?: string;
}

/** Every route that changes something, in an executable order. */
function stepsOf(annex: TestService, token: { id: string }, ids: Ids): Step[] {
  const form = (secrets: string, values: object) => {
    const parts = new FormData();
    const head = 'name: noted\ntitle: Noted\ndescription: x\norganization: acme\nvisibility: public';
    const scopes = 'scopes: [space:content:read, site:views:read]';
    parts.append('manifest', `${head}\n${scopes}\nscript: index.js\n${manifest(secrets)}`);
    parts.append('files', new Blob([BUSY]), 'index.js');
    parts.append('secrets', JSON.stringify(values));
    return { form: parts };
  };
  const broken = new FormData();
  broken.append('manifest', 'name: noted');
  const both = ['{ TOKEN: x, OLD: y }', { TOKEN: 'hush-token', OLD: 'hush-old' }] as const;
  const at = `${URL_}/installations/{installation}`;
  const target = (route: string, path: string, about: object): Step[] => [
    {
      ...{ route: `PATCH ${route}`, action: 'installation.edit', about },
      refused: ['PATCH', path, { json: { configuration: {}, unknown: 'hush-unknown' } }],
      change: ['PATCH', path, { json: { configuration: SETTINGS, externalIds: ['hush-external'] } }],
    },
    {
      ...{ route: `PATCH ${route}/configuration`, action: 'installation.edit', about },
      refused: ['PATCH', `${path}/configuration`, { json: { configuration: { hush: 'hush-undeclared' } } }],
      change: ['PATCH', `${path}/configuration`, { json: { configuration: { note: 'hush-other' } } }],
    },
    {
      ...{ route: `POST ${route}/ui-tokens`, action: 'ui-token.create', about },
      refused: ['POST', `${path}/ui-tokens`, { json: { expiresIn: 3_601 } }],
      change: ['POST', `${path}/ui-tokens`],
    },
    {
      ...{ route: `POST ${route}/pause`, action: 'installation.pause', about },
      refused: ['POST', `${path}/pause`, { json: { configuration: {} } }],
      change: ['POST', `${path}/pause`],
    },
    {
      ...{ route: `POST ${route}/resume`, action: 'installation.resume', about },
      refused: ['POST', `${path}/resume?now=1`],
      change: ['POST', `${path}/resume`],
    },
  ];
  const posting = (route: string, path: string, about: object): Step[] => [
    {
      ...{ route: `GET ${route}/webhook-secret`, action: 'webhook.reveal', about },
      refused: ['GET', `${path}/webhook-secret?now=1`],
      change: ['GET', `${path}/webhook-secret`],
    },
    {
      ...{ route: `POST ${route}/webhook-secret/rotate`, action: 'webhook.rotate', about },
      refused: ['POST', `${path}/webhook-secret/rotate`, { json: { secret: 'hush-short' } }],
      change: ['POST', `${path}/webhook-secret/rotate`, { json: { secret: 'hush-hush-hush-hush-hush' } }],
    },
    {
      ...{ route: `PUT ${route}/webhook-headers`, action: 'webhook.headers', about },
      refused: ['PUT', `${path}/webhook-headers`, { json: { bearer: 'hush hush' } }],
      change: ['PUT', `${path}/webhook-headers`, { json: { bearer: 'hush-hush-hush' } }],
    },
    {
      ...{ route: `DELETE ${route}/webhook-headers`, action: 'webhook.headers', about },
      refused: ['DELETE', `${path}/webhook-headers?now=1`],
      change: ['DELETE', `${path}/webhook-headers`],
    },
    {
      ...{ route: `POST ${route}/webhook/disable`, action: 'webhook.disable', about },
      refused: ['POST', `${path}/webhook/disable`, { json: { note: 1 } }],
      change: ['POST', `${path}/webhook/disable`, { json: { note: 'hush' } }],
    },
    {
      ...{ route: `POST ${route}/webhook/enable`, action: 'webhook.enable', about },
      refused: ['POST', `${path}/webhook/enable`, { json: { replay: 1 } }],
      change: ['POST', `${path}/webhook/enable`, { json: {} }],
    },
    {
      ...{ route: `POST ${route}/webhook-test`, action: 'webhook.test', about },
      refused: ['POST', `${path}/webhook-test`, { json: { type: 'nothing' } }],
      change: ['POST', `${path}/webhook-test`, { json: {} }],
    },
    ...delivered(about),
  ];
  /** Ids from earlier steps. */
  const delivered = (about: object): Step[] => [
    {
      ...{ route: 'POST /v1/deliveries/{id}/cancel', action: 'delivery.cancel', about },
      before: async () => {
        const { body } = await annex.api('GET', `/v1/deliveries?installation=${ids.installation}&limit=1`);
        ids.delivery = (body['items'] as { id: string }[])[0]?.id ?? '';
      },
      refused: ['POST', '/v1/deliveries/none/cancel'],
      change: ['POST', '/v1/deliveries/{delivery}/cancel'],
    },
    {
      ...{ route: 'POST /v1/deliveries/{id}/redeliver', action: 'delivery.redeliver', about },
      refused: ['POST', '/v1/deliveries/none/redeliver'],
      change: ['POST', '/v1/deliveries/{delivery}/redeliver'],
    },
    {
      ...{ route: 'POST /v1/deliveries/replay', action: 'delivery.replay' },
      before: () => annex.api('POST', `/v1/deliveries/${ids.delivery}/cancel`),
      refused: ['POST', '/v1/deliveries/replay', { json: { installation: 'none' } }],
      change: [
        'POST',
        '/v1/deliveries/replay',
        { json: { installation: '{installation}', state: 'canceled' } },
      ],
    },
  ];
  const place = (level: 'space' | 'site'): Step[] => {
    const [route, path] = [`${ROUTE}/installations/{id}/${level}s`, `${at}/${level}s`];
    const about = { installation: '{installation}', [level]: `${level}-1` };
    const json = { [level]: `${level}-1` };
    return [
      {
        ...{ route: `POST ${route}`, action: 'installation.create', about },
        refused: ['POST', path, { json: { ...json, unknown: 1 } }],
        change: ['POST', path, { json }],
      },
      ...target(`${route}/{${level}}`, `${path}/${level}-1`, about),
      ...posting(`${route}/{${level}}`, `${path}/${level}-1`, about),
      {
        ...{ route: `DELETE ${route}/{${level}}`, action: 'installation.delete', about },
        refused: ['DELETE', `${path}/${level}-2`],
        change: ['DELETE', `${path}/${level}-1`],
      },
    ];
  };
  const own = { installation: '{installation}' };
  /** Rows of what code keeps, and of when it runs. */
  const kept = (route: string, path: string, schedule: string, about: object): Step[] => [
    {
      ...{ route: `DELETE ${route}/storage/{key}`, action: 'storage.delete', about },
      async before() {
        const { body } = await annex.api('GET', `${URL_}/installations/${ids.installation}`);
        const { publicEndpoint } = body['urls'] as { publicEndpoint: string };
        const tokens = (await (await fetch(`${publicEndpoint}/`)).json()) as ApiTokens;
        const at = path.replace('{installation}', ids.installation ?? '');
        await annex.api('PUT', `${at}/storage/kept`, { json: 'hush-kept', token: tokens.installation ?? '' });
      },
      refused: ['DELETE', `${path}/storage/kept?now=1`],
      change: ['DELETE', `${path}/storage/kept`],
    },
    {
      ...{ route: `POST ${route}/schedules/{schedule}/run`, action: 'schedule.run', about },
      refused: ['POST', `${path}/schedules/none/run`],
      change: ['POST', `${path}/schedules/${schedule}/run`],
    },
  ];
  return [
    {
      ...{ route: 'POST /v1/integrations', action: 'integration.publish' },
      refused: ['POST', '/v1/integrations', { form: broken }],
      change: ['POST', '/v1/integrations', form(...both)],
    },
    {
      ...{ route: `POST ${ROUTE}/versions/{version}/activate`, action: 'integration.activate' },
      before: () => annex.api('POST', '/v1/integrations', form('{ TOKEN: x }', { TOKEN: 'hush-2' })),
      refused: ['POST', `${URL_}/versions/99/activate`],
      change: ['POST', `${URL_}/versions/1/activate`],
    },
    {
      ...{ route: `POST ${ROUTE}/versions/{version}/approve`, action: 'integration.approve' },
      refused: ['POST', `${URL_}/versions/99/approve`],
      change: ['POST', `${URL_}/versions/2/approve`],
    },
    {
      ...{ route: `POST ${ROUTE}/versions/{version}/refuse`, action: 'integration.refuse' },
      refused: ['POST', `${URL_}/versions/1/refuse`, { json: {} }],
      change: ['POST', `${URL_}/versions/1/refuse`, { json: { reason: 'hush-reason' } }],
    },
    {
      ...{ route: `PUT ${ROUTE}/limits`, action: 'integration.limits' },
      refused: ['PUT', `${URL_}/limits`, { json: { callCpuMs: -1 } }],
      change: ['PUT', `${URL_}/limits`, { json: { callCpuMs: 500 } }],
    },
    {
      ...{ route: `DELETE ${ROUTE}/limits`, action: 'integration.limits' },
      refused: ['DELETE', '/v1/integrations/nobody/limits'],
      change: ['DELETE', `${URL_}/limits`],
    },
    {
      ...{ route: `PUT ${ROUTE}/secrets`, action: 'integration.secrets' },
      refused: ['PUT', `${URL_}/secrets`, { json: { TOKEN: 'hush-refused', UNDECLARED: 'hush-undeclared' } }],
      change: ['PUT', `${URL_}/secrets`, { json: { TOKEN: 'hush-rotated' } }],
    },
    {
      ...{ route: `DELETE ${ROUTE}/secrets/{secret}`, action: 'integration.secrets' },
      before: () => annex.api('POST', `${URL_}/versions/2/activate`),
      refused: ['DELETE', `${URL_}/secrets/TOKEN`],
      change: ['DELETE', `${URL_}/secrets/OLD`],
    },
    {
      ...{ route: `POST ${ROUTE}/install-link`, action: 'install-link.create' },
      refused: ['POST', `${URL_}/install-link`, { token: annex.platform }],
      change: ['POST', `${URL_}/install-link`],
    },
    {
      ...{ route: `DELETE ${ROUTE}/install-link`, action: 'install-link.delete' },
      refused: ['DELETE', `${URL_}/install-link`, { token: annex.platform }],
      change: ['DELETE', `${URL_}/install-link`],
    },
    {
      ...{ route: `POST ${ROUTE}/installations`, action: 'installation.create' },
      refused: ['POST', `${URL_}/installations`, { json: { organization: 'third', unknown: 1 } }],
      change: ['POST', `${URL_}/installations`, { json: { organization: 'third', externalIds: ['hush-x'] } }],
    },
    ...target(`${ROUTE}/installations/{id}`, at, own),
    ...kept(`${ROUTE}/installations/{id}`, at, 'daily', own),
    ...kept(ROUTE, URL_, 'whole', {}),
    ...place('space'),
    ...place('site'),
    {
      ...{ route: `DELETE ${ROUTE}/installations/{id}`, action: 'installation.delete', about: own },
      refused: ['DELETE', `${at}?now=1`],
      change: ['DELETE', at],
    },
    {
      ...{ route: 'POST /v1/tokens', action: 'token.create' },
      refused: ['POST', '/v1/tokens', { json: { kind: 'organization' } }],
      change: ['POST', '/v1/tokens', { json: { kind: 'organization', organization: 'acme' } }],
    },
    {
      ...{ route: 'POST /v1/console-links', action: 'token.create' },
      refused: ['POST', '/v1/console-links', { token: `annex_admin_${'x'.repeat(43)}` }],
      change: ['POST', '/v1/console-links'],
    },
    {
      ...{ route: 'POST /v1/portal-links', action: 'token.create' },
      refused: ['POST', '/v1/portal-links', { json: { organization: 'acme', views: [] } }],
      change: ['POST', '/v1/portal-links', { json: { organization: 'acme', theme: { name: 'hush-name' } } }],
    },
    {
      ...{ route: 'DELETE /v1/tokens/{id}', action: 'token.revoke' },
      refused: ['DELETE', '/v1/tokens/tok_none'],
      change: ['DELETE', `/v1/tokens/${token.id}`],
    },
    {
      ...{ route: 'PUT /v1/event-types/{type}', action: 'event-type.declare' },
      refused: ['PUT', '/v1/event-types/a.b', { json: { title: 'hush-title' } }],
      change: ['PUT', '/v1/event-types/a.b', { json: { title: 'One', level: 'site' } }],
    },
    {
      ...{ route: 'PUT /v1/event-types/{type}', action: 'event-type.change' },
      refused: ['PUT', '/v1/event-types/fetch', { json: { title: 'One', level: 'site' } }],
      change: ['PUT', '/v1/event-types/a.b', { json: { title: 'Two', level: 'site' } }],
    },
    {
      ...{ route: 'DELETE /v1/event-types/{type}', action: 'event-type.delete' },
      refused: ['DELETE', '/v1/event-types/no.type'],
      change: ['DELETE', '/v1/event-types/a.b'],
    },
    {
      ...{ route: 'PUT /v1/organizations/{id}', action: 'organization.declare' },
      refused: ['PUT', '/v1/organizations/org_1', { json: { subdomain: 'Hush' } }],
      change: ['PUT', '/v1/organizations/org_1', { json: { subdomain: 'one', title: 'hush-title' } }],
    },
    {
      ...{ route: 'PUT /v1/organizations/{id}', action: 'organization.change' },
      refused: ['PUT', '/v1/organizations/one', { json: {} }],
      change: ['PUT', '/v1/organizations/org_1', { json: { subdomain: 'two', title: 'hush-title' } }],
    },
    {
      ...{ route: 'DELETE /v1/organizations/{id}', action: 'organization.delete' },
      refused: ['DELETE', '/v1/organizations/org_2'],
      change: ['DELETE', '/v1/organizations/org_1'],
    },
    {
      ...{ route: 'POST /v1/statement-keys/rotate', action: 'statement-keys.rotate' },
      refused: ['POST', '/v1/statement-keys/rotate', { json: { forget: 'yes' } }],
      change: ['POST', '/v1/statement-keys/rotate'],
    },
    {
      ...{ route: `DELETE ${ROUTE}`, action: 'integration.delete' },
      refused: ['DELETE', URL_],
      change: ['DELETE', `${URL_}?cascade=true`],
      // The organization that has it installed sees the change.
      beside: 1,
    },
  ];
}

/** Methods that elsewhere change something, but not on these routes. */
const ASKING = [
  /^POST \/v1\/integrations\/check$/,
  /\/completions$/,
  /\/render$/,
  /\/(visitor-authentication|content-sources\/\{source\}\/compute|calls\/\{call\})$/,
  /\/blocks\//,
  // A lease and a spent state last for minutes and are never shown; a lost connection is a notice.
  /\/credentials\/(lease|states|lost)/,
  // The token that a call of the installation gets, too; it lasts for minutes.
  /\/installations\/\{id\}\/tokens$/,
  /^POST \/v1\/tokens\/introspect$/,
  // Tasks and events are no changes, and thousands arrive every second.
  /^POST \/v1\/integrations\/\{name\}\/tasks$/,
  /^POST \/v1\/events$/,
  // What code keeps changes with its calls.
  /^(PUT|POST) .*\/storage\//,
  // An organization as a whole has no webhook.
  /\/installations\/\{id\}\/webhook[-/]/,
];
/** The one read that is audited: it shows a secret. */
const SHOWING = /^GET .*\/\{(space|site)\}\/webhook-secret$/;

test('every route that changes something leaves one entry, and none if it refuses', async () => {
  // A handler that runs until the end of the test is not waited for.
  const annex = await startTestService({ limits: { stopMs: 100 } });
  const { tokens } = annex.service.store;
  const created = await tokens.create({ kind: 'admin' }, OPERATOR);
  const ids: Ids = {};
  /** With the present ids. */
  const filled = <Value>(value: Value): Value => {
    const text = JSON.stringify(value).replaceAll('{installation}', ids.installation ?? '');
    return JSON.parse(text.replaceAll('{delivery}', ids.delivery ?? ''));
  };
  const entries = async () => {
    const { body } = await annex.api('GET', '/v1/audit?limit=100');
    return body['items'] as Record<string, unknown>[];
  };
  const send = ([method, path, options]: Sent) =>
    annex.api(method, filled(path), options?.json ? { ...options, json: filled(options.json) } : options);
  const steps = stepsOf(annex, created, ids);
  for (const { route, action, refused, change, before, about, beside = 0 } of steps) {
    if (route.startsWith(`PATCH ${ROUTE}/installations/{id}`))
      ids.installation ??= (await annex.install('noted', 'first')).id;
    await before?.();
    const had = (await entries()).length;
    const no = await send(refused);
    expect([route, no.status >= 400, (await entries()).length]).toEqual([route, true, had]);
    const yes = await send(change);
    expect([route, yes.status, yes.status < 300]).toEqual([route, yes.status, true]);
    const now = await entries();
    expect([route, now.length]).toEqual([route, had + 1 + beside]);
    const who = { kind: 'admin', token: expect.any(String) };
    expect(now[0]).toMatchObject({ action, actor: who, ...filled(about ?? {}) });
    if (!/\/(tokens|console-links|portal-links|statement-keys|event-types|organizations)/.test(route))
      expect(now[0]).toMatchObject({ integration: 'noted' });
    expect(now[0]).toMatchObject({
      address: expect.stringMatching(/127\.0\.0\.1|::1/),
      requestId: expect.any(String),
    });
  }
  // No value of a configuration, secret or token is in an entry; names are.
  const all = JSON.stringify(await entries());
  expect(all).not.toMatch(/hush-|annex_/);
  expect(all).toContain('"TOKEN"');
  expect(all).toContain('note');

  const { body } = await annex.api('GET', '/v1/openapi.json');
  const described = Object.entries(body['paths'] as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const changing = described.filter(
    (route) => SHOWING.test(route) || (!route.startsWith('GET ') && !ASKING.some((asks) => asks.test(route))),
  );
  expect([...new Set(steps.map(({ route }) => route))].sort()).toEqual(changing.sort());
  // No route makes it, but `annex token recover` (first-admin-token.test.ts).
  const made = new Set([...steps.map(({ action }) => action), 'token.recover']);
  expect([...made].sort()).toEqual([...AUDIT_ACTIONS].sort());
});

describe('entries', () => {
  test('are listed newest first, page by page, and by subject', async () => {
    const store = await temporaryStore();
    const id = await installed(store);
    await store.installations.pause({ installationId: id, level: 'organization', place: '' }, OPERATOR);
    await store.registry.publish(publication(undefined, { name: 'other', organization: 'rival' }), OPERATOR);
    const actions = async (query: object) =>
      (await store.audit.list({ limit: 100, ...query })).items.map(({ action }) => action);
    expect(await actions({})).toEqual([
      ...['integration.publish', 'installation.pause', 'installation.create', 'integration.publish'],
    ]);
    expect(await actions({ organization: 'rival' })).toEqual(['integration.publish']);
    expect(await actions({ integration: 'hello', action: 'integration.publish' })).toHaveLength(1);
    expect(await actions({ installationId: id })).toEqual(['installation.pause', 'installation.create']);
    const first = await store.audit.list({ limit: 3 });
    const rest = await store.audit.list({ limit: 3, cursor: first.next });
    expect(first.items).toHaveLength(3);
    expect(rest.items.map(({ action }) => action)).toEqual(['integration.publish']);
    expect(rest.next).toBeUndefined();
  });

  test('are deleted auditDays after they were made, not a day before', async () => {
    const store = await temporaryStore({ auditDays: 2 });
    const startedAt = CLOCK.now;
    try {
      await store.tokens.create({ kind: 'admin' }, OPERATOR);
      CLOCK.now = startedAt + DAY_MS;
      await store.tokens.create({ kind: 'platform' }, OPERATOR);
      const left = async () => {
        await store.audit.prune();
        return (await store.audit.list({ limit: 100 })).items.map(({ details }) => details['kind']);
      };
      CLOCK.now = startedAt + 2 * DAY_MS;
      expect(await left()).toEqual(['platform', 'admin']);
      CLOCK.now = startedAt + 2 * DAY_MS + 1;
      expect(await left()).toEqual(['platform']);
      CLOCK.now = startedAt + 3 * DAY_MS + 1;
      expect(await left()).toEqual([]);
    } finally {
      CLOCK.now = startedAt;
    }
  });

  test('are visible to the principals that they concern', async () => {
    const annex = await startTestService();
    const { tokens } = annex.service.store;
    const token = async (organization: string) =>
      (await tokens.create({ kind: 'organization', organization }, OPERATOR)).token;
    const [acme, rival] = [await token('acme'), await token('rival')];
    const source = `
      import { createIntegration } from '@annex/sdk';
      export default createIntegration({
        fetch: (request, { environment }) => Response.json(environment.apiTokens),
      });`;
    await annex.publish('noted', { 'index.js': source }, manifest('{}'));
    const { id, endpoint } = await annex.install('noted', 'rival');
    const path = `/v1/integrations/noted/installations/${id}`;
    expect((await annex.api('PATCH', path, { token: rival, json: { externalIds: ['x'] } })).status).toBe(200);
    const runtime = (await (await fetch(endpoint)).json()) as { installation: string };
    const json = { configuration: { note: 'by code' } };
    expect((await annex.api('PATCH', path, { token: runtime.installation, json })).status).toBe(200);

    const listed = async (as: string, query = '') => {
      const { body } = await annex.api('GET', `/v1/audit?limit=100${query}`, { token: as });
      return (body['items'] as Record<string, unknown>[] | undefined) ?? body['error'];
    };
    const [byCode, byMember, byOperator, ...others] = (await listed(rival)) as Record<string, unknown>[];
    expect(byCode).toMatchObject({ action: 'installation.edit', actor: { kind: 'installation' } });
    expect(byCode).not.toHaveProperty('address');
    expect(byMember).toMatchObject({ actor: { kind: 'organization' }, address: expect.any(String) });
    // The operator's address is not shown.
    expect(byOperator).toMatchObject({ action: 'installation.create', actor: { kind: 'admin' } });
    expect(byOperator).not.toHaveProperty('address');
    expect(others.every(({ action }) => action === 'token.create')).toBe(true);

    const ofAcme = (await listed(acme)) as Record<string, unknown>[];
    expect(ofAcme.map(({ action }) => action)).toEqual(['integration.publish', 'token.create']);
    expect(await listed(acme, '&organization=rival')).toMatchObject({ code: 'TOKEN_FORBIDDEN' });
    expect(await listed(runtime.installation)).toMatchObject({ code: 'TOKEN_FORBIDDEN' });
    for (const as of [annex.admin, annex.platform])
      expect(await listed(as, `&installation=${id}`)).toHaveLength(3);
    expect(await listed(annex.admin, '&action=integration.publish')).toHaveLength(1);
    expect(await listed(annex.admin, '&action=everything')).toMatchObject({ code: 'REQUEST_INVALID' });
    expect(await listed(annex.admin, '&cursor=YWJj')).toMatchObject({ code: 'REQUEST_INVALID' });
  });

  // Attack: an organization installs a public integration to learn the identity and address of the
  // owner who deletes it.
  test('show neither token nor address of the owner who deleted the integration', async () => {
    const annex = await startTestService();
    const { tokens } = annex.service.store;
    const made = (organization: string) => tokens.create({ kind: 'organization', organization }, OPERATOR);
    const [owner, tenant] = [await made('acme'), await made('rival')];
    await annex.publish('noted', SOURCE);
    await annex.install('noted', 'rival');
    const gone = await annex.api('DELETE', '/v1/integrations/noted?cascade=true', { token: owner.token });
    expect(gone.status).toBe(204);
    const entryFor = async (token: string) => {
      const query = '/v1/audit?limit=1&action=installation.delete';
      return ((await annex.api('GET', query, { token })).body['items'] as Record<string, unknown>[])[0];
    };
    const entry = await entryFor(tenant.token);
    expect(entry).toMatchObject({ organization: 'rival', actor: { kind: 'organization' } });
    expect(entry?.['actor']).not.toHaveProperty('token');
    expect(entry).not.toHaveProperty('address');
    expect(await entryFor(annex.admin)).toMatchObject({
      actor: { kind: 'organization', token: owner.id },
      address: expect.any(String),
    });
  });

  test('are added, read, and deleted by age: no other statement in the code names their table', () => {
    const folder = fileURLToPath(new URL('../../../src/', import.meta.url));
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    const statements = files.flatMap((file) => {
      const text = readFileSync(`${folder}${file}`, 'utf8');
      return [...text.matchAll(/\.(\w+)\(\s*'audit'/g)].map(([, verb]) => `${file} ${verb}`);
    });
    expect(statements.sort()).toEqual([
      'host/store/audit-rows.ts insertInto',
      'host/store/audit.ts deleteFrom',
      'host/store/audit.ts selectFrom',
      'host/store/audit.ts selectFrom',
    ]);
  });
});
