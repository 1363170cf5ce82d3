/** The vault: a sealed value opens at its own place, under its key, and nowhere else. */

import { randomBytes } from 'node:crypto';
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/host/store/store.ts';
import { Vault, vaultKeyId } from '../../../src/host/store/vault/vault.ts';
import { openVault } from '../../../src/host/store/vault/vault-key.ts';
import { targetsOf } from '../../support/store/targets.ts';
import { OPERATOR, published, storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';
import { IS_POSTGRES, storedText } from '../../support/store/test-engine.ts';

/** Keys in use of a store that holds these values. */
const usesOf = (...sealed: string[]) =>
  sealed.map((value) => ({ keyId: value.split('.', 1)[0] ?? '', values: 1 }));

const PLACE = ['secrets', 'sealed_value', 'hello', 'TOKEN'] as const;

test('a value opens at its own place and at no other', () => {
  const vault = new Vault([randomBytes(32)], randomBytes);
  const sealed = vault.seal(PLACE, 'süper secret');
  expect(sealed).not.toContain('secret');
  expect(vault.open(PLACE, sealed)).toBe('süper secret');
  expect(() => vault.open(['secrets', 'sealed_value', 'evil', 'TOKEN'], sealed)).toThrow(
    'sealed for another row',
  );
  expect(() => vault.open(['secrets', 'sealed_value', 'helloT', 'OKEN'], sealed)).toThrow(
    'sealed for another row',
  );
});

test('the same value is sealed differently each time', () => {
  const vault = new Vault([randomBytes(32)], randomBytes);
  expect(vault.seal(PLACE, 'x')).not.toBe(vault.seal(PLACE, 'x'));
});

test('a changed or truncated value does not open', () => {
  const vault = new Vault([randomBytes(32)], randomBytes);
  const [keyId = '', nonce = '', body = ''] = vault.seal(PLACE, 'value').split('.');
  const bytes = Buffer.from(body, 'base64url');
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  expect(() => vault.open(PLACE, `${keyId}.${nonce}.${bytes.toString('base64url')}`)).toThrow('altered');
  expect(() => vault.open(PLACE, `${keyId}.${nonce}.${body.slice(0, 6)}`)).toThrow('altered');
  expect(() => vault.open(PLACE, `${keyId}..`)).toThrow('altered');
});

test('a new first key seals, and the old one still opens', () => {
  const [older, newer] = [randomBytes(32), randomBytes(32)];
  const sealed = new Vault([older], randomBytes).seal(PLACE, 'value');
  const ring = new Vault([newer, older], randomBytes);
  expect(ring.open(PLACE, sealed)).toBe('value');
  expect(() => new Vault([older], randomBytes).open(PLACE, ring.seal(PLACE, 'value'))).toThrow('has no key');
});

test('the first start makes a key that only its owner can read, and the next start uses it', async () => {
  const file = join(await temporaryFolder(), 'vault.key');
  const sealed = (await openVault({ source: { file }, randomBytes, inUse: [] })).seal(PLACE, 'value');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(
    (await openVault({ source: { file }, randomBytes, inUse: usesOf(sealed) })).open(PLACE, sealed),
  ).toBe('value');
});

test('a key file that is open to others, or malformed, is refused', async () => {
  const file = join(await temporaryFolder(), 'vault.key');
  await openVault({ source: { file }, randomBytes, inUse: [] });
  await chmod(file, 0o640);
  await expect(openVault({ source: { file }, randomBytes, inUse: [] })).rejects.toThrow(
    'open to other users',
  );
  await chmod(file, 0o600);
  await writeFile(file, 'short\n');
  await expect(openVault({ source: { file }, randomBytes, inUse: [] })).rejects.toThrow('one key a line');
});

test.each(['/tmp', '/dev/null'])('%s is not a key file, and its mode is not to be changed', async (file) => {
  const opening = openVault({ source: { file }, randomBytes, inUse: [] });
  await expect(opening).rejects.toThrow(/is (a folder|not a file); /);
  await expect(opening).rejects.not.toThrow('chmod');
});

test('a store with sealed values does not start without its key, or with another', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'vault.key');
  const store = await openStore(storeOptions(folder));
  await store.registry.publish(
    { manifest: published(), script: '', sourceMap: '{}', secrets: new Map() },
    OPERATOR,
  );
  await store.close();
  const key = await readFile(file, 'utf8');
  await rm(file);
  await expect(openStore(storeOptions(folder))).rejects.toThrow(
    'is missing, and the store holds values sealed with it',
  );
  await writeFile(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  const id = vaultKeyId(Buffer.from(key, 'base64url'));
  await expect(openStore(storeOptions(folder))).rejects.toThrow(
    `The key ring in ${file} lacks keys with which this store was sealed: key ${id} (${IS_POSTGRES ? '3 values' : '1 value'}). Add that key behind the first one`,
  );
  await writeFile(file, key);
  await (await openStore(storeOptions(folder))).close();
});

test('no secret and no token is in plain text in the database', async () => {
  const folder = await temporaryFolder();
  const store = await openStore(storeOptions(folder));
  const { token } = await store.tokens.create({ kind: 'admin' }, OPERATOR);
  const manifest = published({}, 'secrets:\n  TOKEN: written');
  await store.registry.publish(
    {
      manifest,
      script: '',
      sourceMap: '{}',
      secrets: new Map([['TOKEN', 'very-secret-value']]),
    },
    OPERATOR,
  );
  const { endpointKey } = await store.installations.install(
    {
      integration: 'hello',
      organization: 'o',
      externalIds: [],
    },
    OPERATOR,
  );
  const target = await targetsOf(store).targets.get(endpointKey);
  const signingSecrets = Object.values(target?.environment.signingSecrets ?? {});
  expect(signingSecrets).toHaveLength(2);
  await store.close();
  const text = await storedText(folder);
  expect(text).toContain('hello');
  for (const secret of ['very-secret-value', token, ...signingSecrets]) expect(text).not.toContain(secret);
  if (!IS_POSTGRES) expect((await stat(join(folder, 'annex.db'))).mode & 0o077).toBe(0);
});
