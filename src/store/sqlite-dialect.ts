/**
 * kysely's SQLite dialect on top of `node:sqlite`: everything that only SQLite understands is in this file.
 *
 * Durability comes before speed: `synchronous=FULL` syncs the log at every commit, because with `NORMAL` a power cut
 * loses rows that were acknowledged. One connection serves the whole process, and kysely hands it out one transaction
 * at a time. The calls are synchronous: a statement holds up the event loop for as long as it runs.
 */
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
} from 'kysely';

/** How long opening waits for another process that is just letting go of the file. */
const BUSY_TIMEOUT_MS = 2_000;
const SQLITE_BUSY = 5;

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
  return {
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        // A statement without result columns is run for its effect.
        reader: statement.columns().length > 0,
        all: (parameters) => statement.all(...values(parameters)),
        run: (parameters) => statement.run(...values(parameters)),
        iterate: (parameters) => statement.iterate(...values(parameters)),
      };
    },
  };
}

/** Everything the tables hold (see `tables.ts`) is a string, a number or null. */
function values(parameters: readonly unknown[]): (string | number | null)[] {
  return parameters.map((value) => {
    if (typeof value === 'string' || typeof value === 'number' || value === null) return value;
    throw new TypeError(`A query parameter is neither a string nor a number nor null but ${typeof value}.`);
  });
}
