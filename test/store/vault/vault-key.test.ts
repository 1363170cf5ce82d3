/**
 * The key ring: from a file or a variable, with errors that say what is wrong and never contain a
 * key.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ConfigError, configHelp, readConfig } from '../../../src/host/config.ts';
import { openStore } from '../../../src/host/store/store.ts';
import { vaultKeyId } from '../../../src/host/store/vault/vault.ts';
import { addKeyTo, openVault, parseKeyRing } from '../../../src/host/store/vault/vault-key.ts';
import { OPERATOR, published, storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';
import { IS_POSTGRES } from '../../support/store/test-engine.ts';

const key = (): string => randomBytes(32).toString('base64url');
const [ONE, TWO] = [key(), key()];

/** The errors of `readConfig`. */
function problemsOf(flags: readonly string[], env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig(flags, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test('by default the keys are in vault.key of the data folder; a flag or a variable names another file', () => {
  expect(readConfig(['--data', 'd'], {}).vaultKeys).toEqual({ file: join('d', 'vault.key') });
  expect(readConfig(['--vault-key-file', '/run/keys'], {}).vaultKeys).toEqual({ file: '/run/keys' });
  expect(readConfig([], { ANNEX_VAULT_KEY_FILE: '/run/keys' }).vaultKeys).toEqual({ file: '/run/keys' });
});

test.each([
  ['commas', `${ONE},${TWO}`],
  ['lines', `${ONE}\n${TWO}\n`],
  ['both, and room', ` ${ONE} ,\n${TWO},`],
  [
    'the other alphabet, padded',
    [ONE, TWO].map((text) => Buffer.from(text, 'base64url').toString('base64')).join(),
  ],
])('ANNEX_VAULT_KEYS is the ring itself: %s', (_, text) => {
  const { vaultKeys } = readConfig([], { ANNEX_VAULT_KEYS: text });
  const ring =
    'ring' in vaultKeys ? vaultKeys.ring.map((bytes) => Buffer.from(bytes).toString('base64url')) : [];
  expect(ring).toEqual([ONE, TWO]);
});

test.each([
  ['both a ring and a file', ['--vault-key-file', 'f'], ONE, 'leave one out'],
  ['a short key', [], `${ONE},${TWO.slice(1)}`, 'key 2 is not 32 bytes in base64url'],
  ['a key with a wrong letter', [], `${ONE.slice(1)}!`, 'key 1 is not 32 bytes'],
  ['the same key twice', [], `${ONE},${TWO},${ONE}`, 'key 1 and key 3 are the same'],
  ['commas alone', [], ',,', 'holds no key'],
  ['too many keys', [], Array.from({ length: 65 }, key).join(), 'holds more than 64 keys'],
  ['a flag for what is a variable', ['--vault-keys', ONE], '', 'set ANNEX_VAULT_KEYS'],
  ['the same, in one word', [`--vault-keys=${ONE}`], '', 'set ANNEX_VAULT_KEYS'],
])('refuses %s, and shows no key', (_, flags, text, words) => {
  const problems = problemsOf(flags, { ANNEX_VAULT_KEYS: text }).join('\n');
  expect(problems).toContain(words);
  // Not even most of a key: a mistyped key differs from the key by one character.
  for (const known of [ONE, TWO]) expect(problems).not.toContain(known.slice(1, 9));
});

test('the help lists the variable, and no flag for it', () => {
  expect(configHelp()).toMatch(/^ +ANNEX_VAULT_KEYS /m);
  expect(configHelp()).not.toContain('--vault-keys');
});

test('a ring from the variable opens values sealed under a file, and no file is made beside it', async () => {
  const folder = await temporaryFolder();
  const options = storeOptions(folder);
  const file = join(folder, 'elsewhere.key');
  const store = await openStore({ ...options, keys: { file } });
  const publication = { manifest: published(), script: '', sourceMap: '{}', secrets: new Map() };
  await store.registry.publish(publication, OPERATOR);
  await store.close();
  const parsed = parseKeyRing(await readFile(file, 'utf8'));
  if (!parsed.ok) throw new Error(parsed.problem);
  await (await openStore({ ...options, keys: { ring: parsed.ring } })).close();
  expect(await readdir(folder)).not.toContain('vault.key');

  const [first] = parsed.ring;
  const other = openStore({ ...options, keys: { ring: [randomBytes(32)] } });
  await expect(other).rejects.toThrow(
    `The key ring in ANNEX_VAULT_KEYS lacks keys with which this store was sealed: key ${vaultKeyId(first)} (${IS_POSTGRES ? '3 values' : '1 value'}).`,
  );
});

test('every missing key is named at once, with the number of values that need it', async () => {
  const inUse = [
    { keyId: 'aaaaaaaa', values: 12 },
    { keyId: 'bbbbbbbb', values: 1 },
  ];
  const opened = openVault({ source: { ring: [randomBytes(32)] }, randomBytes, inUse });
  await expect(opened).rejects.toThrow('key aaaaaaaa (12 values), key bbbbbbbb (1 value)');
});

test('a key file in a folder that does not exist is named', async () => {
  const file = join(await temporaryFolder(), 'none', 'vault.key');
  await expect(openVault({ source: { file }, randomBytes, inUse: [] })).rejects.toThrow(file);
});

// As an interrupted first start leaves it, or as a placeholder for a mount.
test('an empty key file is refused with advice, and never filled', async () => {
  const file = join(await temporaryFolder(), 'vault.key');
  await writeFile(file, '', { mode: 0o600 });
  const opened = openVault({ source: { file }, randomBytes, inUse: [] });
  await expect(opened).rejects.toThrow(`${file} is empty. If a first start was interrupted, remove it`);
  expect(await readFile(file, 'utf8')).toBe('');
});

test('a key is added before the others, in a file that only its owner can read', async () => {
  const file = join(await temporaryFolder(), 'vault.key');
  await writeFile(file, `${ONE}\n`, { mode: 0o600 });
  const id = await addKeyTo(file, randomBytes);
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(lines).toEqual([expect.stringMatching(/^[\w-]{43}$/), ONE]);
  expect(vaultKeyId(Buffer.from(lines[0] ?? '', 'base64url'))).toBe(id);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await writeFile(`${file}.next`, '');
  await expect(addKeyTo(file, randomBytes)).rejects.toThrow('an interrupted rotation; remove it');
  await expect(addKeyTo(`${file}.none`, randomBytes)).rejects.toThrow('the first start makes it');
});

test('annex vault rotate prints the next steps, and no key', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'vault.key'), `${ONE}\n`, { mode: 0o600 });
  const run = (env: NodeJS.ProcessEnv) =>
    promisify(execFile)(process.execPath, ['src/local/annex.ts', 'vault', 'rotate', '--data', folder], {
      env,
    });
  const { stdout } = await run({});
  const [fresh = '', old] = (await readFile(join(folder, 'vault.key'), 'utf8')).split('\n');
  expect(old).toBe(ONE);
  expect(stdout).toContain(vaultKeyId(Buffer.from(fresh, 'base64url')));
  expect(stdout).toContain('start the service again');
  for (const known of [fresh, ONE]) expect(stdout).not.toContain(known.slice(0, 9));
  await expect(run({ ANNEX_VAULT_KEYS: TWO })).rejects.toThrow('Put a new one before them there');
  const ask = (...flags: string[]) =>
    promisify(execFile)(process.execPath, ['src/local/annex.ts', 'vault', 'rotate', ...flags]);
  expect((await ask('--help')).stdout).toContain('Usage: annex vault rotate');
  await expect(ask('--dta', folder)).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--data'),
  });
  expect((await readFile(join(folder, 'vault.key'), 'utf8')).split('\n')[0]).toBe(fresh);
});
