/**
 * Keeps the list of commits in the write-ahead log (`annex.db-commits`): after each commit, how
 * many frames the log has. From this list a later start knows what a log that was cut has lost, and
 * that a log was there at all.
 *
 * The file exists from the open of the database to its orderly end: a folder with it has a log. Its
 * existence is synced, its content is not: a process that is killed leaves the content complete,
 * and after a power cut the start believes only what the log confirms (`wal-index.ts`).
 */
import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Commit, claimBytes, claimIn, commitBytes, INDEX_BYTES, type LogClaim } from './wal-index.ts';

export const listOf = (database: string): string => `${database}-commits`;

export class CommitList {
  readonly #path: string;
  readonly #list: number;
  /**
   * Closed last: closing it drops the locks that SQLite has on the shared memory in this process.
   */
  readonly #index: number;
  readonly #bytes = Buffer.alloc(INDEX_BYTES);
  #claim: LogClaim | undefined;
  #length = 0;
  #isKept = true;

  /** @param database path of the database file, which is open and has a log */
  constructor(database: string) {
    this.#path = listOf(database);
    this.#index = openSync(`${database}-shm`, 'r');
    this.#list = openSync(this.#path, 'w', 0o600);
    this.note();
    fsyncSync(this.#list);
    // With the list, the name of the log is on the disk.
    sync(dirname(this.#path));
  }

  /** Call it after each commit. Never throws: a commit must not fail because of its list. */
  note(): void {
    if (!this.#isKept) return;
    try {
      readSync(this.#index, this.#bytes, 0, INDEX_BYTES, 0);
      this.#take(claimIn(this.#bytes));
    } catch {
      // A full disk. What the list says already stays true.
      this.#isKept = false;
    }
  }

  /** Brings what this list and the shared memory say of the log to the disk. */
  sync(): void {
    this.note();
    fsyncSync(this.#index);
    fsyncSync(this.#list);
  }

  /** The log is empty, and the next start expects none. Call it before the database closes. */
  remove(): void {
    unlinkSync(this.#path);
    sync(dirname(this.#path));
  }

  /** Call it when the database is closed. */
  close(): void {
    closeSync(this.#list);
    closeSync(this.#index);
  }

  #take(claim: LogClaim | undefined): void {
    const before = this.#claim;
    if (claim === undefined) return;
    const isSame = before?.salts[0] === claim.salts[0] && before.salts[1] === claim.salts[1];
    if (!isSame) this.#begin(claim, before);
    else if (claim.commits !== before.commits) this.#add(claim);
    if (isSame && (claim.inDatabase !== before.inDatabase || claim.bytes !== before.bytes))
      writeSync(this.#list, claimBytes(claim), 0, undefined, 0);
    this.#claim = claim;
  }

  /** The log begins anew: the commits before are in the database file. */
  #begin(claim: LogClaim, before: LogClaim | undefined): void {
    const { frames, commits } = claim;
    // The first entry counts the commits before this log. It is not known if several were made.
    const isFirst = frames > 0 && before !== undefined && commits === before.commits + 1;
    const entries: Commit[] = [
      ...(isFirst ? [{ frames: 0, commits: before.commits }] : []),
      { frames, commits },
    ];
    const bytes = Buffer.concat([claimBytes(claim), ...entries.map(commitBytes)]);
    ftruncateSync(this.#list, 0);
    writeSync(this.#list, bytes, 0, undefined, 0);
    this.#length = bytes.byteLength;
  }

  #add(claim: LogClaim): void {
    const bytes = commitBytes(claim);
    writeSync(this.#list, bytes, 0, undefined, this.#length);
    this.#length += bytes.byteLength;
  }
}

/** Brings a file, or the names in a folder, to the disk. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
