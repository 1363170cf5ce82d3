/**
 * The engine for one node: a database file in the data folder. Without other nodes, it sends no
 * notices and locks no names. `files/folder-lock.ts` keeps a second process out of the folder.
 */
import { open, rm } from 'node:fs/promises';
import { sql } from 'kysely';
import { type Availability, type Note, reportedAvailability } from '../availability.ts';
import type { GoesOn } from '../batches.ts';
import { openDatabase } from '../database.ts';
import type { DatabaseState, Engine, EngineListener, IntegrityState } from '../engine.ts';
import type { Database } from '../tables.ts';
import { whyNotNew } from '../used-folder.ts';
import { newerAnnex, noteVersion } from './annex-version.ts';
import type { WalNote } from './files/damaged-wal.ts';
import { databaseFile, prepareFolder, unusableDatabase } from './files/data-folder.ts';
import { Integrity, type IntegrityNote } from './integrity/integrity.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/** Between two looks whether a write should be tried. */
const PROBE_EVERY_MS = 1_000;
/** Room for the largest event, and for what is written with it. */
const ROOM_BYTES = 512 * 1024;

export interface SqliteEngineOptions {
  /** Data folder; created for its owner alone if it does not exist. */
  readonly folder: string;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Version of this Annex, to be recorded in the database; not recorded if absent. */
  readonly version?: string | undefined;
  /**
   * Whether to start with a damaged write-ahead log and lose what was committed in it; false if
   * absent.
   */
  readonly acceptLoss?: boolean | undefined;
  /** Receives notes for the operator about the write-ahead log. */
  readonly onWal?: ((note: WalNote) => void) | undefined;
  /** Receives the beginning and the end of a failure of the disk. */
  readonly note?: Note | undefined;
  /** Receives the result of each integrity check. */
  readonly onIntegrity?: ((note: IntegrityNote) => void) | undefined;
}

export class SqliteEngine implements Engine {
  readonly isShared = false;
  readonly commitsInFlight = 1;
  readonly folder: string;
  readonly wallNow: () => number;
  readonly signingClock: () => number;
  readonly #options: SqliteEngineOptions;
  readonly #integrity: Integrity;
  readonly #availability: Availability;
  #listener: EngineListener | undefined;
  #timer: NodeJS.Timeout | undefined;
  #probing: Promise<void> | undefined;

  constructor(options: SqliteEngineOptions) {
    const { folder, wallNow, onIntegrity, note = () => {} } = options;
    this.#options = options;
    this.folder = folder;
    this.wallNow = wallNow;
    this.signingClock = wallNow;
    this.#integrity = new Integrity({
      file: databaseFile(folder),
      wallNow,
      note: (result) => onIntegrity?.(result),
    });
    this.#availability = reportedAvailability({ monotonicNow: () => performance.now(), note }, () =>
      this.#listener?.isBack(),
    );
  }

  get state(): DatabaseState {
    return this.#availability.state;
  }

  get integrity(): IntegrityState {
    return this.#integrity.state;
  }

  async open(): Promise<Database> {
    const { folder, wallNow, version, acceptLoss = false, onWal: note = () => {} } = this.#options;
    // Before this start leaves a lock there. A log whose loss is accepted may have had all tables.
    const whyLost = acceptLoss
      ? undefined
      : whyNotNew(folder, `${databaseFile(folder)} has no tables of Annex`);
    const file = await prepareFolder(folder);
    const failed = (cause: unknown) => this.#availability.failed(cause);
    const dialect = sqliteDialect(file, { acceptLoss, wallNow, note, failed });
    const database = await openDatabase(dialect, () => whyLost).catch((failure) => {
      throw newerAnnex(file, failure, version) ?? unusableDatabase(file, failure);
    });
    try {
      if (version !== undefined) await noteVersion(database, version);
      this.#timer = setInterval(() => {
        if (this.#availability.wantsProbe)
          this.#probing ??= this.#probe(database).finally(() => (this.#probing = undefined));
      }, PROBE_EVERY_MS).unref();
      return database;
    } catch (error) {
      await database.destroy();
      throw error;
    }
  }

  startChecks(): Promise<void> {
    return this.#integrity.start();
  }

  listen(listener: EngineListener): void {
    this.#listener = listener;
  }

  alone<Result>(_name: string, work: () => Promise<Result>): Promise<Result> {
    return work();
  }

  async unlessElsewhere(_name: string, work: (goesOn: GoesOn) => Promise<void>): Promise<boolean> {
    await work(() => Promise.resolve(true));
    return true;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#probing;
    this.#availability.close();
    await this.#integrity.stop();
  }

  /**
   * Finds out whether the disk takes writes again: a small commit may fit where no event does.
   * Never rejects.
   */
  async #probe(database: Database): Promise<void> {
    try {
      await findsRoom(`${databaseFile(this.#options.folder)}-room`);
      const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(database);
      await sql.raw(`pragma user_version = ${Number(rows[0]?.user_version)}`).execute(database);
      this.#availability.committed();
    } catch (cause) {
      this.#availability.refused(cause);
    }
  }
}

/** @throws if the disk has no room for an event. A file without a name leaves nothing behind. */
async function findsRoom(path: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await rm(path);
    await file.writeFile(Buffer.alloc(ROOM_BYTES));
    await file.sync();
  } finally {
    await file.close();
  }
}
