/**
 * Whether a server is fit for a service: its version, its encoding, whether it writes, what the
 * role may do, and whether each connection has a session of its own.
 *
 * A server that is not fit mostly works for a while: a standby reads, another encoding holds most
 * texts, and a pooler may give a lone connection the same session each time. So a start asks, and
 * refuses by name; and a node asks again whenever it connects anew, because another server may have
 * taken over.
 */
import { Client, DatabaseError } from 'pg';
import { DatabaseUnfit } from '../unavailable.ts';
import { type ConnectionSettings, endSession, openSession } from './postgres-clients.ts';

/** First version that has all that the statements use. */
const VERSION_MIN = 150_000;
/** Each of them, on each table. */
const RIGHTS = ['select', 'insert', 'update', 'delete'] as const;

/** The tables of the service are those that belong to the owner of the first of them. */
const FACTS = `
  select current_setting('server_version_num')::integer as version,
    current_setting('server_version') as "versionName",
    current_setting('server_encoding') as encoding,
    pg_is_in_recovery() as "isStandby",
    current_setting('transaction_read_only') = 'on' as "onlyReads",
    current_setting('search_path') as "searchPath",
    current_schema() as schema,
    current_user as role,
    to_regclass('deliveries') is not null as "isMade",
    has_schema_privilege(current_schema(), 'create') as "mayCreate",
    array(select relname::text from pg_class
      where relnamespace = to_regnamespace(quote_ident(current_schema())) and relkind = 'r'
        and relowner = (select relowner from pg_class where oid = to_regclass('deliveries'))
        and exists (select from unnest($1::text[]) as needed (privilege)
          where not has_table_privilege(pg_class.oid, needed.privilege))
      order by relname) as "closedTables",
    pg_backend_pid() as pid`;

export interface Facts {
  /** As the server counts them: 150000 is 15.0. */
  readonly version: number;
  readonly versionName: string;
  readonly encoding: string;
  /** It follows another server, and writes nothing of its own. */
  readonly isStandby: boolean;
  /** Transactions of this session only read. */
  readonly onlyReads: boolean;
  readonly searchPath: string;
  /** Where the tables are; null if the search path leads to no schema that the role may use. */
  readonly schema: string | null;
  readonly role: string;
  /** Whether a service has made its tables. */
  readonly isMade: boolean;
  readonly mayCreate: boolean | null;
  /** Tables of the schema that the role may not read and write. */
  readonly closedTables: readonly string[];
}

export const ONLY_READS =
  'its transactions only read (default_transaction_read_only is on): set it to off for the role, the database or the server, whichever has it';
/** For a pooler to find a session for a second connection. */
const SECOND_ANSWER_MS = 5_000;
const PROTOCOL_VIOLATION = '08P01';
const SHARED =
  'a pooler in front of it shares sessions among connections (PgBouncer: pool_mode = transaction or statement), and nodes listen, lock and prepare statements by session: set pool_mode = session for this database, or connect to the server itself';
const NO_SECOND =
  'a pooler in front of it has no session for a second connection of this node: raise its pool_size to at least --database-connections + 3 for each node';

/** Why a server cannot be used, with what to do; undefined if it can. */
export function unfitness(facts: Facts): string | undefined {
  const { version, versionName, encoding, isStandby, onlyReads } = facts;
  if (version < VERSION_MIN)
    return `its version is ${versionName}, and Annex needs PostgreSQL ${VERSION_MIN / 10_000} or later: update the server`;
  if (encoding !== 'UTF8')
    return `its encoding is ${encoding}, which does not hold every text: it must be UTF8. Make another one: create database … template template0 encoding 'UTF8'`;
  if (isStandby)
    return 'it is a standby, which follows another server and only reads: name the primary (with several hosts, an address that follows it)';
  if (onlyReads) return ONLY_READS;
  return withoutRights(facts);
}

function withoutRights({ schema, searchPath, role, isMade, mayCreate, closedTables }: Facts) {
  if (schema === null)
    return `the search_path (${searchPath}) leads to no schema that the role ${role} may use: make one, or grant usage, create on schema … to ${role}`;
  if (closedTables.length > 0)
    return `the role ${role} may not read and write ${listed(closedTables)} in the schema ${schema}: grant ${RIGHTS.join(', ')} on all tables in schema ${schema} to ${role}, or connect as their owner`;
  if (!isMade && mayCreate === false)
    return `the role ${role} may not make tables in the schema ${schema}: grant usage, create on schema ${schema} to ${role}, or make it the owner of the database`;
  return undefined;
}

const TABLES_NAMED = 3;

const listed = (tables: readonly string[]): string => {
  const rest = tables.length - TABLES_NAMED;
  return `${tables.slice(0, TABLES_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more tables` : ''}`;
};

const PID = 'select pg_backend_pid() as pid';

async function sessionOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>(PID);
  return rows[0]?.pid;
}

/**
 * Whether a pooler gives a session to whoever has a statement or a transaction for it. The first
 * connection may get the same one each time; so the other takes whichever was used last, and holds
 * it in a transaction, while the first one asks for its session again.
 */
async function sharesSessions(client: Client, other: Client): Promise<boolean> {
  const before = await sessionOf(client);
  if ((await sessionOf(client)) !== before) return true;
  try {
    await other.query('begin');
    if ((await sessionOf(other)) === before) return true;
  } catch (cause) {
    // A pooler that shares by statement refuses a transaction, in its own words.
    if ((cause as { code?: string }).code === PROTOCOL_VIOLATION) return true;
    throw cause instanceof DatabaseError ? cause : new DatabaseUnfit(NO_SECOND, { cause });
  }
  return (await sessionOf(client)) !== before;
}

/**
 * Connects to a server that is fit.
 *
 * @param answered called when the server has answered, whatever it says of itself
 * @throws DatabaseUnfit that says why it is not fit, and what to do
 * @throws what keeps it from being reached
 */
export async function fitSession(settings: ConnectionSettings, answered = () => {}): Promise<Client> {
  const client = await openSession(settings);
  answered();
  try {
    await requireFit(client, settings);
    return client;
  } catch (cause) {
    await endSession(client);
    throw cause;
  }
}

async function requireFit(client: Client, settings: ConnectionSettings): Promise<void> {
  const { rows } = await client.query<Facts & { readonly pid: number }>(FACTS, [RIGHTS]);
  const [facts] = rows;
  const why = facts === undefined ? 'it says nothing of itself' : unfitness(facts);
  if (why !== undefined) throw new DatabaseUnfit(why);
  // The server itself told the number of its process when the client connected. A pooler tells one
  // that it has made up.
  if ((client as { readonly processID?: number }).processID === facts?.pid) return;
  const other = new Client({ ...settings, query_timeout: SECOND_ANSWER_MS });
  other.on('error', () => undefined);
  try {
    await other.connect();
    if (await sharesSessions(client, other)) throw new DatabaseUnfit(SHARED);
  } finally {
    await endSession(other);
  }
}
