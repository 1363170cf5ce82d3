/**
 * Opens the database: connects through a dialect and brings the schema up to date.
 *
 * Which engine it is shows nowhere but in the dialect that is passed in.
 */
import { type Dialect, Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { MIGRATIONS } from './migrations.ts';
import type { Database, Tables } from './tables.ts';

/**
 * @throws where the engine cannot be reached or a migration fails; the message names the migration. The database is
 *   then as it was before.
 */
export async function openDatabase(dialect: Dialect): Promise<Database> {
  const database = new Kysely<Tables>({ dialect });
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return database;
  await database.destroy();
  const failed = results?.find((result) => result.status === 'Error')?.migrationName;
  const where = failed === undefined ? 'could not be opened' : `failed in migration ${failed}`;
  const why = error instanceof Error ? error.message : String(error);
  throw new Error(`The database ${where}: ${why}.`, { cause: error });
}
