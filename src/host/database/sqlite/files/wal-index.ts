/**
 * Reads SQLite's shared memory of a write-ahead log (`annex.db-shm`), and the list of commits that
 * Annex keeps beside it (`annex.db-commits`): what the log should have.
 *
 * SQLite writes a frame, syncs the log, and then counts the frame in the shared memory. So the log
 * has every frame that is counted there, unless the log was cut or damaged. After a power cut both
 * files may be old: then they count fewer frames, or those of an earlier reset of the log, and
 * prove nothing. They are read before SQLite opens the database, which makes its file anew.
 */
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { type Salts, walChecksum } from './wal-file.ts';

/** What a file says about the log. */
export interface LogClaim {
  /** The salts of the log since its last reset. */
  readonly salts: Salts;
  /** Frames up to the last commit. */
  readonly frames: number;
  /** The first so many of these frames are in the database file. */
  readonly inDatabase: number;
  /** The first so many of these frames may be in the database file, after a kill. */
  readonly begun: number;
  /** Size of the database after the last commit. */
  readonly bytes: number;
  /** Commits since the database was opened. */
  readonly commits: number;
}

/** One commit: the frames of the log after it, and the commits since the database was opened. */
export interface Commit {
  readonly frames: number;
  readonly commits: number;
}

/** The start of the shared memory: two headers, and the progress of the checkpoint. */
export const INDEX_BYTES = 136;
const HEADER_BYTES = 48;
const HEADER_SUMMED_BYTES = 40;
const FORMAT = 3_007_000;
/** A page size of 64 KiB does not fit into its two bytes. */
const PAGE_BYTES_OF_ONE = 65_536;
const IS_LITTLE = endianness() === 'LE';

const CLAIM_BYTES = 24;
const COMMIT_BYTES = 8;

/** The bytes of a file; empty if it does not exist. */
function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw cause;
  }
}

/** @returns undefined if there is no shared memory, or it is not that of a log */
export const readIndex = (path: string): LogClaim | undefined => claimIn(bytesOf(path));

/** @param index start of the shared memory */
export function claimIn(index: Buffer): LogClaim | undefined {
  if (index.byteLength < INDEX_BYTES) return undefined;
  // SQLite writes the second header first: after a kill between the two, it is the newer one.
  const header = [index.subarray(HEADER_BYTES), index].find(isHeader);
  if (header === undefined) return undefined;
  const pageBytes = half(header, 14) === 1 ? PAGE_BYTES_OF_ONE : half(header, 14);
  const frames = word(header, 16);
  const inDatabase = word(index, 96);
  if (inDatabase > frames) return undefined;
  return {
    salts: [header.readUInt32BE(32), header.readUInt32BE(36)],
    ...{ frames, inDatabase },
    begun: Math.max(inDatabase, word(index, 128)),
    bytes: word(header, 20) * pageBytes,
    commits: word(header, 8),
  };
}

/** Numbers are in the order of bytes of the machine; salts are as in the log. */
const word = (bytes: Buffer, at: number): number =>
  IS_LITTLE ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
const half = (bytes: Buffer, at: number): number =>
  IS_LITTLE ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at);

function isHeader(bytes: Buffer): boolean {
  if (word(bytes, 0) !== FORMAT || bytes[12] !== 1) return false;
  const [first, second] = walChecksum(bytes.subarray(0, HEADER_SUMMED_BYTES), [0, 0], !IS_LITTLE);
  return first === word(bytes, 40) && second === word(bytes, 44);
}

/** The list of commits that Annex keeps (`commit-list.ts`). */
export interface CommitList {
  /** As far as the list says. */
  readonly claim: LogClaim;
  /** Of the same reset of the log, ascending. */
  readonly commits: readonly Commit[];
}

/**
 * @returns undefined if there is no file: the database was closed in an orderly way; `unknown` if
 *   it says nothing
 */
export function readCommitList(path: string): CommitList | 'unknown' | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw cause;
  }
  if (bytes.byteLength < CLAIM_BYTES) return 'unknown';
  const commits: Commit[] = [];
  for (let at = CLAIM_BYTES; at + COMMIT_BYTES <= bytes.byteLength; at += COMMIT_BYTES) {
    const commit = { frames: bytes.readUInt32LE(at), commits: bytes.readUInt32LE(at + 4) };
    const before = commits.at(-1);
    // After a power cut the file may end with zeros, or with the end of an older list.
    if (before !== undefined && (commit.frames <= before.frames || commit.commits <= before.commits)) break;
    commits.push(commit);
  }
  const last = commits.at(-1);
  if (last === undefined) return 'unknown';
  const inDatabase = Math.min(bytes.readUInt32LE(8), last.frames);
  return {
    claim: {
      salts: [bytes.readUInt32BE(0), bytes.readUInt32BE(4)],
      ...{ frames: last.frames, commits: last.commits, inDatabase },
      begun: inDatabase,
      bytes: Number(bytes.readBigUInt64LE(16)),
    },
    commits,
  };
}

/** The beginning of the list, before its commits. */
export function claimBytes({ salts, inDatabase, bytes }: LogClaim): Buffer {
  const claim = Buffer.alloc(CLAIM_BYTES);
  claim.writeUInt32BE(salts[0], 0);
  claim.writeUInt32BE(salts[1], 4);
  claim.writeUInt32LE(inDatabase, 8);
  claim.writeBigUInt64LE(BigInt(bytes), 16);
  return claim;
}

export function commitBytes({ frames, commits }: Commit): Buffer {
  const commit = Buffer.alloc(COMMIT_BYTES);
  commit.writeUInt32LE(frames, 0);
  commit.writeUInt32LE(commits, 4);
  return commit;
}
