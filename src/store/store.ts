/**
 * The store, opened: a data folder becomes a registry, tokens and logs.
 *
 * The folder holds the database (`annex.db` and its write-ahead log) and the vault's key (`vault.key`); both belong in
 * a backup. One process at a time may have a folder open, because targets and principals are cached in its memory.
 */
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Limits } from '../limits.ts';
import type { RandomBytes } from '../model/identifiers.ts';
import { openDatabase } from './database.ts';
import { Installations } from './installations.ts';
import { Logs } from './logs.ts';
import { Registry } from './registry.ts';
import { Sequence } from './sequence.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import type { Database } from './tables.ts';
import type { Origins } from './targets.ts';
import { Tokens } from './tokens.ts';
import { openVault } from './vault-key.ts';

/** How long a log line waits before it can be read. */
const LOG_PASS_MS = 250;

export interface StoreOptions {
  /** Data folder; made, for its owner alone, where it does not exist. */
  readonly folder: string;
  readonly origins: Origins;
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
  /** Told when a pass over the logs fails; its lines are lost, and the next pass runs all the same. */
  readonly onError: (error: unknown) => void;
}

export interface Store {
  readonly registry: Registry;
  readonly installations: Installations;
  readonly tokens: Tokens;
  readonly logs: Logs;
  /** Writes what is buffered and lets go of the folder. */
  close(): Promise<void>;
}

/** @throws where the folder cannot be written, the schema cannot be migrated, or the vault's key is not the right one. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { folder, limits, randomBytes, onError } = options;
  const file = join(folder, 'annex.db');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // SQLite gives its files the mode of the database file: made here, they are private in a folder that is not.
  await (await open(file, 'a', 0o600)).close();
  const database = await openDatabase(sqliteDialect(file));
  try {
    const sample = await sealedSample(database);
    const vault = await openVault({ file: join(folder, 'vault.key'), randomBytes, sample });
    const parts = { ...options, database, vault, auditIds: new Sequence(randomBytes) };
    const registry = new Registry(parts);
    const logs = new Logs({ database, limits, randomBytes });
    const timer = setInterval(() => logs.pass().catch(onError), LOG_PASS_MS).unref();
    return {
      registry,
      installations: new Installations({ ...parts, changed: (id) => registry.installationChanged(id) }),
      tokens: new Tokens(parts),
      logs,
      async close() {
        clearInterval(timer);
        await logs.pass().catch(onError);
        await database.destroy();
      },
    };
  } catch (error) {
    await database.destroy();
    throw error;
  }
}

/** Any value sealed in this store: an integration is the first thing that has one. */
async function sealedSample(database: Database): Promise<string | undefined> {
  const row = await database
    .selectFrom('integrations')
    .select('sealed_signing_secret')
    .limit(1)
    .executeTakeFirst();
  return row?.sealed_signing_secret;
}
