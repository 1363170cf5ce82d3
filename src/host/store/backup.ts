/**
 * Backup: copies the database of a data folder into one file, while the service runs or is stopped.
 *
 * A copy of the live files is no backup, because the database and its log change while they are
 * copied. Here SQLite copies the state committed when the copy began, in one read transaction
 * beside the writer: everything acknowledged before the backup is in it. The copy is checked
 * completely, is on disk before it gets its name, and never replaces another file. It contains no
 * vault key.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { link, open, realpath, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { backup as copyPages, DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { programPath } from '../../own-files.ts';
import { stateOf } from '../database/sqlite/files/damaged-wal.ts';
import { type FolderLock, isBusy, lockFolder } from '../database/sqlite/files/folder-lock.ts';
import { verdictOn } from '../database/sqlite/files/wal-verdict.ts';
import { sqliteDialect } from '../database/sqlite/sqlite-dialect.ts';
import type { Tables } from '../database/tables.ts';
import { keysInUse } from './reseal/sealed-columns.ts';
import type { KeyUse } from './vault/vault-key.ts';

/** All pages in one step: between steps, a write by another process would restart the copy. */
const ALL_PAGES = 2 ** 31 - 1;
const PROGRESS_EVERY_MS = 1_000;
const BUSY_TIMEOUT_MS = 5_000;
/** Reads of a log that cannot be locked, until it counts as damaged. */
const UNLOCKED_READS = 4;
/** SQLite's primary result codes: read-only, cannot open, locking protocol. */
const CANNOT_SHARE = [8, 14, 15];
const PRIMARY_RESULT = 0xff;
const CHECK = programPath('../database/sqlite/files/copy-check', import.meta.url);
/** Suffixes of the files that SQLite makes beside a database. */
const BESIDE = ['', '-wal', '-shm', '-commits', '-lock', '-lock-journal', '-journal'];
/** Other files of the service in its data folder. */
const OWN_FILES = ['vault.key', 'vault.key.next', 'admin-token'];

export type BackupStep =
  | { readonly step: 'copying'; readonly bytes: number; readonly of: number }
  | { readonly step: 'checking' };

export interface BackupOptions {
  /** Path of the database file. */
  readonly database: string;
  /** The file to create. */
  readonly to: string;
  progress(step: BackupStep): void;
  /** Receives a function that removes everything made so far, for an interruption. */
  abandonable?(remove: () => Promise<void>): void;
}

export interface Backup {
  readonly bytes: number;
  /** Keys needed to open the sealed values of the copy. */
  readonly keys: readonly KeyUse[];
}

/**
 * @throws if the database does not exist, `to` exists, there is no room, or the copy is damaged; no
 * file is left behind then
 */
export async function backUp(options: BackupOptions): Promise<Backup> {
  const { database, to, progress, abandonable } = options;
  if (!existsSync(database)) throw new Error(`${database} does not exist; name the data folder (--data).`);
  if (existsSync(to)) throw exists(to);
  await refuseOwnName(database, to);
  refuseDamagedLog(database);
  const partial = `${to}.partial-${process.pid}`;
  const parts = BESIDE.map((suffix) => `${partial}${suffix}`);
  let check: ChildProcess | undefined;
  const remove = async () => {
    for (const name of parts) await rm(name, { force: true });
  };
  abandonable?.(async () => {
    await killed(check);
    await remove();
  });
  try {
    await makePrivate(partial);
    await copy(database, partial, progress);
    progress({ step: 'checking' });
    // Detached: Ctrl-C in a terminal signals the whole process group, and this process kills its
    // check itself.
    check = fork(CHECK, [partial], { execArgv: [], detached: true });
    await passed(check);
    const keys = await keysOf(partial);
    makeSingleFile(partial);
    await sync(partial);
    const { size } = await stat(partial);
    // Unlike a rename, a link never replaces a file that appeared meanwhile.
    await link(partial, to).catch((cause) => {
      throw cause.code === 'EEXIST' ? exists(to) : cause;
    });
    return { bytes: size, keys };
  } finally {
    await remove();
    await sync(dirname(to)).catch(() => {});
  }
}

/**
 * Refuses names that SQLite or Annex uses in the data folder, which may be the only folder that a
 * container can write. Such a backup would be read as something else: as `annex.db-journal`, for
 * changes to roll back.
 */
async function refuseOwnName(database: string, to: string): Promise<void> {
  const folder = await realpath(dirname(to)).catch((cause) => {
    throw unusable(to, cause);
  });
  if (folder !== (await realpath(dirname(database)))) return;
  const own = [...BESIDE.map((suffix) => `${basename(database)}${suffix}`), ...OWN_FILES];
  if (own.includes(basename(to)))
    throw new Error(`${to} is a name that Annex uses in its data folder. Name another file (--to).`);
}

/** Created private: the copy holds everything that the database holds. */
async function makePrivate(file: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600).catch((cause) => {
    throw unusable(file, cause);
  });
  await handle.close();
}

function unusable(file: string, cause: NodeJS.ErrnoException): unknown {
  const reasons = {
    ENOENT: 'does not exist. Make it',
    ENOTDIR: 'is not a folder. Make one',
    EACCES: 'may not be written by this user. Let it',
    EPERM: 'may not be written by this user. Let it',
    EROFS: 'is on a file system that is read-only. Change that',
  };
  const why = reasons[cause.code as keyof typeof reasons];
  return why === undefined
    ? cause
    : new Error(`the folder ${dirname(file)} ${why}, or name another file (--to).`, { cause });
}

/**
 * If no service runs, the log may be a damaged one, whose transactions SQLite would drop silently.
 */
function refuseDamagedLog(database: string): void {
  let lock: FolderLock | undefined;
  try {
    lock = lockFolder(database);
  } catch (cause) {
    // A service runs, and has checked its log at its start.
    if (isBusy((cause as Error).cause ?? {})) return;
    // A snapshot that is mounted read-only cannot be locked, and its log may be damaged all the
    // same.
  }
  try {
    let verdict = verdictOn(database);
    // Without the lock, a log that is being written may look damaged, differently at each read.
    for (let reads = 1; lock === undefined && verdict.kind !== 'take' && reads < UNLOCKED_READS; reads++)
      verdict = verdictOn(database);
    if (verdict.kind === 'take') return;
    const what =
      verdict.kind === 'foreign'
        ? `belongs to another database: ${verdict.problem}. A backup would mix the two`
        : `${stateOf(verdict.problem)}. A backup would lack what was committed in it`;
    throw new Error(
      `${database}-wal ${what}. Start the service once: it says what to do (docs/operating/troubleshooting.md, Damage).`,
    );
  } finally {
    lock?.release();
  }
}

async function copy(from: string, to: string, progress: BackupOptions['progress']): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const of = sizeOf(source, from);
    await requireRoom(to, of);
    progress({ step: 'copying', bytes: 0, of });
    const tick = async () => progress({ step: 'copying', bytes: Math.min(of, (await stat(to)).size), of });
    const timer = setInterval(() => void tick().catch(() => {}), PROGRESS_EVERY_MS);
    // node:sqlite copies in a thread of its own.
    await copyPages(source, to, { rate: ALL_PAGES }).finally(() => clearInterval(timer));
  } finally {
    source.close();
  }
}

/** Size of the source; the first read of it, at which SQLite creates `annex.db-shm` beside it. */
function sizeOf(source: DatabaseSync, file: string): number {
  try {
    return bytesOf(source);
  } catch (cause) {
    if (!CANNOT_SHARE.includes(Number((cause as { errcode?: number }).errcode) & PRIMARY_RESULT)) throw cause;
    throw new Error(
      `${file} cannot be read by this user in its folder: SQLite has to write ${file}-shm beside it. Run this as the user of the ` +
        'service, on a file system that is not read-only; if the service is stopped, copy the whole folder instead.',
      { cause },
    );
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

/**
 * In a separate process: the check of a large copy takes minutes, and this process stays
 * interruptible.
 */
async function passed(check: ChildProcess): Promise<void> {
  const problems = await new Promise<readonly string[]>((resolve, reject) => {
    check.once('message', (found) => resolve(found as readonly string[]));
    check.once('error', reject);
    check.once('exit', () => reject(new Error('The check of the copy ended without a result.')));
  });
  if (problems.length > 0)
    throw new Error(
      `The copy is damaged, and so is the database that it was made of: ${problems.join('; ')}. ` +
        'Nothing was written. Keep the backups that you have.',
    );
}

async function killed(check: ChildProcess | undefined): Promise<void> {
  if (check === undefined || check.exitCode !== null || check.signalCode !== null) return;
  check.kill('SIGKILL');
  await once(check, 'exit');
}

/** @returns keys with which values of the copy are sealed */
async function keysOf(file: string): Promise<readonly KeyUse[]> {
  const database = new Kysely<Tables>({ dialect: sqliteDialect(file) });
  try {
    return await keysInUse(database);
  } finally {
    await database.destroy();
  }
}

/** Leaves WAL mode, so that the copy can be opened on a read-only file system. */
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
