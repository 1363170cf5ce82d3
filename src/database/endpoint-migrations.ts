/**
 * The migration that gives every integration an endpoint of its own. Released, and so never edited.
 */
import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { endpointKey } from '../model/identifiers.ts';

/** Existing rows get a key each before the column is required to be unique. */
export async function integrationEndpoints(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('integrations')
    .addColumn('endpoint_key', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  const { rows } = await sql<{ readonly name: string }>`select name from integrations`.execute(db);
  for (const { name } of rows) {
    const key = endpointKey(randomBytes);
    await sql`update integrations set endpoint_key = ${key} where name = ${name}`.execute(db);
  }
  await db.schema
    .createIndex('integrations_endpoint')
    .unique()
    .on('integrations')
    .column('endpoint_key')
    .execute();
}
