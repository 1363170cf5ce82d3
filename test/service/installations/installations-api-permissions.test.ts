/**
 * Permissions of installations: those of another tenant are answered as unknown, to the byte; code
 * of an integration sees and changes no more than its runtime tokens allow.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { LEVELS, type Level } from '../../../src/model/level.ts';
import {
  type Answer,
  ask,
  CONFIGURED,
  codeOf,
  everythingInstalled,
  installationRoutes,
  type Question,
} from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** Calls the API for its caller. */
const RELAY = `
import { createIntegration } from '@annex/sdk';
export default createIntegration({
  fetch: async (request, { environment }) => {
    const { kind, method, path, json } = await request.json();
    const { apiEndpoint, apiTokens } = environment;
    const authorization = 'Bearer ' + apiTokens[kind];
    const answer = await fetch(apiEndpoint + path, {
      method,
      headers: { authorization, ...(json && { 'content-type': 'application/json' }) },
      ...(json && { body: JSON.stringify(json) }),
    });
    return Response.json({ status: answer.status, text: await answer.text() });
  },
});
`;

type Kind = 'integration' | 'installation';

let annex: TestService;
let mine: Installed;
let theirs: Installed;
let elsewhere: Installed;
const tokens = new Map<string, string>();

beforeAll(async () => {
  annex = await TestService.start({ limits: { fetchesPerCall: 50 } });
  for (const name of ['relay', 'other']) await annex.publish(name, { 'index.js': RELAY }, CONFIGURED);
  mine = await annex.install('relay', 'mine');
  theirs = await annex.install('relay', 'theirs');
  elsewhere = await annex.install('other', 'mine');
  for (const { id } of [mine, theirs])
    for (const level of ['space', 'site'])
      await ask(annex, 'POST', `/integrations/relay/installations/${id}/${level}s`, {
        json: { [level]: 's-1' },
      });
  for (const organization of ['mine', 'acme']) {
    const json = { kind: 'organization', organization };
    tokens.set(organization, String((await annex.api('POST', '/v1/tokens', { json })).body['token']));
  }
  return () => annex.stop();
});

/** Calls the API as code that runs for an installation. */
async function asCode(
  { endpoint }: Installed,
  kind: Kind,
  method: string,
  path: string,
  json?: unknown,
): Promise<Pick<Answer, 'status' | 'text' | 'body' | 'error'>> {
  const body = JSON.stringify({ kind, method, path, json });
  const response = await fetch(`${endpoint}/`, { method: 'POST', body });
  const { status, text } = (await response.json()) as { status: number; text: string };
  const read = text === '' ? {} : JSON.parse(text);
  return { status, text, body: read, error: read.error };
}

/** An unknown id, as long as real ones. */
const ABSENT = `ins_${'a'.repeat(24)}`;

/** An answer without what differs between requests: the id in the path and the request id. */
const bare = (text: string, id: string): string =>
  text.replaceAll(id, 'ID').replace(/"requestId":"[^"]*"/, '"requestId":""');

const path = (level: Level, id: string): string =>
  `/integrations/relay/installations/${id}${level === 'organization' ? '' : `/${level}s/s-1`}`;

describe("another tenant's installation", () => {
  const asked = installationRoutes('relay', ABSENT, 'mine').filter(({ path }) => path.includes(ABSENT));

  test.each(asked.map(({ method, path }, i) => [`${method} ${path.replace(ABSENT, ':id')}`, i] as const))(
    '%s: is unknown, to the byte',
    async (_title, i) => {
      const { method, path, json } = asked[i] ?? { method: '', path: '' };
      const before = await everythingInstalled(annex, 'relay');
      const question: Question = { ...(json && { json }), headers: { 'if-match': '"stale"' } };
      for (const organization of ['mine', 'acme']) {
        const token = tokens.get(organization) ?? '';
        const absent = await ask(annex, method, path, { ...question, token });
        const others = await ask(annex, method, path.replace(ABSENT, theirs.id), { ...question, token });
        expect(codeOf(others)).toBe('404 INSTALLATION_UNKNOWN');
        expect(bare(others.text, theirs.id)).toBe(bare(absent.text, ABSENT));
        const shown = ({ headers }: Answer) => [...headers].filter(([name]) => name !== 'date');
        expect(shown(others)).toEqual(shown(absent));
      }
      expect(await everythingInstalled(annex, 'relay')).toBe(before);
    },
  );

  test("is in no list, not even the author's", async () => {
    const list = '/integrations/relay/installations';
    const ids = async (organization: string) => {
      const { body } = await ask(annex, 'GET', list, { token: tokens.get(organization) ?? '' });
      return (body['items'] as { id: string }[]).map(({ id }) => id);
    };
    expect(await ids('mine')).toEqual([mine.id]);
    expect(await ids('acme')).toEqual([]);
  });

  test('is not in the list of all integrations, whatever it is asked for by', async () => {
    const asked = async (query: string, token?: string) =>
      ask(annex, 'GET', `/installations${query}`, token === undefined ? {} : { token });
    const ids = async (query: string, token?: string) => {
      const { status, body } = await asked(query, token);
      expect(status).toBe(200);
      return (body['items'] as { id: string }[]).map(({ id }) => id).toSorted();
    };
    const own = [mine.id, elsewhere.id].toSorted();
    const [all, relay] = [[...own, theirs.id].toSorted(), [mine.id, theirs.id].toSorted()];
    for (const token of [annex.admin, annex.platform]) {
      expect(await ids('', token)).toEqual(all);
      expect(await ids('?organization=theirs', token)).toEqual([theirs.id]);
      expect(await ids('?integration=relay', token)).toEqual(relay);
      expect(await ids('?integration=relay&organization=mine', token)).toEqual([mine.id]);
    }
    await annex.api('PATCH', `/v1${path('organization', theirs.id)}`, { json: { externalIds: ['known'] } });
    expect(await ids('?externalId=known')).toEqual([theirs.id]);
    const token = tokens.get('mine') ?? '';
    expect(await ids('', token)).toEqual(own);
    expect(await ids('?organization=mine', token)).toEqual(own);
    expect(await ids('?integration=relay', token)).toEqual([mine.id]);
    expect(await ids('?externalId=known', token)).toEqual([]);
    for (const query of ['', '?integration=relay', '?externalId=known'])
      expect(await ids(query, tokens.get('acme'))).toEqual([]);
    const foreign = await asked('?organization=theirs&integration=relay', token);
    expect(codeOf(foreign)).toBe('403 TOKEN_FORBIDDEN');
    expect(codeOf(await asked('?organization=nobody', token))).toBe('403 TOKEN_FORBIDDEN');
    // A page that was begun with another token goes on within the own organization.
    const { body } = await asked('?limit=1');
    expect(own).toEqual(expect.arrayContaining(await ids(`?cursor=${body['next']}`, token)));
    for (const kind of ['integration', 'installation'] as const) {
      const { status } = await asCode(mine, kind, 'GET', '/installations');
      expect(status).toBe(403);
    }
  });

  test('is not found by the name of another integration', async () => {
    const { error } = await ask(annex, 'GET', `/integrations/other/installations/${mine.id}`);
    expect(error.code).toBe('INSTALLATION_UNKNOWN');
  });

  test('cannot be installed by another organization', async () => {
    const token = tokens.get('mine') ?? '';
    const json = { organization: 'yours' };
    const { status, error } = await ask(annex, 'POST', '/integrations/relay/installations', { token, json });
    expect({ status, ...error }).toMatchObject({
      status: 403,
      code: 'TOKEN_FORBIDDEN',
      message: 'This token may not install for organization "yours".',
    });
  });
});

describe('code of an integration', () => {
  test.each(LEVELS)('reads its installations with their configurations: %s', async (level) => {
    const shown = await ask(annex, 'GET', path(level, mine.id));
    const own = await asCode(mine, 'installation', 'GET', path(level, mine.id));
    expect(own.text).toBe(shown.text);
    for (const { id } of [mine, theirs]) {
      const { status, body } = await asCode(mine, 'integration', 'GET', path(level, id));
      expect(status).toBe(200);
      expect(body).toHaveProperty('configuration');
      expect(body).toHaveProperty('sealed');
      expect(body).toHaveProperty('externalIds');
    }
  });

  test('lists the installations of its token', async () => {
    const list = '/integrations/relay/installations';
    const items = async (kind: Kind, path: string) => {
      const { body } = await asCode(mine, kind, 'GET', path);
      return body['items'] as { id?: string; configuration?: unknown }[];
    };
    const ids = (await items('integration', list)).map(({ id }) => id);
    expect(ids.toSorted()).toEqual([mine.id, theirs.id].toSorted());
    expect(await items('installation', list)).toMatchObject([{ id: mine.id, configuration: {} }]);
    for (const level of ['spaces', 'sites']) {
      const [one] = await items('integration', `${list}/${theirs.id}/${level}`);
      expect(one).toHaveProperty('configuration');
      expect(await items('installation', `${list}/${mine.id}/${level}`)).toMatchObject([
        { configuration: {} },
      ]);
    }
  });

  const configuration = { url: 'x' };
  const externalIds = ['by-code'];

  test.each([
    ['installation', { externalIds }, []],
    ['installation', { configuration }, []],
    ['installation', { configuration, externalIds }, []],
    ['installation', { configuration, space_selection: 'selected' }, ['space_selection']],
    ['installation', { site_selection: 'selected' }, ['site_selection']],
    ['integration', { externalIds }, []],
    ['integration', { configuration: { url: 'y' } }, []],
    ['integration', { configuration, externalIds: ['both'] }, []],
    ['integration', { site_selection: 'all', space_selection: 'all' }, ['site_selection', 'space_selection']],
  ] as const)('with a token of kind %s edits %j: refused are %j', async (kind, edit, refused) => {
    for (const level of LEVELS) {
      if (level !== 'organization' && refused.some((field) => field.endsWith('selection'))) continue;
      // An edit with equal values would change nothing.
      const reset = { configuration: { url: 'before' }, externalIds: [] };
      expect((await annex.api('PATCH', `/v1${path(level, mine.id)}`, { json: reset })).status).toBe(200);
      const before = await everythingInstalled(annex, 'relay');
      const { status, error } = await asCode(mine, kind, 'PATCH', path(level, mine.id), edit);
      const isSame = (await everythingInstalled(annex, 'relay')) === before;
      if (refused.length === 0) {
        expect({ status, isSame }).toEqual({ status: 200, isSame: false });
        continue;
      }
      const fields = refused.map((field) => `"${field}"`).join(', ');
      const message = `A token of kind ${kind} may not change ${fields}.`;
      expect({ status, isSame, ...error }).toMatchObject({ status: 403, isSame: true, message });
      expect(error.code).toBe('TOKEN_FORBIDDEN');
    }
  });

  test('sees as much of an edit as of the installation', async () => {
    // An installation that was never valid is pending, and may stay so.
    const edit = { externalIds: ['x'] };
    const unset = { configuration: { url: null } };
    for (const level of LEVELS) {
      const own = await asCode(theirs, 'installation', 'PATCH', path(level, theirs.id), unset);
      expect(own.body).toMatchObject({ status: 'pending', problems: [{ property: 'url' }] });
      const { status, body } = await asCode(theirs, 'integration', 'PATCH', path(level, theirs.id), edit);
      expect([status, body['status']]).toEqual([200, 'pending']);
      const read = await asCode(theirs, 'integration', 'GET', path(level, theirs.id));
      expect(body).toEqual(read.body);
      expect(body).toMatchObject({ sealed: [], problems: [{ property: 'url' }] });
    }
  });

  test('is in the audit with the kind of its token, and without an address', async () => {
    await asCode(mine, 'installation', 'PATCH', path('space', mine.id), { externalIds: ['audited'] });
    const { items } = await annex.service.store.audit.list({ limit: 1 });
    expect(items).toMatchObject([{ action: 'installation.edit', actor: 'installation', place: 's-1' }]);
    expect(items[0]).not.toHaveProperty('address');
    expect(items[0]).not.toHaveProperty('tokenId');
  });

  test.each(['installation', 'integration'] as const)(
    'may not install, pause, resume or remove, and gets a message that names the action: %s',
    async (kind) => {
      const before = await everythingInstalled(annex, 'relay');
      const asked = installationRoutes('relay', mine.id, 'yours');
      for (const { method, path, json } of asked.filter(({ method }) => /POST|DELETE/.test(method))) {
        const { status, error } = await asCode(mine, kind, method, path, json);
        expect({ status, ...error }).toMatchObject({ status: 403, code: 'TOKEN_FORBIDDEN' });
        expect(error.message).toMatch(
          new RegExp(`^"(Install|Pause|Resume|Uninstall).*" is not for runtime tokens;.* kind ${kind}\\.$`),
        );
      }
      expect(await everythingInstalled(annex, 'relay')).toBe(before);
    },
  );

  test.each([
    ['another installation of its own integration', () => mine, 'installation'],
    ['another integration, for one installation', () => elsewhere, 'installation'],
    ['another integration, for all of them', () => elsewhere, 'integration'],
  ] as const)('that is of %s finds nothing', async (_whose, asking, kind) => {
    const before = await everythingInstalled(annex, 'relay');
    const asked = installationRoutes('relay', theirs.id, 'theirs');
    const open = asked.filter(({ method, path }) => /GET|PATCH/.test(method) && path.includes(theirs.id));
    for (const { method, path, json } of open) {
      const others = await asCode(asking(), kind, method, path, json);
      const absent = await asCode(asking(), kind, method, path.replace(theirs.id, ABSENT), json);
      expect([others.status, others.error.code]).toEqual([404, 'INSTALLATION_UNKNOWN']);
      expect(bare(others.text, theirs.id)).toBe(bare(absent.text, ABSENT));
    }
    expect(await everythingInstalled(annex, 'relay')).toBe(before);
  });

  test('gets the list of another integration as unknown', async () => {
    for (const kind of ['installation', 'integration'] as const) {
      const others = await asCode(elsewhere, kind, 'GET', '/integrations/relay/installations');
      const absent = await asCode(elsewhere, kind, 'GET', '/integrations/delay/installations');
      expect([others.status, others.error.code]).toEqual([404, 'INTEGRATION_UNKNOWN']);
      expect(bare(others.text, 'relay')).toBe(bare(absent.text, 'delay'));
    }
  });
});
