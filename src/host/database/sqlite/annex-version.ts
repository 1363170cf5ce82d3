/**
 * The version of Annex that last wrote a database, kept in SQLite's `user_version`, which is not
 * part of the schema. An older Annex that finds an unknown schema can then name the version that
 * made it.
 */
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { NewerSchema } from '../database.ts';
import type { Database } from '../tables.ts';

/** Each part of a version has three decimal digits: 1.2.3 is 1002003. */
const PART = 1_000;

/** Records this version, unless it is recorded already. */
export async function noteVersion(database: Database, version: string): Promise<void> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(database);
  if (rows[0]?.user_version === numberOf(version)) return;
  await sql.raw(`pragma user_version = ${numberOf(version)}`).execute(database);
}

/**
 * The error for a database made by a newer Annex, with what to do; undefined for any other failure.
 */
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
