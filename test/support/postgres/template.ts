/**
 * The database of which the tests' databases are copies: with the schema, and with a locale whose
 * order of texts differs from that of bytes, because Annex must not depend on it.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { Client, Pool } from 'pg';
import { openDatabase } from '../../../src/host/database/database.ts';
import { nodeTables } from '../../../src/host/database/postgres/node-tables.ts';
import { connectionSettings } from '../../../src/host/database/postgres/postgres-clients.ts';
import { PostgresDialect } from '../../../src/host/database/postgres/postgres-dialect.ts';

/** A linguistic order. */
const LINGUISTIC = `template template0 encoding 'UTF8' locale_provider icu icu_locale 'en-US'`;

/** Runs one statement on a server. @param url its database `postgres`, or another one */
export async function runOn(url: string, sql: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

/** URL of another database of the server. */
export function databaseAt(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** First version that makes a database from a locale of ICU, and copies one file by file. */
const SINCE = 150_000;

export interface Template {
  readonly name: string;
  /** How `create database` copies it: file by file costs a third of what the log does. */
  readonly copied: string;
}

export async function makeTemplate(server: string): Promise<Template> {
  const name = `annex_template_${randomBytes(6).toString('hex')}`;
  const { rows } = await runOn(server, `select current_setting('server_version_num')::integer as version`);
  const copied = `template ${name}${rows[0].version >= SINCE ? ' strategy file_copy' : ''}`;
  // Servers that were built without ICU only know the locales of the system.
  await runOn(server, `create database ${name} ${LINGUISTIC}`).catch(() =>
    runOn(server, `create database ${name}`),
  );
  const pool = new Pool({ ...connectionSettings(databaseAt(server, name)), max: 2 });
  const database = await openDatabase(new PostgresDialect(pool, randomUUID()));
  await nodeTables(database);
  await database.destroy();
  return { name, copied };
}
