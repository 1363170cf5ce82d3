/**
 * kysely's SQLite dialect on top of `node:sqlite`: everything that only SQLite understands is in this file.
 *
 * Durability comes before speed: `synchronous=FULL` syncs the log at every commit, because with `NORMAL` a power cut
 * loses rows that were acknowledged. One connection serves the whole process, and kysely hands it out one transaction
 * at a time. The calls are synchronous: a statement holds up the event loop for as long as it runs.
 */
import { dirname } from 'node:path';
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

/** How long opening waits for another process that is just letting go of the file. */
const BUSY_TIMEOUT_MS = 2_000;
const SQLITE_BUSY = 5;
const ROLLED_BACK = /cannot rollback - no transaction is active/;
const PAGE_CACHE_KIB = 64 * 1024;
const STATEMENTS_MAX = 500;

/** The dialect for one database file, which must exist or be creatable. */
export const sqliteDialect = (file: string): Dialect => new NodeSqliteDialect(file);

class NodeSqliteDialect extends SqliteDialect {
  readonly #file: string;

  constructor(file: string) {
    super({ database: async () => open(file) });
    this.#file = file;
  }

  override createDriver(): SqliteDriver {
    return new NodeSqliteDriver({ database: async () => open(this.#file) });
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

function open(file: string): SqliteDatabase {
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  // One process at a time: targets and principals are cached in its memory, and a second one would not see it write.
  database.exec('pragma locking_mode = exclusive');
  try {
    database.exec('pragma journal_mode = wal');
    // Takes the lock now, not at the first write.
    database.exec('begin exclusive; commit');
  } catch (cause) {
    database.close();
    const locked = (cause as { errcode?: number }).errcode === SQLITE_BUSY;
    throw locked
      ? new Error(`another process has the data folder open: ${dirname(file)} (--data)`, { cause })
      : cause;
  }
  database.exec('pragma synchronous = full');
  // The trees of a long backlog: pages that are written at each commit should not be read anew for it.
  database.exec(`pragma cache_size = -${PAGE_CACHE_KIB}`);
  // To compile a statement takes longer than to run most of them. Nothing streams rows, so none is in use twice at once.
  const statements = new LRUCache<string, SqliteStatement>({ max: STATEMENTS_MAX });
  return {
    close: () => database.close(),
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
