/** An unusable data folder is refused with an error that names the file and what to do. */
import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FIRST_MIGRATION, MIGRATIONS } from '../../../src/host/database/migrations.ts';
import { createTables } from '../../../src/host/database/schema.ts';
import { sqliteDialect } from '../../../src/host/database/sqlite/sqlite-dialect.ts';
import { openStore } from '../../../src/host/store/store.ts';
import { storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';

const PROGRAM = fileURLToPath(new URL('../../support/store/open-store-process.ts', import.meta.url));
/**
 * Root may read and write everything, so if the tests run as root another user opens the store.
 */
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

/** A folder with a cleanly closed store, owned by the user that opens it. */
async function used(): Promise<string> {
  const folder = await temporaryFolder();
  await (await openStore(storeOptions(folder))).close();
  if (isRoot)
    for (const name of ['', 'annex.db', 'annex.db-lock', 'vault.key'])
      await chown(join(folder, name), NOBODY, NOBODY);
  return folder;
}

/** The error of opening the store as a user without rights. */
async function said(folder: string): Promise<string> {
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const child = spawn(process.execPath, [PROGRAM, folder], { stdio: ['ignore', 'pipe', 'inherit'], ...user });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await new Promise((resolve) => child.once('close', resolve));
  return output;
}

// Attack: `data` of a cloned folder has links, for `annex serve` there to write through.
test.each(['annex.db', 'annex.db-lock'])(
  '%s that is a link is refused, and nothing is written there',
  async (name) => {
    const folder = await temporaryFolder();
    const other = join(folder, 'other.sqlite');
    const database = new DatabaseSync(other);
    database.exec('create table cookies (value)');
    database.close();
    const before = await readFile(other);
    await symlink('other.sqlite', join(folder, name));
    await expect(openStore(storeOptions(folder))).rejects.toThrow(
      `${join(folder, name)} is a link to another file`,
    );
    expect(await readFile(other)).toEqual(before);
  },
);

describe('a file or folder without access', () => {
  test('is not reported for a folder of its own', async () => {
    expect(await said(await used())).toBe('opened');
  });

  test.each([
    ['a database file that is read-only', 'annex.db', 0o400],
    ['a database file that cannot be read', 'annex.db', 0o200],
    ['a lock that cannot be written', 'annex.db-lock', 0o400],
    ['a log that cannot be read', 'annex.db-wal', 0o000],
  ])('%s is named itself, not its folder', async (_what, name, mode) => {
    const folder = await used();
    await writeFile(join(folder, name), '', { flag: 'a' });
    await chmod(join(folder, name), mode);
    const words = await said(folder);
    expect(words).toContain(`${join(folder, name)} may not be read and written by this user.`);
    expect(words).toContain('chown');
    expect(words).not.toContain('the data folder');
  });

  test('a folder in which no file can be created is named, with its setting', async () => {
    const folder = await used();
    for (const name of ['annex.db', 'vault.key']) await rm(join(folder, name));
    await chmod(folder, 0o500);
    expect(await said(folder)).toBe(`the data folder ${folder} may not be used by this user (--data).`);
    await chmod(folder, 0o700);
  });

  test('a key file that cannot be read is named, with advice', async () => {
    const folder = await used();
    await chmod(join(folder, 'vault.key'), 0o000);
    const words = await said(folder);
    expect(words).toContain(
      `${join(folder, 'vault.key')}, the file of the vault's keys, may not be read by this user.`,
    );
    expect(words).toContain('(--vault-key-file)');
    expect(words).not.toContain('EACCES');
  });
});

test('a key file that is a folder is reported as one', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'vault.key'), { mode: 0o700 });
  await expect(openStore(storeOptions(folder))).rejects.toThrow('vault.key is a folder');
});

test('a file that is not a database, or is damaged, is named, with the advice to restore a backup', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'annex.db'), 'x'.repeat(10_000));
  await expect(openStore(storeOptions(folder))).rejects.toThrow(
    /annex\.db is damaged or not an SQLite database.*Restore a backup/,
  );
});

describe('a schema of a newer Annex', () => {
  async function newer(version: number): Promise<string> {
    const folder = await used();
    const database = new DatabaseSync(join(folder, 'annex.db'));
    database.exec(`insert into kysely_migration (name, timestamp) values ('9999-of-tomorrow', '2030-01-01')`);
    database.exec(`pragma user_version = ${version}`);
    database.close();
    return folder;
  }

  test('is refused with the version that made it and its migrations, and nothing is changed', async () => {
    const folder = await newer(4_012_003);
    const before = await readFile(join(folder, 'annex.db'));
    const opened = openStore({ ...storeOptions(folder), version: '1.2.3' });
    await expect(opened).rejects.toThrow(
      /annex\.db was made by Annex 4\.12\.3: its schema has 9999-of-tomorrow, which this version \(1\.2\.3\) does not know\. Start Annex 4\.12\.3 or a later one/,
    );
    expect((await readFile(join(folder, 'annex.db'))).equals(before)).toBe(true);
  });

  test('of an unrecorded version is refused as well', async () => {
    await expect(openStore(storeOptions(await newer(0)))).rejects.toThrow(
      /was made by a newer Annex: its schema has/,
    );
  });
});

describe('a schema of the development before the first release', () => {
  const before = async (name: string): Promise<string> => {
    const folder = await temporaryFolder();
    const migrations = { [FIRST_MIGRATION]: { up: createTables } };
    const first = new Kysely<unknown>({ dialect: sqliteDialect(join(folder, 'annex.db')) });
    await new Migrator({ db: first, provider: { getMigrations: async () => migrations } }).migrateToLatest();
    await first.destroy();
    const database = new DatabaseSync(join(folder, 'annex.db'));
    database.exec(`update kysely_migration set name = '001-registry'`);
    database.exec(`insert into kysely_migration (name, timestamp) values ('${name}', '2026-11-01')`);
    database.close();
    return folder;
  };

  test('is taken over if it is the last one', async () => {
    const folder = await before('024-generations-of-deliveries');
    await (await openStore(storeOptions(folder))).close();
    const database = new DatabaseSync(join(folder, 'annex.db'), { readOnly: true });
    onTestFinished(() => database.close());
    expect(database.prepare('select name from kysely_migration order by name').all()).toEqual(
      Object.keys(MIGRATIONS).map((name) => ({ name })),
    );
  });

  test('is refused if it lacks tables, with what to start first', async () => {
    const folder = await before('019-statement-keys');
    await expect(openStore(storeOptions(folder))).rejects.toThrow(
      /made before the first release of Annex: its schema ends with 019-statement-keys\. Start Annex at its commit/,
    );
  });
});

test('a store records the version that last opened it', async () => {
  const folder = await used();
  const noted = async (version: string) => {
    await (await openStore({ ...storeOptions(folder), version })).close();
    const database = new DatabaseSync(join(folder, 'annex.db'), { readOnly: true });
    const row = database.prepare('pragma user_version').get();
    database.close();
    return row?.user_version;
  };
  expect(await noted('1.20.3')).toBe(1_020_003);
  expect(await noted('1.21.0-rc.1')).toBe(1_021_000);
});

// Without a check, a start below /proc never ends: it tries to create the folder for ever.
test.each(['/proc/annex', '/proc/1/annex/data', '/sys/annex'])(
  'a folder that the kernel makes up is refused: %s',
  async (folder) => {
    await expect(openStore(storeOptions(folder))).rejects.toThrow(
      `the data folder ${folder} is in a file system of the kernel, which stores no files; name a folder on a disk (--data).`,
    );
  },
);

describe('a database that is lost beside the files of its service', () => {
  /** What a start finds, by the change of an operator. */
  async function lost(change: (file: string) => Promise<unknown>): Promise<string> {
    const folder = await used();
    await writeFile(join(folder, 'admin-token'), 'annex_admin_x\n', { mode: 0o600 });
    await change(join(folder, 'annex.db'));
    return folder;
  }
  const noTables = async (file: string) => {
    await rm(file);
    const database = new DatabaseSync(file);
    database.exec('pragma user_version = 1');
    database.close();
  };

  test.each([
    ['deleted', 'is missing', rm],
    ['empty', 'is empty', (file: string) => writeFile(file, '')],
    ['without tables', 'has no tables of Annex', noTables],
  ])('is not made anew: %s', async (_how, words, change) => {
    const folder = await lost(change);
    const before = await readFile(join(folder, 'annex.db')).catch(() => undefined);
    const refusal = new RegExp(
      `annex\\.db ${words}, and .* has vault\\.key and admin-token of .* backup .* an empty folder`,
    );
    await expect(openStore(storeOptions(folder))).rejects.toThrow(refusal);
    await expect(openStore(storeOptions(folder))).rejects.toThrow(refusal);
    const after = await readFile(join(folder, 'annex.db')).catch(() => undefined);
    expect(after?.length === before?.length || words.includes('tables')).toBe(true);
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe('annex_admin_x\n');
  });

  test('is named by either file alone', async () => {
    const folder = await lost(rm);
    await rm(join(folder, 'vault.key'));
    await expect(openStore(storeOptions(folder))).rejects.toThrow(/has admin-token of a service/);
    const other = await lost(rm);
    await rm(join(other, 'admin-token'));
    await expect(openStore(storeOptions(other))).rejects.toThrow(/has vault\.key of a service/);
  });

  test('is new where the operator has moved them away, or has put a key there for the first start', async () => {
    const folder = await lost(rm);
    const key = await readFile(join(folder, 'vault.key'));
    await rm(join(folder, 'admin-token'));
    await rm(join(folder, 'vault.key'));
    await (await openStore(storeOptions(folder))).close();
    const first = await temporaryFolder();
    await writeFile(join(first, 'vault.key'), key, { mode: 0o600 });
    await (await openStore(storeOptions(first))).close();
    expect((await readFile(join(first, 'vault.key'))).equals(key)).toBe(true);
  });

  test('a folder of its name is reported as one', async () => {
    const folder = await lost(async (file) => {
      await rm(file);
      await mkdir(file);
    });
    await expect(openStore(storeOptions(folder))).rejects.toThrow('annex.db is a folder');
  });

  test('a start that was interrupted before it made a key is repeated', async () => {
    const folder = await temporaryFolder();
    for (const name of ['annex.db', 'annex.db-lock']) await writeFile(join(folder, name), '');
    await (await openStore(storeOptions(folder))).close();
  });
});
