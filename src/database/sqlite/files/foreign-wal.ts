/**
 * Detects a write-ahead log that belongs to another database than the one beside it.
 *
 * The usual cause: an operator restores a backup over `annex.db` and leaves the old log in place.
 * SQLite does not notice: it writes the pages of the old log over the restored ones, and the
 * result is not the backup and may be damaged. Annex runs its database in WAL mode from the first
 * start on; a backup is not in WAL mode. So a log with frames is foreign if its database is empty,
 * not in WAL mode, or of another page size.
 */
import { closeSync, openSync, readSync } from 'node:fs';

/** Headers of the log and of one frame; and the part of the database's header that is read. */
const LOG_BYTES_MIN = 32 + 24;
const HEADER_BYTES = 20;
/** Value of both format bytes in a database's header (offsets 18 and 19). */
const WAL_MODE = 2;
/** The header says 1 for 64 KiB, which does not fit into two bytes. */
const PAGE_BYTES_OF_ONE = 65_536;

/**
 * Call it before SQLite opens the database in this process: closing a file drops all POSIX locks
 * that the process has on it.
 *
 * @param database path of the database file
 * @returns the problem, as the end of a sentence about the log; undefined if there is none
 */
export function foreignWal(database: string): string | undefined {
  const log = startOf(`${database}-wal`, LOG_BYTES_MIN);
  if (log.byteLength < LOG_BYTES_MIN) return undefined;
  const header = startOf(database, HEADER_BYTES);
  if (header.byteLength < HEADER_BYTES) return 'it has transactions, and the database file is empty';
  if (header[18] !== WAL_MODE || header[19] !== WAL_MODE)
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
