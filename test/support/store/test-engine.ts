/**
 * The engine of stores in tests: SQLite, or PostgreSQL where `ANNEX_TEST_POSTGRES` is the URL of a
 * server on which databases may be made. Each data folder has a database of its own there, so that
 * a test which opens a folder again finds what it wrote.
 */
import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import { openDatabase } from '../../../src/database/database.ts';
import type { Engine } from '../../../src/database/engine.ts';
import { connectionPool, connectionSettings } from '../../../src/database/postgres/postgres-clients.ts';
import { PostgresDialect } from '../../../src/database/postgres/postgres-dialect.ts';
import { PostgresEngine } from '../../../src/database/postgres/postgres-engine.ts';
import { sqliteDialect } from '../../../src/database/sqlite/sqlite-dialect.ts';
import type { Database } from '../../../src/database/tables.ts';

const SERVER = process.env.ANNEX_TEST_POSTGRES;
/** A database with the schema, of which the others are copies. */
export const TEMPLATE = 'annex_template';

/** Whether the store of this run is PostgreSQL. */
export const IS_POSTGRES = SERVER !== undefined;

const nameOf = (folder: string): string =>
  `annex_${createHash('sha256').update(folder).digest('hex').slice(0, 24)}`;

/** URL of the database of a data folder, or of another name. */
export function postgresUrl(folder: string, name = nameOf(folder)): string {
  if (SERVER === undefined) throw new Error('ANNEX_TEST_POSTGRES is not set.');
  const url = new URL(SERVER);
  url.pathname = `/${name}`;
  return url.href;
}

/** Makes the engine of a folder; undefined for SQLite, which is the default of a store. */
export const testEngine = (folder: string): (() => Engine) | undefined =>
  IS_POSTGRES ? () => new TestPostgres(folder) : undefined;

/** Opens the database of a folder, without a store. */
export async function openTestDatabase(folder: string): Promise<Database> {
  if (!IS_POSTGRES) return openDatabase(sqliteDialect(join(folder, 'annex.db')));
  // The database is dropped at the end of a test, with the connections to it.
  const pool = connectionPool({ ...connectionSettings(await makeDatabase(folder)), max: 5 });
  return openDatabase(new PostgresDialect(pool, randomUUID()));
}

/** Removes the database of a folder, if there is one. */
export async function dropDatabase(folder: string): Promise<void> {
  if (IS_POSTGRES) await onServer(`drop database if exists ${nameOf(folder)} with (force)`);
}

/** Makes the database of a folder unless it exists. @returns its URL */
export async function makeDatabase(folder: string): Promise<string> {
  const name = nameOf(folder);
  const { rows } = await onServer(`select 1 from pg_database where datname = '${name}'`);
  if (rows.length === 0) await onServer(`create database ${name} template ${TEMPLATE}`);
  return postgresUrl(folder);
}

/** Runs a statement on the server, outside of any database of a test. */
export async function onServer(sql: string) {
  const client = new Client({ connectionString: SERVER });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

class TestPostgres extends PostgresEngine {
  readonly #folder: string;

  constructor(folder: string) {
    super({
      url: postgresUrl(folder),
      connections: 5,
      folder,
      ticks: () => performance.now(),
      wall: () => Date.now(),
      node: randomUUID(),
      note: () => undefined,
    });
    this.#folder = folder;
  }

  override async open(): Promise<Database> {
    await makeDatabase(this.#folder);
    return super.open();
  }
}
