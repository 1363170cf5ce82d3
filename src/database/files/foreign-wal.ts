/**
 * Tells a write-ahead log that belongs to another database than the one beside it.
 *
 * The usual way to one: an operator restores a backup over `annex.db` and leaves the log of before where it is. SQLite knows no
 * difference. It writes the pages of the old log over the restored ones, without a word: what starts is not the backup, and may
 * be damaged. Annex has its database in WAL mode from the first start on, and a backup is not. So a log with frames beside a
 * database that is empty, not in WAL mode or of another page size is not that database's log.
 */
import { closeSync, openSync, readSync } from 'node:fs';

/** A header of the log and of one frame; and the part of the database's header that is looked at. */
const LOG_BYTES_MIN = 32 + 24;
const HEADER_BYTES = 20;
/** Values of the format bytes in a header of a database (18 and 19). */
const WAL_MODE = 2;
/** 64 KiB does not fit into two bytes. */
const PAGE_BYTES_OF_ONE = 65_536;

/**
 * To be called before SQLite has the database open in this process: closing a file gives up the locks that SQLite has on it.
 *
 * @param database path of the database file
 * @returns what is wrong, as the rest of a sentence about the log; undefined where nothing is
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

/** The first bytes of a file; none where there is no file. */
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
