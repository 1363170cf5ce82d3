/**
 * Refusals of the API of installations, route by route: each has its status, its code and a message
 * that says what to do, and changes nothing.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { LEVELS } from '../../../src/model/level.ts';
import {
  ask,
  CONFIGURED,
  codeOf,
  everythingInstalled,
  installationRoutes,
  type Question,
  type InstallationRoute as Route,
  SOURCE,
} from '../../support/installation-api.ts';
import { startTestService, TestService } from '../../support/service.ts';

let annex: TestService;
let token: string;
let routes: readonly Route[];

beforeAll(async () => {
  annex = await TestService.start();
  await annex.publish('life', { 'index.js': SOURCE }, CONFIGURED);
  ({ token } = await annex
    .api('POST', '/v1/tokens', { json: { kind: 'organization', organization: 'mine' } })
    .then(({ body }) => body as { token: string }));
  const { id } = await annex.install('life', 'mine');
  routes = installationRoutes('life', id, 'mine');
  for (const level of ['space', 'site'])
    await ask(annex, 'POST', `/integrations/life/installations/${id}/${level}s`, {
      json: { [level]: 's-1' },
    });
  return () => annex.stop();
});

/** Calls a route, and asserts that nothing changed. */
async function refused({ method, path }: Pick<Route, 'method' | 'path'>, question: Question = {}) {
  const before = await everythingInstalled(annex, 'life');
  const answer = await ask(annex, method, path, { token, ...question });
  expect(await everythingInstalled(annex, 'life')).toBe(before);
  return { code: codeOf(answer), message: answer.error?.message, limit: answer.body['error'] };
}

const ROUTES = LEVELS.flatMap((level) => {
  const below = level === 'organization' ? '' : `/${level}s`;
  const one = level === 'organization' ? '/:id' : `/:id${below}/:${level}`;
  const list = level === 'organization' ? '' : `/:id${below}`;
  return [
    ['POST', list],
    ['GET', list],
    ['GET', one],
    ['PATCH', one],
    ['POST', `${one}/pause`],
    ['POST', `${one}/resume`],
    ['DELETE', one],
  ].map(([method, path], i) => [`${method} …/installations${path}`, LEVELS.indexOf(level) * 7 + i] as const);
});

const route = (i: number): Route => {
  const found = routes[i];
  if (found === undefined) throw new Error(`no route ${i}`);
  return found;
};

describe.each(ROUTES)('%s', (_title, i) => {
  test('refuses unknown members of a query or a body', async () => {
    const { method, path, json } = route(i);
    expect(await refused({ method, path: `${path}?surprise=1` }, json ? { json } : {})).toMatchObject({
      code: '400 REQUEST_INVALID',
      message: 'query has unknown members: surprise.',
    });
    if (method === 'GET') return;
    const more = await refused({ method, path }, { json: { ...json, surprise: 1 } });
    const message = json
      ? 'body has unknown members: surprise.'
      : 'body is not expected: this route takes none.';
    expect(more).toMatchObject({ code: '400 REQUEST_INVALID', message });
  });

  test('needs a token', async () => {
    const { method, path, json } = route(i);
    const wrong = { token: `annex_organization_${'x'.repeat(43)}`, ...(json && { json }) };
    expect((await refused({ method, path }, wrong)).code).toBe('401 TOKEN_INVALID');
  });

  test('refuses malformed ids', async () => {
    const { method, path, json } = route(i);
    const question = json ? { json } : {};
    const bad = path.replace('life', 'li%00fe');
    expect(await refused({ method, path: bad }, question)).toMatchObject({
      code: '400 REQUEST_INVALID',
      message: expect.stringContaining('path.name'),
    });
    const place = path.replace('/s-1', `/${'s'.repeat(129)}`);
    if (place !== path)
      expect(await refused({ method, path: place }, question)).toMatchObject({
        code: '400 REQUEST_INVALID',
        message: expect.stringMatching(/^path\.(space|site) /),
      });
  });
});

const BODIES = ROUTES.filter(([title]) => /^(POST|PATCH)/.test(title) && !/pause|resume/.test(title));

describe.each(BODIES)('the body of %s', (_title, i) => {
  test('is required, and must be JSON', async () => {
    for (const headers of [{}, { 'content-type': 'application/json' }])
      expect(await refused(route(i), { headers })).toMatchObject({
        code: '400 REQUEST_INVALID',
        message: 'body is missing: send JSON, with "Content-Type: application/json".',
      });
    // The default of curl.
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/merge-patch+json'])
      expect(
        await refused(route(i), { json: route(i).json, headers: { 'content-type': type } }),
      ).toMatchObject({
        code: '400 REQUEST_INVALID',
        message: expect.stringContaining('send it with "Content-Type: application/json"'),
      });
    expect((await refused(route(i), { json: [] })).message).toBe('body must be object.');
    expect((await refused(route(i), { json: 'x' })).message).toBe('body must be object.');
  });

  test('has external ids that are bounded, short and printable', async () => {
    const { json } = route(i);
    for (const [externalIds, message] of [
      ['x', 'body.externalIds must be array.'],
      [[7], 'body.externalIds[0] must be string.'],
      [[''], 'body.externalIds[0] '],
      [['x'.repeat(257)], 'body.externalIds[0] '],
      [['a\u0000b'], 'body.externalIds[0] '],
      // Lone surrogates: stored, the two would be equal.
      [['a\ud800', 'a\ud801'], 'body.externalIds[0] '],
      [['1', '2', '3', '4', '5', '6'], 'body.externalIds '],
    ] as const) {
      expect(await refused(route(i), { json: { ...json, externalIds } })).toMatchObject({
        code: '400 REQUEST_INVALID',
        message: expect.stringContaining(message),
      });
    }
  });

  test('has a largest size', async () => {
    const { json } = route(i);
    const answer = await refused(route(i), { json: { ...json, externalIds: ['x'.repeat(2 ** 20)] } });
    expect(answer.code).toBe('413 REQUEST_TOO_LARGE');
  });
});

const CREATIONS = BODIES.filter(([title]) => title.startsWith('POST'));

test.each(CREATIONS)('%s requires the id of a place', async (_title, i) => {
  const { json = {}, level } = route(i);
  for (const [value, message] of [
    [undefined, 'body must have required properties'],
    [7, `body.${level} must be string.`],
    ['', `body.${level} `],
    ['a/b', `body.${level} `],
    ['x'.repeat(129), `body.${level} `],
  ] as const) {
    expect(await refused(route(i), { json: { ...json, [level]: value } })).toMatchObject({
      code: '400 REQUEST_INVALID',
      message: expect.stringContaining(message),
    });
  }
});

test('an install accepts only `all` or `selected` for spaces and sites', async () => {
  const [install, edit] = [0, 3].map(route) as [Route, Route];
  for (const [which, field] of [
    [install, 'space_selection'],
    [install, 'site_selection'],
    [edit, 'space_selection'],
    [edit, 'site_selection'],
  ] as const) {
    const json = { ...which.json, [field]: 'some' };
    expect(await refused(which, { json })).toMatchObject({
      code: '400 REQUEST_INVALID',
      message: `body.${field} must be one of all, selected.`,
    });
  }
});

const EDITS = BODIES.filter(([title]) => title.startsWith('PATCH'));

describe.each(EDITS)('%s', (_title, i) => {
  test('requires a change', async () => {
    expect(await refused(route(i), { json: {} })).toMatchObject({
      code: '400 REQUEST_INVALID',
      message: 'body must not have fewer than 1 properties.',
    });
  });

  test('accepts a configuration only as an object, bounded in size and depth, with text that can be stored', async () => {
    const deep = Array(40)
      .fill(0)
      .reduce((inner) => [inner], 'x');
    for (const [configuration, code, message] of [
      [7, '400 REQUEST_INVALID', 'body.configuration must be object.'],
      [[], '400 REQUEST_INVALID', 'body.configuration must be object.'],
      [null, '400 REQUEST_INVALID', 'body.configuration must be object.'],
      [{ url: 'a\u0000b' }, '400 REQUEST_INVALID', '"url" must not hold U+0000'],
      [{ url: deep }, '400 REQUEST_INVALID', 'nested deeper than'],
      [{ url: 'x'.repeat(64 * 1024) }, '413 REQUEST_TOO_LARGE', 'the limit is 64 KiB (configurationBytes)'],
    ] as const) {
      const answer = await refused(route(i), { json: { configuration } });
      expect(answer).toMatchObject({ code, message: expect.stringContaining(message) });
    }
    const poison = JSON.parse('{"configuration": {"__proto__": {"url": "x"}}}');
    expect(await refused(route(i), { json: poison })).toMatchObject({
      code: '400 REQUEST_INVALID',
      message: expect.stringContaining('prototype'),
    });
  });

  test('names the limit that was met, and counts it', async () => {
    const name = 'annex_limits_met_total{limit="configurationBytes"}';
    const before = await annex.metric(name);
    const json = { configuration: { url: 'x'.repeat(65 * 1024) } };
    const { limit } = await refused(route(i), { json });
    expect(limit).toMatchObject({ limit: { name: 'configurationBytes', max: 64 * 1024 } });
    expect(await annex.metric(name)).toBe(before + 1);
  });

  test('changes members of the organization at that level only', async () => {
    const { level } = route(i);
    if (level === 'organization') return;
    const { message } = await refused(route(i), { json: { space_selection: 'all' } });
    expect(message).toBe('body has unknown members: space_selection.');
  });
});

const CONDITIONAL = ROUTES.filter(([title]) => /:(id|space|site)(\/pause|\/resume)?$/.test(title));

test.each(CONDITIONAL)('%s checks its condition', async (_title, i) => {
  const { method, json } = route(i);
  const name = method === 'GET' ? 'if-none-match' : 'if-match';
  // The last two are attacks: headers for which a pattern could take superlinear time.
  const lists = ['1', '"1', '"1" "2"', '*, "1"', 'w/"1"', ',', '"a b"', ''];
  for (const malformed of [...lists, `${','.repeat(12_000)}x`, `${'"", '.repeat(3_000)}"`]) {
    const answer = await refused(route(i), { headers: { [name]: malformed }, ...(json && { json }) });
    expect({ malformed, ...answer }).toMatchObject({
      code: '400 REQUEST_INVALID',
      message: expect.stringContaining(`headers.${name} must be`),
    });
  }
  if (method === 'GET') return;
  const stale = await refused(route(i), { headers: { 'if-match': '"1"' }, ...(json && { json }) });
  expect(stale.code).toBe('412 INSTALLATION_CHANGED');
});

test('the id of a place has up to 128 characters, in a body and in a path', async () => {
  const { path } = route(7);
  const space = 's'.repeat(128);
  expect((await ask(annex, 'POST', path, { token, json: { space } })).status).toBe(201);
  expect((await ask(annex, 'GET', `${path}/${space}`, { token })).body).toMatchObject({ space });
  expect((await ask(annex, 'DELETE', `${path}/${space}`, { token })).status).toBe(204);
});

test('a content type without a body is ignored', async () => {
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain']) {
    const question = { token, headers: { 'content-type': type } };
    expect((await ask(annex, 'POST', route(4).path, question)).body).toMatchObject({ status: 'paused' });
    expect((await ask(annex, 'POST', route(5).path, question)).body).toMatchObject({ status: 'pending' });
  }
});

test('an installation has a bounded number of places, and its changes are bounded by pending lifecycle events', async () => {
  const limits = { placesPerInstallation: 1, lifeEventsPendingPerInstallation: 1, callWallMs: 3_000 };
  const small = await startTestService({ limits: { ...limits, firstByteMs: 3_000 } });
  const install = async (name: string, event: string) => {
    const source = `import { createIntegration } from '@annex/sdk';
      export default createIntegration({ fetch: () => new Response('ok'), events: { ${event} } });`;
    await small.publish(name, { 'index.js': source });
    return `/integrations/${name}/installations/${(await small.install(name, undefined, { notified: true })).id}`;
  };
  const quick = await install('quick', '');
  const add = (space: string) => ask(small, 'POST', `${quick}/spaces`, { json: { space } });
  await expect.poll(async () => (await add('s-1')).status).toBe(201);
  await expect.poll(async () => codeOf(await add('s-2'))).toBe('409 INSTALLATION_FULL');
  expect((await add('s-2')).error).toMatchObject({ limit: { name: 'placesPerInstallation', max: 1 } });
  expect(await small.metric('annex_limits_met_total{limit="placesPerInstallation"}')).toBeGreaterThan(0);
  expect((await ask(small, 'GET', `${quick}/spaces`)).body['items']).toHaveLength(1);

  // The event stays pending for as long as its handler runs.
  const slow = await install(
    'slow',
    'installation_setup: () => new Promise((done) => setTimeout(done, 60_000))',
  );
  const busy = await ask(small, 'PATCH', slow, { json: { externalIds: ['x'] } });
  expect(codeOf(busy)).toBe('503 INSTALLATION_BUSY');
  expect(busy.headers.get('retry-after')).toBe('5');
  expect((await ask(small, 'GET', slow)).body['externalIds']).toEqual([]);
  expect((await ask(small, 'DELETE', slow)).status).toBe(204);
});
