/** Migrations of endpoints (see `migrations.ts`). Never edited once released. */
import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { endpointKey } from '../model/identifiers.ts';

/**
 * Gives every integration an endpoint. Existing rows get a key each before the column is required
 * to be unique.
 */
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

/** Written only on engines that are shared: a node alone remembers in memory. */
export async function spentSignatures(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('spent_signatures')
    .addColumn('endpoint_key', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('spent_signatures_key', ['endpoint_key', 'digest'])
    .execute();
  await db.schema
    .createIndex('spent_signatures_over')
    .on('spent_signatures')
    .columns(['expires_at'])
    .execute();
}
