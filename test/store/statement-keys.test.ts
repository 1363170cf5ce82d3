/** Keys of statements: made once, sealed, kept over restarts, and rotated. */
import { createPublicKey, sign, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { openStore } from '../../src/host/store/store.ts';
import { OPERATOR, storeOptions, temporaryFolder } from '../support/store/temporary-store.ts';

test('two keys are made at the first use, and the same ones sign after a restart', async () => {
  const options = storeOptions(await temporaryFolder());
  const first = await openStore(options);
  const [made, again] = await Promise.all([first.statementKeys.published(), first.statementKeys.published()]);
  expect(made.map(({ state }) => state)).toEqual(['next', 'signing']);
  expect(again).toEqual(made);
  const { kid, key } = await first.statementKeys.signing();
  expect(kid).toBe(made[1]?.kid);
  await first.close();
  const second = await openStore(options);
  expect(await second.statementKeys.published()).toEqual(made);
  const signature = sign(null, Buffer.from('x'), (await second.statementKeys.signing()).key);
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: String(made[1]?.x) };
  const published = createPublicKey({ format: 'jwk', key: jwk });
  expect(verify(null, Buffer.from('x'), published, signature)).toBe(true);
  expect(key.asymmetricKeyType).toBe('ed25519');
  await second.close();
});

test('a rotation signs with the next key and keeps the one before; a further one drops it', async () => {
  const store = await openStore(storeOptions(await temporaryFolder()));
  const { statementKeys } = store;
  const [next, signing] = await statementKeys.published();
  const once = await statementKeys.rotate({ forget: false }, OPERATOR);
  expect(once.slice(1).map(({ kid, state }) => [kid, state])).toEqual([
    [next?.kid, 'signing'],
    [signing?.kid, 'previous'],
  ]);
  const twice = await statementKeys.rotate({ forget: false }, OPERATOR);
  expect(twice).toHaveLength(3);
  expect(twice.map(({ kid }) => kid)).not.toContain(signing?.kid);
  const anew = await statementKeys.rotate({ forget: true }, OPERATOR);
  expect(anew.map(({ state }) => state)).toEqual(['next', 'signing']);
  expect(anew.filter(({ kid }) => twice.some((old) => old.kid === kid))).toEqual([]);
  expect((await statementKeys.signing()).kid).toBe(anew[1]?.kid);
  await store.close();
});
