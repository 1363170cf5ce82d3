/** Tokens: each identifies its principal until it is revoked, and not a moment longer. */
import { expect, test } from 'vitest';
import { mayInstallFor, mayPublish, mayReadLog, maySee, type Principal } from '../../src/model/principal.ts';
import { OPERATOR, temporaryStore } from '../support/store/temporary-store.ts';

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
  await tokens.authenticate(used.token);
  expect(await tokens.revoke(used.id, OPERATOR)).toBe(true);
  expect(await tokens.revoke(unused.id, OPERATOR)).toBe(true);
  expect(await tokens.authenticate(used.token)).toBeUndefined();
  expect(await tokens.authenticate(unused.token)).toBeUndefined();
  expect(await tokens.revoke(used.id, OPERATOR)).toBe(false);
});

test('a look-up in flight during a revocation does not cache the token again', async () => {
  const { tokens } = await temporaryStore();
  const { id, token } = await tokens.create({ kind: 'admin' }, OPERATOR);
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

test('the first admin token is made once, and again only if there is none left', async () => {
  const { tokens } = await temporaryStore();
  const [one, two] = await Promise.all([tokens.firstAdmin(), tokens.firstAdmin()]);
  expect([one, two].filter((token) => token !== undefined)).toHaveLength(1);
  const [first] = (await tokens.list({ limit: 1 })).items;
  await tokens.revoke(first?.id ?? '', OPERATOR);
  expect(await tokens.firstAdmin()).toMatch(/^annex_admin_/);
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
