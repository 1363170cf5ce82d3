/**
 * Opens the database: connects through a dialect and brings the schema up to date.
 *
 * Independent of the engine: only the given dialect knows which one it is.
 */
import { type Dialect, Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { FIRST_MIGRATION, isEarlier, LAST_EARLIER, MIGRATIONS } from './migrations.ts';
import type { Database, Tables } from './tables.ts';
import { DatabaseUnavailable } from './unavailable.ts';

/**
 * The schema has migrations that this version of Annex does not know: a newer version made them.
 */
export class NewerSchema extends Error {
  /** Names of these migrations. */
  readonly migrations: readonly string[];

  constructor(migrations: readonly string[]) {
    super(`A newer Annex made this database: this one does not know ${migrations.join(', ')}.`);
    this.migrations = migrations;
  }
}

/** A table that every database of Annex has. */
const TABLE = 'deliveries';

/**
 * Why a database without migrations may not be a new one; undefined if it may.
 *
 * @param schemas in which a service has tables all the same
 */
export type Refusal = (schemas: readonly string[]) => string | undefined;

/**
 * @param refusal every database without migrations may be new if it is absent
 * @throws if the engine cannot be reached or a migration fails; the message names the migration,
 * and the database is unchanged
 * @throws NewerSchema
 */
export async function openDatabase(dialect: Dialect, refusal?: Refusal): Promise<Database> {
  const database = new Kysely<Tables>({ dialect });
  const applied = await migrationsIn(database);
  const unknown = applied.filter((name) => !(name in MIGRATIONS) && !isEarlier(name));
  if (unknown.length > 0) {
    await database.destroy();
    throw new NewerSchema(unknown);
  }
  const names = applied.some(isEarlier) ? await adopt(database, applied) : applied;
  if (refusal !== undefined) await refuseNew(database, refusal);
  // Mostly there is nothing to do, and no need to look at all tables, or to wait for a lock.
  if (isCurrent(names)) return database;
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return database;
  await database.destroy();
  const failed = results?.find((result) => result.status === 'Error')?.migrationName;
  const where = failed === undefined ? 'could not be opened' : `failed in migration ${failed}`;
  const cause = error instanceof DatabaseUnavailable ? error.cause : error;
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new Error(`The database ${where}: ${why}.`, { cause: error });
}

/**
 * Takes over a database of the development before the first release: its tables are those of today,
 * made in 24 steps.
 *
 * @returns the migrations that it has now
 * @throws if it lacks some of them
 */
async function adopt(database: Database, applied: readonly string[]): Promise<readonly string[]> {
  if (!applied.includes(LAST_EARLIER)) {
    await database.destroy();
    throw new Error(
      `The database was made before the first release of Annex: its schema ends with ${applied.at(-1)}. ` +
        'Start Annex at its commit 2938d64 on it once, and then this version. Nothing was changed.',
    );
  }
  await database.transaction().execute(async (transaction) => {
    await sql`delete from kysely_migration where name < ${LAST_EARLIER}`.execute(transaction);
    // Another node may have done it meanwhile.
    await sql`update kysely_migration set name = ${FIRST_MIGRATION} where name = ${LAST_EARLIER}`.execute(
      transaction,
    );
  });
  return [FIRST_MIGRATION];
}

/**
 * An unreadable database is not new: the look at its tables says why it cannot be read.
 *
 * @throws if the database may not be new
 */
export async function refuseNew(database: Database, refusal: Refusal): Promise<void> {
  try {
    if ((await migrationsIn(database)).length > 0) return;
    const tables = await database.introspection.getTables();
    const why = refusal(tables.filter(({ name }) => name === TABLE).map(({ schema = '' }) => schema));
    // Another node that starts may have made the tables meanwhile, where this one looks for them.
    if (why !== undefined && (await migrationsIn(database)).length === 0) throw new Error(why);
  } catch (failure) {
    await database.destroy();
    throw failure;
  }
}

/** Whether there is nothing for `openDatabase` to do but to connect. */
export async function hasThisSchema(database: Database): Promise<boolean> {
  return isCurrent(await migrationsIn(database));
}

const isCurrent = (applied: readonly string[]): boolean =>
  applied.length === Object.keys(MIGRATIONS).length && applied.every((name) => name in MIGRATIONS);

/**
 * Names of the migrations applied. Empty for a new database, and for an unreadable one: migrating
 * it reports the error.
 */
async function migrationsIn(database: Database): Promise<string[]> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(
      database,
    );
    return rows.map(({ name }) => name);
  } catch {
    return [];
  }
}
