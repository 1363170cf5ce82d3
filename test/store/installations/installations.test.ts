/**
 * Installing into an organization: who may, what comes of it, who hears of it; pausing and
 * resuming.
 */
import { describe, expect, test } from 'vitest';
import type { Actor } from '../../../src/model/actor.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import type { Store } from '../../../src/store/store.ts';
import { installed, publication, told } from '../../support/store/installed.ts';
import { OPERATOR, temporaryStore } from '../../support/store/temporary-store.ts';

const BY: Actor = { ...OPERATOR, requestId: 'req-install' };
const PLAIN = '';

const install = (store: Store, organization: string, more: { installToken?: string } = {}) =>
  store.installations.install({ integration: 'hello', organization, externalIds: [], ...more }, BY);

describe('a new installation', () => {
  test('is pending while something required is not set, has its defaults, and its integration is told', async () => {
    const store = await temporaryStore();
    const id = await installed(store);
    expect(await store.installations.read(wholeInstallation(id))).toMatchObject({
      status: 'pending',
      configuration: { note: 'hello' },
      hasCredentials: false,
      revision: 1,
      spaceSelection: 'all',
      siteSelection: 'all',
    });
    expect(await told(store, id)).toEqual([
      { type: 'installation_setup', installationId: id, status: 'pending' },
    ]);
  });

  test('is active at once where nothing is required', async () => {
    const store = await temporaryStore();
    const id = await installed(store, PLAIN);
    expect(await store.installations.read(wholeInstallation(id))).toMatchObject({ status: 'active' });
    expect(await told(store, id)).toMatchObject([{ type: 'installation_setup', status: 'active' }]);
  });

  test('speaks for the spaces and sites that were asked for', async () => {
    const store = await temporaryStore();
    await store.registry.publish(publication(), OPERATOR);
    const request = { integration: 'hello', organization: 'acme', externalIds: ['a', 'a'] };
    const selections = { spaceSelection: 'selected', siteSelection: 'all' } as const;
    const installation = await store.installations.install({ ...request, ...selections }, BY);
    expect(installation).toMatchObject({ ...selections, externalIds: ['a'] });
    expect(await store.installations.read(wholeInstallation(installation.installationId))).toEqual(
      installation,
    );
  });

  test('is in the audit, with who did it and from where', async () => {
    const store = await temporaryStore();
    const id = await installed(store);
    const { items } = await store.audit.list({ installationId: id, limit: 9 });
    expect(items).toMatchObject([
      { action: 'installation.create', organization: 'acme', integration: 'hello', level: 'organization' },
    ]);
  });

  test('is one an organization: the refusal names the one there is', async () => {
    const store = await temporaryStore();
    const id = await installed(store);
    await expect(install(store, 'acme')).rejects.toMatchObject({
      code: 'INSTALLATION_EXISTS',
      extra: { installation: id },
    });
    expect((await store.audit.list({ installationId: id, limit: 9 })).items).toHaveLength(1);
    expect(await told(store, id)).toHaveLength(1);
  });

  test('has no more external ids than five', async () => {
    const store = await temporaryStore();
    await store.registry.publish(publication(), OPERATOR);
    const externalIds = ['a', 'b', 'c', 'd', 'e'];
    const request = { integration: 'hello', organization: 'acme', externalIds: [...externalIds, 'f'] };
    await expect(store.installations.install(request, BY)).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
    expect(await store.installations.install({ ...request, externalIds }, BY)).toMatchObject({ externalIds });
  });
});

test('installations are so many in one organization, and no more: installationsPerOrganization', async () => {
  const store = await temporaryStore({ installationsPerOrganization: 2 });
  for (const name of ['first', 'second', 'third'])
    await store.registry.publish(publication(PLAIN, { name, visibility: 'public' }), OPERATOR);
  const into = (organization: string, integration: string) =>
    store.installations.install({ integration, organization, externalIds: [] }, BY);
  const { installationId } = await into('acme', 'first');
  await into('acme', 'second');
  // What is in its spaces is not counted, and neither is what others have installed.
  await store.installations.installBelow(
    { installationId, level: 'space', place: 's1', externalIds: [] },
    BY,
  );
  await into('other', 'third');
  await expect(into('acme', 'third')).rejects.toMatchObject({
    code: 'ORGANIZATION_FULL',
    message: '"acme" would have 3 integrations installed; the limit is 2 (installationsPerOrganization).',
    limit: { name: 'installationsPerOrganization', max: 2, used: 3 },
  });
  const there = { integration: 'third', organization: 'acme', limit: 9 };
  expect((await store.installations.list(there)).items).toEqual([]);
  await expect(into('acme', 'first')).rejects.toMatchObject({ code: 'INSTALLATION_EXISTS' });
  await store.installations.uninstall(wholeInstallation(installationId), BY);
  await into('acme', 'third');
});

describe('who may install', () => {
  const token = (store: Store) => store.installLinks.create('hello', OPERATOR);

  test.each<[string, string, boolean, string | undefined]>([
    ['private', 'acme', false, undefined],
    ['private', 'other', false, 'INSTALLATION_FORBIDDEN'],
    ['private', 'other', true, 'INSTALLATION_FORBIDDEN'],
    ['unlisted', 'acme', false, undefined],
    ['unlisted', 'other', false, 'INSTALLATION_FORBIDDEN'],
    ['unlisted', 'other', true, undefined],
    ['public', 'other', false, undefined],
  ])('%s, by %s, with an install link: %s', async (visibility, organization, linked, code) => {
    const store = await temporaryStore();
    await store.registry.publish(publication(PLAIN, { visibility }), OPERATOR);
    const installToken = await token(store);
    const attempt = install(store, organization, linked ? { installToken } : {});
    if (code === undefined) await expect(attempt).resolves.toMatchObject({ organization });
    else await expect(attempt).rejects.toMatchObject({ code });
  });

  test('a link that was replaced, one of another integration, or its hash, is no invitation', async () => {
    const store = await temporaryStore();
    for (const name of ['hello', 'other'])
      await store.registry.publish(publication(PLAIN, { name, visibility: 'unlisted' }), OPERATOR);
    const replaced = await token(store);
    await token(store);
    const foreign = await store.installLinks.create('other', OPERATOR);
    for (const installToken of [replaced, foreign, '', 'a'.repeat(64)]) {
      await expect(install(store, 'guest', { installToken })).rejects.toMatchObject({
        code: 'INSTALLATION_FORBIDDEN',
      });
    }
  });

  test('what does not exist, nobody', async () => {
    const store = await temporaryStore();
    await expect(install(store, 'acme')).rejects.toMatchObject({ code: 'INTEGRATION_UNKNOWN' });
  });
});

describe('pausing', () => {
  test('is undone by resuming, to what the configuration is worth', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store));
    const status = async () => (await store.installations.read(name))?.status;
    await store.installations.pause(name, BY);
    expect(await status()).toBe('paused');
    await store.installations.resume(name, BY);
    expect(await status()).toBe('pending');
    await store.installations.edit(name, { configuration: { region: 'eu' } }, {}, BY);
    await store.installations.pause(name, BY);
    expect(await store.installations.resume(name, BY)).toMatchObject({ status: 'active', revision: 6 });
  });

  test('tells the integration nothing, and is in the audit', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store));
    await told(store, name.installationId);
    await store.installations.pause(name, BY);
    await store.installations.resume(name, BY);
    expect(await told(store, name.installationId)).toEqual([]);
    const { items } = await store.audit.list({ installationId: name.installationId, limit: 2 });
    expect(items.map(({ action }) => action)).toEqual(['installation.resume', 'installation.pause']);
  });

  test('what is paused, and resuming what is not, changes nothing', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store));
    await store.installations.resume(name, BY);
    await store.installations.pause(name, BY);
    expect(await store.installations.pause(name, BY)).toMatchObject({ status: 'paused', revision: 2 });
    const { items } = await store.audit.list({ installationId: name.installationId, limit: 9 });
    expect(items).toHaveLength(2);
  });

  test('outlasts edits, valid and invalid ones', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store));
    await store.installations.pause(name, BY);
    for (const region of ['eu', 'nowhere']) {
      const edited = await store.installations.edit(name, { configuration: { region } }, {}, BY);
      expect(edited.installation.status).toBe('paused');
      expect(edited.problems).toHaveLength(region === 'eu' ? 0 : 1);
    }
    expect(await store.installations.resume(name, BY)).toMatchObject({ status: 'pending' });
  });

  test('is seen by the call that starts next', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store, PLAIN));
    const { endpointKey = '' } = (await store.installations.read(name)) ?? {};
    expect(await store.registry.target(endpointKey)).toMatchObject({ status: 'active' });
    await store.installations.pause(name, BY);
    expect(await store.registry.target(endpointKey)).toMatchObject({ status: 'paused' });
  });

  test.each([['pause'], ['resume'], ['uninstall']] as const)(
    '%s of what is not there is refused',
    async (change) => {
      const store = await temporaryStore();
      const id = await installed(store);
      for (const name of [
        wholeInstallation('ins_none'),
        { installationId: id, level: 'space', place: 'nowhere' } as const,
      ])
        await expect(store.installations[change](name, BY)).rejects.toMatchObject({
          code: 'INSTALLATION_UNKNOWN',
        });
    },
  );
});
