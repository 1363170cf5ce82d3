/**
 * A new admin token in the database of a service, for an operator who has lost the last one. The
 * service may run: nothing is migrated, made or checkpointed. It prints nothing.
 *
 * Attack: somebody with a copy of the database, or a connection to it, who makes a token in it.
 * Whoever may write rows could do that without this command; it still asks for the vault's keys, so
 * that it is no easier way in than they are. In a store where nothing is sealed yet, any keys do.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Kysely, sql } from 'kysely';
import type { Config } from '../../host/config.ts';
import { hasThisSchema } from '../../host/database/database.ts';
import { connectionPool, connectionSettings } from '../../host/database/postgres/postgres-clients.ts';
import { PostgresDialect } from '../../host/database/postgres/postgres-dialect.ts';
import { unusable } from '../../host/database/postgres/postgres-engine.ts';
import { Sequence } from '../../host/database/sequence.ts';
import { databaseFile } from '../../host/database/sqlite/files/data-folder.ts';
import { sqliteDialect } from '../../host/database/sqlite/sqlite-dialect.ts';
import type { Database, Tables } from '../../host/database/tables.ts';
import { DatabaseUnavailable } from '../../host/database/unavailable.ts';
import { keysInUse } from '../../host/store/reseal/sealed-columns.ts';
import { Tokens } from '../../host/store/tokens.ts';
import { openVault } from '../../host/store/vault/vault-key.ts';
import { VERSION } from '../../version.ts';

/** @throws if the database cannot be used, or a key is missing with which it was sealed */
export async function recoverFolderToken(
  config: Config,
): Promise<{ readonly id: string; readonly token: string }> {
  const { dataFolder, databaseUrl, vaultKeys: source } = config;
  const file = databaseFile(dataFolder);
  if (databaseUrl === undefined && !existsSync(file))
    throw new Error(`${file} does not exist; name the data folder (--data).`);
  // It would be made, and prove nothing.
  if ('file' in source && !existsSync(source.file))
    throw new Error(`${source.file}, the file of the vault's keys, does not exist (--vault-key-file).`);
  const database = databaseUrl === undefined ? besideService(file) : onServer(databaseUrl);
  try {
    // What keeps it from being read is an error of its own.
    await sql`select 1`.execute(database);
    if (!(await hasThisSchema(database)))
      throw new Error(
        `The database is not one of this version of Annex, ${VERSION}. Run the command of the version that serves it.`,
      );
    await openVault({ source, randomBytes, inUse: await keysInUse(database) });
    const deps = { database, wallNow: Date.now, randomBytes, auditIds: new Sequence(randomBytes) };
    return await new Tokens(deps).recover();
  } catch (cause) {
    throw databaseUrl !== undefined && cause instanceof DatabaseUnavailable ? unusable(cause) : cause;
  } finally {
    await database.destroy();
  }
}

const besideService = (file: string): Database =>
  new Kysely<Tables>({ dialect: sqliteDialect(file, { isBeside: true }) });

const onServer = (url: string): Database =>
  new Kysely<Tables>({
    dialect: new PostgresDialect(connectionPool({ ...connectionSettings(url), max: 1 }), 'recovery'),
  });
