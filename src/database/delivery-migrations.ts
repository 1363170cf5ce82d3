/**
 * Migrations of the tables of events and deliveries, and of the leases of lifecycle events (see
 * `migrations.ts`). Never edited once released.
 */
import { type Kysely, sql } from 'kysely';

/**
 * The tables of events, deliveries, payloads and attempts.
 *
 * Ids come from a `Sequence`, and a delivery's id begins with its event's: new rows are appended at
 * the end of each B-tree, and the deliveries of an event are a range. The indexes of pending and of
 * leased deliveries are partial, so a backlog slows down no other query.
 *
 * No foreign keys: a delivery outlives its target.
 */
export async function eventsAndDeliveries(db: Kysely<unknown>): Promise<void> {
  await createEvents(db);
  await createDeliveries(db);
  await createPayloadsAndAttempts(db);
  // Events accepted before a pause are not delivered after it
  // (docs/contract/webhooks.md#pause-and-removal).
  await db.schema.alterTable('targets').addColumn('paused_at', 'bigint').execute();
}

async function createEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('event_id', 'text', (column) => column.notNull().unique())
    .addColumn('organization', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('installation_id', 'text')
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('body_hash', 'text', (column) => column.notNull())
    .addColumn('deliveries', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('events_organization').on('events').columns(['organization', 'id']).execute();
}

async function createDeliveries(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('organization', 'text', (column) => column.notNull())
    .addColumn('integration', 'text', (column) => column.notNull())
    .addColumn('installation_id', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('armed_at', 'bigint', (column) => column.notNull())
    .addColumn('lease_until', 'bigint')
    .addColumn('fence', 'integer', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('retries', 'integer', (column) => column.notNull())
    .addColumn('unknowns', 'integer', (column) => column.notNull())
    .addColumn('faults', 'integer', (column) => column.notNull())
    .addColumn('outcome', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('finished_at', 'bigint')
    .execute();
  await db.schema
    .createIndex('deliveries_waiting')
    .on('deliveries')
    .columns(['endpoint', 'due_at', 'id'])
    .where(sql.ref('state'), '=', sql.lit('pending'))
    .execute();
  await db.schema
    .createIndex('deliveries_leased')
    .on('deliveries')
    .columns(['lease_until'])
    .where(sql.ref('lease_until'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('deliveries_failed')
    .on('deliveries')
    .columns(['id'])
    .where(sql.ref('state'), '=', sql.lit('failed'))
    .execute();
  await db.schema
    .createIndex('deliveries_installation')
    .on('deliveries')
    .columns(['installation_id', 'id'])
    .execute();
}

async function createPayloadsAndAttempts(db: Kysely<unknown>): Promise<void> {
  // A table of its own: the delivery's row is rewritten at each attempt, these bytes never are.
  await db.schema
    .createTable('delivery_payloads')
    .addColumn('delivery_id', 'text', (column) => column.primaryKey())
    .addColumn('destination', 'text', (column) => column.notNull())
    .addColumn('payload', 'text', (column) => column.notNull())
    .addColumn('revision', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('delivery_attempts')
    .addColumn('delivery_id', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('duration_ms', 'integer', (column) => column.notNull())
    .addColumn('result', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('destination', 'text')
    .addColumn('status', 'integer')
    .addColumn('response', 'text')
    .addColumn('truncated', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('delivery_attempts_key', ['delivery_id', 'number'])
    .execute();
}

/** Pending tasks are counted for each integration. */
export async function tasksOfIntegrations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('deliveries_tasks')
    .on('deliveries')
    .columns(['integration'])
    .where(sql<boolean>`state = 'pending' and type = 'task'`)
    .execute();
}

/** Chains of tasks end (docs/contract/tasks.md#chains). */
export async function generationsOfDeliveries(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('deliveries')
    .addColumn('generation', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

/**
 * A lifecycle event is claimed like a delivery. Few are at a time: a partial index holds those
 * alone.
 */
export async function lifecycleEventLeases(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('life_events').addColumn('lease_until', 'bigint').execute();
  await db.schema
    .alterTable('life_events')
    .addColumn('fence', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createIndex('life_events_leased')
    .on('life_events')
    .columns(['installation_id'])
    .where(sql.ref('lease_until'), 'is not', null)
    .execute();
}

export async function webhookSecrets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook_secrets')
    .addColumn('installation_id', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('sealed_secret', 'text', (column) => column.notNull())
    .addColumn('sealed_previous', 'text')
    .addColumn('previous_until', 'bigint')
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('webhook_secrets_key', ['installation_id', 'level', 'place'])
    .addForeignKeyConstraint(
      'webhook_secrets_target',
      ['installation_id', 'level', 'place'],
      'targets',
      ['installation_id', 'level', 'place'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
}
