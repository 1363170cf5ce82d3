/**
 * Schema migrations: each runs once, in the order of its name, in its own transaction.
 *
 * A released migration is never edited; a change is a new migration. Migrations use only what
 * kysely's schema builder expresses the same way for every engine.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import {
  eventsAndDeliveries,
  generationsOfDeliveries,
  lifecycleEventLeases,
  tasksOfIntegrations,
  webhookSecrets,
} from './delivery-migrations.ts';
import { integrationEndpoints, spentSignatures } from './endpoint-migrations.ts';
import { statementKeys } from './product-migrations.ts';

export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '001-registry': { up: registry },
  '002-tokens': { up: tokens },
  '003-logs': { up: logs },
  '004-lowered-limits': { up: loweredLimits },
  '005-targets': { up: targets },
  '006-life-events': { up: lifecycleEvents },
  '007-audit': { up: audit },
  '008-images-and-links': { up: imagesAndLinks },
  '009-deleted-integrations': { up: deletedIntegrations },
  '010-handled-events': { up: handledEvents },
  '011-credential-leases': { up: credentialLeases },
  '012-targets-of-organizations': { up: targetsOfOrganizations },
  '013-organizations-of-actors': { up: organizationsOfActors },
  '014-events-and-deliveries': { up: eventsAndDeliveries },
  '015-webhook-secrets': { up: webhookSecrets },
  '016-life-events-of-organizations': { up: lifecycleEventsOfOrganizations },
  '017-spent-states': { up: spentStates },
  '018-built-ins': { up: builtIns },
  '019-statement-keys': { up: statementKeys },
  '020-integration-endpoints': { up: integrationEndpoints },
  '021-tasks': { up: tasksOfIntegrations },
  '022-life-event-leases': { up: lifecycleEventLeases },
  '023-spent-signatures': { up: spentSignatures },
  '024-generations-of-deliveries': { up: generationsOfDeliveries },
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

/**
 * No foreign key: a line of an installation deleted meanwhile must not fail the batch in which it
 * is written.
 */
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

/** One table for targets of all levels (docs/decisions/targets-table.md). */
async function targets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('targets')
    .addColumn('installation_id', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('integration', 'text', (column) => column.notNull().references('integrations.name'))
    .addColumn('organization', 'text', (column) => column.notNull())
    .addColumn('endpoint_key', 'text', (column) => column.notNull().unique())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('configuration', 'text', (column) => column.notNull())
    .addColumn('sealed_credentials', 'text')
    .addColumn('external_ids', 'text', (column) => column.notNull())
    .addColumn('space_selection', 'text', (column) => column.notNull())
    .addColumn('site_selection', 'text', (column) => column.notNull())
    .addColumn('sealed_signing_secret', 'text', (column) => column.notNull())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('targets_key', ['installation_id', 'level', 'place'])
    .addUniqueConstraint('targets_once', ['integration', 'organization', 'level', 'place'])
    .execute();
  await db.schema
    .createIndex('targets_page')
    .on('targets')
    .columns(['integration', 'level', 'installation_id'])
    .execute();
  await sql`
    insert into targets (installation_id, level, place, integration, organization, endpoint_key, status, configuration,
      external_ids, space_selection, site_selection, sealed_signing_secret, revision, created_at, updated_at)
    select id, 'organization', '', integration, organization, endpoint_key, status, configuration,
      external_ids, 'all', 'all', sealed_signing_secret, 1, created_at, updated_at
    from installations`.execute(db);
  await db.schema.alterTable('external_ids').renameTo('external_ids_before').execute();
  await db.schema
    .createTable('external_ids')
    .addColumn('integration', 'text', (column) => column.notNull())
    .addColumn('external_id', 'text', (column) => column.notNull())
    .addColumn('installation_id', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('external_ids_rows', [
      'integration',
      'external_id',
      'installation_id',
      'level',
      'place',
    ])
    .addForeignKeyConstraint(
      'external_ids_target',
      ['installation_id', 'level', 'place'],
      'targets',
      ['installation_id', 'level', 'place'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
  await sql`
    insert into external_ids (integration, external_id, installation_id, level, place)
    select integration, external_id, installation_id, 'organization', '' from external_ids_before`.execute(
    db,
  );
  await db.schema
    .createIndex('external_ids_target_index')
    .on('external_ids')
    .columns(['installation_id', 'level', 'place'])
    .execute();
  await db.schema.dropTable('external_ids_before').execute();
  await db.schema.dropTable('installations').execute();
}

/** No foreign key: the event of a deletion outlives its target. */
async function lifecycleEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('life_events')
    .addColumn('installation_id', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('event_id', 'text', (column) => column.notNull().unique())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('integration', 'text', (column) => column.notNull())
    .addColumn('organization', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('sealed_record', 'text', (column) => column.notNull())
    .addColumn('depth', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('outcome', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('finished_at', 'bigint')
    .addPrimaryKeyConstraint('life_events_key', ['installation_id', 'position'])
    .execute();
  // Finds the first pending event of one installation, and of each.
  await db.schema
    .createIndex('life_events_waiting')
    .on('life_events')
    .columns(['state', 'installation_id', 'position'])
    .execute();
  await db.schema.createIndex('life_events_finished').on('life_events').columns(['finished_at']).execute();
}

/** No foreign key: an audit entry outlives the objects that it names. */
async function audit(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('token_id', 'text')
    .addColumn('address', 'text')
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('organization', 'text')
    .addColumn('integration', 'text')
    .addColumn('installation_id', 'text')
    .addColumn('level', 'text')
    .addColumn('place', 'text')
    .addColumn('details', 'text', (column) => column.notNull())
    .execute();
  for (const column of ['organization', 'integration', 'installation_id']) {
    await db.schema.createIndex(`audit_${column}`).on('audit').columns([column, 'id']).execute();
  }
}

async function imagesAndLinks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('images')
    .addColumn('integration', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('images_key', ['integration', 'number', 'path'])
    .addForeignKeyConstraint(
      'images_version',
      ['integration', 'number'],
      'versions',
      ['integration', 'number'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
  await db.schema.alterTable('integrations').addColumn('install_link_hash', 'text').execute();
  await db.schema
    .createIndex('integrations_install_link')
    .on('integrations')
    .column('install_link_hash')
    .execute();
  await db.schema
    .alterTable('secrets')
    .addColumn('updated_at', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
}

/** What remains of a deleted integration: its name is free again, its version numbers are not. */
async function deletedIntegrations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('deleted_integrations')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('latest_version', 'integer', (column) => column.notNull())
    .execute();
}

async function handledEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('versions').addColumn('handled_events', 'text').execute();
}

/** At most one row a target: the next lease overwrites one that was not released. */
async function credentialLeases(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('credential_leases')
    .addColumn('installation_id', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('holder', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('credential_leases_key', ['installation_id', 'level', 'place'])
    .addForeignKeyConstraint(
      'credential_leases_target',
      ['installation_id', 'level', 'place'],
      'targets',
      ['installation_id', 'level', 'place'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
}

/** Installations of an organization, by the name of the integration. */
async function targetsOfOrganizations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('targets_organization')
    .on('targets')
    .columns(['organization', 'level', 'integration'])
    .execute();
}

/** The principal of a change may belong to another organization than the one concerned. */
async function organizationsOfActors(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('audit').addColumn('actor_organization', 'text').execute();
}

/**
 * Each install counts the pending lifecycle events of its organization: a partial index holds those
 * alone.
 */
async function lifecycleEventsOfOrganizations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('life_events_waiting_of_organization')
    .on('life_events')
    .columns(['integration', 'organization'])
    .where(sql.ref('state'), '=', sql.lit('pending'))
    .execute();
}

/** Removed with their target, or when they expire. */
async function spentStates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('spent_states')
    .addColumn('installation_id', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('spent_states_key', ['installation_id', 'level', 'place', 'digest'])
    .addForeignKeyConstraint(
      'spent_states_target',
      ['installation_id', 'level', 'place'],
      'targets',
      ['installation_id', 'level', 'place'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
  await db.schema.createIndex('spent_states_over').on('spent_states').columns(['expires_at']).execute();
}

async function builtIns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('built_ins')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('content_hash', 'text', (column) => column.notNull())
    .execute();
}
