/**
 * Migrations of the tables for the product's API (see `migrations.ts`). Never edited once released.
 */
import type { Kysely } from 'kysely';

export async function statementKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('statement_keys')
    .addColumn('kid', 'text', (column) => column.primaryKey())
    .addColumn('number', 'integer', (column) => column.notNull().unique())
    .addColumn('sealed_key', 'text', (column) => column.notNull())
    .addColumn('public_key', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
}
