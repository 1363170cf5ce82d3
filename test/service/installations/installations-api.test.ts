/**
 * The lifecycle of an installation over the API, the same at each level: requests and answers.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Level } from '../../../src/model/level.ts';
import {
  type Answer,
  ask,
  CONFIGURED,
  codeOf,
  levelPaths,
  type Question,
  SOURCE,
} from '../../support/installation-api.ts';
import { TestService } from '../../support/service.ts';

let annex: TestService;
let count = 0;

beforeAll(async () => {
  annex = await TestService.start();
  for (const name of ['life', 'outgrown']) await annex.publish(name, { 'index.js': SOURCE }, CONFIGURED);
  return () => annex.stop();
});

const call = (method: string, path: string, question?: Question): Promise<Answer> =>
  ask(annex, method, path, question);

/** A level of a fresh installation, without a target at that level. */
async function fresh(level: Level, name = 'life') {
  count += 1;
  const organization = `fresh-${count}`;
  const installed = level === 'organization' ? { id: '' } : await annex.install(name, organization);
  const paths = levelPaths(name, organization, installed.id).find((one) => one.level === level);
  if (paths === undefined) throw new Error(`no level ${level}`);
  return { ...paths, organization, installation: installed.id };
}

/** The same, with a target. */
async function installed(level: Level, name = 'life') {
  const paths = await fresh(level, name);
  const created = await call('POST', paths.list, { json: paths.body });
  expect(created.status).toBe(201);
  return { ...paths, created, path: paths.at(created) };
}

describe.each(['organization', 'space', 'site'] as const)('at the level of the %s', (level) => {
  test('the whole lifecycle: installed, edited, paused, resumed, removed, installed again', async () => {
    const { list, body, organization, installation, at } = await fresh(level);
    const created = await call('POST', list, { json: { ...body, externalIds: ['theirs 🙂', 'theirs 🙂'] } });
    const name = level === 'organization' ? { id: expect.any(String) } : { installation, ...body };
    const selections = level === 'organization' && {
      ...{ space_selection: 'all', site_selection: 'all', spaces: 0 },
    };
    expect({ status: created.status, body: created.body }).toEqual({
      status: 201,
      body: {
        ...name,
        ...selections,
        integration: 'life',
        organization,
        target: { organization },
        status: 'pending',
        configuration: { colour: 'red' },
        sealed: [],
        externalIds: ['theirs 🙂'],
        urls: {
          location: expect.stringContaining(`${annex.service.controlUrl}/v1/integrations/`),
          publicEndpoint: expect.stringContaining(annex.service.publicUrl),
          publicContentEndpoint: expect.stringContaining(annex.service.publicUrl),
        },
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
        problems: [{ property: 'url', message: '"url" must be set.' }],
      },
    });
    const path = at(created);
    expect((await call('GET', path)).text).toBe(created.text);

    const wrong = await call('PATCH', path, { json: { configuration: { url: 7, color: 'red' } } });
    expect(wrong.body).toMatchObject({ status: 'pending', configuration: { url: 7 } });
    expect(wrong.body['problems']).toEqual([{ property: 'url', message: '"url" must be a string.' }]);

    const right = await call('PATCH', path, { json: { configuration: { url: 'x', color: null } } });
    expect(right.body).toMatchObject({ status: 'active', configuration: { url: 'x', colour: 'red' } });
    expect(right.body).not.toHaveProperty('problems');

    expect((await call('POST', `${path}/pause`)).body).toEqual({
      ...right.body,
      status: 'paused',
      updatedAt: expect.any(String),
    });
    const edited = await call('PATCH', path, {
      json: { configuration: { colour: 'blue' }, externalIds: [] },
    });
    expect(edited.body).toMatchObject({
      status: 'paused',
      configuration: { colour: 'blue' },
      externalIds: [],
    });
    expect((await call('POST', `${path}/resume`)).body).toMatchObject({ status: 'active' });

    const removed = await call('DELETE', path);
    expect({ status: removed.status, text: removed.text }).toEqual({ status: 204, text: '' });
    for (const [method, at] of [
      ['GET', path],
      ['DELETE', path],
      ['POST', `${path}/pause`],
    ] as const)
      expect(codeOf(await call(method, at))).toBe('404 INSTALLATION_UNKNOWN');
    expect(codeOf(await call('PATCH', path, { json: { externalIds: [] } }))).toBe('404 INSTALLATION_UNKNOWN');

    const again = await call('POST', list, { json: body });
    expect(again.body).toMatchObject({
      status: 'pending',
      externalIds: [],
      configuration: { colour: 'red' },
    });
    expect(again.body['urls']).not.toEqual(created.body['urls']);
  });

  test('a second install is refused, and the message names the first', async () => {
    const { list, body, created } = await installed(level);
    const second = await call('POST', list, { json: body });
    expect(codeOf(second)).toBe('409 INSTALLATION_EXISTS');
    expect(second.error).toMatchObject({ installation: created.body['id'] ?? created.body['installation'] });
    expect(second.error.message).toContain('has already installed "life"');
  });

  test('credentials are accepted, shown as set, and never shown', async () => {
    const { path } = await installed(level);
    const secret = 'planted-4f1c';
    const configuration = { oauth_credentials: { access_token: secret } };
    const answers = [
      await call('PATCH', path, { json: { configuration } }),
      await call('GET', path),
      await call('POST', `${path}/pause`),
    ];
    for (const { body, text } of answers) {
      expect(body).toMatchObject({ sealed: ['oauth_credentials'], configuration: { colour: 'red' } });
      expect(text).not.toContain(secret);
    }
    const unset = await call('PATCH', path, { json: { configuration: { oauth_credentials: null } } });
    expect(unset.body['sealed']).toEqual([]);
  });

  test('each answer has the tag of its content, and a change with another tag is refused', async () => {
    const { path, created } = await installed(level);
    const tags = [created.headers.get('etag') ?? ''];
    const present = () => tags.at(-1) ?? '';
    const change = async (method: string, at: string, json?: unknown) => {
      for (const stale of ['"nothing"', `W/${present()}`, ...tags.slice(0, -1)]) {
        const before = await call('GET', path);
        const refused = await call(method, at, { json, headers: { 'if-match': stale } });
        expect(codeOf(refused)).toBe('412 INSTALLATION_CHANGED');
        expect(refused.error.message).toContain('Read it again');
        const after = await call('GET', path);
        expect([after.text, after.headers.get('etag')]).toEqual([before.text, present()]);
      }
      const done = await call(method, at, { json, headers: { 'if-match': `"other", ${present()}` } });
      expect(done.status).toBeLessThan(300);
      if (method !== 'DELETE') tags.push(done.headers.get('etag') ?? '');
    };
    await change('PATCH', path, { configuration: { url: 'x' } });
    await change('POST', `${path}/pause`);
    await change('POST', `${path}/resume`);
    expect(new Set(tags).size).toBe(tags.length);
    expect(
      (await call('PATCH', path, { json: { externalIds: ['a'] }, headers: { 'if-match': ' * ' } })).status,
    ).toBe(200);
    tags.push((await call('GET', path)).headers.get('etag') ?? '');
    await change('DELETE', path);
  });

  test('content that the client has already is not sent again', async () => {
    const { path, created } = await installed(level);
    const tag = created.headers.get('etag') ?? '';
    for (const known of [tag, `W/${tag}`, `"a", ${tag}`, '*']) {
      const answer = await call('GET', path, { headers: { 'if-none-match': known } });
      expect([answer.status, answer.text, answer.headers.get('etag')]).toEqual([304, '', tag]);
    }
    expect((await call('GET', path, { headers: { 'if-none-match': '"a"' } })).text).toBe(created.text);
  });

  test('of two edits with the same tag, one is accepted and the other refused', async () => {
    const { path, created } = await installed(level);
    const headers = { 'if-match': created.headers.get('etag') ?? '' };
    const edits = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        call('PATCH', path, { json: { externalIds: [`edit-${i}`] }, headers }),
      ),
    );
    const taken = edits.filter(({ status }) => status === 200);
    expect(edits.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(412)]);
    expect((await call('GET', path)).body['externalIds']).toEqual(taken[0]?.body['externalIds']);
  });
});

test('a single target is read with the problems of its configuration, also those caused by a publish; a list has none', async () => {
  const { list, path } = await installed('organization', 'outgrown');
  const { body, headers } = await call('PATCH', path, { json: { configuration: { url: 'x' } } });
  const more = CONFIGURED.replaceAll('required: [url]', 'required: [url, colour]').replaceAll(
    '[red, blue]',
    '[blue, green]',
  );
  await annex.publish('outgrown', { 'index.js': SOURCE }, more.replaceAll('default: red', 'default: blue'));
  const known = { 'if-none-match': headers.get('etag') ?? '' };
  const read = await call('GET', path, { headers: known });
  const problems = [{ property: 'colour', message: '"colour" must be one of "blue", "green".' }];
  expect(read.body).toEqual({ ...body, problems });
  expect((await call('GET', `${path}/configuration`)).body).toMatchObject({ status: 'active', problems });
  expect((await call('GET', list)).text).not.toContain('problems');
  expect(
    (await call('POST', `${path}/pause`, { headers: { 'if-match': headers.get('etag') ?? '' } })).body,
  ).toMatchObject({ status: 'paused', problems });
  expect((await call('POST', `${path}/resume`)).body).toMatchObject({ status: 'pending', problems });
});

test('a space that was removed and added again has another tag', async () => {
  const { list, body, path, created } = await installed('space');
  const headers = { 'if-match': created.headers.get('etag') ?? '' };
  await call('DELETE', path);
  expect((await call('POST', list, { json: body })).status).toBe(201);
  expect(codeOf(await call('PATCH', path, { json: { externalIds: ['lost'] }, headers }))).toBe(
    '412 INSTALLATION_CHANGED',
  );
});

test('uninstalling removes everything below the installation', async () => {
  const space = await installed('space');
  const at = `/integrations/life/installations/${space.installation}`;
  expect((await call('DELETE', at)).status).toBe(204);
  expect(codeOf(await call('GET', space.path))).toBe('404 INSTALLATION_UNKNOWN');
  expect(codeOf(await call('GET', space.list))).toBe('404 INSTALLATION_UNKNOWN');
});

test('the selections of spaces and sites are read and changed at the installation', async () => {
  const { list, body, at } = await fresh('organization');
  const created = await call('POST', list, { json: { ...body, space_selection: 'selected' } });
  expect(created.body).toMatchObject({ space_selection: 'selected', site_selection: 'all' });
  const edited = await call('PATCH', at(created), { json: { site_selection: 'selected' } });
  expect(edited.body).toMatchObject({ space_selection: 'selected', site_selection: 'selected' });
});

test('an integration for spaces has no sites, and one for organizations neither', async () => {
  for (const [target, statuses] of [
    ['all', [201, 201]],
    ['space', [201, 409]],
    ['site', [409, 201]],
    ['organization', [409, 409]],
  ] as const) {
    const name = `for-${target}`;
    await annex.publish(name, { 'index.js': SOURCE }, `target: ${target}\n`);
    const { id } = await annex.install(name);
    const below = levelPaths(name, '', id).slice(1);
    const answers = [];
    for (const { list, body } of below) answers.push(await call('POST', list, { json: body }));
    expect(answers.map(({ status }) => status)).toEqual(statuses);
    for (const answer of answers.filter(({ status }) => status === 409))
      expect(answer.error).toMatchObject({
        code: 'INSTALLATION_LEVEL',
        message: expect.stringContaining(`"${target}"`),
      });
  }
});

describe('lists', () => {
  test('of spaces page by id and find external ids', async () => {
    const { list } = await fresh('space');
    for (const space of ['b.2', 'a_1', 'c-3'])
      await call('POST', list, { json: { space, externalIds: [`of ${space}`] } });
    const first = await call('GET', `${list}?limit=2`);
    const second = await call('GET', `${list}?limit=2&cursor=${first.body['next']}`);
    const spaces = ({ body }: Answer) => (body['items'] as { space: string }[]).map(({ space }) => space);
    expect([spaces(first), spaces(second), second.body['next']]).toEqual([
      ['a_1', 'b.2'],
      ['c-3'],
      undefined,
    ]);
    expect(spaces(await call('GET', `${list}?externalId=of%20b.2`))).toEqual(['b.2']);
    expect(spaces(await call('GET', `${list}?externalId=nobody`))).toEqual([]);
  });

  test('show the same as each item by itself', async () => {
    for (const level of ['organization', 'space', 'site'] as const) {
      const { list, path } = await installed(level);
      const externalId = `only-${level}`;
      const edited = await call('PATCH', path, {
        json: { externalIds: [externalId], configuration: { url: 'x' } },
      });
      expect((await call('GET', `${list}?externalId=${externalId}`)).body).toEqual({ items: [edited.body] });
    }
  });
});
