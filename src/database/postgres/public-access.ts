/**
 * Whether any role of the server may connect to the database of the service, as PostgreSQL lets it
 * by default. Such a role reads no table, but takes connections, and fills the queue of notices
 * that all databases of the server share.
 *
 * Of a database that a start has just filled for the first time, and that its role owns, the right
 * is taken away. Of any other it is the operator's to decide: other programs may rely on it.
 */
import type { Pool } from 'pg';

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
