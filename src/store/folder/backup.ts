/**
 * Copies the database of a data folder into one file, while the service writes or while it is stopped.
 *
 * A copy of the live files is no backup: the database and its log change between the copying of one and of the other. Here SQLite
 * copies what was committed when the copy began, in one read transaction beside the writer, so everything acknowledged before the
 * backup is in it. The copy is checked whole, is on the disk before it has its name, and never takes the place of another
 * file. It holds no key of the vault.
 */
import { existsSync } from 'node:fs';
import { link, open, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup as copyPages, DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { sqliteDialect } from '../sqlite-dialect.ts';
import type { Tables } from '../tables.ts';
import { keysInUse } from '../vault/sealed-columns.ts';
import type { KeyUse } from '../vault/vault-key.ts';
import { lockFolder } from './folder-lock.ts';
import { foreignWal } from './foreign-wal.ts';
import { readWal } from './wal-file.ts';

/** All pages in one step: a step that sees the writer of another process change a page would begin the copy anew. */
const ALL_PAGES = 2 ** 31 - 1;
const PROGRESS_EVERY_MS = 1_000;
const BUSY_TIMEOUT_MS = 5_000;
/** What of a failed check is told. */
const PROBLEMS_MAX = 5;

export type BackupStep =
  | { readonly step: 'copying'; readonly bytes: number; readonly of: number }
  | { readonly step: 'checking' };

export interface BackupOptions {
  /** Path of the database file. */
  readonly database: string;
  /** The file to be made. */
  readonly to: string;
  progress(step: BackupStep): void;
}

export interface Backup {
  readonly bytes: number;
  /** Keys without which the sealed values of the copy cannot be opened. */
  readonly keys: readonly KeyUse[];
}

/** @throws where there is nothing to copy, no room, or something at `to`; or where the copy is not sound. Nothing is left then. */
export async function backUp({ database, to, progress }: BackupOptions): Promise<Backup> {
  if (!existsSync(database)) throw new Error(`${database} does not exist; name the data folder (--data).`);
  if (existsSync(to)) throw exists(to);
  refuseDamagedLog(database);
  const partial = `${to}.partial-${process.pid}`;
  try {
    // Private from the first byte: it holds what the database holds.
    await (await open(partial, 'wx', 0o600)).close();
    await copy(database, partial, progress);
    progress({ step: 'checking' });
    checkCopy(partial);
    const keys = await keysOf(partial);
    makeSingleFile(partial);
    await sync(partial);
    const { size } = await stat(partial);
    // Unlike a rename, a link does not replace a file that has come there meanwhile.
    await link(partial, to).catch((cause) => {
      throw cause.code === 'EEXIST' ? exists(to) : cause;
    });
    return { bytes: size, keys };
  } finally {
    for (const name of [partial, `${partial}-wal`, `${partial}-shm`, `${partial}-lock`, `${partial}-journal`])
      await rm(name, { force: true });
    await sync(dirname(to)).catch(() => {});
  }
}

/** Where no service has the folder, its log may be one that SQLite would drop without a word. */
function refuseDamagedLog(database: string): void {
  let lock: ReturnType<typeof lockFolder>;
  try {
    lock = lockFolder(database);
  } catch {
    // A service runs, and has looked at its log when it started.
    return;
  }
  try {
    const state = readWal(`${database}-wal`);
    if (state.kind === 'damaged')
      throw new Error(
        `${database}-wal is damaged: ${state.problem}. A backup would lack what was committed in it. ` +
          'Start the service once: it says what to do (docs/operating.md, Damage).',
      );
    const foreign = foreignWal(database);
    if (foreign !== undefined)
      throw new Error(
        `${database}-wal belongs to another database: ${foreign}. A backup would mix the two. ` +
          'Start the service once: it says what to do (docs/operating.md, Damage).',
      );
  } finally {
    lock.release();
  }
}

async function copy(from: string, to: string, progress: BackupOptions['progress']): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const of = bytesOf(source);
    await requireRoom(to, of);
    progress({ step: 'copying', bytes: 0, of });
    const tick = async () => progress({ step: 'copying', bytes: Math.min(of, (await stat(to)).size), of });
    const timer = setInterval(() => void tick().catch(() => {}), PROGRESS_EVERY_MS);
    // In a thread of its own.
    await copyPages(source, to, { rate: ALL_PAGES }).finally(() => clearInterval(timer));
  } finally {
    source.close();
  }
}

function bytesOf(database: DatabaseSync): number {
  const number = (pragma: string) =>
    Number(Object.values(database.prepare(`pragma ${pragma}`).get() ?? {})[0]);
  return number('page_count') * number('page_size');
}

async function requireRoom(to: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(to));
  if (bavail * bsize < bytes)
    throw new Error(`${dirname(to)} has room for ${bavail * bsize} bytes, and the backup needs ${bytes}.`);
}

/** The whole check, indexes against tables included: a backup that is not sound is found now, and not when it is needed. */
function checkCopy(file: string): void {
  const problems = problemsOf(file);
  if (problems.length > 0)
    throw new Error(
      `The copy is damaged, and so is the database that it was made of: ${problems.join('; ')}. ` +
        'Nothing was written. Keep the backups that you have.',
    );
}

function problemsOf(file: string): string[] {
  const database = new DatabaseSync(file);
  try {
    const rows = database.prepare(`pragma integrity_check(${PROBLEMS_MAX})`).all();
    const problems = rows.map((row) => String(row.integrity_check)).filter((line) => line !== 'ok');
    const isLoose = database.prepare('pragma foreign_key_check').get() !== undefined;
    return isLoose ? [...problems, 'a row refers to one that is not there'] : problems;
  } catch (cause) {
    return [cause instanceof Error ? cause.message : String(cause)];
  } finally {
    database.close();
  }
}

/** @returns keys that values of the copy are sealed with */
async function keysOf(file: string): Promise<readonly KeyUse[]> {
  const database = new Kysely<Tables>({ dialect: sqliteDialect(file) });
  try {
    return await keysInUse(database);
  } finally {
    await database.destroy();
  }
}

/** Without the mark that it has a log: it can be opened where nothing can be written. */
function makeSingleFile(file: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec('pragma journal_mode = delete');
  } finally {
    database.close();
  }
}

const exists = (to: string): Error =>
  new Error(
    `${to} exists already, and a backup never takes the place of another file. Name another one (--to).`,
  );

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}
