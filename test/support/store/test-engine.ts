/**
 * The engine of stores and services in tests: SQLite, or PostgreSQL in the project `postgres` of
 * the test runner (`vitest/on-postgres.ts`). Each data folder has a database of its own there, so
 * that a test which opens a folder again finds what it wrote.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Dialect, sql } from 'kysely';
import { Pool, type QueryResult } from 'pg';
import { openDatabase } from '../../../src/host/database/database.ts';
import type { Engine } from '../../../src/host/database/engine.ts';
import { connectionPool, connectionSettings } from '../../../src/host/database/postgres/postgres-clients.ts';
import { PostgresDialect } from '../../../src/host/database/postgres/postgres-dialect.ts';
import { PostgresDriver } from '../../../src/host/database/postgres/postgres-driver.ts';
import { PostgresEngine } from '../../../src/host/database/postgres/postgres-engine.ts';
import { sqliteDialect } from '../../../src/host/database/sqlite/sqlite-dialect.ts';
import type { Database, Tables } from '../../../src/host/database/tables.ts';
import { databaseAt } from '../postgres/template.ts';

const { ANNEX_TEST_STORES: SERVER, ANNEX_TEST_TEMPLATE: TEMPLATE = '' } = process.env;
/** A database without the schema. */
export const EMPTY = 'template template0';

/** Whether the stores of this test file are on PostgreSQL. */
export const IS_POSTGRES = SERVER !== undefined;

/** Databases that this process made, by name. */
const MADE = new Map<string, Promise<unknown>>();
const EXISTS = '42P04';

const nameOf = (folder: string): string =>
  `annex_${createHash('sha256').update(folder).digest('hex').slice(0, 24)}`;

/** URL of the database of a data folder, or of another name. */
export function postgresUrl(folder: string, name = nameOf(folder)): string {
  if (SERVER === undefined) throw new Error('This test does not run on PostgreSQL.');
  return databaseAt(SERVER, name);
}

/** Makes the engine of a folder; undefined for SQLite, which is the default of a store. */
export const testEngine = (folder: string): (() => Engine) | undefined =>
  IS_POSTGRES ? () => new TestPostgres(folder) : undefined;

/** The dialect for the database of a folder. @param isEmpty without the schema, if it is new */
export async function testDialect(folder: string, { isEmpty = false } = {}): Promise<Dialect> {
  if (!IS_POSTGRES) return sqliteDialect(join(folder, 'annex.db'));
  const url = await makeDatabase(folder, isEmpty ? EMPTY : TEMPLATE);
  // The database is dropped at the end of a test, with the connections to it.
  const pool = connectionPool({ ...connectionSettings(url), max: 5 });
  return new PostgresDialect(pool, randomUUID());
}

/** Opens the database of a folder, without a store. */
export const openTestDatabase = async (folder: string): Promise<Database> =>
  openDatabase(await testDialect(folder));

/** The rows of a table, also while a store has the folder open. */
export async function storedRows(folder: string, table: keyof Tables): Promise<Record<string, unknown>[]> {
  if (!IS_POSTGRES) {
    const file = new DatabaseSync(join(folder, 'annex.db'), { readOnly: true });
    const rows = file.prepare(`select * from ${table}`).all();
    file.close();
    return rows;
  }
  const database = await openTestDatabase(folder);
  const rows = await database.selectFrom(table).selectAll().execute();
  await database.destroy();
  return rows;
}

/** Changes rows behind the back of a store, also while it has the folder open. */
export async function changeRows(folder: string, statement: string): Promise<void> {
  if (!IS_POSTGRES) {
    const file = new DatabaseSync(join(folder, 'annex.db'));
    file.exec(statement);
    return file.close();
  }
  const database = await openTestDatabase(folder);
  await sql.raw(statement).execute(database);
  await database.destroy();
}

/**
 * Everything that is stored in the database of a folder, as text: the bytes of the files of SQLite,
 * and the rows of all tables on PostgreSQL, whose files hold other databases, too.
 */
export async function storedText(folder: string): Promise<string> {
  if (!IS_POSTGRES) {
    const files = ['annex.db', 'annex.db-wal'].map((name) =>
      readFile(join(folder, name), 'latin1').catch(() => ''),
    );
    return (await Promise.all(files)).join('');
  }
  const database = await openTestDatabase(folder);
  try {
    const tables = await database.introspection.getTables();
    const rows = tables.map(({ name }) =>
      sql`select t::text as row from ${sql.table(name)} t`.execute(database),
    );
    return JSON.stringify((await Promise.all(rows)).flatMap((result) => result.rows));
  } finally {
    await database.destroy();
  }
}

/**
 * Settings for a service on a database of its own, which the caller drops when the service has
 * stopped; none on SQLite, where it keeps its database in its folder.
 */
export async function serviceDatabase() {
  if (!IS_POSTGRES) return { env: {}, drop: async () => undefined };
  const name = `service ${randomUUID()}`;
  const url = await makeDatabase(name);
  const env = { ANNEX_DATABASE_URL: url, ANNEX_DATABASE_CONNECTIONS: '5' };
  return { env, drop: () => dropDatabase(name) };
}

/** Removes the database of a folder, if there is one. */
export async function dropDatabase(folder: string): Promise<void> {
  const name = nameOf(folder);
  if (MADE.delete(name)) await onServer(`drop database if exists ${name} with (force)`);
}

/**
 * Makes the database of a folder unless it exists. @param copied what it is a copy of, as `create
 * database` takes it @returns its URL
 */
export async function makeDatabase(folder: string, copied = TEMPLATE): Promise<string> {
  const name = nameOf(folder);
  const made = MADE.get(name) ?? createDatabase(name, copied);
  MADE.set(name, made);
  await made;
  return postgresUrl(folder);
}

/** Another process of the test may have made it. */
async function createDatabase(name: string, copied: string): Promise<void> {
  await onServer(`create database ${name} ${copied}`).catch((cause) => {
    if (cause.code !== EXISTS) throw cause;
  });
}

let server: Pool | undefined;

/** Runs a statement on the server, outside of any database of a test. */
export function onServer(sql: string): Promise<QueryResult> {
  server ??= new Pool({ connectionString: SERVER, allowExitOnIdle: true });
  return server.query(sql);
}

let uses = 0;
let idle = Promise.withResolvers<void>();

/**
 * Waits until no statement or transaction of PostgreSQL is in progress in this process. @returns
 * whether one was; never on SQLite, whose statements end in the turn in which they begin
 */
export async function databaseIdle(): Promise<boolean> {
  if (uses === 0) return false;
  await idle.promise;
  return true;
}

function endUse(): void {
  uses -= 1;
  if (uses > 0) return;
  idle.resolve();
  idle = Promise.withResolvers();
}

// In the driver itself, because an engine makes its own.
const { acquireConnection, releaseConnection } = PostgresDriver.prototype;
PostgresDriver.prototype.acquireConnection = async function () {
  uses += 1;
  return acquireConnection.call(this).catch((cause) => {
    endUse();
    throw cause;
  });
};
PostgresDriver.prototype.releaseConnection = async function (connection) {
  await releaseConnection.call(this, connection);
  endUse();
};

class TestPostgres extends PostgresEngine {
  readonly #folder: string;

  constructor(folder: string) {
    super({
      url: postgresUrl(folder),
      connections: 5,
      folder,
      monotonicNow: () => performance.now(),
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
