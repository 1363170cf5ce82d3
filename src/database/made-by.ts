/**
 * Which Annex has written a database last: kept in SQLite's `user_version`, which is not part of the schema. So an older Annex that
 * finds a schema it does not know can name the version that made it.
 */
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { NewerSchema } from './database.ts';
import type { Database } from './tables.ts';

/** Each part of a version has so much room: 1.2.3 is 1002003. */
const PART = 1_000;

/** Notes this version, where another one is noted. */
export async function noteVersion(database: Database, version: string): Promise<void> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(database);
  if (rows[0]?.user_version === numberOf(version)) return;
  await sql.raw(`pragma user_version = ${numberOf(version)}`).execute(database);
}

/** What to do with a database that a newer Annex than this one has made; undefined for any other failure. */
export function newerAnnex(file: string, failure: unknown, own?: string): Error | undefined {
  if (!(failure instanceof NewerSchema)) return undefined;
  const made = versionIn(file);
  const by = made === undefined ? 'a newer Annex' : `Annex ${made}`;
  return new Error(
    `${file} was made by ${by}: its schema has ${failure.migrations.join(', ')}, which this version${own === undefined ? '' : ` (${own})`} does not know. ` +
      `Start ${made === undefined ? 'that version' : `Annex ${made}`} or a later one, or restore a backup made by this version or an ` +
      'older one. Nothing was changed.',
    { cause: failure },
  );
}

function versionIn(file: string): string | undefined {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const number = Number(database.prepare('pragma user_version').get()?.user_version);
    return number > 0 ? textOf(number) : undefined;
  } finally {
    database.close();
  }
}

const numberOf = (version: string): number => {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/, 3).map(Number);
  return (major * PART + minor) * PART + patch;
};

const textOf = (number: number): string =>
  [Math.floor(number / PART / PART), Math.floor(number / PART) % PART, number % PART].join('.');
