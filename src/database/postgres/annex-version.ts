/**
 * The version of Annex that last wrote a PostgreSQL database, kept as the comment of the table of
 * migrations. An older Annex that finds an unknown schema can then name the version that made it.
 */
import { Client, type Pool } from 'pg';
import { NewerSchema } from '../database.ts';

const COMMENT = `select obj_description('kysely_migration'::regclass, 'pg_class') as version`;

/** Records this version, unless it is recorded already. */
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
