/**
 * Declared organizations: a name has one meaning, whoever takes it first, and however many want it
 * at once.
 */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../src/host/store/store.ts';
import { installed, publication } from '../support/store/installed.ts';
import { CLOCK, OPERATOR, temporaryStore } from '../support/store/temporary-store.ts';

const TAKEN = { code: 'ORGANIZATION_TAKEN' };

const token = ({ tokens }: Store, organization: string) =>
  tokens.create({ kind: 'organization', organization }, OPERATOR);

const install = ({ installations }: Store, organization: string) =>
  installations.install({ integration: 'hello', organization, externalIds: [] }, OPERATOR);

test('is declared, changed, listed and deleted, each change with one entry of the audit', async () => {
  const { organizations, audit } = await temporaryStore();
  const times = { createdAt: CLOCK.now, updatedAt: CLOCK.now };
  const declared = { subdomain: 'acme', title: 'Acme Inc.' };
  expect(await organizations.put('org_1', declared, OPERATOR)).toEqual({
    id: 'org_1',
    ...declared,
    ...times,
  });
  await organizations.put('org_1', declared, OPERATOR);
  await organizations.put('org_2', {}, OPERATOR);
  expect(await organizations.put('org_1', { subdomain: 'acme' }, OPERATOR)).toEqual({
    ...{ id: 'org_1', subdomain: 'acme' },
    ...times,
  });
  const first = await organizations.list({ limit: 1 });
  expect(first.items.map(({ id }) => id)).toEqual(['org_1']);
  expect((await organizations.list({ limit: 9, cursor: first.next })).items).toEqual([
    { id: 'org_2', ...times },
  ]);
  expect(await organizations.delete('org_1', OPERATOR)).toBe(true);
  expect(await organizations.delete('org_1', OPERATOR)).toBe(false);
  expect(await organizations.read('org_1')).toBeUndefined();
  const { items } = await audit.list({ limit: 9 });
  expect(items.map(({ action, organization, details }) => [action, organization, details])).toEqual([
    ['organization.delete', 'org_1', {}],
    ['organization.change', 'org_1', { changed: ['title'] }],
    ['organization.declare', 'org_2', { changed: ['subdomain', 'title'] }],
    ['organization.declare', 'org_1', { changed: ['subdomain', 'title'] }],
  ]);
});

test('is found by its id and by its subdomain, which moves and is free again', async () => {
  const { organizations } = await temporaryStore();
  await organizations.put('org_1', { subdomain: 'acme' }, OPERATOR);
  for (const name of ['acme', 'org_1']) expect(await organizations.idOf(name)).toBe('org_1');
  expect(await organizations.idOf('other')).toBe('other');
  await organizations.put('org_1', { subdomain: 'org-1' }, OPERATOR);
  expect(await organizations.idOf('acme')).toBe('acme');
  await organizations.put('org_2', { subdomain: 'acme' }, OPERATOR);
  expect(await organizations.idOf('acme')).toBe('org_2');
  await organizations.put('same', { subdomain: 'same' }, OPERATOR);
  expect(await organizations.idOf('same')).toBe('same');
});

describe('attack: an organization whose subdomain is', () => {
  const attempt = ({ organizations }: Store, subdomain: string) =>
    organizations.put('evil', { subdomain }, OPERATOR);

  test('that of another one', async () => {
    const store = await temporaryStore();
    await store.organizations.put('org_1', { subdomain: 'victim' }, OPERATOR);
    await expect(attempt(store, 'victim')).rejects.toMatchObject(TAKEN);
    const both = ['evil', 'worse'].map((id) => store.organizations.put(id, { subdomain: 'new' }, OPERATOR));
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({ reason: TAKEN });
  });

  test('the id of one that is declared, owns or has installed an integration, or has a token', async () => {
    const store = await temporaryStore();
    await store.registry.publish(publication('', { organization: 'owner', visibility: 'public' }), OPERATOR);
    await install(store, 'customer');
    await token(store, 'member');
    await store.organizations.put('declared', {}, OPERATOR);
    for (const subdomain of ['owner', 'customer', 'member', 'declared'])
      await expect(attempt(store, subdomain)).rejects.toMatchObject(TAKEN);
    expect(await store.organizations.read('evil')).toBeUndefined();
    await attempt(store, 'free');
  });

  test('a name that becomes an id later: no declaration, install, publish or token takes it', async () => {
    const store = await temporaryStore();
    await installed(store, '');
    await attempt(store, 'later');
    await expect(store.organizations.put('later', {}, OPERATOR)).rejects.toMatchObject(TAKEN);
    const refused = { code: 'REQUEST_INVALID', message: expect.stringContaining('"evil"') };
    await expect(token(store, 'later')).rejects.toMatchObject(refused);
    await expect(install(store, 'later')).rejects.toMatchObject(refused);
    const published = publication('', { name: 'other', organization: 'later' });
    await expect(store.registry.publish(published, OPERATOR)).rejects.toMatchObject(refused);
  });

  test('a name that becomes an id in the same moment', async () => {
    const store = await temporaryStore();
    await store.registry.publish(publication('', { visibility: 'public' }), OPERATOR);
    const publish = ({ registry }: Store, organization: string) =>
      registry.publish(publication('', { name: organization, organization }), OPERATOR);
    for (const [name, use] of Object.entries({ token, install, publish })) {
      const ends = await Promise.allSettled([
        store.organizations.put(`evil-${name}`, { subdomain: `at-once-${name}` }, OPERATOR),
        use(store, `at-once-${name}`),
      ]);
      expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    }
  });

  test('a name that the operator trusts', async () => {
    const { organizations } = await temporaryStore();
    const entries = ['org_1', 'org_1/analytics', 'trusted', 'trusted/one'];
    expect(await organizations.trusted(entries)).toEqual(entries);
    await organizations.put('org_1', { subdomain: 'acme' }, OPERATOR);
    await organizations.put('evil', { subdomain: 'trusted' }, OPERATOR);
    expect(await organizations.trusted(entries)).toEqual([
      ...['org_1', 'acme', 'org_1/analytics', 'acme/analytics'],
    ]);
  });
});
