/**
 * Copies the database of a data folder into one file, while the service writes or while it is stopped.
 *
 * A copy of the live files is no backup: the database and its log change between the copying of one and of the other. Here SQLite
 * copies what was committed when the copy began, in one read transaction beside the writer, so everything acknowledged before the
 * backup is in it. The copy is checked whole, is on the disk before it has its name, and never takes the place of another
 * file. It holds no key of the vault.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { link, open, realpath, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { backup as copyPages, DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Kysely } from 'kysely';
import { type FolderLock, isBusy, lockFolder } from '../database/files/folder-lock.ts';
import { foreignWal } from '../database/files/foreign-wal.ts';
import { readWal } from '../database/files/wal-file.ts';
import { sqliteDialect } from '../database/sqlite-dialect.ts';
import type { Tables } from '../database/tables.ts';
import { keysInUse } from './vault/sealed-columns.ts';
import type { KeyUse } from './vault/vault-key.ts';

/** All pages in one step: a step that sees the writer of another process change a page would begin the copy anew. */
const ALL_PAGES = 2 ** 31 - 1;
const PROGRESS_EVERY_MS = 1_000;
const BUSY_TIMEOUT_MS = 5_000;
/** At a log that cannot be locked. */
const LOOKS = 4;
/** Results of SQLite, without their extension: read-only, cannot open, locking protocol. */
const CANNOT_SHARE = [8, 14, 15];
const PRIMARY_RESULT = 0xff;
const CHECK = fileURLToPath(new URL('../database/files/copy-check.ts', import.meta.url));
/** What SQLite makes beside a database. */
const BESIDE = ['', '-wal', '-shm', '-lock', '-lock-journal', '-journal'];
/** Other files that the service reads in its data folder. */
const OWN_FILES = ['vault.key', 'vault.key.next', 'admin-token'];

export type BackupStep =
  | { readonly step: 'copying'; readonly bytes: number; readonly of: number }
  | { readonly step: 'checking' };

export interface BackupOptions {
  /** Path of the database file. */
  readonly database: string;
  /** The file to be made. */
  readonly to: string;
  progress(step: BackupStep): void;
  /** Told of what takes away all that the backup has made so far: for an end in the middle. */
  abandonable?(remove: () => Promise<void>): void;
}

export interface Backup {
  readonly bytes: number;
  /** Keys without which the sealed values of the copy cannot be opened. */
  readonly keys: readonly KeyUse[];
}

/** @throws where there is nothing to copy, no room, or something at `to`; or where the copy is not sound. Nothing is left then. */
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
    await ended(check);
    await remove();
  });
  try {
    await makePrivate(partial);
    await copy(database, partial, progress);
    progress({ step: 'checking' });
    // Ctrl-C in a terminal reaches a whole group: what ends this process ends its check.
    check = fork(CHECK, [partial], { execArgv: [], detached: true });
    await checked(check);
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
    await remove();
    await sync(dirname(to)).catch(() => {});
  }
}

/**
 * A backup in the data folder may be all that a container can write. Under a name that SQLite or Annex reads there, it would be
 * taken for something else: as `annex.db-journal`, for changes that are to be undone.
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

/** Private from the first byte: it holds what the database holds. */
async function makePrivate(file: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600).catch((cause) => {
    throw unusable(file, cause);
  });
  await handle.close();
}

function unusable(file: string, cause: NodeJS.ErrnoException): unknown {
  const told = {
    ENOENT: 'does not exist. Make it',
    ENOTDIR: 'is no folder. Make one',
    EACCES: 'may not be written by this user. Let it',
    EPERM: 'may not be written by this user. Let it',
    EROFS: 'is on a file system that is read-only. Change that',
  };
  const why = told[cause.code as keyof typeof told];
  return why === undefined
    ? cause
    : new Error(`the folder ${dirname(file)} ${why}, or name another file (--to).`, { cause });
}

/** Where no service has the folder, its log may be one that SQLite would drop without a word. */
function refuseDamagedLog(database: string): void {
  let lock: FolderLock | undefined;
  try {
    lock = lockFolder(database);
  } catch (cause) {
    // A service runs, and has looked at its log when it started.
    if (isBusy((cause as Error).cause ?? {})) return;
    // Attack: a snapshot that is mounted read-only has no lock to take, and its log may be damaged all the same.
  }
  try {
    let state = readWal(`${database}-wal`);
    // Without the lock, a log that is being written may look damaged, and another way each time.
    for (let looks = 1; lock === undefined && state.kind === 'damaged' && looks < LOOKS; looks++)
      state = readWal(`${database}-wal`);
    if (state.kind === 'damaged')
      throw new Error(
        `${database}-wal is damaged: ${state.problem}. A backup would lack what was committed in it. ` +
          'Start the service once: it says what to do (docs/operating.md, Damage).',
      );
    refuseForeignLog(database);
  } finally {
    lock?.release();
  }
}

function refuseForeignLog(database: string): void {
  const foreign = foreignWal(database);
  if (foreign !== undefined)
    throw new Error(
      `${database}-wal belongs to another database: ${foreign}. A backup would mix the two. ` +
        'Start the service once: it says what to do (docs/operating.md, Damage).',
    );
}

async function copy(from: string, to: string, progress: BackupOptions['progress']): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const of = sizeOf(source, from);
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

/** The first that is read of it: SQLite makes `annex.db-shm` beside it then. */
function sizeOf(source: DatabaseSync, file: string): number {
  try {
    return bytesOf(source);
  } catch (cause) {
    if (!CANNOT_SHARE.includes(Number((cause as { errcode?: number }).errcode) & PRIMARY_RESULT)) throw cause;
    throw new Error(
      `${file} cannot be read by this user where it lies: SQLite has to write ${file}-shm beside it. Run this as the user of the ` +
        'service, on a file system that is not read-only; of a service that is stopped, copy the whole folder.',
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

/** By a process of its own: the check of a large copy takes minutes, and an end in the middle is heard meanwhile. */
async function checked(check: ChildProcess): Promise<void> {
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

async function ended(check: ChildProcess | undefined): Promise<void> {
  if (check === undefined || check.exitCode !== null || check.signalCode !== null) return;
  check.kill('SIGKILL');
  await once(check, 'exit');
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
