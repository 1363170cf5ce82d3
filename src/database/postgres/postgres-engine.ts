/**
 * The engine for many nodes: PostgreSQL, which is the only thing that they share.
 *
 * A bounded pool of connections, each with time-outs, so that a server that hangs fails a statement
 * and not the node. Another connection receives the notices of other nodes (`node-connection.ts`).
 */
import { mkdir } from 'node:fs/promises';
import { Kysely } from 'kysely';
import { Client, type ClientConfig, Pool, TypeOverrides } from 'pg';
import { openDatabase } from '../database.ts';
import type { Engine, EngineListener, IntegrityState } from '../engine.ts';
import type { Database, Tables } from '../tables.ts';
import { DatabaseUnavailable } from '../unavailable.ts';
import { DatabaseClock } from './database-clock.ts';
import { newerSchema, noteVersion } from './made-by.ts';
import { NodeConnection } from './node-connection.ts';
import { PostgresDialect } from './postgres-dialect.ts';
import { translated } from './postgres-errors.ts';
import { hasUnfinishedCopy } from './unfinished-copy.ts';

/** Time-outs of the server, and of the client for a server that does not answer at all. */
const STATEMENT_MS = 15_000;
const LOCK_WAIT_MS = 10_000;
const IDLE_IN_TRANSACTION_MS = 20_000;
const ANSWER_MS = 18_000;
const CONNECT_MS = 5_000;
/** For a connection of the pool to be free: a burst of changes to one installation takes turns. */
const FREE_MS = 15_000;
/** Migrations may rewrite an index of a large table, and a copy reads whole tables. */
const LONG_MS = 3_600_000;
/** An answer to the question for the time comes at once, or the connection is lost. */
const BEAT_ANSWER_MS = 4_000;
/** Object ids of `bigint` and `numeric`: none of ours exceeds what a number holds exactly. */
const WHOLE_NUMBERS = [20, 1700];

const COMMITS_IN_FLIGHT = 2;

const COPY_UNFINISHED =
  'a copy into it is not finished. Run `npm run copy` again, which goes on with it, before any service starts';

/** Asks the server to sync each commit to disk, if its default is not to. */
const SYNC_COMMITS = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`;

/**
 * The statements of the store seek in indexes, as on SQLite, which knows no other way. PostgreSQL
 * keeps the plan of a prepared statement for as long as its connection lasts, and while tables are
 * small it prefers to read them whole: these settings of a connection keep it from that. To compile
 * a plan takes longer than to run it.
 */
export const SEEK = `select ${['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']
  .map((setting) => `set_config('${setting}', 'off', false)`)
  .join(', ')}`;

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; may have TLS parameters. */
  readonly url: string;
  /** Connections of this node at most, beside that for notices. */
  readonly connections: number;
  /** Where the vault's key file is by default. */
  readonly folder: string;
  /** Monotonic clock, in milliseconds. */
  readonly ticks: () => number;
  /** Milliseconds since 1970, used until the database has told its time. */
  readonly wall: () => number;
  /** Marks this node among the others. */
  readonly node: string;
  /** Version of this Annex, to be recorded in the database; not recorded if absent. */
  readonly version?: string | undefined;
  /** Receives notes for the operator. */
  readonly note: (level: 'info' | 'warn' | 'error', message: string, cause?: unknown) => void;
}

export class PostgresEngine implements Engine {
  readonly isShared = true;
  readonly commitsInFlight = COMMITS_IN_FLIGHT;
  readonly folder: string;
  readonly clock: () => number;
  /** The server checks its own pages, if the cluster was made with checksums. */
  readonly integrity: IntegrityState = {
    ...{ integrity: 'unchecked', checkedAt: undefined, damagedTables: [] },
    tables: { checked: 0, of: 0 },
  };
  readonly #options: PostgresOptions;
  readonly #pool: Pool;
  readonly #connection: NodeConnection;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.folder = options.folder;
    const clock = new DatabaseClock(options.ticks, options.wall);
    this.clock = clock.now;
    this.#pool = new Pool({
      ...{ ...connectionSettings(options.url), max: options.connections },
      ...{ connectionTimeoutMillis: FREE_MS, Client: PooledClient },
    });
    // An idle connection that is lost is replaced when the next one is needed.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => {
      for (const sql of [SYNC_COMMITS, SEEK]) void client.query(sql).catch(() => undefined);
    });
    this.#connection = new NodeConnection({
      client: () => new Client({ ...connectionSettings(options.url), query_timeout: BEAT_ANSWER_MS }),
      node: options.node,
      clock,
      ticks: options.ticks,
      report: (isConnected, cause) =>
        isConnected
          ? options.note('info', 'the database answers again')
          : options.note('error', 'the database does not answer; it is tried again', cause),
    });
  }

  async open(): Promise<Database> {
    const { note, node, version } = this.#options;
    try {
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
      const database = new Kysely<Tables>({ dialect: new PostgresDialect(this.#pool, node) });
      // First: a newer version must not change the schema under a copy.
      if (await hasUnfinishedCopy(database)) throw new Error(COPY_UNFINISHED);
      await this.#migrate();
      await this.#connection.open();
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
    this.#connection.listen(listener);
  }

  async alone<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    return this.#underLock('select pg_advisory_lock(hashtextextended($1, 1))', name, work);
  }

  async unlessElsewhere(name: string, work: () => Promise<void>): Promise<boolean> {
    const sql = 'select pg_try_advisory_lock(hashtextextended($1, 1)) as is_ours';
    let hasRun = false;
    await this.#underLock(sql, name, async () => {
      hasRun = true;
      await work();
    });
    return hasRun;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** Uses a connection of its own: a lock is lost with its connection, and must not be returned. */
  async #underLock<Result>(sql: string, name: string, work: () => Promise<Result>): Promise<Result> {
    const client = new Client({
      ...connectionSettings(this.#options.url),
      ...{ lock_timeout: 0, statement_timeout: 0, query_timeout: 0 },
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ is_ours?: boolean }>(sql, [name]);
      if (rows[0]?.is_ours === false) return undefined as Result;
      return await work();
    } catch (cause) {
      throw translated(cause);
    } finally {
      // Ends the session, and with it the lock.
      await client.end().catch(() => undefined);
    }
  }

  async #migrate(): Promise<void> {
    const { url, node } = this.#options;
    try {
      const database = await openMigrated(url, node);
      await database.destroy();
    } catch (failure) {
      throw (await newerSchema(this.#options, failure)) ?? failure;
    }
  }

  async #isUnsynced(): Promise<boolean> {
    const { rows } = await this.#pool.query<{ fsync: string }>('show fsync');
    return rows[0]?.fsync === 'off';
  }
}

/**
 * Opens a database for long statements, with its schema brought up to date.
 *
 * @param node marks its notices
 */
export async function openMigrated(url: string, node: string): Promise<Database> {
  const pool = new Pool({
    ...connectionSettings(url),
    ...{ max: 2, statement_timeout: LONG_MS, query_timeout: LONG_MS },
    lock_timeout: LONG_MS,
  });
  pool.on('error', () => undefined);
  try {
    return await openDatabase(new PostgresDialect(pool, node));
  } catch (failure) {
    if (!pool.ended) await pool.end();
    throw failure;
  }
}

/** Connects within the usual time, however long the pool may wait for it. */
class PooledClient extends Client {
  constructor(settings: ClientConfig = {}) {
    super({ ...settings, connectionTimeoutMillis: CONNECT_MS });
  }
}

/** The settings of every connection. */
export function connectionSettings(url: string): ClientConfig {
  const types = new TypeOverrides();
  for (const id of WHOLE_NUMBERS) types.setTypeParser(id, Number);
  return {
    connectionString: url,
    application_name: 'annex',
    types,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_WAIT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    query_timeout: ANSWER_MS,
  } as ClientConfig;
}

/** Says which setting is concerned; the message never contains the URL, which holds a password. */
export function unusable(failure: unknown): Error {
  const cause = failure instanceof DatabaseUnavailable ? failure.cause : failure;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Error(`the PostgreSQL database (ANNEX_DATABASE_URL) cannot be used: ${why}`, { cause });
}
