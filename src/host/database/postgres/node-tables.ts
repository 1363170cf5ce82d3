/**
 * What the nodes of a service agree on in tables, because PostgreSQL gives it to any role that may
 * connect: the channel of their notices, and the rows that stand for locks.
 *
 * Attack: a role without rights on any table listens to names of tenants, sends notices of its own,
 * or holds the locks that nodes need. `NOTIFY`, `LISTEN` and advisory locks need no right, and
 * `pg_locks` shows the keys of advisory locks to every role. The name of a channel is shown to
 * none, so it is random and in a table; a lock is a row, which a role without rights cannot lock.
 */
import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../tables.ts';

/** Rows for names that a transaction locks, and, behind them, for work under a name. */
const SLOTS = 1_024;

/** Sends a notice: the name of the channel does not leave the server. */
export const NOTIFY = 'select pg_notify(name, $1) from notice_channel';
/** One lock after the other, in the order of the slots. */
export const LOCK = 'select slot from name_locks where slot = any($1::int[]) order by slot for update';
export const TRY_LOCK = `${LOCK} skip locked`;
/** The same rows, locked or not. */
export const READ_LOCK = 'select slot from name_locks where slot = any($1::int[])';

/**
 * For a transaction that waits for a lock, and holds it while other connections work: no time-out
 * of the server ends it, also none that its operator has set. A time-out of 0 in the settings of a
 * connection is not sent.
 */
export const WITHOUT_TIMEOUTS = `select set_config(name, '0', true) from pg_settings where name in
  ('idle_in_transaction_session_timeout', 'transaction_timeout', 'statement_timeout', 'lock_timeout')`;

/**
 * The slots of names, each once. Two names may share one: then one waits for the other without
 * need.
 */
export const slotsOf = (names: readonly string[]): number[] => [
  ...new Set(names.map((name) => numberOf(name))),
];

/** The slot of work under a name, which no transaction locks. */
export const slotOfWork = (name: string): number => SLOTS + numberOf(name);

const numberOf = (name: string): number => createHash('sha256').update(name).digest().readUInt32BE(0) % SLOTS;

/** Makes the tables, and rows that are missing in them. @returns the name of the channel */
export async function nodeTables(database: Database): Promise<string> {
  if (!(await hasTables(database)))
    await database
      .transaction()
      .execute(makeTables)
      .catch(async (cause: unknown) => {
        // A node that started at the same moment has made them.
        if (!(await hasTables(database))) throw cause;
      });
  await makeLocks(database);
  const { rows } = await sql<{ name: string }>`select name from notice_channel`.execute(database);
  const [channel] = rows;
  if (channel === undefined) throw new Error('its table notice_channel is empty: restore it from a backup');
  return channel.name;
}

async function hasTables(database: Database): Promise<boolean> {
  const { rows } = await sql<{ made: string | null }>`
    select to_regclass('name_locks')::text as made`.execute(database);
  return rows.some(({ made }) => made !== null);
}

async function makeTables(transaction: Database): Promise<void> {
  const channel = `annex_${randomBytes(16).toString('hex')}`;
  await sql`create table notice_channel (name text primary key)`.execute(transaction);
  await sql`insert into notice_channel values (${channel})`.execute(transaction);
  await sql`create table name_locks (slot integer primary key)`.execute(transaction);
}

/**
 * Fault: a copy or a restore without some rows. A name without its row would be locked by all nodes
 * at once.
 */
async function makeLocks(database: Database): Promise<void> {
  const all = 2 * SLOTS;
  const { rows } = await sql<{ made: number }>`select count(*)::int as made from name_locks`.execute(
    database,
  );
  if (rows.some(({ made }) => made === all)) return;
  await sql`insert into name_locks select generate_series(0, ${sql.lit(all - 1)}) on conflict do nothing`.execute(
    database,
  );
}

/** Runs `work` on one node at a time: what a start does to the schema. */
export async function aloneInStart<Result>(database: Database, work: () => Promise<Result>): Promise<Result> {
  return database.transaction().execute(async (transaction) => {
    await sql.raw(WITHOUT_TIMEOUTS).execute(transaction);
    await sql`select slot from name_locks where slot = ${sql.lit(slotOfWork('schema'))} for update`.execute(
      transaction,
    );
    return work();
  });
}
