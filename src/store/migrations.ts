/**
 * The schema's history: each entry runs once, in the order of its name, in a transaction of its own engine.
 *
 * An entry that has been released is never edited; a change is a new entry. Only what kysely's schema builder says the
 * same way to every engine is used here.
 */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '001-registry': { up: registry },
  '002-tokens': { up: tokens },
  '003-logs': { up: logs },
  '004-lowered-limits': { up: loweredLimits },
};

async function registry(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('integrations')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('organization', 'text', (column) => column.notNull())
    .addColumn('visibility', 'text', (column) => column.notNull())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('description', 'text', (column) => column.notNull())
    .addColumn('active_version', 'integer', (column) => column.notNull())
    .addColumn('latest_version', 'integer', (column) => column.notNull())
    .addColumn('sealed_signing_secret', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('versions')
    .addColumn('integration', 'text', (column) => column.notNull().references('integrations.name'))
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('manifest', 'text', (column) => column.notNull())
    .addColumn('script', 'text', (column) => column.notNull())
    .addColumn('source_map', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('versions_key', ['integration', 'number'])
    .execute();
  await db.schema
    .createTable('secrets')
    .addColumn('integration', 'text', (column) => column.notNull().references('integrations.name'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('sealed_value', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('secrets_key', ['integration', 'name'])
    .execute();
  await db.schema
    .createTable('installations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('integration', 'text', (column) => column.notNull().references('integrations.name'))
    .addColumn('organization', 'text', (column) => column.notNull())
    .addColumn('endpoint_key', 'text', (column) => column.notNull().unique())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('configuration', 'text', (column) => column.notNull())
    .addColumn('external_ids', 'text', (column) => column.notNull())
    .addColumn('sealed_signing_secret', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('installations_once', ['integration', 'organization'])
    .execute();
  await db.schema
    .createIndex('installations_page')
    .on('installations')
    .columns(['integration', 'id'])
    .execute();
  await db.schema
    .createTable('external_ids')
    .addColumn('integration', 'text', (column) => column.notNull())
    .addColumn('external_id', 'text', (column) => column.notNull())
    .addColumn('installation_id', 'text', (column) =>
      column.notNull().references('installations.id').onDelete('cascade'),
    )
    .addPrimaryKeyConstraint('external_ids_key', ['integration', 'external_id', 'installation_id'])
    .execute();
}

async function tokens(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('tokens')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('organization', 'text')
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
}

/** No foreign key: a line of an installation that is deleted meanwhile must not fail the batch it is flushed with. */
async function logs(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('log_lines')
    .addColumn('installation_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('level', 'integer', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('log_lines_key', ['installation_id', 'id'])
    .execute();
}

async function loweredLimits(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('integrations')
    .addColumn('lowered_limits', 'text', (column) => column.notNull().defaultTo('{}'))
    .execute();
}
