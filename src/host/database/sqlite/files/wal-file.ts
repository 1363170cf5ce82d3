/**
 * Reads SQLite's write-ahead log (`annex.db-wal`) before SQLite does, and reports whether committed
 * data in it is unreachable.
 *
 * SQLite reads the log up to the first invalid frame and silently drops the rest. That is right
 * after a crash, where the rest was never committed, and wrong after damage: one flipped bit in the
 * header drops every transaction of the log. This file distinguishes the two and changes nothing.
 *
 * Annex syncs the log at each commit, and syncs its header before the first frame. So a crash
 * leaves a readable header and breaks at most the last transaction. Damage is: an unreadable header
 * with frames behind it; an invalid frame followed by a committed transaction and the beginning of
 * another one; frames of a later reset of the log than its header, as in a slow copy of a file in
 * use. Frames of an earlier reset are in the database file already and prove nothing. That a log
 * was cut cannot be seen in it alone: `wal-verdict.ts` compares it with other files.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** State of the log, as far as it can be known without SQLite. */
export type WalState =
  /** No log, or one without frames. */
  | { readonly kind: 'empty' }
  /**
   * Every frame is valid, except what a crash leaves of a transaction that was never acknowledged.
   */
  | { readonly kind: 'sound' }
  /**
   * The last transaction has a commit mark and an invalid checksum: after a power cut it was never
   * acknowledged.
   */
  | { readonly kind: 'torn'; readonly at: number }
  /** SQLite would drop committed transactions: at least `lost` of them, or an unknown number. */
  | {
      readonly kind: 'damaged';
      readonly problem: string;
      readonly at: number;
      readonly lost: number | undefined;
    };

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The checksummed part of a header, and of a frame's header. */
const HEADER_SUMMED_BYTES = 24;
const FRAME_SUMMED_BYTES = 8;
/** The last bit is set if checksums are made of big-endian words. */
const MAGIC = 0x377f0682;
const FORMAT = 3_007_000;
const PAGE_BYTES_MIN = 512;
const PAGE_BYTES_MAX = 65_536;
const FRAMES_PER_READ = 64;
/**
 * The first salt counts resets from a random start, so a difference larger than this says nothing.
 */
const RESETS_AHEAD_MAX = 1_000;

type Checksum = readonly [number, number];
/** They differ after each reset of the log. */
export type Salts = readonly [number, number];

/** What the log has. */
export interface Wal {
  readonly state: WalState;
  /** Undefined if there is no header, or none that can be read. */
  readonly salts: Salts | undefined;
  /** Frames that end the commits which SQLite takes, ascending. */
  readonly commits: readonly number[];
  /** Frames behind them that look like the ends of other commits of this log. */
  readonly marks: readonly number[];
  /** Size of the database after the last commit, in pages; 0 without a commit. */
  readonly pages: number;
}

interface Header {
  readonly pageBytes: number;
  readonly bigEndian: boolean;
  readonly salts: Salts;
  readonly checksum: Checksum;
}

interface Frame {
  /** From 1. */
  readonly number: number;
  /**
   * Resets of the log between its header and this frame: 0 for a current frame, negative for an
   * older one.
   */
  readonly resetsAhead: number;
  readonly salts: Salts;
  /** Size of the database after a commit, in pages; 0 if the frame ends no commit. */
  readonly pages: number;
  readonly checksum: Checksum;
  /** The checksum that this frame should have behind a frame with the given one. */
  sumAfter(before: Checksum): Checksum;
}

/** @param path the log, which need not exist */
export function readWal(path: string): Wal {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return without({ kind: 'empty' });
    throw cause;
  }
  try {
    return walIn(file, fstatSync(file).size);
  } finally {
    closeSync(file);
  }
}

const without = (state: WalState): Wal => ({
  ...{ state, salts: undefined, commits: [], marks: [], pages: 0 },
});

function walIn(file: number, bytes: number): Wal {
  if (bytes === 0) return without({ kind: 'empty' });
  const unreadable = (problem: string): Wal => without({ kind: 'damaged', problem, at: 0, lost: undefined });
  if (bytes < HEADER_BYTES) return unreadable(`it ends after ${bytes} bytes, within its header`);
  const header = headerIn(bytesAt(file, 0, HEADER_BYTES));
  if (typeof header !== 'string') return framesOf(file, bytes, header);
  // The header is synced before any frame is written: a power cut can leave a bad one only in a log
  // without frames.
  return bytes === HEADER_BYTES ? without({ kind: 'empty' }) : unreadable(header);
}

function framesOf(file: number, bytes: number, header: Header): Wal {
  const commits: number[] = [];
  const marks: number[] = [];
  let pages = 0;
  let sound: Checksum = header.checksum;
  let before: Frame | undefined;
  let brokenAt: number | undefined;
  let goesOn = false;
  const found = (state: WalState): Wal => ({ state, salts: header.salts, commits, marks, pages });
  for (const frame of framesIn(file, bytes, header)) {
    if (brokenAt === undefined) {
      if (isCurrent(frame, header) && isSame(frame.sumAfter(sound), frame.checksum)) {
        sound = frame.checksum;
        if (frame.pages === 0) continue;
        commits.push(frame.number);
        pages = frame.pages;
        continue;
      }
      brokenAt = frame.number;
    }
    const isNext = before !== undefined && isSame(before.salts, frame.salts);
    if (isNext && frame.resetsAhead > 0 && follows(frame, before)) return found(ahead(frame.number));
    // A frame continues behind a commit: that commit was synced, so no crash made the break before
    // it.
    if (isNext && isCurrent(frame, header) && before !== undefined && before.pages > 0)
      goesOn ||= follows(frame, before);
    if (isCurrent(frame, header) && frame.pages > 0) marks.push(frame.number);
    before = frame;
  }
  if (brokenAt === undefined || marks.length === 0) return found({ kind: 'sound' });
  if (!goesOn) return found({ kind: 'torn', at: brokenAt });
  const problem = `frame ${brokenAt} does not fit its checksum, and committed transactions follow it`;
  return found({ kind: 'damaged', problem, at: brokenAt, lost: marks.length });
}

const ahead = (at: number): WalState => ({
  kind: 'damaged',
  problem: `frame ${at} is newer than the header, as in a copy of a file in use`,
  at,
  lost: undefined,
});

const isCurrent = (frame: Frame, header: Header): boolean => isSame(frame.salts, header.salts);

const follows = (frame: Frame, before: Frame | undefined): boolean =>
  before !== undefined && isSame(frame.sumAfter(before.checksum), frame.checksum);

/** The header, or the problem with it. */
function headerIn(bytes: Buffer): Header | string {
  const magic = bytes.readUInt32BE(0);
  if ((magic & ~1) !== MAGIC) return 'its header does not begin as that of a write-ahead log';
  const bigEndian = (magic & 1) === 1;
  const checksum: Checksum = [bytes.readUInt32BE(24), bytes.readUInt32BE(28)];
  if (!isSame(walChecksum(bytes.subarray(0, HEADER_SUMMED_BYTES), [0, 0], bigEndian), checksum))
    return 'its header does not fit its checksum';
  if (bytes.readUInt32BE(4) !== FORMAT) return `its format is ${bytes.readUInt32BE(4)}, not ${FORMAT}`;
  const pageBytes = bytes.readUInt32BE(8);
  const isSize = pageBytes >= PAGE_BYTES_MIN && pageBytes <= PAGE_BYTES_MAX;
  if (!isSize || (pageBytes & (pageBytes - 1)) !== 0) return `its pages have ${pageBytes} bytes`;
  return { pageBytes, bigEndian, salts: [bytes.readUInt32BE(16), bytes.readUInt32BE(20)], checksum };
}

/** Whole frames only: a truncated one was being written when the process ended. */
function* framesIn(file: number, bytes: number, header: Header): Generator<Frame> {
  const frameBytes = FRAME_HEADER_BYTES + header.pageBytes;
  const count = Math.floor((bytes - HEADER_BYTES) / frameBytes);
  for (let from = 0; from < count; from += FRAMES_PER_READ) {
    const read = Math.min(FRAMES_PER_READ, count - from);
    const chunk = bytesAt(file, HEADER_BYTES + from * frameBytes, read * frameBytes);
    for (let index = 0; index < read; index++)
      yield frameIn(chunk.subarray(index * frameBytes, (index + 1) * frameBytes), from + index + 1, header);
  }
}

function frameIn(bytes: Buffer, number: number, { salts, bigEndian }: Header): Frame {
  const checksum: Checksum = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const own: Salts = [bytes.readUInt32BE(8), bytes.readUInt32BE(12)];
  const resets = (own[0] - salts[0]) >>> 0;
  return {
    number,
    salts: own,
    resetsAhead: resets > RESETS_AHEAD_MAX ? -1 : resets,
    pages: bytes.readUInt32BE(4),
    checksum,
    sumAfter: (before) => {
      const head = walChecksum(bytes.subarray(0, FRAME_SUMMED_BYTES), before, bigEndian);
      return walChecksum(bytes.subarray(FRAME_HEADER_BYTES), head, bigEndian);
    },
  };
}

/** SQLite's checksum over pairs of 32-bit words, continued from `before`. */
export function walChecksum(bytes: Buffer, before: Checksum, bigEndian: boolean): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [first, second] = before;
  for (let at = 0; at < bytes.byteLength; at += 8) {
    first = (first + view.getUint32(at, !bigEndian) + second) | 0;
    second = (second + view.getUint32(at + 4, !bigEndian) + first) | 0;
  }
  return [first >>> 0, second >>> 0];
}

const isSame = (one: Checksum | Salts, other: Checksum | Salts): boolean =>
  one[0] === other[0] && one[1] === other[1];

/** How many resets of the log lie between two of its salts; 0 if that cannot be known. */
export function resetsBetween(earlier: Salts, later: Salts): number {
  const resets = (later[0] - earlier[0]) >>> 0;
  return resets > RESETS_AHEAD_MAX ? 0 : resets;
}

export const isSameReset: (one: Salts, other: Salts) => boolean = isSame;

function bytesAt(file: number, at: number, count: number): Buffer {
  const bytes = Buffer.alloc(count);
  let read = 0;
  while (read < count) {
    const got = readSync(file, bytes, read, count - read, at + read);
    if (got === 0) throw new Error('The write-ahead log became shorter while it was read.');
    read += got;
  }
  return bytes;
}
