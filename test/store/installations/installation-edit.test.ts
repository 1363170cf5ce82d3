/**
 * Edits: patches, the status that results, the problems reported, and concurrent edits.
 */

import { describe, expect, test } from 'vitest';
import type { InstallationEdit } from '../../../src/host/store/installations/installation-edit.ts';
import type { Store } from '../../../src/host/store/store.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import type { Level } from '../../../src/model/level.ts';
import { installed, publication, takeEventBodies } from '../../support/store/installed.ts';
import { targetsOf } from '../../support/store/targets.ts';
import { CLOCK, OPERATOR, temporaryStore } from '../../support/store/temporary-store.ts';

const TOKEN = { access_token: 'xoxb-planted-credential' };

async function open(limits = {}, more?: string) {
  const store = await temporaryStore(limits);
  const name = wholeInstallation(await installed(store, more));
  await takeEventBodies(store, name.installationId);
  const edit = (asked: InstallationEdit, ifRevision?: number) =>
    store.installations.edit(name, asked, { ifRevision }, OPERATOR);
  return {
    store,
    name,
    edit,
    configure: (configuration: Record<string, unknown>) => edit({ configuration }),
  };
}

const opened = async (store: Store, name: ReturnType<typeof wholeInstallation>) => {
  const { endpointKey = '' } = (await store.installations.read(name)) ?? {};
  return (await targetsOf(store).targets.get(endpointKey))?.environment.configuration;
};

/** A version with more requirements and fewer properties. */
const STRICTER = `configurations:
  account:
    properties:
      zone: {type: string, title: Zone}
      oauth_credentials: {type: button, title: Connect, button_text: Connect, callback_url: /oauth}
    required: [zone]
`;

describe('a patch of the configuration', () => {
  test('replaces properties, removes those set to null, and leaves the rest', async () => {
    const { store, name, configure } = await open();
    await configure({ region: 'eu', count: 1 });
    const { installation } = await configure({ count: 2, note: null });
    expect(installation.configuration).toEqual({ region: 'eu', count: 2 });
    expect(installation.revision).toBe(3);
    expect(await store.installations.read(name)).toEqual(installation);
  });

  test('makes an installation active once the whole is valid; until then it may be invalid', async () => {
    const { configure } = await open();
    const statuses = [];
    for (const patch of [
      { count: 1 },
      { count: 'many' },
      { region: 'eu' },
      { count: null },
      { region: 'us' },
    ])
      statuses.push((await configure(patch)).installation.status);
    expect(statuses).toEqual(['pending', 'pending', 'pending', 'active', 'active']);
  });

  // One wrong property would stop a live webhook.
  test('that would make an active installation invalid is refused with every problem, and changes nothing', async () => {
    const { store, name, configure, edit } = await open();
    await configure({ region: 'eu' });
    await takeEventBodies(store, name.installationId);
    const before = await store.installations.read(name);
    const wrong = { configuration: { region: 'nowhere', count: 'many', cuont: 1 }, externalIds: ['new'] };
    await expect(edit(wrong)).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: expect.stringContaining('nothing has changed: "problems" says what is wrong in 2 properties.'),
      extra: {
        problems: [
          { severity: 'error', property: 'region' },
          { severity: 'error', property: 'count', message: '"count" must be a number.' },
        ],
      },
    });
    expect(await store.installations.read(name)).toEqual(before);
    expect(await takeEventBodies(store, name.installationId)).toEqual([]);
    expect(await store.audit.list({ limit: 1 })).toMatchObject({
      items: [{ details: { changed: ['configuration.region'] } }],
    });
  });

  // An account that is connected again: its code sends the credentials alone.
  test('that may leave the target pending does so where it adds a problem, and only there', async () => {
    const { store, name, configure, edit } = await open();
    await configure({ region: 'eu', oauth_credentials: { access_token: 'old' } });
    await takeEventBodies(store, name.installationId);
    const replacement = { others: 'remove', ifInvalid: 'become pending' } as const;
    const credentials = { oauth_credentials: { access_token: 'new' } };
    const reconnected = await edit({ ...replacement, configuration: credentials });
    expect(reconnected).toMatchObject({
      installation: { status: 'pending', configuration: {}, hasCredentials: true },
      problems: [{ property: 'region' }],
    });
    expect(await takeEventBodies(store, name.installationId)).toMatchObject([
      { status: 'pending', previous: { status: 'active', configuration: { region: 'eu' } } },
    ]);
    await configure({ region: 'us' });
    await store.registry.publish(publication(STRICTER), OPERATOR);
    const same = await edit({ ...replacement, configuration: { ...credentials, region: 'us' } });
    expect(same).toMatchObject({ installation: { status: 'active' }, problems: [{ property: 'zone' }] });
  });

  test('of an active installation that a new version made invalid may change other properties', async () => {
    const { store, name, configure } = await open();
    await configure({ region: 'eu' });
    const { installationId } = name;
    await takeEventBodies(store, installationId);
    await store.registry.publish(publication(STRICTER), OPERATOR);
    const edited = await configure({ oauth_credentials: { access_token: 'x' } });
    expect(edited).toMatchObject({ installation: { status: 'active' } });
    expect(edited.problems.map(({ property }) => property)).toEqual(['zone']);
    expect(await takeEventBodies(store, installationId)).toMatchObject([{ status: 'active' }]);
    await expect(configure({ oauth_credentials: 7 })).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
    });
    expect(await configure({ region: null, note: null })).toMatchObject({
      installation: { status: 'active' },
      problems: [{ property: 'zone' }],
    });
    expect(await configure({ zone: 'north' })).toMatchObject({ problems: [] });
  });

  test('that is invalid is stored, and its problems are listed by property', async () => {
    const { store, name, configure } = await open();
    const { installation, problems } = await configure({ regoin: 'eu', count: 'many' });
    expect(installation).toMatchObject({ status: 'pending', configuration: { regoin: 'eu', count: 'many' } });
    expect(problems.map(({ property, hint }) => [property, hint])).toEqual([
      ['region', 'There is "regoin": did you mean "region"?'],
      ['count', undefined],
    ]);
    expect(await takeEventBodies(store, name.installationId)).toMatchObject([{ status: 'pending' }]);
  });

  test('is checked against the version that is active now', async () => {
    const { store, configure } = await open();
    expect((await configure({ region: 'eu' })).installation.status).toBe('active');
    await store.registry.publish(publication(STRICTER), OPERATOR);
    expect((await configure({})).problems.map(({ property }) => property)).toEqual(['zone']);
    await store.registry.activate('hello', 1, OPERATOR);
    expect((await configure({})).problems).toEqual([]);
  });

  test('accepts any object of a component, and where nothing is declared', async () => {
    const component = await open({}, 'configurations: {account: {componentId: settings}}');
    expect(await component.configure({ any: { thing: [1] } })).toMatchObject({
      installation: { status: 'active' },
      problems: [],
    });
    const nothing = await open({}, '');
    expect(await nothing.configure({ any: 1 })).toMatchObject({
      installation: { status: 'active', configuration: { any: 1 } },
      problems: [],
    });
  });

  test('has a lifecycle event with the state before and after, one for each edit', async () => {
    const { store, name, configure } = await open();
    await configure({ region: 'eu' });
    await configure({ region: 'us' });
    const { installationId } = name;
    expect(await takeEventBodies(store, installationId)).toEqual([
      {
        type: 'installation_setup',
        installationId,
        status: 'active',
        previous: { status: 'pending', configuration: { note: 'hello' } },
      },
      {
        type: 'installation_setup',
        installationId,
        status: 'active',
        previous: { status: 'active', configuration: { note: 'hello', region: 'eu' } },
      },
    ]);
  });

  test('is in the audit by the names of its properties, never by values', async () => {
    const { store, name, edit } = await open();
    await edit({ configuration: { region: 'eu', oauth_credentials: TOKEN }, externalIds: ['secret-id'] });
    const { items } = await store.audit.list({ installationId: name.installationId, limit: 1 });
    expect(items).toMatchObject([
      {
        action: 'installation.edit',
        details: { changed: ['configuration.region', 'configuration.oauth_credentials', 'externalIds'] },
      },
    ]);
    expect(JSON.stringify(items)).not.toMatch(/planted|secret-id|"eu"/);
  });

  test('attack: thousands of long names leave a bounded entry in the audit', async () => {
    const { store, name, configure } = await open();
    const names = Array.from({ length: 200 }, (_, i) => `${i}`.padEnd(200, 'x'));
    await configure(Object.fromEntries(names.map((property) => [property, 1])));
    const { items } = await store.audit.list({ installationId: name.installationId, limit: 1 });
    const text = JSON.stringify(items[0]?.details);
    expect(text).toContain('168 more');
    expect(text.length).toBeLessThan(4_000);
  });
});

describe('oauth_credentials', () => {
  test('are sealed: no read shows them, the integration gets them, and null removes them', async () => {
    const { store, name, configure } = await open();
    const { installation } = await configure({ region: 'eu', oauth_credentials: TOKEN });
    expect(installation).toMatchObject({ hasCredentials: true, status: 'active' });
    expect(installation.configuration).toEqual({ note: 'hello', region: 'eu' });
    expect(JSON.stringify(await store.installations.read(name))).not.toMatch(/planted|sealed/i);
    expect(await opened(store, name)).toMatchObject({ region: 'eu', oauth_credentials: TOKEN });
    await configure({ count: 1 });
    expect(await opened(store, name)).toMatchObject({ count: 1, oauth_credentials: TOKEN });
    expect((await configure({ oauth_credentials: null })).installation.hasCredentials).toBe(false);
    expect(await opened(store, name)).toEqual({ note: 'hello', region: 'eu', count: 1 });
  });

  test('are in the event unsealed, as the state before', async () => {
    const { store, name, configure } = await open();
    await configure({ oauth_credentials: TOKEN });
    await configure({ oauth_credentials: null });
    const [, second] = await takeEventBodies(store, name.installationId);
    expect(second).toMatchObject({
      previous: { configuration: { note: 'hello', oauth_credentials: TOKEN } },
    });
  });

  test('must be an object', async () => {
    const { configure } = await open();
    const { problems } = await configure({ region: 'eu', oauth_credentials: 'text' });
    expect(problems).toMatchObject([{ property: 'oauth_credentials' }]);
  });
});

describe('an edit', () => {
  test('replaces external ids, by which the installation is then found', async () => {
    const { store, edit } = await open();
    const found = async (externalId: string) =>
      (await store.installations.list({ integration: 'hello', externalId, limit: 9 })).items.length;
    await edit({ externalIds: ['a', 'b', 'a'] });
    expect((await edit({ externalIds: ['b', 'c'] })).installation.externalIds).toEqual(['b', 'c']);
    expect([await found('a'), await found('b'), await found('c')]).toEqual([0, 1, 1]);
    await edit({ externalIds: [] });
    expect(await found('b')).toBe(0);
  });

  test('that changes no property has no event', async () => {
    const { store, name, configure, edit } = await open();
    await configure({ region: 'eu', count: 1 });
    expect(await takeEventBodies(store, name.installationId)).toHaveLength(1);
    await configure({ count: 1, region: 'eu', note: 'hello' });
    await configure({});
    await edit({ externalIds: ['a'] });
    expect(await takeEventBodies(store, name.installationId)).toEqual([]);
    await configure({ count: 2 });
    expect(await takeEventBodies(store, name.installationId)).toHaveLength(1);
  });

  test.each<[Level, Record<string, unknown>, Record<string, unknown>]>([
    ['organization', { region: 'eu', oauth_credentials: TOKEN }, { region: 'us' }],
    ['space', { channel: 'one' }, { channel: 'two' }],
    ['site', { any: { thing: [1] } }, { any: { thing: [2] } }],
  ])(
    'of level %s that sends equal values changes nothing, and tells nothing',
    async (level, equal, other) => {
      const { store, name: whole } = await open();
      const { installationId } = whole;
      const name = level === 'organization' ? whole : { installationId, level, place: 'p1' };
      if (name.level !== 'organization')
        await store.installations.installBelow({ ...name, level: name.level, externalIds: [] }, OPERATOR);
      const edit = (asked: InstallationEdit) => store.installations.edit(name, asked, {}, OPERATOR);
      const audited = async () => (await store.audit.list({ installationId, limit: 99 })).items.length;
      const selections = level === 'organization' ? ({ spaceSelection: 'selected' } as const) : {};
      const asked = { configuration: equal, externalIds: ['a', 'b'], ...selections };
      const { installation } = await edit(asked);
      await takeEventBodies(store, installationId);
      const entries = await audited();
      CLOCK.now += 1_000;
      for (const again of [asked, { ...asked, externalIds: ['b', 'a', 'b'] }, { configuration: equal }, {}])
        expect((await edit(again)).installation).toEqual(installation);
      expect(await store.installations.read(name)).toEqual(installation);
      expect([await takeEventBodies(store, installationId), await audited()]).toEqual([[], entries]);
      // External ids are no configuration: a change of them is one, and tells nothing.
      expect((await edit({ externalIds: ['a'] })).installation.revision).toBe(installation.revision + 1);
      expect(await takeEventBodies(store, installationId)).toEqual([]);
      expect((await edit({ configuration: other })).installation.revision).toBe(installation.revision + 2);
      expect(await takeEventBodies(store, installationId)).toMatchObject([
        { previous: { configuration: equal } },
      ]);
      expect(await audited()).toBe(entries + 2);
    },
  );

  test('with equal values makes a pending installation active where a later version asks for less', async () => {
    const { store, name, configure } = await open();
    expect((await configure({ count: 1 })).installation.status).toBe('pending');
    await takeEventBodies(store, name.installationId);
    await store.registry.publish(publication(''), OPERATOR);
    expect((await configure({ count: 1 })).installation.status).toBe('active');
    expect(await takeEventBodies(store, name.installationId)).toMatchObject([
      { status: 'active', previous: { status: 'pending' } },
    ]);
  });

  test('of a selection leaves the configuration as it is', async () => {
    const { edit } = await open();
    CLOCK.now += 1_000;
    const { installation } = await edit({ spaceSelection: 'selected' });
    expect(installation).toMatchObject({ spaceSelection: 'selected', siteSelection: 'all', revision: 2 });
    expect(installation.updatedAt - installation.createdAt).toBe(1_000);
  });

  test('of an outdated revision is refused and changes nothing', async () => {
    const { store, name, edit } = await open();
    await edit({ configuration: { region: 'eu' } }, 1);
    await expect(edit({ configuration: { region: 'us' } }, 1)).rejects.toMatchObject({
      code: 'INSTALLATION_CHANGED',
    });
    expect(await store.installations.read(name)).toMatchObject({
      revision: 2,
      configuration: { region: 'eu' },
    });
    expect(await takeEventBodies(store, name.installationId)).toHaveLength(1);
  });

  test.each(['pause', 'resume', 'uninstall'] as const)('%s can require a revision, too', async (change) => {
    const { store, name, edit } = await open();
    await edit({ configuration: { region: 'eu' } });
    const made = (ifRevision: number) => store.installations[change](name, OPERATOR, { ifRevision });
    await expect(made(1)).rejects.toMatchObject({ code: 'INSTALLATION_CHANGED' });
    expect(await store.installations.read(name)).toMatchObject({ status: 'active', revision: 2 });
    await made(2);
  });

  test('attack: a space target that was removed and added again is not changed by an edit of the removed one', async () => {
    const { store, name, edit } = await open();
    const { installations } = store;
    const add = () =>
      installations.installBelow(
        { installationId: name.installationId, level: 'space', place: 's', externalIds: [] },
        OPERATOR,
      );
    const read = await add();
    await installations.uninstall(read, OPERATOR);
    const present = await add();
    const on = { ifRevision: read.revision, ifEndpointKey: read.endpointKey };
    const changed = { code: 'INSTALLATION_CHANGED' };
    await expect(installations.edit(read, { externalIds: ['a'] }, on, OPERATOR)).rejects.toMatchObject(
      changed,
    );
    await expect(installations.pause(read, OPERATOR, on)).rejects.toMatchObject(changed);
    await expect(installations.uninstall(read, OPERATOR, on)).rejects.toMatchObject(changed);
    expect(await installations.read(present)).toEqual(present);
    await edit({ externalIds: ['a'] }, 1);
  });

  test.each<[string, InstallationEdit]>([
    ['six external ids', { externalIds: ['a', 'b', 'c', 'd', 'e', 'f'] }],
    ['U+0000', { configuration: { note: 'a\0' } }],
    ['a prototype', { configuration: JSON.parse('{"__proto__": {"admin": true}}') }],
    ['nesting without end', { configuration: { note: JSON.parse('['.repeat(9_000) + ']'.repeat(9_000)) } }],
  ])('of %s is refused and changes nothing', async (_what, asked) => {
    const { store, name, edit } = await open();
    await expect(edit(asked)).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
    expect(await store.installations.read(name)).toMatchObject({ revision: 1 });
  });

  test('a configuration has at most configurationBytes, credentials included', async () => {
    const { store, name, configure } = await open({ configurationBytes: 200 });
    const rest = JSON.stringify({ note: '', oauth_credentials: TOKEN }).length;
    const text = 'x'.repeat(200 - rest);
    await configure({ note: text, oauth_credentials: TOKEN });
    await expect(configure({ note: `${text}x` })).rejects.toMatchObject({
      code: 'REQUEST_TOO_LARGE',
      limit: { name: 'configurationBytes', max: 200, used: 201 },
    });
    expect(await store.installations.read(name)).toMatchObject({
      revision: 2,
      configuration: { note: text },
    });
  });
});

describe('concurrently', () => {
  test('200 edits are all stored, each with its event, in the order of their commits', async () => {
    const { store, name, configure } = await open({}, 'configurations: {account: {componentId: settings}}');
    const edited = await Promise.all(Array.from({ length: 200 }, (_, i) => configure({ [`p${i}`]: i })));
    const last = await store.installations.read(name);
    expect(last?.revision).toBe(201);
    expect(last?.configuration).toEqual(
      Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`p${i}`, i])),
    );
    // The edit that made a revision has the revision before it in its event.
    const events = await takeEventBodies(store, name.installationId);
    const byRevision = edited.toSorted((a, b) => a.installation.revision - b.installation.revision);
    const after = byRevision.map(({ installation }) => installation.configuration);
    expect(events.map((event) => event['previous'])).toEqual(
      [{}, ...after.slice(0, -1)].map((configuration) => ({ status: 'active', configuration })),
    );
    expect((await store.audit.list({ installationId: name.installationId, limit: 500 })).items).toHaveLength(
      201,
    );
  });

  test('of many edits of the same revision, exactly one succeeds', async () => {
    const { store, name, edit } = await open();
    const attempts = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => edit({ configuration: { count: i } }, 1)),
    );
    const made = attempts.filter(({ status }) => status === 'fulfilled');
    expect(made).toHaveLength(1);
    const refused = attempts.flatMap((attempt) =>
      attempt.status === 'rejected' ? [attempt.reason.code] : [],
    );
    expect(new Set(refused)).toEqual(new Set(['INSTALLATION_CHANGED']));
    expect((await store.installations.read(name))?.revision).toBe(2);
    expect(await takeEventBodies(store, name.installationId)).toHaveLength(1);
  });
});
