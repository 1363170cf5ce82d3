/**
 * What a start sets in a PostgreSQL database beside its schema: who may connect, the version of
 * Annex, and how full its pages are.
 */
import { sql } from 'kysely';
import { Client, type Pool } from 'pg';
import { NewerSchema } from '../database.ts';
import type { Database } from '../tables.ts';
import { DatabaseUnavailable } from '../unavailable.ts';

/**
 * Whether any role of the server may connect to the database of the service, as PostgreSQL lets it
 * by default. Such a role reads no table, but takes connections, and fills the queue of notices
 * that all databases of the server share.
 *
 * Of a database that a start has just filled for the first time, and that its role owns, the right
 * is taken away. Of any other it is the operator's to decide: other programs may rely on it.
 */
const ACCESS = `
  select datname as name, has_database_privilege('public', oid, 'connect') as "isOpen",
    datdba = (select oid from pg_roles where rolname = current_user) as "isOurs",
    format('revoke connect on database %I from public', datname) as revoke,
    format('grant connect on database %I to %I', datname, current_user) as "grant"
  from pg_database where datname = current_database()`;

interface Access {
  readonly name: string;
  readonly isOpen: boolean;
  readonly isOurs: boolean;
  readonly revoke: string;
  readonly grant: string;
}

/** @param isNew whether the database had no tables before. @returns a warning, if one is due */
export async function closeToOthers(pool: Pool, isNew: boolean): Promise<string | undefined> {
  const { rows } = await pool.query<Access>(ACCESS);
  const [access] = rows;
  if (access?.isOpen !== true) return undefined;
  const { name, isOurs, revoke, grant } = access;
  if (isNew && isOurs) {
    // Another node that starts for the first time may do the same at this moment.
    const isClosed = await pool.query(revoke).then(
      () => true,
      () => false,
    );
    if (isClosed) return undefined;
  }
  return `any role of this PostgreSQL may connect to the database ${name}; take that right away: ${grant}; ${revoke};`;
}

/** How full a page is when rows are inserted, in percent. */
const FILL_PERCENT = 70;
/** The lock waits for maintenance of the table alone. */
const LOCK_WAIT = '2s';

/**
 * Room for new versions of rows.
 *
 * PostgreSQL writes a row anew at each update, and a delivery is updated twice: claimed, and
 * settled. By default pages are filled to the brim when rows are inserted, so that each version
 * goes to another page, which has to be changed and logged, too. With room left on its own page,
 * claims and outcomes write an eighth less log, and the table is no larger in the end: the place of
 * old versions is used again.
 *
 * It changes how new pages are filled, and none that exists. A value that the operator has set
 * stays.
 *
 * Leaves it to the next start if maintenance of the table is in progress.
 */
export async function leaveRoom(database: Database): Promise<void> {
  const { rows } = await sql<{ settings: readonly string[] | null }>`
    select reloptions as settings from pg_class where oid = 'deliveries'::regclass`.execute(database);
  const settings = rows.flatMap((row) => row.settings ?? []);
  if (settings.some((setting) => setting.startsWith('fillfactor='))) return;
  try {
    await database.transaction().execute(async (transaction) => {
      await sql`set local lock_timeout = ${sql.lit(LOCK_WAIT)}`.execute(transaction);
      await sql`alter table deliveries set (fillfactor = ${sql.lit(FILL_PERCENT)})`.execute(transaction);
    });
  } catch (failure) {
    if (!(failure instanceof DatabaseUnavailable)) throw failure;
  }
}

const COMMENT = `select obj_description('kysely_migration'::regclass, 'pg_class') as version`;

/**
 * The version of Annex that last wrote a PostgreSQL database, kept as the comment of the table of
 * migrations. An older Annex that finds an unknown schema can then name the version that made it.
 *
 * Records this version, unless it is recorded already.
 */
export async function noteVersion(pool: Pool, version: string): Promise<void> {
  const { rows } = await pool.query<{ version: string | null }>(COMMENT);
  const comment = `Annex ${version}`;
  if (rows[0]?.version === comment) return;
  await pool.query(`comment on table kysely_migration is ${literal(comment)}`);
}

/** The error for a database of a newer Annex, with what to do; undefined for any other failure. */
export async function newerSchema(
  { url, version }: { readonly url: string; readonly version?: string | undefined },
  failure: unknown,
): Promise<Error | undefined> {
  if (!(failure instanceof NewerSchema)) return undefined;
  const by = (await versionAt(url)) ?? 'a newer Annex';
  const own = version === undefined ? 'this version' : `this version (${version})`;
  const what = `its schema has ${failure.migrations.join(', ')}, which ${own} does not know`;
  const rest = `Start ${by} or a later one, or restore a backup of an older one. Nothing was changed.`;
  return new Error(`it was made by ${by}: ${what}. ${rest}`, { cause: failure });
}

async function versionAt(url: string): Promise<string | undefined> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string | null }>(COMMENT);
    return rows[0]?.version ?? undefined;
  } catch {
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
