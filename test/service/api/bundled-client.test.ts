/**
 * Module workers with an API client of their own, as bundles from elsewhere have it: it adds `/v1`
 * to `apiEndpoint`, reads errors by their status, and pages through lists by `next.page`
 * (docs/contract/environment.md#runtime-tokens).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, ask } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** Sends what the body of a request says, with its own client. */
const WORKER = `
class Failure extends Error {
  constructor({ error }, status) {
    super(error.message);
    Object.assign(this, { status: error.status, code: error.code, isSame: error.status === status });
  }
}
class Client {
  constructor(base, token) { Object.assign(this, { base, token }); }
  async request(method, path, { query = {}, body } = {}) {
    const answer = await fetch(this.base + '/v1' + path + '?' + new URLSearchParams(query), {
      method,
      headers: { authorization: 'Bearer ' + this.token, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Failure(JSON.parse(text), answer.status);
    return text === '' ? undefined : JSON.parse(text);
  }
  async all(path, query) {
    const pages = [];
    for (let page; ; ) {
      const read = await this.request('GET', path, { query: { ...query, ...(page && { page }) } });
      pages.push(read);
      if (!read.next) return pages;
      page = read.next.page;
    }
  }
}
export default {
  async fetch(request) {
    const form = await request.formData();
    const [event, environment] = ['event', 'environment'].map((part) => JSON.parse(form.get(part)));
    if (event.type !== 'fetch') return new Response('', { status: 406 });
    const asked = JSON.parse(await form.get('fetch-body').text());
    const { kind = 'integration', all, method = 'GET', path, query, body } = asked;
    const client = new Client(environment.apiEndpoint, asked.token ?? environment.apiTokens[kind]);
    try {
      return Response.json({ answer: all ? await client.all(path, query) : await client.request(method, path, { query, body }) });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { status, code, isSame } = error;
      return Response.json({ failure: { status, code, isSame } });
    }
  },
};`;

const MANIFEST = `target: all
categories: [other]
externalLinks: [{ label: Site, url: https://example.com }]
configurations:
  account: &settings
    properties:
      oauth_credentials: { type: button, title: Account, description: d, button_text: Connect, callback_url: /oauth }
      note: { type: string, title: Note, description: d, default: hello }
      team: { type: string, title: Team, description: d }
  space: *settings
  site: *settings
`;

interface Asked {
  readonly kind?: 'integration' | 'installation';
  readonly token?: string;
  /** Pages through the list. */
  readonly all?: true;
  readonly method?: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
}

let annex: TestService;
/** The integration's own endpoint. */
let whole: Installed;
let here: Installed;
let there: Installed;
let space: Installed;
let foreign: Installed;
beforeAll(async () => {
  annex = await TestService.start({ limits: { fetchesPerCall: 50 } });
  for (const name of ['bundled', 'other']) await annex.publish(name, { 'index.js': WORKER }, MANIFEST);
  const { body } = await annex.api('GET', '/v1/integrations/bundled');
  whole = { id: '', endpoint: (body['urls'] as { publicEndpoint: string }).publicEndpoint };
  [here, there] = [await annex.install('bundled', 'acme'), await annex.install('bundled', 'rival')];
  foreign = await annex.install('other', 'acme');
  space = await annex.installBelow('bundled', here, 'space', 'sp-1');
  await annex.installBelow('bundled', here, 'space', 'sp-2');
  await annex.installBelow('bundled', there, 'space', 'sp-3');
  await annex.installBelow('bundled', there, 'site', 'si-1');
});
afterAll(() => annex.stop());

// biome-ignore lint/suspicious/noExplicitAny: each test names the members that it expects.
async function from({ endpoint }: Installed, asked: Asked): Promise<any> {
  const answer = await fetch(endpoint, { method: 'POST', body: JSON.stringify(asked) });
  return answer.json();
}

const at = ({ id }: Installed, name = 'bundled') => `/integrations/${name}/installations/${id}`;
const stored = async (path: string): Promise<Answer> => ask(annex, 'GET', path);
const edited = (path: string, json: object): Promise<Answer> => ask(annex, 'PATCH', path, { json });

test('reads the integration with all members that clients know', async () => {
  const { answer } = await from(whole, { path: '/integrations/bundled' });
  expect(answer).toMatchObject({
    ...{ object: 'integration', name: 'bundled', title: expect.any(String), version: 1 },
    ...{ visibility: expect.any(String), scopes: [], categories: expect.any(Array), blocks: [] },
    configurations: { account: { properties: { note: { default: 'hello' } } } },
    externalLinks: [{ label: 'Site', url: 'https://example.com' }],
    owner: { id: expect.any(String) },
    permissions: { admin: false },
    urls: {
      location: expect.stringContaining('/v1/integrations/bundled'),
      assets: expect.any(String),
      ...{ publicEndpoint: whole.endpoint, publicContentEndpoint: whole.endpoint },
    },
  });
});

test('reads an installation with all members that clients know', async () => {
  const { answer } = await from(whole, { path: at(here) });
  expect(answer).toMatchObject({
    ...{ id: here.id, status: 'active', target: { organization: 'acme' }, externalIds: [] },
    ...{ space_selection: 'all', site_selection: 'all', spaces: 2, configuration: { note: 'hello' } },
    ...{ createdAt: expect.any(String), updatedAt: expect.any(String) },
    urls: {
      location: expect.stringContaining(at(here)),
      ...{ publicEndpoint: here.endpoint, publicContentEndpoint: here.endpoint },
    },
  });
});

test('reads an error by its status, which is that of the answer', async () => {
  for (const [asked, code] of [
    [{ path: at(foreign, 'other') }, 'INSTALLATION_UNKNOWN'],
    [{ path: '/integrations/other' }, 'INTEGRATION_UNKNOWN'],
    [{ path: '/nothing' }, 'ROUTE_UNKNOWN'],
  ] as const)
    expect(await from(whole, asked)).toEqual({ failure: { status: 404, code, isSame: true } });
  const unauthorized = { status: 401, code: 'TOKEN_INVALID', isSame: true };
  expect(await from(whole, { path: at(here), token: 'x' })).toEqual({ failure: unauthorized });
});

describe('a list', () => {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const items = (pages: readonly any[]) => pages.flatMap(({ items }) => items);

  test('is paged by next.page, and counted where it is whole', async () => {
    const path = '/integrations/bundled/installations';
    const paged = await from(whole, { all: true, path, query: { limit: '1' } });
    expect(paged.answer).toHaveLength(2);
    for (const page of paged.answer) expect(page).not.toHaveProperty('count');
    const { answer } = await from(whole, { path, query: { limit: '1000' } });
    expect(answer).toMatchObject({ count: 2 });
    expect(answer).not.toHaveProperty('next');
    expect(items(paged.answer)).toEqual(answer.items);
  });

  test.each([
    ['spaces', ['sp-1', 'sp-2', 'sp-3']],
    ['sites', ['si-1']],
  ])('has the %s of all installations, once each', async (places, ids) => {
    const path = `/integrations/bundled/${places}`;
    const { answer } = await from(whole, { all: true, path, query: { limit: '1' } });
    const found = items(answer);
    expect(found.map(({ space, site }) => space ?? site).toSorted()).toEqual(ids);
    for (const one of found)
      expect(one).toMatchObject({ status: 'active', configuration: { note: 'hello' } });
    const whichInstallation = found.map(({ installation }) => installation);
    expect(whichInstallation).toEqual(whichInstallation.toSorted());
  });

  test('finds an installation and a space by an id of another system', async () => {
    await edited(at(there), { externalIds: ['T1'] });
    await edited(`${at(here)}/spaces/sp-2`, { externalIds: ['T1', 'C2'] });
    const by = async (places: string, externalId: string) => {
      const { answer } = await from(whole, {
        path: `/integrations/bundled/${places}`,
        query: { externalId },
      });
      return answer.items.map(({ id, space }: { id?: string; space?: string }) => id ?? space);
    };
    expect(await by('installations', 'T1')).toEqual([there.id]);
    expect(await by('spaces', 'T1')).toEqual(['sp-2']);
    expect(await by('spaces', 'C2')).toEqual(['sp-2']);
    for (const places of ['installations', 'spaces', 'sites']) expect(await by(places, 'none')).toEqual([]);
  });

  test('attack: shows code of one installation, or of one space, nothing of others', async () => {
    const spaces = async (of: Installed) => {
      const asked = { kind: 'installation', path: '/integrations/bundled/spaces' } as const;
      return (await from(of, asked)).answer.items.map(({ space }: { space: string }) => space);
    };
    expect(await spaces(here)).toEqual(['sp-1', 'sp-2']);
    expect(await spaces(space)).toEqual(['sp-1']);
    const sites = await from(space, { kind: 'installation', path: '/integrations/bundled/sites' });
    expect(sites.answer).toEqual({ items: [], count: 0 });
    expect(await from(here, { path: '/integrations/other/spaces' })).toMatchObject({
      failure: { status: 404, code: 'INTEGRATION_UNKNOWN' },
    });
  });

  test('keeps the form with a cursor for stored tokens, and has the other where they send page', async () => {
    const path = '/integrations/bundled/spaces?limit=1';
    const first = (await stored(path)).body;
    expect(first).toEqual({ items: [expect.anything()], next: expect.any(String) });
    const second = (await stored(`${path}&cursor=${first['next']}`)).body;
    expect(second['next']).toEqual(expect.any(String));
    const paged = (await stored(`${path}&page=${first['next']}`)).body;
    expect(paged).toEqual({ items: second['items'], next: { page: second['next'] } });
  });

  test('a key of another list is refused', async () => {
    const { next } = (await stored('/integrations/bundled/installations?limit=1')).body;
    const { error } = await stored(`/integrations/bundled/spaces?page=${next}`);
    expect(error).toMatchObject({ code: 'REQUEST_INVALID', status: 400 });
  });
});

describe('credentials', () => {
  const secret = 'planted-8d1c';
  const connect = (path: string) =>
    edited(path, { configuration: { oauth_credentials: { access_token: secret } } });

  test('are shown to the own token of the target, and to no other', async () => {
    await connect(at(here));
    await connect(`${at(here)}/spaces/sp-1`);
    const read = (of: Installed, kind: Asked['kind'], path: string) =>
      from(of, { ...(kind && { kind }), path });
    const shown = { configuration: { oauth_credentials: { access_token: secret } }, sealed: [] };
    const sealed = { sealed: ['oauth_credentials'] };
    expect((await read(here, 'installation', at(here))).answer).toMatchObject(shown);
    expect((await read(space, 'installation', at(here))).answer).toMatchObject(shown);
    expect((await read(space, 'installation', `${at(here)}/spaces/sp-1`)).answer).toMatchObject(shown);
    for (const [of, kind, path] of [
      [here, 'integration', at(here)],
      [there, 'integration', at(here)],
      [here, 'integration', '/integrations/bundled/installations'],
      [here, 'integration', '/integrations/bundled/spaces'],
      [here, 'installation', `${at(here)}/spaces/sp-1`],
      [here, 'installation', '/integrations/bundled/spaces'],
    ] as const) {
      const { answer } = await read(of, kind, path);
      expect(JSON.stringify(answer), `${kind} ${path}`).not.toContain(secret);
      if (!answer.items) expect(answer).toMatchObject(sealed);
    }
    expect((await stored(at(here))).text).not.toContain(secret);
  });

  test('stay when code replaces a configuration whose credentials it cannot see', async () => {
    await connect(at(there));
    const change = { method: 'PATCH', path: at(there) } as const;
    const replaced = await from(whole, { ...change, body: { configuration: { team: 'T9' } } });
    expect(replaced.answer).toMatchObject({ configuration: { team: 'T9' }, sealed: ['oauth_credentials'] });
    const cleared = await from(whole, { ...change, body: { configuration: { oauth_credentials: null } } });
    expect(cleared.answer).toMatchObject({ configuration: {}, sealed: [] });
  });

  test('are removed when code replaces a configuration that it sees whole', async () => {
    await connect(at(there));
    const body = { configuration: { team: 'T8' } };
    await from(there, { kind: 'installation', method: 'PATCH', path: at(there), body });
    expect((await stored(at(there))).body).toMatchObject({ configuration: body.configuration, sealed: [] });
  });
});

describe('an edit of the configuration', () => {
  test.each(['integration', 'installation'] as const)(
    'replaces it with a token of kind %s, and merges where the request says so',
    async (kind) => {
      const path = `${at(here)}/spaces/sp-2`;
      const asked = { kind, method: 'PATCH', path } as const;
      const change = async (configuration: object, query?: Record<string, string>) => {
        const { answer } = await from(here, { ...asked, body: { configuration }, ...(query && { query }) });
        return answer.configuration;
      };
      expect(await change({ note: 'a', team: 'b' })).toEqual({ note: 'a', team: 'b' });
      expect(await change({ team: 'c' })).toEqual({ team: 'c' });
      expect(await change({ note: 'd' }, { configuration: 'merge' })).toEqual({ note: 'd', team: 'c' });
      await from(here, { ...asked, body: { externalIds: ['E1'] } });
      expect((await stored(path)).body['configuration']).toEqual({ note: 'd', team: 'c' });
    },
  );

  test('merges with stored tokens, and replaces where the request says so', async () => {
    const path = `${at(there)}/spaces/sp-3`;
    await edited(path, { configuration: { note: 'a', team: 'b' } });
    expect((await edited(path, { configuration: { team: 'c' } })).body).toMatchObject({
      configuration: { note: 'a', team: 'c' },
    });
    const replaced = await edited(`${path}?configuration=replace`, { configuration: { team: 'd' } });
    expect(replaced.body['configuration']).toEqual({ team: 'd' });
  });
});

describe('the token of an installation', () => {
  const tokenOf = (path: string): Asked => ({ method: 'POST', path: `${path}/tokens` });

  test('is given to the integration, and does what a token of a call does', async () => {
    const { answer } = await from(whole, tokenOf(at(here)));
    expect(answer).toEqual({ token: expect.stringMatching(/^annex_run_/) });
    const { token } = answer;
    const read = await from(whole, { token, path: at(here) });
    expect(read.answer).toMatchObject({ id: here.id, configuration: { note: expect.any(String) } });
    expect(await from(whole, { token, path: at(there) })).toMatchObject({ failure: { status: 404 } });
    const json = { token };
    const known = await ask(annex, 'POST', '/tokens/introspect', { json });
    expect(known.body).toMatchObject({ active: true, kind: 'installation', installation: here.id });
  });

  test('attack: is not given for an installation of others', async () => {
    const unknown = { failure: { status: 404, code: 'INSTALLATION_UNKNOWN', isSame: true } };
    expect(await from(whole, tokenOf(at(foreign)))).toEqual(unknown);
    expect(await from(whole, tokenOf(at(foreign, 'other')))).toEqual(unknown);
    expect(await from(foreign, tokenOf(at(here)))).toEqual(unknown);
    expect(await from(here, { ...tokenOf(at(there)), kind: 'installation' })).toEqual(unknown);
    const { error } = await ask(annex, 'POST', `${at(here)}/tokens`);
    expect(error).toMatchObject({ code: 'TOKEN_FORBIDDEN' });
  });

  test('attack: code of one space gets the token of that space only', async () => {
    const { answer } = await from(space, { ...tokenOf(at(here)), kind: 'installation' });
    const read = (path: string) => from(space, { token: answer.token, path });
    expect(await read(`${at(here)}/spaces/sp-1`)).toMatchObject({ answer: { space: 'sp-1' } });
    expect(await read(`${at(here)}/spaces/sp-2`)).toMatchObject({ failure: { status: 404 } });
  });
});
