/**
 * Targets in spaces and sites of an installation: their creation, edits, and removal.
 */

import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/host/store/store.ts';
import { type TargetName, wholeInstallation } from '../../../src/model/installation.ts';
import {
  CONFIGURATIONS,
  installed,
  publication,
  takeEventBodies,
  takeEvents,
} from '../../support/store/installed.ts';
import { targetsOf } from '../../support/store/targets.ts';
import { OPERATOR, temporaryStore } from '../../support/store/temporary-store.ts';

type Below = 'space' | 'site';

async function open(limits = {}, more?: string) {
  const store = await temporaryStore(limits);
  const id = await installed(store, more);
  const below = (level: Below, place: string, externalIds: string[] = []) =>
    store.installations.installBelow({ installationId: id, level, place, externalIds }, OPERATOR);
  const at = (level: Below, place: string): TargetName => ({ installationId: id, level, place });
  const uninstall = (name: TargetName) => store.installations.uninstall(name, OPERATOR);
  return { store, id, whole: wholeInstallation(id), below, at, uninstall };
}

const places = async (store: Store, installationId: string, level: Below) =>
  (await store.installations.listBelow({ installationId, level, limit: 100 })).items.map(
    ({ place }) => place,
  );

describe('a target in a space or a site', () => {
  test('has the status and the defaults of its own level, and a lifecycle event', async () => {
    const { store, id, below } = await open();
    expect(await below('space', 's1')).toMatchObject({ status: 'pending', configuration: {}, revision: 1 });
    expect(await below('site', 't1', ['ext'])).toMatchObject({
      status: 'active',
      configuration: { label: 'none' },
      externalIds: ['ext'],
    });
    expect(await takeEventBodies(store, id)).toEqual([
      { type: 'installation_setup', installationId: id, status: 'pending' },
      { type: 'space_installation_setup', installationId: id, spaceId: 's1', status: 'pending' },
      { type: 'site_installation_setup', installationId: id, siteId: 't1', status: 'active' },
    ]);
  });

  test('has its own endpoint and signing secret', async () => {
    const { store, whole, below } = await open();
    const keys = [
      await store.installations.read(whole),
      await below('space', 's1'),
      await below('site', 's1'),
    ];
    const targets = await Promise.all(
      keys.map((one) => targetsOf(store).targets.get(one?.endpointKey ?? '')),
    );
    expect(new Set(keys.map((one) => one?.endpointKey)).size).toBe(3);
    expect(new Set(targets.flatMap((target) => target?.signingSecrets)).size).toBe(3);
  });

  test('is edited by itself: its configuration, its revision, its event', async () => {
    const { store, id, whole, below, at } = await open();
    await below('space', 's1');
    await below('space', 's2');
    await takeEventBodies(store, id);
    const configuration = { channel: 'general' };
    const { installation } = await store.installations.edit(
      at('space', 's1'),
      { configuration },
      {},
      OPERATOR,
    );
    expect(installation).toMatchObject({ status: 'active', revision: 2, configuration });
    expect(await store.installations.read(at('space', 's2'))).toMatchObject({
      status: 'pending',
      revision: 1,
    });
    expect(await store.installations.read(whole)).toMatchObject({ status: 'pending', revision: 1 });
    expect(await takeEventBodies(store, id)).toEqual([
      {
        type: 'space_installation_setup',
        installationId: id,
        spaceId: 's1',
        status: 'active',
        previous: { status: 'pending', configuration: {} },
      },
    ]);
  });

  test('exists once: the refusal names its installation', async () => {
    const { id, below } = await open();
    await below('space', 's1');
    await below('site', 's1');
    await expect(below('space', 's1')).rejects.toMatchObject({
      code: 'INSTALLATION_EXISTS',
      extra: { installation: id },
    });
  });

  test('needs an installation', async () => {
    const { store } = await open();
    const request = { installationId: 'ins_none', level: 'space', place: 's1', externalIds: [] } as const;
    await expect(store.installations.installBelow(request, OPERATOR)).rejects.toMatchObject({
      code: 'INSTALLATION_UNKNOWN',
    });
  });

  test.each<[string, Below[]]>([
    ['all', ['space', 'site']],
    ['organization', []],
    ['space', ['space']],
    ['site', ['site']],
  ])('with the manifest target %s may be in: %j', async (target, admitted) => {
    const { store, id, below } = await open({}, `target: ${target}`);
    for (const level of ['space', 'site'] as const) {
      if (admitted.includes(level)) await below(level, 'here');
      else await expect(below(level, 'here')).rejects.toMatchObject({ code: 'INSTALLATION_LEVEL' });
      expect(await places(store, id, level)).toHaveLength(admitted.includes(level) ? 1 : 0);
    }
  });

  test('exists in at most placesPerInstallation spaces, and as many sites', async () => {
    const { store, id, below, at, uninstall } = await open({ placesPerInstallation: 2 });
    for (const level of ['space', 'site'] as const) {
      await below(level, 'a');
      await below(level, 'b');
      await expect(below(level, 'c')).rejects.toMatchObject({
        code: 'INSTALLATION_FULL',
        limit: { name: 'placesPerInstallation', max: 2, used: 3 },
      });
      expect(await places(store, id, level)).toEqual(['a', 'b']);
    }
    await uninstall(at('space', 'a'));
    await below('space', 'c');
    expect(await places(store, id, 'space')).toEqual(['b', 'c']);
  });

  test('is listed by place, in pages, and by external id', async () => {
    const { store, id, below } = await open();
    for (const place of ['c', 'a', 'b']) await below('space', place, [`ext-${place}`, 'common']);
    await below('site', 'z', ['common']);
    const query = { installationId: id, level: 'space' } as const;
    const first = await store.installations.listBelow({ ...query, limit: 2 });
    expect(first).toMatchObject({ items: [{ place: 'a' }, { place: 'b' }], next: 'b' });
    const second = await store.installations.listBelow({ ...query, limit: 2, cursor: first.next });
    expect(second.items).toMatchObject([{ place: 'c' }]);
    const carriers = async (externalId: string) =>
      (await store.installations.listBelow({ ...query, externalId, limit: 9 })).items.map(
        ({ place }) => place,
      );
    expect(await carriers('ext-b')).toEqual(['b']);
    expect(await carriers('common')).toEqual(['a', 'b', 'c']);
    // A list of installations contains no targets below them.
    const whole = await store.installations.list({ integration: 'hello', externalId: 'common', limit: 9 });
    expect(whole.items).toEqual([]);
  });
});

describe('uninstalling', () => {
  test('a space leaves the installation and its other places', async () => {
    const { store, id, below, at, uninstall } = await open();
    const { endpointKey } = await below('space', 's1', ['ext']);
    await below('space', 's2');
    await below('site', 's1');
    const configuration = { channel: 'general' };
    await store.installations.edit(at('space', 's1'), { configuration }, {}, OPERATOR);
    expect(await targetsOf(store).targets.get(endpointKey)).toBeDefined();
    await takeEventBodies(store, id);
    await uninstall(at('space', 's1'));
    expect(await targetsOf(store).targets.get(endpointKey)).toBeUndefined();
    expect([await places(store, id, 'space'), await places(store, id, 'site')]).toEqual([['s2'], ['s1']]);
    const [event, ...others] = await takeEvents(store, id);
    expect(others).toEqual([]);
    expect(event?.record().event).toMatchObject({
      type: 'space_installation_deleted',
      installationId: id,
      spaceId: 's1',
      previous: { configuration },
    });
    expect(event?.record().gone).toMatchObject({
      target: { place: 's1', endpointKey, configuration },
      installation: { installationId: id, level: 'organization' },
    });
  });

  test('an installation removes all its targets: their events come first, and no other rows are left', async () => {
    const { store, id, whole, below, uninstall } = await open();
    await below('space', 's1', ['ext']);
    await below('site', 't1');
    await store.installations.edit(
      whole,
      { configuration: { oauth_credentials: { access_token: 'x' } }, externalIds: ['ext'] },
      {},
      OPERATOR,
    );
    const line = { tenant: id, version: 1, requestId: 'r', level: 'info', text: 'x', at: 0 } as const;
    store.logs.append(line);
    await store.logs.pass();
    await takeEventBodies(store, id);
    await uninstall(whole);
    expect(await store.installations.read(whole)).toBeUndefined();
    expect(await places(store, id, 'space')).toEqual([]);
    expect((await store.logs.list({ tenant: id, limit: 9 })).items).toEqual([]);
    const found = await store.installations.list({ integration: 'hello', externalId: 'ext', limit: 9 });
    expect(found.items).toEqual([]);
    const events = await takeEvents(store, id);
    expect(events.map(({ type }) => type).toSorted()).toEqual([
      'installation_deleted',
      'site_installation_deleted',
      'space_installation_deleted',
    ]);
    expect(events.at(-1)?.record().event).toMatchObject({
      type: 'installation_deleted',
      previous: { configuration: { note: 'hello', oauth_credentials: { access_token: 'x' } } },
    });
    const { items } = await store.audit.list({ installationId: id, limit: 1 });
    expect(items).toMatchObject([{ action: 'installation.delete', details: { below: 2 } }]);
  });

  test('cancels pending setup events; events of earlier deletions stay', async () => {
    const { store, id, whole, below, at, uninstall } = await open();
    await below('space', 's1');
    await below('space', 's2');
    await uninstall(at('space', 's1'));
    const states = async () =>
      (await store.lifecycleEvents.list({ installationId: id, limit: 9 })).items
        .map(({ type, target, state }) => `${type} ${target.place} ${state}`)
        .toReversed();
    expect(await states()).toEqual([
      'installation_setup  pending',
      'space_installation_setup s1 canceled',
      'space_installation_setup s2 pending',
      'space_installation_deleted s1 pending',
    ]);
    await uninstall(whole);
    expect(await states()).toEqual([
      'installation_setup  canceled',
      'space_installation_setup s1 canceled',
      'space_installation_setup s2 canceled',
      'space_installation_deleted s1 pending',
      'space_installation_deleted s2 pending',
      'installation_deleted  pending',
    ]);
  });

  test('makes room for a new installation, with another endpoint', async () => {
    const { store, id, whole, uninstall } = await open();
    const before = await store.installations.read(whole);
    await uninstall(whole);
    const request = { integration: 'hello', organization: 'acme', externalIds: [] };
    const after = await store.installations.install(request, OPERATOR);
    expect(after.installationId).not.toBe(id);
    expect(after.endpointKey).not.toBe(before?.endpointKey);
  });

  test('of one organization does not affect another', async () => {
    const { store, whole, below, uninstall } = await open();
    await below('space', 's1');
    const request = { integration: 'hello', organization: 'rival', externalIds: ['ext'] };
    const other = await store.installations.install(request, OPERATOR);
    const { installationId } = other;
    await store.installations.installBelow(
      { installationId, level: 'space', place: 's1', externalIds: [] },
      OPERATOR,
    );
    await uninstall(whole);
    expect(await store.installations.read(wholeInstallation(installationId))).toEqual(other);
    expect(await places(store, installationId, 'space')).toEqual(['s1']);
    expect(await takeEventBodies(store, installationId)).toHaveLength(2);
  });

  test('of a space that was removed and added again counts its revisions anew', async () => {
    const { store, below, at, uninstall } = await open({}, `${CONFIGURATIONS}target: all`);
    await below('space', 's1', ['ext']);
    await store.installations.edit(at('space', 's1'), { configuration: { channel: 'a' } }, {}, OPERATOR);
    await uninstall(at('space', 's1'));
    expect(await below('space', 's1')).toMatchObject({ configuration: {}, externalIds: [], revision: 1 });
  });

  test('works after a version that no longer supports spaces', async () => {
    const { store, id, below, at, uninstall } = await open();
    await below('space', 's1');
    await store.registry.publish(publication('target: organization'), OPERATOR);
    await uninstall(at('space', 's1'));
    expect(await places(store, id, 'space')).toEqual([]);
  });
});
