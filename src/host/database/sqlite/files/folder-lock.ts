/**
 * Locks the data folder: one process at a time uses it, because targets and principals are cached
 * in memory, and a second process would not see the first one's changes.
 *
 * The lock is SQLite's own, on a separate empty file (`annex.db-lock`). The database itself stays
 * open to readers: a backup and the integrity check read it while the service writes. The kernel
 * releases the lock when the process ends, however it ends.
 */
import { closeSync, fchownSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** How long to wait for another process that is just closing the folder. */
export const BUSY_TIMEOUT_MS = 2_000;
const SQLITE_BUSY = 5;

export interface FolderLock {
  release(): void;
}

/** @param database path of the database file @throws if another process has the lock */
export function lockFolder(database: string): FolderLock {
  const path = `${database}-lock`;
  makeFor(database, path);
  const lock = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    // No row is ever written in it, so the file stays empty.
    lock.exec('begin exclusive');
  } catch (cause) {
    lock.close();
    throw isBusy(cause) ? inUse(database, cause) : cause;
  }
  return { release: () => lock.close() };
}

/**
 * SQLite would make the file readable for others. Made by root, for a backup, it would lock out the
 * service's own user.
 */
function makeFor(database: string, path: string): void {
  const file = openSync(path, 'a', 0o600);
  try {
    if (process.getuid?.() !== 0) return;
    const { uid, gid } = statSync(database, { throwIfNoEntry: false }) ?? statSync(dirname(database));
    fchownSync(file, uid, gid);
  } finally {
    closeSync(file);
  }
}

export const isBusy = (cause: unknown): boolean => (cause as { errcode?: number }).errcode === SQLITE_BUSY;

export const inUse = (database: string, cause: unknown): Error =>
  new Error(`another process has the data folder open: ${dirname(database)} (--data)`, { cause });
