/**
 * Connections to PostgreSQL: their settings, and how they end. A server that hangs, restarts or
 * is cut off must cost a statement, and never the node or an uncounted connection.
 */
import type { Duplex } from 'node:stream';
import { Client, type ClientConfig, Pool, TypeOverrides } from 'pg';

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
