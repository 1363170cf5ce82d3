/**
 * Refuses to make a new service in the place of one whose database is lost, for both engines.
 *
 * A mistake of an operator: the database is deleted, emptied, not mounted, or another one is named.
 * Without this, a start makes an empty service beside the keys of the lost one, and replaces its
 * admin token.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const TOKEN_FILE = 'admin-token';
const KEY_FILE = 'vault.key';
/** SQLite alone: a lock is never removed. */
const LOCK_FILE = 'annex.db-lock';

/**
 * Why the database of a data folder may not be a new one: a service has left its files in the
 * folder. A key alone is no such file, because the operator may have put it there for a first
 * start.
 *
 * @param what says what is found, as "the database is empty"
 * @param advice what else to do than to bring the database back or to begin anew; a sentence
 * @returns undefined if the database may be new
 */
export function whyNotNew(folder: string, what: string, advice = ''): string | undefined {
  const isLeft = (name: string) => existsSync(join(folder, name));
  const left = [
    ...(isLeft(KEY_FILE) && isLeft(LOCK_FILE) ? [KEY_FILE] : []),
    ...(isLeft(TOKEN_FILE) ? [TOKEN_FILE] : []),
  ].join(' and ');
  if (left === '') return undefined;
  return (
    `${what}, and ${folder} has ${left} of a service that has run: all of its data would be missing. ` +
    `Bring the database back, or restore a backup (docs/operating/backup.md). ${advice}` +
    `To begin a new service, name an empty folder (--data), or move ${left} away`
  );
}
