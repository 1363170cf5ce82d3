/**
 * A database with the schema and no rows, for stores and services on SQLite: its migrations run
 * once in a run of the tests, and each data folder gets a copy, as on PostgreSQL. Suites about
 * migrations, data folders and host processes begin without it.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../src/host/database/database.ts';
import { databaseFile } from '../../../src/host/database/sqlite/files/data-folder.ts';
import { sqliteDialect } from '../../../src/host/database/sqlite/sqlite-dialect.ts';
import { builtOnce } from '../built-once.ts';
import { IS_POSTGRES } from './test-engine.ts';

let made: Promise<Buffer> | undefined;

/** Puts it into a folder that exists; nothing where the stores are on PostgreSQL. */
export async function putEmptyDatabase(folder: string): Promise<void> {
  if (IS_POSTGRES) return;
  made ??= builtOnce('empty-database.json', make).then((base64) => Buffer.from(base64, 'base64'));
  // A folder that has one keeps it: a test may start a service again.
  if (existsSync(databaseFile(folder))) return;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(databaseFile(folder), await made, { mode: 0o600 });
}

async function make(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-empty-'));
  try {
    const database = await openDatabase(sqliteDialect(databaseFile(folder)));
    await database.destroy();
    return (await readFile(databaseFile(folder))).toString('base64');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
