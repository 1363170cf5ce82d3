/**
 * The engine for one node: a database file in the data folder. Without other nodes, it sends no
 * notices and locks no names. `files/folder-lock.ts` keeps a second process out of the folder.
 */
import { openDatabase } from '../database.ts';
import type { Engine, IntegrityState } from '../engine.ts';
import type { Database } from '../tables.ts';
import { whyNotNew } from '../used-folder.ts';
import { newerAnnex, noteVersion } from './annex-version.ts';
import type { WalNote } from './files/damaged-wal.ts';
import { databaseFile, prepareFolder, unusableDatabase } from './files/data-folder.ts';
import { Integrity, type IntegrityNote } from './integrity/integrity.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

export interface SqliteEngineOptions {
  /** Data folder; created for its owner alone if it does not exist. */
  readonly folder: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Version of this Annex, to be recorded in the database; not recorded if absent. */
  readonly version?: string | undefined;
  /**
   * Whether to start with a damaged write-ahead log and lose what was committed in it; false if
   * absent.
   */
  readonly acceptLoss?: boolean | undefined;
  /** Receives notes for the operator about the write-ahead log. */
  readonly onWal?: ((note: WalNote) => void) | undefined;
  /** Receives the result of each integrity check. */
  readonly onIntegrity?: ((note: IntegrityNote) => void) | undefined;
}

export class SqliteEngine implements Engine {
  readonly isShared = false;
  readonly commitsInFlight = 1;
  readonly folder: string;
  /** It is a file of this machine. */
  readonly state = { reachable: true, writable: true };
  readonly clock: () => number;
  readonly signingClock: () => number;
  readonly #options: SqliteEngineOptions;
  readonly #integrity: Integrity;

  constructor(options: SqliteEngineOptions) {
    const { folder, clock, onIntegrity } = options;
    this.#options = options;
    this.folder = folder;
    this.clock = clock;
    this.signingClock = clock;
    this.#integrity = new Integrity({
      file: databaseFile(folder),
      clock,
      note: (result) => onIntegrity?.(result),
    });
  }

  get integrity(): IntegrityState {
    return this.#integrity.state;
  }

  async open(): Promise<Database> {
    const { folder, clock, version, acceptLoss = false, onWal: note = () => {} } = this.#options;
    // Before this start leaves a lock there. A log whose loss is accepted may have had all tables.
    const whyLost = acceptLoss
      ? undefined
      : whyNotNew(folder, `${databaseFile(folder)} has no tables of Annex`);
    const file = await prepareFolder(folder);
    const dialect = sqliteDialect(file, { acceptLoss, clock, note });
    const database = await openDatabase(dialect, () => whyLost).catch((failure) => {
      throw newerAnnex(file, failure, version) ?? unusableDatabase(file, failure);
    });
    try {
      if (version !== undefined) await noteVersion(database, version);
      return database;
    } catch (error) {
      await database.destroy();
      throw error;
    }
  }

  startChecks(): Promise<void> {
    return this.#integrity.start();
  }

  listen(): void {}

  alone<Result>(_name: string, work: () => Promise<Result>): Promise<Result> {
    return work();
  }

  async unlessElsewhere(_name: string, work: () => Promise<void>): Promise<boolean> {
    await work();
    return true;
  }

  close(): Promise<void> {
    return this.#integrity.stop();
  }
}
