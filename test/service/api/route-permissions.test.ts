/**
 * Permissions and rates of the API: every described route, called with every kind of token, in one
 * table. A route without a row fails, so that none is added without its permissions, and none that
 * changes something without a rate.
 */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LimitName, Limits } from '../../../src/limits.ts';
import type { ApiTokens } from '../../../src/model/environment.ts';
import { TOKEN_RIGHTS } from '../../../src/model/principal.ts';
import { type Installed, TestService } from '../../support/service.ts';

/**
 * Columns of the table. `mine` is public while it is installed and private after that; `author`
 * owns it, `installer` has installed it, `stranger` has no relation to it. The next four are
 * runtime tokens: of `mine` and of the installation in the path, of another installation of `mine`,
 * and of an installation of another integration. `page` is a UI token of the installation.
 */
const KINDS = [
  ...(['admin', 'platform', 'author', 'installer', 'stranger'] as const),
  ...(['integration', 'installation', 'sibling', 'foreign', 'page'] as const),
] as const;
type Kind = (typeof KINDS)[number];

/**
 * `+` allowed; `F` 403; `-` 404, as if unknown. In the order of `KINDS`. Then what bounds requests
 * that are no GET: orders of an organization, edits of an installation, tasks of its code, or the
 * calls that they make; or they are refused by their head, because they are not for organizations.
 */
const TABLE: Record<string, string> = {
  'GET /v1/integrations': '+++++ FFFF',
  'POST /v1/integrations': '+F+++ FFFF orders',
  'POST /v1/integrations/check': '+F+++ FFFF orders',
  'GET /v1/integrations/{name}': '++++- +++-',
  'DELETE /v1/integrations/{name}': '+F+-- FFFF orders',
  'GET /v1/integrations/{name}/images/{path}': '++++- FFFF',
  'GET /v1/integrations/{name}/versions': '+F+-- FFFF',
  'GET /v1/integrations/{name}/versions/{version}': '+F+-- FFFF',
  'GET /v1/integrations/{name}/versions/{version}/source-map': '+F+-- FFFF',
  'GET /v1/integrations/{name}/versions/{version}/script': '+F+-- FFFF',
  'POST /v1/integrations/{name}/versions/{version}/activate': '+F+-- FFFF orders',
  'POST /v1/integrations/{name}/versions/{version}/approve': '+FFFF FFFF refused',
  'POST /v1/integrations/{name}/versions/{version}/refuse': '+FFFF FFFF refused',
  'GET /v1/integrations/{name}/limits': '+F+-- FFFF',
  'PUT /v1/integrations/{name}/limits': '+FFFF FFFF refused',
  'DELETE /v1/integrations/{name}/limits': '+FFFF FFFF refused',
  'GET /v1/integrations/{name}/secrets': '+F+-- FFFF',
  'PUT /v1/integrations/{name}/secrets': '+F+-- FFFF orders',
  'DELETE /v1/integrations/{name}/secrets/{secret}': '+F+-- FFFF orders',
  'POST /v1/integrations/{name}/install-link': '+F+-- FFFF orders',
  'DELETE /v1/integrations/{name}/install-link': '+F+-- FFFF orders',
  'GET /v1/install-links/{token}': '+++++ FFFF',
  'POST /v1/integrations/{name}/installations': '+++FF FFFF edits',
  'GET /v1/integrations/{name}/installations': '++++- +++-',
  'GET /v1/installations': '+++++ FFFF',
  // Only code queues tasks; other installations of the integration have tokens of the same one.
  'POST /v1/integrations/{name}/tasks': 'FFFFF +++- tasks',
  'GET /v1/integrations/{name}/schedules': '+F+-- FFFF',
  'POST /v1/integrations/{name}/schedules/{schedule}/run': '+F+-- FFFF orders',
  'GET /v1/integrations/{name}/installations/{id}/schedules': '++-+- FFFF',
  'POST /v1/integrations/{name}/installations/{id}/schedules/{schedule}/run': '++-+- FFFF edits',
  'GET /v1/integrations/{name}/spaces': '++++- +++-',
  'GET /v1/integrations/{name}/sites': '++++- +++-',
  'GET /v1/integrations/{name}/render': '++-+- ++--',
  'POST /v1/integrations/{name}/render': '++-+- ++-- calls',
  'POST /v1/integrations/{name}/installations/{id}/tokens': 'FFFFF ++-- calls',
  'GET /v1/blocks': '+++FF FFFF',
  'POST /v1/blocks/unfurl': '+++FF FFFF calls',
  'POST /v1/blocks/markdown': '+++FF FFFF calls',
  'POST /v1/blocks/parse': '+++FF FFFF calls',
  'GET /v1/logs': '++++- FFFF',
  'POST /v1/events': '++FFF FFFF refused',
  'GET /v1/events': '++++- FFFF',
  'GET /v1/events/{id}': '++++- FFFF',
  'GET /v1/level-names': '+++++ FFFF',
  'GET /v1/event-types': '+++++ FFFF',
  'GET /v1/event-types/{type}': '+++++ FFFF',
  'PUT /v1/event-types/{type}': '+FFFF FFFF refused',
  'DELETE /v1/event-types/{type}': '+FFFF FFFF refused',
  'GET /v1/deliveries': '++-+- FFFF',
  'GET /v1/deliveries/{id}': '++-+- FFFF',
  'POST /v1/deliveries/{id}/redeliver': '++-+- FFFF edits',
  'POST /v1/deliveries/{id}/cancel': '++-+- FFFF edits',
  'POST /v1/deliveries/replay': '++-+- FFFF edits',
  'GET /v1/audit': '+++++ FFFF',
  'GET /v1/organizations': '++FFF FFFF',
  'GET /v1/organizations/{id}': '++FFF FFFF',
  'PUT /v1/organizations/{id}': '++FFF FFFF refused',
  'DELETE /v1/organizations/{id}': '++FFF FFFF refused',
  'GET /v1/tokens': '+FFFF FFFF',
  'POST /v1/tokens': '+FFFF FFFF refused',
  'DELETE /v1/tokens/{id}': '+FFFF FFFF refused',
  'POST /v1/console-links': '+++++ FFFF orders',
  'POST /v1/portal-links': '+++FF FFFF orders',
  'POST /v1/tokens/introspect': '++FFF FFFF refused',
  'POST /v1/statement-keys/rotate': '+FFFF FFFF refused',
  ...installed('/v1/integrations/{name}/installations/{id}'),
  ...leases('/v1/integrations/{name}/installations/{id}', '+'),
  ...leases('/v1/integrations/{name}/installations/{id}/spaces/{space}', 'F'),
  ...leases('/v1/integrations/{name}/installations/{id}/sites/{site}', 'F'),
  ...webhook('/v1/integrations/{name}/installations/{id}', 'FFFF'),
  ...webhook('/v1/integrations/{name}/installations/{id}/spaces/{space}', 'FF--'),
  ...webhook('/v1/integrations/{name}/installations/{id}/sites/{site}', 'FF--'),
  'GET /v1/webhooks': '+++++ FFFF',
  ...storage('/v1/integrations/{name}/installations/{id}', ['++++- ++--', '++-+- ++--', '++--']),
  // Installations share what their integration keeps.
  ...storage('/v1/integrations/{name}', ['+-+-- +++-', '+-+-- +++-', '+++-']),
  'GET /v1/notices': '++FFF FFFF',
  'GET /v1/activity': '++FFF FFFF',
  'GET /v1/settings': '+FFFF FFFF',
  ...below('space'),
  ...below('site'),
};

/** People list and remove what code keeps, as they may read its log, and install or publish it. */
function storage(path: string, [lists, removes, code]: readonly string[]): Record<string, string> {
  return {
    [`GET ${path}/storage`]: `${lists}`,
    [`GET ${path}/storage/{key}`]: `FFFFF ${code}`,
    [`PUT ${path}/storage/{key}`]: `FFFFF ${code} calls`,
    [`DELETE ${path}/storage/{key}`]: `${removes} orders`,
    [`POST ${path}/storage/{key}/increment`]: `FFFFF ${code} calls`,
  };
}

/**
 * Tokens that may install it, and calls for that very target: the runtime tokens of this table are
 * of calls for the installation itself, which has no webhook.
 */
function webhook(path: string, runtime: 'FFFF' | 'FF--'): Record<string, string> {
  return {
    [`GET ${path}/webhook-secret`]: `++-+- ${runtime} edits`,
    [`POST ${path}/webhook-secret/rotate`]: `++-+- ${runtime} edits`,
    [`POST ${path}/webhook-test`]: `++-+- ${runtime} edits`,
    [`GET ${path}/webhook-headers`]: '++-+- FFFF',
    [`PUT ${path}/webhook-headers`]: '++-+- FFFF edits',
    [`DELETE ${path}/webhook-headers`]: '++-+- FFFF edits',
    [`GET ${path}/webhook`]: '++-+- FFFF',
    [`POST ${path}/webhook/disable`]: '++-+- FFFF edits',
    [`POST ${path}/webhook/enable`]: '++-+- FFFF edits',
  };
}

/**
 * Only calls whose environment has the credentials. The runtime tokens of this table are of calls
 * for the installation itself, which does not see those of its places.
 */
function leases(path: string, mark: '+' | 'F'): Record<string, string> {
  return {
    [`POST ${path}/credentials/lease`]: `FFFFF F${mark}-- calls`,
    [`DELETE ${path}/credentials/lease/{lease}`]: `FFFFF F${mark}-- calls`,
    [`POST ${path}/credentials/lost`]: `FFFFF F${mark}-- calls`,
    [`POST ${path}/credentials/states`]: `FFFFF F${mark}-- edits`,
  };
}

/** A page has the form of its own target, and no other route: a space is another target. */
function pageMark(route: string): string {
  if (/^(GET|PATCH) .*\/configuration$|^POST .*\/completions$/.test(route))
    return /\{(space|site)\}/.test(route) ? '-' : '+';
  return 'F';
}

/** Routes of an installation, which its spaces and sites have too. */
function installed(path: string): Record<string, string> {
  return {
    [`GET ${path}`]: '++-+- ++--',
    [`PATCH ${path}`]: '++-+- ++-- edits',
    [`DELETE ${path}`]: '++-+- FFFF edits',
    [`POST ${path}/pause`]: '++-+- FFFF edits',
    [`POST ${path}/resume`]: '++-+- FFFF edits',
    [`GET ${path}/configuration`]: '++-+- ++--',
    [`PATCH ${path}/configuration`]: '++-+- FFFF edits',
    [`POST ${path}/ui-tokens`]: '++-+- FFFF orders',
    [`POST ${path}/completions`]: '++-+- FFFF calls',
    [`POST ${path}/render`]: '++-+- FFFF calls',
    [`GET ${path}/render`]: '++-+- FFFF',
    [`POST ${path}/content-sources/{source}/compute`]: '++-+- FFFF calls',
    [`POST ${path}/calls/{call}`]: '++FFF FFFF calls',
  };
}

function below(level: 'space' | 'site'): Record<string, string> {
  const path = `/v1/integrations/{name}/installations/{id}/${level}s`;
  return {
    [`POST ${path}/{${level}}/visitor-authentication`]: '++-+- FFFF calls',
    // No token may have the script of an integration without the scope for it.
    ...(level === 'site' && { [`GET ${path}/{site}/script`]: 'FF-F- FFFF' }),
    [`GET ${path}`]: '++-+- ++--',
    [`POST ${path}`]: '++-+- FFFF edits',
    ...installed(`${path}/{${level}}`),
  };
}

/** Bodies that pass validation and change as little as possible. */
const BODIES: Record<string, unknown> = {
  'PUT /v1/integrations/{name}/limits': {},
  'PUT /v1/integrations/{name}/secrets': { KEY: 'value' },
  'POST /v1/integrations/{name}/installations': { organization: 'acme' },
  'POST /v1/integrations/{name}/installations/{id}/spaces': { space: 'sp-1' },
  'POST /v1/integrations/{name}/installations/{id}/sites': { site: 'si-1' },
  'POST /v1/blocks/unfurl': { organization: 'acme', url: 'https://example.com/' },
  'POST /v1/blocks/markdown': { organization: 'acme', blocks: [] },
  'POST /v1/blocks/parse': { organization: 'acme', markdown: '' },
  'POST /v1/events': {
    type: 'space_content_updated',
    organization: 'acme',
    spaceId: 'none',
    revisionId: 'r',
  },
  'POST /v1/integrations/{name}/tasks': { task: 1, schedule: 60 },
  'POST /v1/portal-links': { organization: 'acme' },
  'POST /v1/tokens': { kind: 'platform' },
  'POST /v1/tokens/introspect': { token: 'x' },
};
const bodyOf = (route: string): unknown => {
  if (/\/storage\/|\/increment$/.test(route) && /^P/.test(route)) return {};
  if (route.endsWith('/completions')) return { property: 'none' };
  if (route.endsWith('/credentials/states')) return { digest: 'x'.repeat(43) };
  if (route.endsWith('/credentials/lost')) return { lease: 'none' };
  if (route.endsWith('/ui-tokens')) return {};
  if (/^PATCH .*\/configuration$/.test(route)) return { configuration: {} };
  if (
    route.endsWith('/lease') ||
    /^P.*\/webhook(-test|-headers|-secret\/rotate|\/disable|\/enable)$/.test(route)
  )
    return {};
  if (route === 'POST /v1/deliveries/replay') return { installation: mine?.id };
  if (route.endsWith('/visitor-authentication')) return {};
  if (route.endsWith('/calls/{call}')) return {};
  if (route.endsWith('/compute')) return { type: 'content_compute_revision' };
  if (route === 'POST /v1/integrations/{name}/render')
    return { componentId: 'none', installationId: mine?.id };
  if (route.startsWith('POST ') && route.endsWith('/render')) return { componentId: 'none' };
  return route.startsWith('PATCH ') ? { externalIds: ['T1'] } : BODIES[route];
};

/** Codes of a 404 that does not reveal more than that the name is unknown. */
const HIDDEN = new Set(['INTEGRATION_UNKNOWN', 'INSTALLATION_UNKNOWN', 'EVENT_UNKNOWN', 'DELIVERY_UNKNOWN']);

const SHOW_TOKENS = `import { createContentSource, createIntegration } from '@annex/sdk';
export default createIntegration({
  contentSources: [createContentSource({ sourceId: 'none', getRevision: () => ({}), getPageDocument: () => ({}) })],
  fetch: (request, { environment }) => Response.json(environment.apiTokens),
  calls: { none: () => ({}) },
  events: { space_view() {} },
});`;
const MORE = 'target: all\ncalls: [{name: none}]\nsecrets:\n  KEY: value\n';

let service: TestService;
let [mine, sibling, foreign]: (Installed | undefined)[] = [];
const stored = new Map<string, string>();
const values: Record<string, string> = {
  name: 'mine',
  space: 'sp-1',
  site: 'si-1',
  version: '2',
  secret: 'OLD',
  source: 'none',
  call: 'none',
  schedule: 'none',
  lease: 'none',
  key: 'none',
};

/** Starts the service with what the table is about. */
async function setUp(limits: Partial<Limits>): Promise<void> {
  service = await TestService.start({ limits });
  for (const [kind, organization] of [
    ...([
      ['author', 'acme'],
      ['installer', 'installer'],
      ['stranger', 'stranger'],
    ] as const),
  ]) {
    const { body } = await service.api('POST', '/v1/tokens', {
      json: { kind: 'organization', organization },
    });
    stored.set(kind, String(body['token']));
  }
  stored.set('admin', service.admin).set('platform', service.platform);
  for (const name of ['mine', 'theirs']) await publish(name, 'public');
  mine = await service.install('mine', 'installer');
  sibling = await service.install('mine', 'other');
  foreign = await service.install('theirs', 'installer');
  const places = `/v1/integrations/mine/installations/${mine.id}`;
  await service.api('POST', `${places}/spaces`, { json: { space: 'sp-1' } });
  await service.api('POST', `${places}/sites`, { json: { site: 'si-1' } });
  const link = await service.api('POST', '/v1/integrations/mine/install-link');
  await service.api('POST', '/v1/events', { json: { ...VIEW, organization: 'installer', spaceId: 'sp-1' } });
  const deliveries = await service.api('GET', `/v1/deliveries?installation=${mine.id}`);
  values['delivery'] = (deliveries.body['items'] as { id: string }[])[0]?.id ?? '';
  const events = await service.api('GET', `/v1/events?installation=${mine.id}`);
  values['token'] = String(link.body['token']);
  values['event'] = (events.body['items'] as { id: string }[])[0]?.id ?? '';
  await publish('mine', 'private');
}

/** An event that `mine` handles. */
const VIEW = {
  type: 'space_view',
  visitor: { anonymousId: 'a', userAgent: 'b', ip: '192.0.2.1', cookies: {} },
  url: 'https://example.com/',
  referrer: '',
};

async function publish(name: string, visibility: 'public' | 'private'): Promise<void> {
  const head = `name: ${name}\ntitle: t\ndescription: d\norganization: acme\nvisibility: ${visibility}`;
  const form = new FormData();
  form.append(
    'manifest',
    `${head}\nscopes: [space:metadata:read, site:visitor:auth]\nscript: index.js\n${MORE}`,
  );
  form.append('files', new Blob([SHOW_TOKENS]), 'index.js');
  expect((await service.api('POST', '/v1/integrations', { form })).status).toBe(201);
}

interface OwnError {
  readonly code: string;
  readonly limit?: { readonly name: string };
}
interface Asked {
  readonly status: number;
  readonly code: string;
  /** The limit that the request met. */
  readonly limit: string | undefined;
}

/** Runtime tokens are made for each use: they expire before the test ends. */
async function tokenOf(kind: Kind): Promise<string> {
  const known = stored.get(kind);
  if (known !== undefined) return known;
  if (kind === 'page') return pageToken();
  const from = kind === 'sibling' ? sibling : kind === 'foreign' ? foreign : mine;
  const tokens = (await (await fetch(`${from?.endpoint}/`)).json()) as ApiTokens;
  return (kind === 'integration' ? tokens.integration : tokens.installation) ?? '';
}

async function pageToken(): Promise<string> {
  const path = `/v1/integrations/mine/installations/${mine?.id}/ui-tokens`;
  return String((await service.api('POST', path)).body['token']);
}

async function ask(route: string, token: string | undefined): Promise<Asked> {
  const [method = '', template = ''] = route.split(' ');
  const fresh: Record<string, string> = { path: 'icon.png', id: mine?.id ?? '' };
  if (template === '/v1/events/{id}') fresh['id'] = values['event'] ?? '';
  if (template.startsWith('/v1/deliveries/')) fresh['id'] = values['delivery'] ?? '';
  if (template === '/v1/tokens/{id}') fresh['id'] = 'tok_none';
  const path = template.replaceAll(/\{(.+?)\}/g, (_, name: string) => fresh[name] ?? values[name] ?? '');
  const listed = ['/v1/logs', '/v1/events', '/v1/deliveries'].includes(template)
    ? `?installation=${mine?.id}`
    : '';
  const menu = route === 'GET /v1/blocks' ? '?organization=acme' : listed;
  const drawn = `?componentId=none${template.includes('{id}') ? '' : `&installationId=${mine?.id}`}`;
  const query = route.startsWith('GET ') && template.endsWith('/render') ? drawn : menu;
  const body = bodyOf(route);
  const isUpload = /^POST \/v1\/integrations(?:\/check)?$/.test(route);
  const response = await fetch(`${service.service.controlUrl}${path}${query}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(isUpload && { 'content-type': 'multipart/form-data; boundary=b' }),
      // The condition fails for allowed callers, so that nothing is removed or paused.
      ...(/\/(pause|resume)$|^(DELETE|PATCH) .*installations/.test(route) && { 'if-match': '"0"' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(isUpload && { body: '--b--\r\n' }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  const error = isJson ? (JSON.parse(text) as { error?: OwnError }).error : undefined;
  return { status: response.status, code: error?.code ?? '', limit: error?.limit?.name };
}

function marked({ status, code }: Asked): string {
  if (status === 403) return 'F';
  if (status === 404 && HIDDEN.has(code)) return '-';
  return status === 401 || status >= 500 || code === 'ROUTE_UNKNOWN' ? `${status}` : '+';
}

/** Routes of the description, with the right that a token needs which has a list. */
async function describedRoutes(): Promise<[route: string, right: string | undefined][]> {
  const answer = await fetch(`${service.service.controlUrl}/v1/openapi.json`);
  const { paths } = (await answer.json()) as {
    paths: Record<string, Record<string, { 'x-right'?: string }>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, string | undefined] => [
      `${method.toUpperCase()} ${path}`,
      operation['x-right'],
    ]),
  );
}

describe('permissions', () => {
  // This test sends more wrong tokens in a minute than an address may.
  beforeAll(() => setUp({ failedCredentialsPerMinutePerAddress: 1_000_000 }));
  afterAll(() => service.stop());

  test('the table has exactly the routes of the description', async () => {
    const routes = (await describedRoutes()).map(([route]) => route);
    expect(Object.keys(TABLE).sort()).toEqual(routes.sort());
  });

  test('each route for people has a right that a token can be narrowed to, but those that make or end tokens', async () => {
    const routes = await describedRoutes();
    const without = routes.filter(
      ([route, right]) => right === undefined && !TABLE[route]?.startsWith('FFFFF'),
    );
    expect(without.map(([route]) => route).sort()).toEqual([
      'DELETE /v1/tokens/{id}',
      'POST /v1/console-links',
      'POST /v1/tokens',
    ]);
    const reading = routes.filter(([route, right]) => route.startsWith('GET ') && right !== 'read');
    expect(reading.filter(([route]) => !/\/(render|webhook-secret)$/.test(route))).toEqual([]);
    expect(routes.filter(([route, right]) => !route.startsWith('GET ') && right === 'read')).toEqual([]);
    const used = new Set(routes.flatMap(([, right]) => right ?? []));
    const unused = Object.keys(TOKEN_RIGHTS).filter((right) => !used.has(right));
    // Not a route of the API, but `POST {endpoint}/v1`.
    expect(unused).toEqual(['envelopes:send']);
  });

  test.each(Object.entries(TABLE))('%s', async (route, row) => {
    expect(await ask(route, undefined)).toMatchObject({ status: 401, code: 'TOKEN_MISSING' });
    for (const wrong of [
      'x',
      'annex_run_e30.x',
      `annex_ui_e30.${'a'.repeat(43)}`,
      `annex_admin_${'a'.repeat(43)}`,
    ])
      expect(await ask(route, wrong)).toMatchObject({ status: 401, code: 'TOKEN_INVALID' });
    const rights: string[] = [];
    for (const kind of KINDS) rights.push(marked(await ask(route, await tokenOf(kind))));
    const [holders = '', runtime = ''] = row.split(' ');
    const wanted = `${holders}${runtime}${pageMark(route)}`.split('');
    const by = (marks: string[]) => Object.fromEntries(KINDS.map((kind, index) => [kind, marks[index]]));
    expect(by(rights)).toEqual(by(wanted));
  });

  test('the contract has each right, with its kinds and what it is for', async () => {
    const page = await readFile(new URL('../../../docs/contract/api.md', import.meta.url), 'utf8');
    const rows = Object.entries(TOKEN_RIGHTS).map(([right, { kinds, does }]) => {
      const named = kinds.length === 3 ? 'all' : kinds.map((kind) => `\`${kind}\``).join(', ');
      return `| \`${right}\` | ${named} | ${does} |\n`;
    });
    expect(page).toContain(`| right | kinds | may |\n|---|---|---|\n${rows.join('')}\n`);
  });

  // Attack: a token that was made to post events, in the hands of somebody else.
  test('a token that is narrowed reaches the routes of its right, and no others', async () => {
    const narrowed = new Map<string, string>();
    const tokenWith = async (rights: readonly string[]) => {
      const key = rights.join();
      const json = { kind: 'admin', rights };
      const made =
        narrowed.get(key) ?? String((await service.api('POST', '/v1/tokens', { json })).body['token']);
      narrowed.set(key, made);
      return made;
    };
    for (const [route, right] of await describedRoutes()) {
      const others = Object.keys(TOKEN_RIGHTS).filter((one) => one !== right);
      const refused = await ask(route, await tokenWith(others));
      expect([route, marked(refused)]).toEqual([route, 'F']);
      if (right === undefined) continue;
      const whole = marked(await ask(route, await tokenOf('admin')));
      expect([route, marked(await ask(route, await tokenWith([right])))]).toEqual([route, whole]);
    }
  });
});

const RATES: Readonly<Record<string, LimitName>> = {
  orders: 'ordersPerMinutePerOrganization',
  edits: 'editsPerMinutePerInstallation',
  tasks: 'tasksPerMinutePerInstallation',
};
/** More requests than a rate of one allows, with one that is refilled meanwhile. */
const TIMES = 3;

describe('rates', () => {
  beforeAll(() => setUp(Object.fromEntries(Object.values(RATES).map((name) => [name, 1]))));
  afterAll(() => service.stop());

  const counted = Object.entries(TABLE).filter(
    ([route, row]) => !route.startsWith('GET ') || row.split(' ')[2] !== undefined,
  );
  /** The kind of token whose requests the rate counts. */
  const askerOf = (route: string, by: string | undefined): Kind => {
    if (by === 'orders') return 'author';
    return TABLE[route]?.startsWith('FFFFF') ? 'installation' : 'installer';
  };

  // Attack: an order in a loop, each of which is an entry of the audit.
  test.each(counted)('of %s', async (route, row) => {
    const by = row.split(' ')[2];
    const met: (string | undefined)[] = [];
    for (let times = 0; times < TIMES; times += 1)
      met.push((await ask(route, await tokenOf(askerOf(route, by)))).limit);
    if (by === 'calls' || by === 'refused') expect(met).toEqual(Array(TIMES).fill(undefined));
    else expect(met).toContain(RATES[by ?? '']);
  });

  test('do not count the operator and the host product', async () => {
    const route = 'PUT /v1/integrations/{name}/secrets';
    for (let times = 0; times < TIMES; times += 1)
      expect((await ask(route, await tokenOf('admin'))).limit).toBeUndefined();
  });
});
