/**
 * kysely's SQLite dialect on top of `node:sqlite`: everything that only SQLite understands is in this file.
 *
 * Durability comes before speed: `synchronous=FULL` syncs the log at every commit, because with `NORMAL` a power cut
 * loses rows that were acknowledged. One connection serves the whole process, and kysely hands it out one transaction
 * at a time. The calls are synchronous: a statement holds up the event loop for as long as it runs.
 *
 * One process at a time writes (`folder-lock.ts`). Others may read meanwhile: a backup, and the integrity check.
 */
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
import { BulkRows } from './bulk.ts';
import { checkWal, type WalNote } from './files/damaged-wal.ts';
import { unusableDatabase } from './files/data-folder.ts';
import { BUSY_TIMEOUT_MS, type FolderLock, inUse, isBusy, lockFolder } from './files/folder-lock.ts';

const ROLLED_BACK = /cannot rollback - no transaction is active/;
const PAGE_CACHE_KIB = 64 * 1024;
const STATEMENTS_MAX = 500;
/** A backup keeps the log from being emptied, and it grows meanwhile. What it keeps of the disk afterwards. */
const LOG_BYTES_KEPT = 256 * 1024 * 1024;

export interface SqliteOptions {
  /** Whether to start with a damaged write-ahead log, without what was committed in it. */
  readonly acceptLoss?: boolean;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
  /** Receives what an operator has to know about the write-ahead log that was found. */
  readonly note?: (note: WalNote) => void;
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
  /** Takes the write lock at once: a transaction that upgrades halfway fails at once when another process has written. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  /** Where the disk is full, SQLite has rolled back by itself. To fail at that would hide from the operator that it is. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await super.rollbackTransaction(connection);
    } catch (cause) {
      if (!ROLLED_BACK.test(String(cause))) throw cause;
    }
  }
}

class NodeSqliteAdapter extends SqliteAdapter {
  /** SQLite rolls schema changes back like any other, so a migration that dies halfway leaves nothing behind. */
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
    throw unusableDatabase(file, cause);
  }
}

function open(file: string, options: SqliteOptions, lock: FolderLock): SqliteDatabase {
  const { acceptLoss = false, clock = Date.now, note = () => {} } = options;
  // With the lock, and before SQLite: nothing else writes the log, and nothing has thrown any of it away.
  const leavesOut = checkWal({ database: file, acceptLoss, now: clock(), note });
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  try {
    database.exec('pragma journal_mode = wal');
    database.exec('pragma synchronous = full');
    // Takes the write lock once: an older Annex that runs has the file to itself.
    database.exec('begin immediate; commit');
    if (leavesOut) database.exec('pragma wal_checkpoint(truncate)');
    // The trees of a long backlog: pages that are written at each commit should not be read anew for it.
    database.exec(`pragma cache_size = -${PAGE_CACHE_KIB}`);
    database.exec(`pragma journal_size_limit = ${LOG_BYTES_KEPT}`);
  } catch (cause) {
    database.close();
    throw isBusy(cause) ? inUse(file, cause) : cause;
  }
  // To compile a statement takes longer than to run most of them. Nothing streams rows, so none is in use twice at once.
  const statements = new LRUCache<string, SqliteStatement>({ max: STATEMENTS_MAX });
  return {
    close() {
      database.close();
      lock.release();
    },
    prepare(sql) {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      const statement = prepared(database.prepare(sql));
      statements.set(sql, statement);
      return statement;
    },
  };
}

function prepared(statement: StatementSync): SqliteStatement {
  return {
    // A statement without result columns is run for its effect.
    reader: statement.columns().length > 0,
    all(parameters) {
      const [first] = parameters;
      if (!(first instanceof BulkRows)) return statement.all(...values(parameters));
      const all: unknown[] = [];
      for (const row of first.rows) all.push(...statement.all(...row));
      return all;
    },
    run(parameters) {
      const [first] = parameters;
      if (!(first instanceof BulkRows)) return statement.run(...values(parameters));
      for (const row of first.rows) first.changes.push(Number(statement.run(...row).changes));
      return { changes: first.changes.reduce((sum, changed) => sum + changed, 0), lastInsertRowid: 0 };
    },
    iterate: (parameters) => statement.iterate(...values(parameters)),
  };
}

/** Everything the tables hold (see `tables.ts`) is a string, a number or null. */
function values(parameters: readonly unknown[]): (string | number | null)[] {
  return parameters.map((value) => {
    if (typeof value === 'string' || typeof value === 'number' || value === null) return value;
    throw new TypeError(`A query parameter is neither a string nor a number nor null but ${typeof value}.`);
  });
}
