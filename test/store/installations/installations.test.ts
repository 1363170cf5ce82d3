/**
 * Installing into an organization: rights, status and lifecycle event; pausing and resuming.
 */

import { describe, expect, test } from 'vitest';
import type { InstallationQuery } from '../../../src/host/store/installations/target-rows.ts';
import type { Store } from '../../../src/host/store/store.ts';
import type { Actor } from '../../../src/model/actor.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { installed, publication, takeEventBodies } from '../../support/store/installed.ts';
import { targetsOf } from '../../support/store/targets.ts';
import { OPERATOR, temporaryStore } from '../../support/store/temporary-store.ts';

const BY: Actor = { ...OPERATOR, requestId: 'req-install' };
const PLAIN = '';

const install = (store: Store, organization: string, more: { installToken?: string } = {}) =>
  store.installations.install({ integration: 'hello', organization, externalIds: [], ...more }, BY);

describe('a new installation', () => {
  test('is pending while a required property is not set, has its defaults and a lifecycle event', async () => {
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
    expect(await takeEventBodies(store, id)).toEqual([
      { type: 'installation_setup', installationId: id, status: 'pending' },
    ]);
  });

  test('is active at once if no property is required', async () => {
    const store = await temporaryStore();
    const id = await installed(store, PLAIN);
    expect(await store.installations.read(wholeInstallation(id))).toMatchObject({ status: 'active' });
    expect(await takeEventBodies(store, id)).toMatchObject([
      { type: 'installation_setup', status: 'active' },
    ]);
  });

  test('covers the spaces and sites that were requested', async () => {
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

  test('is in the audit, with the principal and its address', async () => {
    const store = await temporaryStore();
    const id = await installed(store);
    const { items } = await store.audit.list({ installationId: id, limit: 9 });
    expect(items).toMatchObject([
      { action: 'installation.create', organization: 'acme', integration: 'hello', level: 'organization' },
    ]);
  });

  test('is one an organization: the refusal names the existing one', async () => {
    const store = await temporaryStore();
    const id = await installed(store);
    await expect(install(store, 'acme')).rejects.toMatchObject({
      code: 'INSTALLATION_EXISTS',
      extra: { installation: id },
    });
    expect((await store.audit.list({ installationId: id, limit: 9 })).items).toHaveLength(1);
    expect(await takeEventBodies(store, id)).toHaveLength(1);
  });

  test('has at most five external ids', async () => {
    const store = await temporaryStore();
    await store.registry.publish(publication(), OPERATOR);
    const externalIds = ['a', 'b', 'c', 'd', 'e'];
    const request = { integration: 'hello', organization: 'acme', externalIds: [...externalIds, 'f'] };
    await expect(store.installations.install(request, BY)).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
    expect(await store.installations.install({ ...request, externalIds }, BY)).toMatchObject({ externalIds });
  });
});

test('an organization has at most installationsPerOrganization installations', async () => {
  const store = await temporaryStore({ installationsPerOrganization: 2 });
  for (const name of ['first', 'second', 'third'])
    await store.registry.publish(publication(PLAIN, { name, visibility: 'public' }), OPERATOR);
  const into = (organization: string, integration: string) =>
    store.installations.install({ integration, organization, externalIds: [] }, BY);
  const { installationId } = await into('acme', 'first');
  await into('acme', 'second');
  // Targets in its spaces do not count, and neither do installations of others.
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

test('installations of all integrations are listed in pages, by what they are asked for', async () => {
  const store = await temporaryStore();
  for (const name of ['one', 'two'])
    await store.registry.publish(publication(PLAIN, { name, visibility: 'public' }), OPERATOR);
  const ids: Record<string, string> = {};
  for (const integration of ['one', 'two'])
    for (const organization of ['acme', 'other', 'third']) {
      const request = {
        integration,
        organization,
        externalIds: ['shared', `${integration}@${organization}`],
      };
      const { installationId } = await store.installations.install(request, BY);
      ids[`${integration}@${organization}`] = installationId;
      const below = { installationId, level: 'space', place: 's1', externalIds: ['shared'] } as const;
      await store.installations.installBelow(below, BY);
    }
  await store.installations.pause(wholeInstallation(ids['two@other'] ?? ''), BY);
  const found = async (where: Omit<InstallationQuery, 'limit'>) => {
    const listed: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.installations.list({ ...where, limit: 2, cursor });
      listed.push(...page.items.map(({ installationId }) => installationId));
      cursor = page.next;
    } while (cursor !== undefined);
    return listed;
  };
  const of = (...words: string[]) => words.map((word) => ids[word]).sort();
  const [one, two] = [
    ['one@acme', 'one@other', 'one@third'],
    ['two@acme', 'two@other', 'two@third'],
  ];
  for (const externalId of [undefined, 'shared']) {
    expect(await found({ externalId })).toEqual(of(...one, ...two));
    expect(await found({ externalId, organization: 'other' })).toEqual(of('one@other', 'two@other'));
    expect(await found({ externalId, integration: 'one' })).toEqual(of(...one));
    expect(await found({ externalId, status: 'paused' })).toEqual(of('two@other'));
    const active = { externalId, status: 'active' } as const;
    expect(await found(active)).toEqual(of(...one, 'two@acme', 'two@third'));
    expect(await found({ ...active, organization: 'other' })).toEqual(of('one@other'));
    expect(await found({ ...active, integration: 'two' })).toEqual(of('two@acme', 'two@third'));
    expect(await found({ ...active, integration: 'two', organization: 'other' })).toEqual([]);
    expect(await found({ externalId, integration: 'two', organization: 'other' })).toEqual(of('two@other'));
  }
  expect(await found({ externalId: 'one@acme' })).toEqual(of('one@acme'));
  expect(await found({ externalId: 'one@acme', organization: 'other' })).toEqual([]);
  expect(await found({ externalId: 'nobody' })).toEqual([]);
});

describe('an install', () => {
  const token = (store: Store) => store.installLinks.create('hello', OPERATOR);

  test.each<[string, string, boolean, string | undefined]>([
    ['private', 'acme', false, undefined],
    ['private', 'other', false, 'INSTALLATION_FORBIDDEN'],
    ['private', 'other', true, 'INSTALLATION_FORBIDDEN'],
    ['unlisted', 'acme', false, undefined],
    ['unlisted', 'other', false, 'INSTALLATION_FORBIDDEN'],
    ['unlisted', 'other', true, undefined],
    ['public', 'other', false, undefined],
  ])(
    'of a %s integration by %s, with an install link: %s',
    async (visibility, organization, linked, code) => {
      const store = await temporaryStore();
      await store.registry.publish(publication(PLAIN, { visibility }), OPERATOR);
      const installToken = await token(store);
      const attempt = install(store, organization, linked ? { installToken } : {});
      if (code === undefined) await expect(attempt).resolves.toMatchObject({ organization });
      else await expect(attempt).rejects.toMatchObject({ code });
    },
  );

  test('with a replaced link, that of another integration, or its hash, is forbidden', async () => {
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

  test('of an unknown integration is refused for everyone', async () => {
    const store = await temporaryStore();
    await expect(install(store, 'acme')).rejects.toMatchObject({ code: 'INTEGRATION_UNKNOWN' });
  });
});

describe('pausing', () => {
  test('is undone by resuming: the configuration decides the status', async () => {
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

  test('has no lifecycle event, and is in the audit', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store));
    await takeEventBodies(store, name.installationId);
    await store.installations.pause(name, BY);
    await store.installations.resume(name, BY);
    expect(await takeEventBodies(store, name.installationId)).toEqual([]);
    const { items } = await store.audit.list({ installationId: name.installationId, limit: 2 });
    expect(items.map(({ action }) => action)).toEqual(['installation.resume', 'installation.pause']);
  });

  test('a paused installation, or resuming one that is not paused, changes nothing', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store));
    await store.installations.resume(name, BY);
    await store.installations.pause(name, BY);
    expect(await store.installations.pause(name, BY)).toMatchObject({ status: 'paused', revision: 2 });
    const { items } = await store.audit.list({ installationId: name.installationId, limit: 9 });
    expect(items).toHaveLength(2);
  });

  test('persists across edits, valid and invalid ones', async () => {
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

  test('takes effect for the call that starts next', async () => {
    const store = await temporaryStore();
    const name = wholeInstallation(await installed(store, PLAIN));
    const { endpointKey = '' } = (await store.installations.read(name)) ?? {};
    expect(await targetsOf(store).targets.get(endpointKey)).toMatchObject({ status: 'active' });
    await store.installations.pause(name, BY);
    expect(await targetsOf(store).targets.get(endpointKey)).toMatchObject({ status: 'paused' });
  });

  test.each([['pause'], ['resume'], ['uninstall']] as const)(
    '%s of an unknown installation is refused',
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
