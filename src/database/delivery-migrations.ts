/**
 * The tables of events and deliveries, as `migrations.ts` makes them: never edited once they are released.
 */
import { type Kysely, sql } from 'kysely';

/**
 * Ids are those of a `Sequence`, and a delivery's begins with its event's: new rows go to the right edge of every tree, and the
 * deliveries of an event are a range. The indexes of what waits and of what is under way hold those rows alone, so a backlog
 * costs whoever is not part of it nothing.
 *
 * No foreign key: what was delivered outlives what it was delivered for.
 */
export async function eventsAndDeliveries(db: Kysely<unknown>): Promise<void> {
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
  // Apart from its delivery: that row is written over at each attempt, and these bytes never are.
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
  // What was accepted before it was paused is not delivered once it is resumed (REFERENCE D29).
  await db.schema.alterTable('targets').addColumn('paused_at', 'bigint').execute();
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
