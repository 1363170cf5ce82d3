/**
 * kysely's SQLite dialect on `node:sqlite`. All code of the query path that is specific to SQLite
 * is in this file.
 *
 * Durability comes before speed: `synchronous=FULL` syncs the log at every commit, because with
 * `NORMAL` a power cut loses acknowledged rows. One connection serves the whole process, and kysely
 * hands it out for one transaction at a time. The calls are synchronous: a statement blocks the
 * event loop while it runs (docs/decisions/sqlite-default.md).
 *
 * One process at a time writes (`folder-lock.ts`). Other processes may read meanwhile: a backup and
 * the integrity check. A command of the operator may commit beside a service (`isBeside`), and
 * leaves its log alone.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { BulkRows } from '../bulk.ts';
import { EngineCommand } from '../command.ts';
import { DatabaseUnavailable } from '../unavailable.ts';
import { CommitList } from './files/commit-list.ts';
import { checkWal, type WalNote } from './files/damaged-wal.ts';
import { unusableDatabase } from './files/data-folder.ts';
import { BUSY_TIMEOUT_MS, type FolderLock, inUse, isBusy, lockFolder } from './files/folder-lock.ts';

/** A statement that begins so commits nothing. */
const READS = /^\s*select\b/i;
const ROLLED_BACK = /cannot rollback - no transaction is active/;
const PAGE_CACHE_KIB = 64 * 1024;
const STATEMENTS_MAX = 500;
/**
 * A backup keeps the log from being emptied, so it grows meanwhile. This much of the file is kept
 * afterwards.
 */
const LOG_BYTES_KEPT = 256 * 1024 * 1024;

/**
 * Primary result codes of failures that pass: another process has the lock, memory, a file system
 * that is read-only, fails, is full, or opens no more files. https://sqlite.org/rescode.html
 */
const PASSING = new Set([5, 6, 7, 8, 10, 13, 14, 15]);
const PRIMARY_RESULT = 0xff;

export interface SqliteOptions {
  /** Whether to start with a damaged write-ahead log and lose what was committed in it. */
  readonly acceptLoss?: boolean;
  /** Milliseconds since 1970. */
  readonly wallNow?: () => number;
  /** Receives notes for the operator about the write-ahead log. */
  readonly note?: (note: WalNote) => void;
  /** Receives the cause of each statement that has failed for a reason that passes. */
  readonly failed?: (cause: unknown) => void;
  /** Whether a service may have the database open, and goes on with it. */
  readonly isBeside?: boolean;
}

/** The dialect for one database file, which must exist or be creatable. */
export const sqliteDialect = (file: string, options: SqliteOptions = {}): Dialect =>
  new NodeSqliteDialect(file, options);

class NodeSqliteDialect extends SqliteDialect {
  readonly #open: () => SqliteDatabase;

  constructor(file: string, options: SqliteOptions) {
    const opened = () => openLocked(file, options);
    super({ database: async () => opened() });
    this.#open = opened;
  }

  override createDriver(): SqliteDriver {
    return new NodeSqliteDriver({ database: async () => this.#open() });
  }

  override createAdapter(): SqliteAdapter {
    return new NodeSqliteAdapter();
  }
}

class NodeSqliteDriver extends SqliteDriver {
  /**
   * Takes the write lock at once: a transaction that upgrades to it later fails if another process
   * has written.
   */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  /**
   * On a full disk SQLite rolls back by itself. A failing rollback would hide the real error from
   * the operator.
   */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await super.rollbackTransaction(connection);
    } catch (cause) {
      if (!ROLLED_BACK.test(String(cause))) throw cause;
    }
  }
}

class NodeSqliteAdapter extends SqliteAdapter {
  /**
   * SQLite rolls back schema changes like any others, so a failed migration leaves nothing behind.
   */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

function openLocked(file: string, options: SqliteOptions): SqliteDatabase {
  let lock: FolderLock | undefined;
  try {
    lock = lockFolder(file);
    return open(file, options, lock);
  } catch (cause) {
    lock?.release();
    if (options.isBeside && lock === undefined && isBusy((cause as Error).cause ?? {}))
      return openBeside(file, options);
    throw unusableDatabase(file, cause);
  }
}

/**
 * Opens the database of a service that runs, which has checked its log and keeps the list of
 * commits: no checkpoint is made here, because that list would not know of it.
 */
function openBeside(file: string, { failed = () => {} }: SqliteOptions): SqliteDatabase {
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  database.exec('pragma synchronous = full; pragma wal_autocheckpoint = 0');
  const lock = { release: () => {} };
  return { ...opened({ database, list: undefined, lock, failed }), close: () => database.close() };
}

function open(file: string, options: SqliteOptions, lock: FolderLock): SqliteDatabase {
  const { acceptLoss = false, wallNow = Date.now, note = () => {}, failed = () => {} } = options;
  // Before SQLite opens the log: under the lock no other process writes it, and no frame has been
  // dropped yet.
  checkWal({ database: file, acceptLoss, now: wallNow(), note });
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  try {
    database.exec('pragma journal_mode = wal');
    database.exec('pragma synchronous = full');
    // Takes the write lock once: fails if an older version of Annex, which locks the database file
    // itself, is running.
    database.exec('begin immediate; commit');
    // A file system without shared memory has no log.
    const list = existsSync(`${file}-shm`) ? new CommitList(file) : undefined;
    // Frames that were skipped must not be found again, and every commit in the log is listed.
    emptiesLog(database, list);
    // Holds the B-trees of a long backlog: pages written at each commit should not be read from
    // disk for it.
    database.exec(`pragma cache_size = -${PAGE_CACHE_KIB}`);
    database.exec(`pragma journal_size_limit = ${LOG_BYTES_KEPT}`);
    return opened({ database, list, lock, failed });
  } catch (cause) {
    database.close();
    throw isBusy(cause) ? inUse(file, cause) : cause;
  }
}

interface Opened {
  readonly database: DatabaseSync;
  readonly list: CommitList | undefined;
  readonly lock: FolderLock;
  readonly failed: (cause: unknown) => void;
}

function opened({ database, list, lock, failed }: Opened): SqliteDatabase {
  // Compiling a statement takes longer than running most of them. No query streams rows, so no
  // statement is in use twice.
  const statements = new LRUCache<string, SqliteStatement>({ max: STATEMENTS_MAX });
  const committed = () => {
    if (!database.isTransaction) list?.note();
  };
  const thrown = (cause: unknown) => {
    const { errcode = 0 } = cause as { readonly errcode?: number };
    if (!PASSING.has(errcode & PRIMARY_RESULT)) return cause;
    failed(cause);
    return new DatabaseUnavailable(cause);
  };
  return {
    close() {
      // A reader, such as a backup, keeps the log: then its list stays, too.
      database.exec('pragma busy_timeout = 0');
      if (emptiesLog(database, list)) list?.remove();
      database.close();
      list?.close();
      lock.release();
    },
    prepare(sql) {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      try {
        const ran = READS.test(sql) ? () => {} : committed;
        const statement = prepared(database.prepare(sql), ran, thrown);
        statements.set(sql, statement);
        return statement;
      } catch (cause) {
        throw thrown(cause);
      }
    },
  };
}

/**
 * Puts the log into the database file. Before the log is emptied, the disk has the word that the
 * file has all of it. Otherwise a power cut would leave an empty log beside files that count frames
 * in it, and the next start would take it for one that was cut.
 *
 * @returns whether the log is empty now
 */
function emptiesLog(database: DatabaseSync, list: CommitList | undefined): boolean {
  try {
    database.exec('pragma wal_checkpoint(passive)');
    list?.sync();
    const isEmpty = database.prepare('pragma wal_checkpoint(truncate)').get()?.['busy'] === 0;
    list?.note();
    return isEmpty;
  } catch {
    // A full disk. The log stays as it is.
    return false;
  }
}

/**
 * @param ran called after each run of it
 * @param thrown returns what to throw in place of an error
 */
function prepared(
  statement: StatementSync,
  ran: () => void,
  thrown: (cause: unknown) => unknown,
): SqliteStatement {
  const run = <Result>(work: () => Result): Result => {
    try {
      const result = work();
      ran();
      return result;
    } catch (cause) {
      throw thrown(cause);
    }
  };
  // A statement without result columns is run for its effect alone.
  const reader = statement.columns().length > 0;
  return {
    reader,
    all(parameters) {
      const [first] = parameters;
      // Transactions run one at a time, and there are no other nodes.
      if (first instanceof EngineCommand && !(first instanceof BulkRows)) return [];
      return run(() =>
        first instanceof BulkRows ? allOf(statement, first) : statement.all(...values(parameters)),
      );
    },
    run(parameters) {
      const [first] = parameters;
      return run(() =>
        first instanceof BulkRows ? runAll(statement, first) : statement.run(...values(parameters)),
      );
    },
    iterate: (parameters) => statement.iterate(...values(parameters)),
  };
}

function runAll(statement: StatementSync, { rows, changes: each }: BulkRows) {
  let changes = 0;
  for (const row of rows) {
    const changed = Number(statement.run(...row).changes);
    each.push(changed);
    changes += changed;
  }
  return { changes, lastInsertRowid: 0 };
}

function allOf(statement: StatementSync, { rows }: BulkRows): unknown[] {
  const all: unknown[] = [];
  for (const row of rows) all.push(...statement.all(...row));
  return all;
}

/** All values of the tables (`tables.ts`) are strings, numbers or null. */
function values(parameters: readonly unknown[]): (string | number | null)[] {
  return parameters.map((value) => {
    if (typeof value === 'string' || typeof value === 'number' || value === null) return value;
    throw new TypeError(`A query parameter is neither a string nor a number nor null but ${typeof value}.`);
  });
}
