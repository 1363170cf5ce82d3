/**
 * Decides what a start may do with the write-ahead log, from everything that is known of it: the
 * log, the shared memory, the list of commits, and the header of the database file.
 *
 * A log that was cut cannot be told from a whole one. SQLite takes what is left of it, in silence,
 * and writes pages of an earlier time over those that a checkpoint has already put into the
 * database file. So acknowledged transactions are lost, also those that the file alone had.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { listOf } from './commit-list.ts';
import { isSameReset, readWal, resetsBetween, type Wal } from './wal-file.ts';
import { type CommitList, type LogClaim, readCommitList, readIndex } from './wal-index.ts';

export type WalVerdict =
  /** SQLite may take the log. `tornAt`: it will skip the frames from there on. */
  | { readonly kind: 'take'; readonly tornAt?: number }
  /** The database file has every transaction, and the log must not be taken. */
  | { readonly kind: 'leave'; readonly problem: string }
  /** It belongs to another database. */
  | { readonly kind: 'foreign'; readonly problem: string }
  /** Transactions are lost. */
  | WalLoss;

export interface WalLoss {
  readonly kind: 'loss';
  readonly problem: string;
  /** The end of a sentence about what a start would lose. */
  readonly lost: string;
  /** Whether the database file alone has more than with what is left of the log. */
  readonly isLogWorse: boolean;
  /** Whether what is left may be inconsistent. */
  readonly isMixed: boolean;
}

/** Everything that is known of a log. */
interface Evidence {
  readonly wal: Wal;
  /** Whether the file is there, even if empty. */
  readonly isThere: boolean;
  readonly claim: LogClaim | undefined;
  /** Whether the claim says how much of the log the database file has by now. */
  readonly isCurrent: boolean;
  readonly list: CommitList | undefined;
  /** Whether the database was not closed in an orderly way, so that it has a log. */
  readonly isOpen: boolean;
  /** Whether the database file is of a later time than the end of the log. */
  readonly isAhead: boolean;
}

/** Value of both format bytes in the header of a database that has a log (offsets 18 and 19). */
const WAL_MODE = 2;
const HEADER_BYTES = 100;
/** Where the header has the number of pages. */
const PAGES_AT = 28;

/**
 * Call it before SQLite opens the database in this process: closing a file drops all POSIX locks
 * that the process has on it.
 *
 * @param database path of the database file
 */
export function verdictOn(database: string): WalVerdict {
  const wal = readWal(`${database}-wal`);
  const header = headerOf(database);
  // A backup that was restored is not in WAL mode: what is beside it is about another database.
  if (header === undefined) return verdictOnLog(database, wal, false);
  const evidence = evidenceOn(database, wal, header);
  // Where the shared memory has confirmed the log, there is no doubt.
  const isAhead = evidence.isAhead && !evidence.isCurrent;
  return lossOf(evidence, database) ?? verdictOnLog(database, wal, isAhead);
}

function verdictOnLog(database: string, { state }: Wal, isAhead: boolean): WalVerdict {
  if (state.kind === 'damaged') {
    const { problem, at, lost: seen } = state;
    const whole = at === 0 ? 'every transaction in that log' : UNKNOWN;
    const lost = seen === undefined ? whole : `at least ${transactions(seen)} from frame ${at} on`;
    return { kind: 'loss', problem, lost, isLogWorse: isAhead, isMixed: isAhead };
  }
  const foreign = foreignWal(database);
  if (foreign !== undefined) return { kind: 'foreign', problem: foreign };
  if (isAhead) return { ...UNKNOWN_LOSS, problem: 'it ends before the time of the database file' };
  return state.kind === 'torn' ? { kind: 'take', tornAt: state.at } : { kind: 'take' };
}

const UNKNOWN = 'an unknown number of transactions';
const UNKNOWN_LOSS = { kind: 'loss', lost: UNKNOWN, isLogWorse: true, isMixed: true } as const;
const transactions = (count: number): string => `${count} ${count === 1 ? 'transaction' : 'transactions'}`;

function evidenceOn(database: string, wal: Wal, header: Buffer): Evidence {
  const kept = readCommitList(listOf(database));
  const list = typeof kept === 'object' && isAbout(kept.claim, wal) ? kept : undefined;
  const isThere = statSync(`${database}-wal`, { throwIfNoEntry: false }) !== undefined;
  const known = { wal, isThere, isOpen: kept !== undefined, isAhead: isNewer(header, wal) };
  const index = readIndex(`${database}-shm`);
  const isSame = index !== undefined && list !== undefined && isSameReset(list.claim.salts, index.salts);
  // A program that has opened the database since the kill has made the shared memory anew.
  const isAnew = isSame && list.claim.frames > index.frames;
  if (index === undefined || !isAbout(index, wal) || isAnew)
    return { ...known, claim: list?.claim, isCurrent: false, list };
  return { ...known, claim: index, isCurrent: true, list: isSame ? list : undefined };
}

/** Attack of chance: a file that a power cut has left old speaks of an earlier reset of the log. */
function isAbout({ salts }: LogClaim, wal: Wal): boolean {
  if (wal.salts === undefined || isSameReset(wal.salts, salts)) return true;
  return resetsBetween(wal.salts, salts) > 0;
}

/** What the log lacks of what is claimed; undefined if it lacks nothing, or nothing is known. */
function lossOf(evidence: Evidence, database: string): WalVerdict | undefined {
  const { wal, claim, isThere, isOpen, isAhead } = evidence;
  if (claim === undefined) return isOpen && !isThere ? { ...UNKNOWN_LOSS, problem: MISSING } : undefined;
  const isOlder = wal.salts !== undefined && !isSameReset(wal.salts, claim.salts);
  const left = isOlder ? 0 : (wal.commits.at(-1) ?? 0);
  if (left >= claim.frames && !isOlder) return undefined;
  const problem = problemOf(evidence, isOlder, left);
  if (claim.inDatabase === claim.frames) {
    const { size } = statSync(database);
    if (claim.frames === 0 || size === claim.bytes) return { kind: 'leave', problem };
    return {
      ...UNKNOWN_LOSS,
      problem: `${problem}, and the database file has ${size} bytes instead of ${claim.bytes}`,
    };
  }
  // A checkpoint that is not complete leaves out pages that were written again since: what it has
  // put into the database file is no state of the database without the rest of the log.
  const isMixed = claim.begun > left || isAhead;
  const isLogWorse = isAhead && !evidence.isCurrent;
  return { kind: 'loss', problem, lost: lostSince(left, evidence), isLogWorse, isMixed };
}

export const MISSING = 'it is missing';

function problemOf({ wal, claim, isThere }: Evidence, isOlder: boolean, left: number): string {
  if (!isThere) return MISSING;
  if (isOlder) return 'it is of an earlier time than what is known of it';
  if (wal.state.kind === 'damaged') return wal.state.problem;
  return `it has ${left} of ${claim?.frames ?? 0} frames with transactions`;
}

/** How many transactions the frames behind `left` had, in words. */
function lostSince(left: number, { wal, claim, isCurrent, list }: Evidence): string {
  const since = claim && list && commitsUpTo(left, wal, list);
  if (claim !== undefined && since !== undefined) {
    // Made anew, the shared memory counts from 0.
    const lost = transactions(Math.max(claim.commits, list?.claim.commits ?? 0) - since);
    return isCurrent ? lost : `up to ${lost}`;
  }
  const seen = wal.marks.filter((frame) => frame > left && frame <= (claim?.frames ?? 0)).length;
  return seen > 0 ? `at least ${transactions(seen)}` : UNKNOWN;
}

/** Commits from the open of the database to a frame: counted in the list, and on in the log. */
function commitsUpTo(frame: number, wal: Wal, { commits }: CommitList): number | undefined {
  const listed = commits.findLast(({ frames }) => frames <= frame);
  if (listed === undefined || listed.frames === frame) return listed?.commits;
  if (frame > (wal.commits.at(-1) ?? 0)) return undefined;
  return listed.commits + wal.commits.filter((end) => end > listed.frames && end <= frame).length;
}

/**
 * Whether the database file is of a later time than the end of the log: a database of Annex never
 * becomes smaller.
 */
const isNewer = (header: Buffer, { commits, pages }: Wal): boolean =>
  commits.length > 0 && header.readUInt32BE(PAGES_AT) > pages;

/** The header of a database that has a log; undefined of any other file. */
function headerOf(database: string): Buffer | undefined {
  const header = startOf(database, HEADER_BYTES);
  return header.byteLength === HEADER_BYTES && hasLog(header) ? header : undefined;
}

const hasLog = (header: Buffer): boolean => header[18] === WAL_MODE && header[19] === WAL_MODE;

/** Headers of the log and of one frame. */
const LOG_BYTES_MIN = 32 + 24;
/** The header says 1 for 64 KiB, which does not fit into two bytes. */
const PAGE_BYTES_OF_ONE = 65_536;

/**
 * Detects a write-ahead log that belongs to another database than the one beside it.
 *
 * The usual cause: an operator restores a backup over `annex.db` and leaves the old log in place.
 * SQLite does not notice: it writes the pages of the old log over the restored ones, and the
 * result is not the backup and may be damaged. Annex runs its database in WAL mode from the first
 * start on; a backup is not in WAL mode. So a log with frames is foreign if its database is empty,
 * not in WAL mode, or of another page size.
 *
 * Call it before SQLite opens the database in this process: closing a file drops all POSIX locks
 * that the process has on it.
 *
 * @param database path of the database file
 * @returns the problem, as the end of a sentence about the log; undefined if there is none
 */
function foreignWal(database: string): string | undefined {
  const log = startOf(`${database}-wal`, LOG_BYTES_MIN);
  if (log.byteLength < LOG_BYTES_MIN) return undefined;
  const header = startOf(database, HEADER_BYTES);
  if (header.byteLength < HEADER_BYTES) return 'it has transactions, and the database file is empty';
  if (!hasLog(header))
    return 'the database file was never used with a log, as a backup that was restored over another database';
  const pageBytes = header.readUInt16BE(16) === 1 ? PAGE_BYTES_OF_ONE : header.readUInt16BE(16);
  const logPageBytes = log.readUInt32BE(8);
  return pageBytes === logPageBytes
    ? undefined
    : `its pages have ${logPageBytes} bytes, and those of the database file ${pageBytes}`;
}

/** The first bytes of a file; empty if the file does not exist. */
function startOf(path: string, bytes: number): Buffer {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw cause;
  }
  try {
    const start = Buffer.alloc(bytes);
    return start.subarray(0, readSync(file, start, 0, bytes, 0));
  } finally {
    closeSync(file);
  }
}
