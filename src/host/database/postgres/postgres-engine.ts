/**
 * The engine for many nodes: PostgreSQL, which is the only thing that they share.
 *
 * A bounded pool of connections, each with time-outs, so that a server that hangs fails a statement
 * and not the node. Another connection receives the notices of other nodes (`node-connection.ts`).
 */
import { mkdir } from 'node:fs/promises';
import { Kysely } from 'kysely';
import type { Client, Pool } from 'pg';
import { type Availability, type Note, reportedAvailability } from '../availability.ts';
import type { GoesOn } from '../batches.ts';
import { hasThisSchema, openDatabase, type Refusal, refuseNew } from '../database.ts';
import type { DatabaseState, Engine, EngineListener, IntegrityState } from '../engine.ts';
import type { Database, Tables } from '../tables.ts';
import { DatabaseUnavailable } from '../unavailable.ts';
import { whyNotNew } from '../used-folder.ts';
import { DatabaseClock } from './database-clock.ts';
import { closeToOthers, leaveRoom, newerSchema, noteVersion } from './database-setup.ts';
import { fitSession } from './fitness.ts';
import { NodeConnection } from './node-connection.ts';
import {
  aloneInStart,
  LOCK,
  nodeTables,
  READ_LOCK,
  slotOfWork,
  TRY_LOCK,
  WITHOUT_TIMEOUTS,
} from './node-tables.ts';
import {
  CutSessions,
  connectionPool,
  connectionSettings,
  cutOff,
  endSession,
  openSession,
} from './postgres-clients.ts';
import { PostgresDialect } from './postgres-dialect.ts';
import { translated } from './postgres-errors.ts';
import { hasUnfinishedCopy } from './unfinished-copy.ts';

/** Migrations may rewrite an index of a large table, and a copy reads whole tables. */
const LONG_MS = 3_600_000;
/** An answer to the question for the time comes at once, or the connection is lost. */
const BEAT_ANSWER_MS = 3_000;
/** Its connection is alone, and no queue of statements makes it wait. */
const BEAT_CONNECT_MS = 3_000;

/** While one is committed, the next is filled. More of them make each smaller, and gain nothing. */
const COMMITS_IN_FLIGHT = 2;
/** As long as a transaction waits for a lock: both waits together are seconds. */
const COMMIT_WAIT_MS = 4_000;

const COPY_UNFINISHED =
  'a copy into it is not finished. Run `annex copy` again, which goes on with it, before any service starts';

const MOVED = 'To move the SQLite store of that folder, run `annex copy` first. ';

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; may have TLS parameters. */
  readonly url: string;
  /** Connections of this node at most, beside that for notices. */
  readonly connections: number;
  /** Where the vault's key file is by default. */
  readonly folder: string;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** Milliseconds since 1970, used until the database has answered with its time. */
  readonly wall: () => number;
  /** Marks this node among the others. */
  readonly node: string;
  /** Version of this Annex, to be recorded in the database; not recorded if absent. */
  readonly version?: string | undefined;
  /** Receives notes for the operator. */
  readonly note: Note;
}

export class PostgresEngine implements Engine {
  readonly isShared = true;
  readonly commitsInFlight = COMMITS_IN_FLIGHT;
  readonly commitWaitMs = COMMIT_WAIT_MS;
  readonly folder: string;
  readonly wallNow: () => number;
  readonly signingClock: () => number;
  /** The server checks its own pages, if the cluster was made with checksums. */
  readonly integrity: IntegrityState = {
    ...{ integrity: 'unchecked', checkedAt: undefined, damagedTables: [] },
    tables: { checked: 0, of: 0 },
  };
  readonly #options: PostgresOptions;
  readonly #pool: Pool;
  /** The open connections of the pool → when each was connected, by the monotonic clock. */
  readonly #clients = new Map<object, number>();
  readonly #availability: Availability;
  readonly #connection: NodeConnection;
  #listener: EngineListener | undefined;
  #channel = '';

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.folder = options.folder;
    const clock = new DatabaseClock(options.monotonicNow, options.wall, (aheadMs) =>
      noteApart(options, aheadMs),
    );
    this.wallNow = clock.now;
    this.signingClock = clock.passed;
    this.#availability = reportedAvailability(options, () => this.#listener?.isBack());
    const settings = connectionSettings(options.url);
    this.#pool = connectionPool({ ...settings, max: options.connections });
    this.#pool.on('connect', (client) => this.#clients.set(client, options.monotonicNow()));
    this.#pool.on('remove', (client) => this.#clients.delete(client));
    const cutSessions = new CutSessions(options.monotonicNow);
    this.#connection = new NodeConnection({
      session: () => {
        const times = { query_timeout: BEAT_ANSWER_MS, connectionTimeoutMillis: BEAT_CONNECT_MS };
        return fitSession({ ...settings, ...times }, () => this.#availability.answered());
      },
      channel: () => this.#channel,
      flooded: () =>
        options.note('warn', 'more notices of changes arrive than nodes send: the rest counts as missed'),
      node: options.node,
      clock,
      monotonicNow: options.monotonicNow,
      availability: this.#availability,
      // Their statements would wait for an answer until the end of their time.
      cut: () => {
        for (const [client, connectedAt] of this.#clients) {
          cutSessions.add(client, connectedAt);
          cutOff(client);
        }
      },
      connected: (client) => cutSessions.end(client),
    });
  }

  get state(): DatabaseState {
    return this.#availability.state;
  }

  async open(): Promise<Database> {
    const { note, node, version, url } = this.#options;
    try {
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
      await requireFit(url);
      const database = new Kysely<Tables>({
        dialect: new PostgresDialect(this.#pool, node, this.#availability),
      });
      // First: a newer version must not change the schema under a copy.
      if (await hasUnfinishedCopy(database)) throw new Error(COPY_UNFINISHED);
      // Mostly it does, and a connection with the time-outs of migrations is not needed.
      const isMigrated = await hasThisSchema(database);
      const isNew = !isMigrated && (await this.#migrate());
      // Its time-out is not reported: a table locked for maintenance says nothing of the database.
      if (isMigrated) await leaveRoom(new Kysely<Tables>({ dialect: new PostgresDialect(this.#pool, node) }));
      this.#channel = await nodeTables(database);
      await this.#connection.open();
      const warning = await closeToOthers(this.#pool, isNew);
      if (warning !== undefined) note('warn', warning);
      if (await this.#isUnsynced())
        note('warn', 'this PostgreSQL runs with fsync = off: a power cut loses acknowledged events');
      if (version !== undefined) await noteVersion(this.#pool, version);
      return database;
    } catch (cause) {
      await this.close();
      if (!this.#pool.ended) await this.#pool.end();
      throw unusable(cause);
    }
  }

  startChecks(): Promise<void> {
    return Promise.resolve();
  }

  listen(listener: EngineListener): void {
    this.#listener = listener;
    this.#connection.listen(listener);
  }

  alone<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    return this.#withSession(async (session) => {
      if (!(await locks(session, LOCK, name))) throw lockIsMissing(name);
      return work();
    });
  }

  unlessElsewhere(name: string, work: (goesOn: GoesOn) => Promise<void>): Promise<boolean> {
    return this.#withSession(async (session) => {
      const isFree = () => locks(session, TRY_LOCK, name);
      if (!(await isFree())) {
        if (!(await locks(session, READ_LOCK, name))) throw lockIsMissing(name);
        return false;
      }
      await work(async () => {
        await session.query('commit');
        return isFree();
      });
      return true;
    });
  }

  async close(): Promise<void> {
    this.#availability.close();
    await this.#connection.close();
  }

  /**
   * A connection of its own: a lock is lost with its connection, and must not be returned to the
   * pool. A lock lasts as long as its transaction.
   */
  async #withSession<Result>(work: (session: Client) => Promise<Result>): Promise<Result> {
    let client: Client | undefined;
    try {
      client = await openSession({ ...connectionSettings(this.#options.url), query_timeout: 0 });
      return await work(client);
    } catch (cause) {
      throw translated(cause);
    } finally {
      // Ends the session, and with it the lock.
      if (client !== undefined) await endSession(client);
    }
  }

  /** @returns whether there was no schema before */
  async #migrate(): Promise<boolean> {
    const { url, node, folder } = this.#options;
    let isNew = false;
    try {
      const database = await openMigrated(url, node, (schemas) => {
        isNew = true;
        return whyNotNewAt(folder, schemas);
      });
      await database.destroy();
      return isNew;
    } catch (failure) {
      throw (await newerSchema(this.#options, failure)) ?? failure;
    }
  }

  async #isUnsynced(): Promise<boolean> {
    const { rows } = await this.#pool.query<{ fsync: string }>('show fsync');
    return rows[0]?.fsync === 'off';
  }
}

/** Begins a transaction. @returns whether the statement has found the row of the name */
async function locks(session: Client, statement: string, name: string): Promise<boolean> {
  await session.query('begin');
  await session.query(WITHOUT_TIMEOUTS);
  const { rows } = await session.query(statement, [[slotOfWork(name)]]);
  if (rows.length > 0) return true;
  await session.query('rollback');
  return false;
}

const lockIsMissing = (name: string): Error =>
  new Error(`its table name_locks lacks the row for "${name}": the next start of a node makes it`);

/**
 * Opens a database for long statements, with its schema brought up to date.
 *
 * @param node marks its notices
 * @param refusal why it may not be a new one
 */
export async function openMigrated(url: string, node: string, refusal?: Refusal): Promise<Database> {
  await requireFit(url);
  const timeouts = { statement_timeout: LONG_MS, lock_timeout: LONG_MS };
  const settings = { ...connectionSettings(url, timeouts), query_timeout: LONG_MS };
  // A transaction on a connection of its own holds the lock meanwhile.
  const locking = connectionPool({ ...settings, max: 1 });
  const pool = connectionPool({ ...settings, max: 2 });
  const start = new Kysely<Tables>({ dialect: new PostgresDialect(locking, node) });
  try {
    if (refusal !== undefined) await refuseNew(start, refusal);
    await nodeTables(start);
    const database = await aloneInStart(start, () => openDatabase(new PostgresDialect(pool, node)));
    await leaveRoom(database);
    return database;
  } catch (failure) {
    if (!pool.ended) await pool.end();
    throw failure;
  } finally {
    if (!locking.ended) await locking.end();
  }
}

/** @throws if the server is not fit for a service, or cannot be reached */
async function requireFit(url: string): Promise<void> {
  await endSession(await fitSession(connectionSettings(url)));
}

/** A service has a database of its own: its tables in another schema are those of this service. */
function whyNotNewAt(folder: string, schemas: readonly string[]): string | undefined {
  const [schema] = schemas;
  if (schema === undefined) return whyNotNew(folder, 'it has no tables of Annex', MOVED);
  return (
    `a service has its tables in its schema ${schema}, which the search_path of this connection does not begin with. ` +
    'Set the search_path of the role or in the URL (?options=-c%20search_path%3D…), or name another database'
  );
}

function noteApart({ note }: PostgresOptions, aheadMs: number): void {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const which = aheadMs > 0 ? 'ahead of' : 'behind';
  note(
    'warn',
    `the clock of the database is ${seconds} s ${which} that of this machine: schedules, leases and the time of signatures ` +
      'follow the database. Set both clocks, as by NTP',
  );
}

/** Says which setting is concerned; the message never contains the URL, which holds a password. */
export function unusable(failure: unknown): Error {
  const cause = failure instanceof DatabaseUnavailable ? failure.cause : failure;
  const { detail } = (cause ?? {}) as { readonly detail?: string };
  const message = cause instanceof Error ? cause.message : String(cause);
  const why = detail === undefined ? message : `${message}: ${detail}`;
  return new Error(`the PostgreSQL database (ANNEX_DATABASE_URL) cannot be used: ${why}`, { cause });
}
