/**
 * Connections to PostgreSQL: their settings, and how they end. A server that hangs, restarts or
 * is cut off must cost a statement, and never the node or an uncounted connection.
 */
import type { Duplex } from 'node:stream';
import { Client, type ClientConfig, DatabaseError, Pool, TypeOverrides } from 'pg';

/** Time-outs of the server, and of the client for a server that does not answer at all. */
const STATEMENT_MS = 15_000;
/** Short: a request waits for a lock, and then has to be answered. */
const LOCK_WAIT_MS = 4_000;
const IDLE_IN_TRANSACTION_MS = 20_000;
const ANSWER_MS = 18_000;
const CONNECT_MS = 5_000;
/** For a connection of the pool to be free: a burst of changes to one installation takes turns. */
const FREE_MS = 15_000;
/** How long the end of a session waits for the server. */
const END_MS = 500;
/** Object ids of `bigint` and `numeric`: none of ours exceeds what a number holds exactly. */
const WHOLE_NUMBERS = [20, 1700];

/**
 * What every session begins with: its settings, and each commit is synced to disk, if that is not
 * the default.
 */
const BEGIN_SESSION = `
  select set_config(name, value, false) from (
    select * from json_each_text($1) union all
    values ('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on'
      else current_setting('synchronous_commit') end)) as settings (name, value)`;

/**
 * The server ends the session of a node that is cut off after half a minute, with its locks and its
 * place in the queue of notices; by default, after two hours.
 */
const KEEPALIVES = {
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '4',
  tcp_user_timeout: '30000',
};
const TIMEOUTS = {
  statement_timeout: STATEMENT_MS,
  lock_timeout: LOCK_WAIT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
};
/** `-c name=value` and `--name=value`; a backslash escapes a blank, as `postgres` reads them. */
const OPTION = /(?:^|\s)-(?:c\s*|-)([\w.-]+)=((?:\\.|\S)*)(?=\s|$)/g;

/**
 * The statements of the store seek in indexes, as on SQLite, which knows no other way. PostgreSQL
 * keeps the plan of a prepared statement for as long as its connection lasts, and while tables are
 * small it prefers to read them whole: these settings of a connection keep it from that. To compile
 * a plan takes longer than to run it.
 */
export const SEEK = `select ${['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']
  .map((setting) => `set_config('${setting}', 'off', false)`)
  .join(', ')}`;

/** Of a connection: what the driver needs to connect, and what its session begins with. */
export interface ConnectionSettings extends ClientConfig {
  /** Settings of the server by name. */
  readonly session: Readonly<Record<string, string | number>>;
}

/**
 * The settings of every connection. Time-outs, and what the URL sets in `options`, are set by the
 * first statement: a pooler does not know them when a client connects, and refuses the client.
 *
 * @param timeouts in place of the usual ones, in milliseconds
 */
export function connectionSettings(
  url: string,
  timeouts: Readonly<Partial<typeof TIMEOUTS>> = {},
): ConnectionSettings {
  const types = new TypeOverrides();
  for (const id of WHOLE_NUMBERS) types.setTypeParser(id, Number);
  const { connectionString, own } = withoutSessionParameters(url);
  return {
    connectionString,
    application_name: 'annex',
    types,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
    session: { ...KEEPALIVES, ...TIMEOUTS, ...own, ...timeouts },
  } as ConnectionSettings;
}

/** Takes what is about the session out of a URL, and leaves what is about the connection. */
function withoutSessionParameters(text: string) {
  const url = new URL(text);
  const own: Record<string, string> = {};
  for (const name of Object.keys(TIMEOUTS)) {
    const value = url.searchParams.get(name);
    if (value !== null) own[name] = value;
    url.searchParams.delete(name);
  }
  const options = url.searchParams.get('options') ?? '';
  // Flags of the server that are no settings stay where they are.
  if (options.replaceAll(OPTION, '').trim() === '') {
    url.searchParams.delete('options');
    for (const [, name = '', value = ''] of options.matchAll(OPTION))
      own[name.replaceAll('-', '_')] = value.replaceAll(/\\(.)/g, '$1');
  }
  return { connectionString: Object.keys(own).length === 0 ? text : url.href, own };
}

/** Connects, and begins a session. @throws what keeps it from being used */
export async function openSession(settings: ConnectionSettings): Promise<Client> {
  const client = new Client(settings);
  // What is lost with the connection fails, and says so.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await beginSession(client, settings);
    return client;
  } catch (cause) {
    await endSession(client);
    throw cause;
  }
}

/** Sends the first statement of a session. */
async function beginSession(
  client: Pick<Client, 'query'>,
  { session }: Pick<ConnectionSettings, 'session'>,
): Promise<void> {
  await client.query(BEGIN_SESSION, [JSON.stringify(session)]);
}

/** A pool whose connections may be lost at any time, in use or idle. */
export function connectionPool(settings: ConnectionSettings & { readonly max: number }): Pool {
  const pool = new Pool({ ...settings, connectionTimeoutMillis: FREE_MS, Client: PooledClient });
  // An idle connection that is lost is replaced when the next one is needed.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    // The pool does not listen while a connection is in use: without a listener, the error of a
    // lost connection ends the process. Its statement fails, which is enough.
    client.on('error', () => undefined);
    // Its failure is that of the connection, and fails the next statement, too.
    beginSession(client, settings).catch(() => undefined);
    client.query(SEEK).catch(() => undefined);
  });
  return pool;
}

/** Connects within the usual time, however long the pool may wait for it. */
class PooledClient extends Client {
  constructor(settings: ClientConfig = {}) {
    super({ ...settings, connectionTimeoutMillis: CONNECT_MS });
  }
}

/**
 * Ends a session in an orderly way, or its socket if the server does not answer. Never rejects.
 */
export async function endSession(client: Client): Promise<void> {
  const timer = setTimeout(() => cutOff(client), END_MS).unref();
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}

/** Ends a connection at once: its statements fail. */
export function cutOff(client: object): void {
  streamOf(client)?.destroy();
}

/** Holds back what is sent to the server. @returns a function that sends it, as one write */
export function holdWrites(client: object): () => void {
  const stream = streamOf(client);
  stream?.cork();
  return () => stream?.uncork();
}

/** The socket of a client, which the library keeps to itself. */
const streamOf = (client: object): Duplex | undefined =>
  (client as { readonly connection?: { readonly stream: Duplex } }).connection?.stream;

/**
 * Attack, or a bad day: a server that was restarted, or another one that took over, gives the
 * number of a process to a session of another node. So a session is ended only if it also began
 * when the lost one did. A role may end its own sessions, and no other's.
 */
const END = `
  select pg_terminate_backend(session.pid)
  from unnest($1::int[], $2::float8[]) as cut (pid, age_ms)
  join pg_stat_activity as session on session.pid = cut.pid
  where session.usename = session_user and session.datname = current_database()
    and session.backend_start between now() - (cut.age_ms + $3) * interval '1 millisecond'
      and now() - cut.age_ms * interval '1 millisecond'`;
/** From the begin of a session to its first statement: longer than any attempt to connect. */
const CONNECTING_MS = 10_000;

/**
 * Ends the sessions of a node's pool that were left on the server when the node was cut off.
 *
 * The server does not notice that a connection is dead: it keeps the session, its open transaction
 * and its locks for up to half a minute. Statements that wait for such a lock would fail long after
 * the database is back, on this node and on others. So the node ends these sessions itself, before
 * it sends any other work. Their transactions have failed here and are repeated; whether a commit
 * that was on its way took effect is as unknown as without this.
 */
export class CutSessions {
  readonly #monotonicNow: () => number;
  /** Process on the server → when its session had begun, by the monotonic clock. */
  readonly #begunAt = new Map<number, number>();
  #hasFailed = false;

  /** @param monotonicNow monotonic clock, in milliseconds */
  constructor(monotonicNow: () => number) {
    this.#monotonicNow = monotonicNow;
  }

  /** The connection of this client has been cut. @param begunAt when it was connected */
  add(client: object, begunAt: number): void {
    const { processID } = client as { readonly processID?: unknown };
    if (typeof processID === 'number') this.#begunAt.set(processID, begunAt);
  }

  /** Ends them, over a new connection. Never rejects: the server ends what is left in its time. */
  async end(client: Pick<Client, 'query'>): Promise<void> {
    if (this.#begunAt.size === 0) return;
    const now = this.#monotonicNow();
    const ages = [...this.#begunAt.values()].map((begunAt) => now - begunAt);
    try {
      await client.query(END, [[...this.#begunAt.keys()], ages, CONNECTING_MS]);
    } catch (cause) {
      // A connection that is lost again: the next one ends them. A server that refuses, or that
      // never answers this, must not keep the node away.
      this.#hasFailed = !(cause instanceof DatabaseError) && !this.#hasFailed;
      if (this.#hasFailed) return;
    }
    this.#hasFailed = false;
    this.#begunAt.clear();
  }
}
