/** Tokens: each identifies its principal until it is revoked, and not a moment longer. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore, type Store } from '../../src/host/store/store.ts';
import { mayInstallFor, mayPublish, mayReadLog, maySee, type Principal } from '../../src/model/principal.ts';
import {
  CLOCK,
  OPERATOR,
  storeOptions,
  temporaryFolder,
  temporaryStore,
} from '../support/store/temporary-store.ts';
import { storedRows } from '../support/store/test-engine.ts';

test('a token has the form of its kind and identifies its principal', async () => {
  const { tokens } = await temporaryStore();
  const admin = await tokens.create({ kind: 'admin' }, OPERATOR);
  const member = await tokens.create({ kind: 'organization', organization: 'acme' }, OPERATOR);
  expect(admin.token).toMatch(/^annex_admin_[A-Za-z0-9_-]{43}$/);
  expect(member.token).toMatch(/^annex_organization_[A-Za-z0-9_-]{43}$/);
  expect(await tokens.authenticate(admin.token)).toEqual({ tokenId: admin.id, kind: 'admin' });
  const principal = { tokenId: member.id, kind: 'organization', organization: 'acme' };
  expect(await tokens.authenticate(member.token)).toEqual(principal);
  expect(await tokens.authenticate(member.token)).toEqual(principal);
});

test('a token of another kind, a truncated one and an unknown one identify no principal', async () => {
  const { tokens } = await temporaryStore();
  const { token } = await tokens.create({ kind: 'platform' }, OPERATOR);
  for (const wrong of [
    token.replace('platform', 'admin'),
    token.slice(0, -1),
    `${token}x`,
    '',
    'x'.repeat(10_000),
  ]) {
    expect(await tokens.authenticate(wrong)).toBeUndefined();
  }
});

test('a revoked token is rejected at once, cached or not', async () => {
  const { tokens } = await temporaryStore();
  const [used, unused] = [
    await tokens.create({ kind: 'admin' }, OPERATOR),
    await tokens.create({ kind: 'admin' }, OPERATOR),
  ];
  await tokens.create({ kind: 'admin' }, OPERATOR);
  await tokens.authenticate(used.token);
  expect(await tokens.revoke(used.id, OPERATOR)).toBe(true);
  expect(await tokens.revoke(unused.id, OPERATOR)).toBe(true);
  expect(await tokens.authenticate(used.token)).toBeUndefined();
  expect(await tokens.authenticate(unused.token)).toBeUndefined();
  expect(await tokens.revoke(used.id, OPERATOR)).toBe(false);
});

test('a look-up in flight during a revocation does not cache the token again', async () => {
  const { tokens } = await temporaryStore();
  const { id, token } = await tokens.create({ kind: 'platform' }, OPERATOR);
  await Promise.all([tokens.authenticate(token), tokens.revoke(id, OPERATOR), tokens.authenticate(token)]);
  expect(await tokens.authenticate(token)).toBeUndefined();
});

test('a list pages through every token, without their texts', async () => {
  const { tokens } = await temporaryStore();
  const made = [];
  for (let i = 0; i < 5; i += 1)
    made.push(await tokens.create({ kind: 'organization', organization: `o${i}` }, OPERATOR));
  const first = await tokens.list({ limit: 3 });
  const second = await tokens.list({ limit: 3, cursor: first.next });
  const listed = [...first.items, ...second.items];
  expect(second.next).toBeUndefined();
  expect(listed.map(({ id }) => id)).toEqual(made.map(({ id }) => id).sort());
  for (const { token } of made) expect(JSON.stringify(listed)).not.toContain(token);
});

test('the first admin token is made once', async () => {
  const { tokens } = await temporaryStore();
  const [one, two] = await Promise.all([tokens.firstAdmin(), tokens.firstAdmin()]);
  expect([one, two].filter((token) => token !== undefined)).toHaveLength(1);
  expect(await tokens.firstAdmin()).toBeUndefined();
});

test('a token with an end is valid until then, remembered or not, and is listed afterwards', async () => {
  const clock = { now: CLOCK.now };
  const store = await openStore({ ...storeOptions(await temporaryFolder()), wallNow: () => clock.now });
  onTestFinished(() => store.close());
  const { tokens } = store;
  const made = await tokens.create({ kind: 'platform', expiresInMs: 60_000, name: 'billing' }, OPERATOR);
  const other = await tokens.create({ kind: 'platform', expiresInMs: 60_000 }, OPERATOR);
  clock.now += 59_999;
  expect(await tokens.authenticate(made.token)).toEqual({ tokenId: made.id, kind: 'platform' });
  expect(tokens.known(made.token)).toBeDefined();
  expect(await tokens.exists(made.id)).toBe(true);
  clock.now += 1;
  expect(await tokens.exists(made.id)).toBe(false);
  expect(tokens.known(made.token)).toBeUndefined();
  for (const { token } of [made, other]) expect(await tokens.authenticate(token)).toBe('expired');
  expect((await tokens.list({ limit: 9 })).items).toContainEqual(
    expect.objectContaining({ id: made.id, name: 'billing', expiresAt: CLOCK.now + 60_000 }),
  );
});

test('the last use is written once a minute at most, and not by the request', async () => {
  const clock = { now: CLOCK.now };
  const folder = await temporaryFolder();
  const options = { ...storeOptions(folder), wallNow: () => clock.now };
  const first = await openStore(options);
  const { id, token } = await first.tokens.create({ kind: 'platform' }, OPERATOR);
  const stored = async () =>
    (await storedRows(folder, 'tokens')).find((row) => row['id'] === id)?.['last_used_at'] ?? undefined;
  const use = async ({ tokens }: Store, passedMs: number) => {
    clock.now = CLOCK.now + passedMs;
    expect(await tokens.authenticate(token)).toMatchObject({ tokenId: id });
    return stored();
  };
  expect(await use(first, 0)).toBeUndefined();
  await first.tokens.writeUses();
  expect(Number(await stored())).toBe(CLOCK.now);
  await use(first, 59_999);
  await first.tokens.writeUses();
  expect(Number(await stored())).toBe(CLOCK.now);
  await use(first, 60_000);
  expect(Number(await stored())).toBe(CLOCK.now);
  expect((await first.tokens.list({ limit: 9 })).items).toMatchObject([{ lastUsedAt: CLOCK.now + 60_000 }]);
  // The end of a store writes what is left; the next one remembers that it was in this minute.
  await use(first, 120_000);
  await first.close();
  expect(Number(await stored())).toBe(CLOCK.now + 120_000);
  const second = await openStore(options);
  onTestFinished(() => second.close());
  await use(second, 150_000);
  await second.tokens.writeUses();
  expect(Number(await stored())).toBe(CLOCK.now + 120_000);
});

describe('the last admin token', () => {
  const refused = { code: 'TOKEN_LAST', message: expect.stringContaining('annex token create --kind admin') };

  test('cannot be revoked while no other one can make tokens for ever', async () => {
    const { tokens } = await temporaryStore();
    const { id, token } = await tokens.create({ kind: 'admin' }, OPERATOR);
    const narrow = await tokens.create({ kind: 'admin', rights: ['read'] }, OPERATOR);
    const ending = await tokens.create({ kind: 'admin', expiresInMs: 60_000 }, OPERATOR);
    await tokens.create({ kind: 'platform' }, OPERATOR);
    await expect(tokens.revoke(id, OPERATOR)).rejects.toMatchObject(refused);
    expect(await tokens.authenticate(token)).toMatchObject({ tokenId: id });
    for (const other of [narrow, ending]) expect(await tokens.revoke(other.id, OPERATOR)).toBe(true);
    await tokens.create({ kind: 'admin' }, OPERATOR);
    expect(await tokens.revoke(id, OPERATOR)).toBe(true);
  });

  test('attack: of two that are revoked at once, one stays', async () => {
    const { tokens } = await temporaryStore();
    for (let round = 0; round < 5; round += 1) {
      const made = [
        await tokens.create({ kind: 'admin' }, OPERATOR),
        await tokens.create({ kind: 'admin' }, OPERATOR),
      ];
      // The one that the round before has left.
      for (const { id } of (await tokens.list({ limit: 9 })).items)
        if (!made.some((one) => one.id === id)) await tokens.revoke(id, OPERATOR);
      const ends = await Promise.allSettled(made.map(({ id }) => tokens.revoke(id, OPERATOR)));
      expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({ reason: refused });
      expect((await tokens.list({ limit: 9 })).items).toHaveLength(1);
    }
  });
});

test('the first admin token is kept before it is stored, and not stored if it cannot be kept', async () => {
  const { tokens } = await temporaryStore();
  const full = tokens.firstAdmin(() => {
    throw new Error('no space left');
  });
  await expect(full).rejects.toThrow('no space left');
  expect((await tokens.list({ limit: 1 })).items).toEqual([]);
  const kept: string[] = [];
  const made = await Promise.all([1, 2].map(() => tokens.firstAdmin((token) => void kept.push(token))));
  expect(made.filter((token) => token !== undefined)).toEqual(kept);
  expect(kept).toHaveLength(1);
});

test('each kind of token has its own rights, and no others', () => {
  const admin: Principal = { tokenId: 't', kind: 'admin' };
  const platform: Principal = { tokenId: 't', kind: 'platform' };
  const acme: Principal = { tokenId: 't', kind: 'organization', organization: 'acme' };
  const rival: Principal = { tokenId: 't', kind: 'organization', organization: 'rival' };
  const everyone = [admin, platform, acme, rival];
  const allowed = (rule: (principal: Principal) => boolean) => everyone.filter(rule);
  expect(allowed((who) => mayPublish(who, 'acme'))).toEqual([admin, acme]);
  expect(allowed((who) => mayInstallFor(who, 'acme'))).toEqual([admin, platform, acme]);
  expect(
    allowed((who) => maySee(who, { name: 'hello', organization: 'acme', visibility: 'private' })),
  ).toEqual([admin, platform, acme]);
  expect(
    allowed((who) => maySee(who, { name: 'hello', organization: 'acme', visibility: 'unlisted' })),
  ).toEqual([admin, platform, acme]);
  expect(
    allowed((who) => maySee(who, { name: 'hello', organization: 'acme', visibility: 'public' })),
  ).toEqual(everyone);
  expect(allowed((who) => mayReadLog(who, 'acme', 'rival'))).toEqual(everyone);
  expect(allowed((who) => mayReadLog(who, 'other', 'rival'))).toEqual([admin, platform, rival]);
});
