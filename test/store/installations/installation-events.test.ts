/** Lifecycle events of changes: sealed, ordered and bounded. */
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/host/store/store.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { installed, takeEventBodies, takeEvents } from '../../support/store/installed.ts';
import {
  OPERATOR,
  storeOptions,
  temporaryFolder,
  temporaryStore,
} from '../../support/store/temporary-store.ts';
import { storedText } from '../../support/store/test-engine.ts';

describe('a change', () => {
  test('has an event with an id of its own', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store));
    await store.installations.edit(name, { configuration: { region: 'eu' } }, {}, OPERATOR);
    const events = await takeEvents(store, name.installationId);
    const ids = events.map(({ eventId }) => eventId);
    expect(events.map(({ record }) => record().event['eventId'])).toEqual(ids);
    expect(ids.every((id) => /^evt_[a-z2-7]{24}$/.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(2);
  });

  test('carries its call depth', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store));
    await takeEventBodies(store, name.installationId);
    await store.installations.edit(name, { configuration: { region: 'eu' } }, {}, { ...OPERATOR, depth: 3 });
    expect(await takeEvents(store, name.installationId)).toMatchObject([{ depth: 3 }]);
  });

  test('leaves no credentials in the database, neither in its row nor in its event', async () => {
    const folder = await temporaryFolder();
    const store = await openStore(storeOptions(folder));
    const name = wholeInstallation(await installed(store));
    const configuration = { region: 'eu', oauth_credentials: { access_token: 'planted-credential' } };
    await store.installations.edit(name, { configuration }, {}, OPERATOR);
    await store.installations.edit(name, { configuration: { oauth_credentials: null } }, {}, OPERATOR);
    await store.installations.uninstall(name, OPERATOR);
    const text = await storedText(folder);
    expect(text).toContain('hello');
    expect(text).not.toContain('planted-credential');
    await store.close();
  });
});

describe('attack: a handler that changes its own installation at each lifecycle event', () => {
  test('is refused beyond the call depth, whatever it changes', async () => {
    const store = await temporaryStore({ callDepth: 2 });
    const name = wholeInstallation(await installed(store));
    const by = { ...OPERATOR, depth: 2 };
    await store.installations.edit(name, { configuration: { count: 1 } }, {}, by);
    const tooDeep = { ...OPERATOR, depth: 3 };
    const { installationId } = name;
    const attempts = [
      () => store.installations.edit(name, { configuration: { count: 2 } }, {}, tooDeep),
      () => store.installations.pause(name, tooDeep),
      () => store.installations.resume(name, tooDeep),
      () => store.installations.uninstall(name, tooDeep),
      () =>
        store.installations.installBelow(
          { installationId, level: 'space', place: 's', externalIds: [] },
          tooDeep,
        ),
      () =>
        store.installations.install({ integration: 'hello', organization: 'o', externalIds: [] }, tooDeep),
    ];
    for (const attempt of attempts) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'CALL_TOO_DEEP',
        limit: { name: 'callDepth', max: 2, used: 3 },
      });
    }
    expect(await store.installations.read(name)).toMatchObject({ revision: 2, configuration: { count: 1 } });
    expect(await takeEventBodies(store, installationId)).toHaveLength(2);
  });
});

describe('attack: edits in a loop whose events are not handled', () => {
  test('are refused at lifeEventsPendingPerInstallation, until some events are finished; an uninstall is never refused', async () => {
    const store = await temporaryStore({ lifeEventsPendingPerInstallation: 3 });
    const name = wholeInstallation(await installed(store));
    const { installationId } = name;
    const edit = () => store.installations.edit(name, { configuration: { count: 1 } }, {}, OPERATOR);
    const below = (place: string) =>
      store.installations.installBelow({ installationId, level: 'site', place, externalIds: [] }, OPERATOR);
    await edit();
    await below('a');
    const busy = {
      code: 'INSTALLATION_BUSY',
      limit: { name: 'lifeEventsPendingPerInstallation', max: 3, used: 3 },
    };
    await expect(edit()).rejects.toMatchObject(busy);
    await expect(below('b')).rejects.toMatchObject(busy);
    expect(await store.installations.read(name)).toMatchObject({ revision: 2 });
    // Changes without an event are not refused.
    await store.installations.pause(name, OPERATOR);
    await store.installations.resume(name, OPERATOR);
    expect(await takeEventBodies(store, installationId)).toHaveLength(3);
    await edit();
    await edit();
    await edit();
    await store.installations.uninstall(name, OPERATOR);
    expect(await takeEventBodies(store, installationId)).toMatchObject([
      { type: 'site_installation_deleted' },
      { type: 'installation_deleted' },
    ]);
  });

  test('cannot be continued by uninstalling and installing', async () => {
    const store = await temporaryStore({ lifeEventsPendingPerInstallation: 3 });
    const request = { integration: 'hello', organization: 'acme', externalIds: [] };
    const install = () => store.installations.install(request, OPERATOR);
    let { installationId } = wholeInstallation(await installed(store));
    for (const count of [1, 2, 3]) {
      await store.installations.uninstall(wholeInstallation(installationId), OPERATOR);
      if (count < 3) ({ installationId } = await install());
    }
    await expect(install()).rejects.toMatchObject({ code: 'INSTALLATION_BUSY', limit: { used: 3 } });
    await expect(
      store.installations.install({ ...request, organization: 'other' }, OPERATOR),
    ).resolves.toBeDefined();
    await takeEventBodies(store, installationId);
    await expect(install()).resolves.toBeDefined();
  });

  test('of one installation do not affect another', async () => {
    const store = await temporaryStore({ lifeEventsPendingPerInstallation: 1 });
    const full = wholeInstallation(await installed(store));
    const request = { integration: 'hello', organization: 'other', externalIds: [] };
    const other = await store.installations.install(request, OPERATOR);
    await takeEventBodies(store, other.installationId);
    const configuration = { region: 'eu' };
    await expect(store.installations.edit(full, { configuration }, {}, OPERATOR)).rejects.toMatchObject({
      code: 'INSTALLATION_BUSY',
    });
    await expect(store.installations.edit(other, { configuration }, {}, OPERATOR)).resolves.toMatchObject({
      installation: { status: 'active' },
    });
  });
});
