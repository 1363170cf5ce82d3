/**
 * Chooses the engine of the database by the settings: PostgreSQL if its URL is set, else SQLite in
 * the data folder. A part of the composition root, without decisions of its own.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { ServiceTime } from '../model/service-time.ts';
import { VERSION } from '../version.ts';
import type { Config } from './config.ts';
import type { Note } from './database/availability.ts';
import type { Engine } from './database/engine.ts';
import { SqliteEngine } from './database/sqlite/sqlite-engine.ts';
import { DatabaseUnavailable } from './database/unavailable.ts';

export async function engineOf(
  { dataFolder: folder, databaseUrl: url, databaseConnections: connections, acceptLoss }: Config,
  { log, time: { wallNow, monotonicNow } }: { readonly log: Logger; readonly time: ServiceTime },
): Promise<Engine> {
  const note: Note = (level, message, cause) =>
    log[level](cause === undefined ? {} : { err: cause }, message);
  if (url === undefined)
    return new SqliteEngine({
      ...{ folder, wallNow, version: VERSION, acceptLoss, note },
      onWal: ({ level, message }) => log[level](message),
      onIntegrity: ({ level, message, details }) => log[level](details, message),
    });
  // Loaded here: a service on SQLite starts without it.
  const { PostgresEngine } = await import('./database/postgres/postgres-engine.ts');
  return new PostgresEngine({
    ...{ url, connections, folder, monotonicNow, wall: wallNow, node: randomUUID(), version: VERSION, note },
  });
}

/** Logs a failure of background work, unless the engine of the database reports its state. */
export function reported(log: Logger, what: string): (cause: unknown) => void {
  return (cause) => {
    if (cause instanceof DatabaseUnavailable) log.debug({ err: cause }, what);
    else log.error({ err: cause }, what);
  };
}
