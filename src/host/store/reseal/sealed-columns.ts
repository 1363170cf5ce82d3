/**
 * The list of all sealed columns, with the place of each value in terms of its row.
 *
 * Everything that concerns all sealed values uses this list: the check for missing keys at the
 * start, and resealing. A test compares it with the schema, so that no column is forgotten when a
 * key is removed.
 */
import { type Kysely, sql } from 'kysely';
import type { Level } from '../../../model/level.ts';
import type { Database } from '../../database/tables.ts';
import { lifecycleEventPlace, renewedRecord } from '../installations/lifecycle-event-rows.ts';
import { credentialsPlace, signingSecretPlace } from '../installations/target-rows.ts';
import { integrationSecretPlace } from '../integrations/integration-rows.ts';
import { secretPlace } from '../integrations/secret-rows.ts';
import { statementKeyPlace } from '../statement-keys.ts';
import { storedValuePlace } from '../storage/storage-rows.ts';
import { KEY_ID_CHARS, type Vault, type VaultPlace } from '../vault/vault.ts';
import type { KeyUse } from '../vault/vault-key.ts';
import { webhookSecretPlace } from '../webhooks/webhook-secret-rows.ts';

/** Values of a row's key columns, in order. */
export type RowKey = readonly (string | number)[];

export interface SealedColumn {
  readonly table: string;
  /** Null and the empty text mean that no value is sealed. */
  readonly column: string;
  /** Key columns, by which the rows are sorted. */
  readonly key: readonly [string, ...string[]];
  place(row: RowKey): VaultPlace;
  /** Transforms the opened text, for a value that contains sealed values itself. */
  renewText?(vault: Vault, text: string): string;
}

const TARGET_KEY = ['installation_id', 'level', 'place'] as const;

const targetOf = ([installationId, level, place]: RowKey) => ({
  installationId: String(installationId),
  level: level as Level,
  place: String(place),
});

export const SEALED_COLUMNS: readonly SealedColumn[] = [
  {
    table: 'integrations',
    column: 'sealed_signing_secret',
    key: ['name'],
    place: ([name]) => integrationSecretPlace(String(name)),
  },
  {
    table: 'secrets',
    column: 'sealed_value',
    key: ['integration', 'name'],
    place: ([integration, name]) => secretPlace(String(integration), String(name)),
  },
  {
    table: 'targets',
    column: 'sealed_signing_secret',
    key: TARGET_KEY,
    place: (row) => signingSecretPlace(targetOf(row)),
  },
  {
    table: 'targets',
    column: 'sealed_credentials',
    key: TARGET_KEY,
    place: (row) => credentialsPlace(targetOf(row)),
  },
  {
    table: 'life_events',
    column: 'sealed_record',
    key: ['event_id'],
    place: ([eventId]) => lifecycleEventPlace(String(eventId)),
    renewText: renewedRecord,
  },
  {
    table: 'webhook_secrets',
    column: 'sealed_secret',
    key: TARGET_KEY,
    place: (row) => webhookSecretPlace('sealed_secret', targetOf(row)),
  },
  {
    table: 'webhook_secrets',
    column: 'sealed_previous',
    key: TARGET_KEY,
    place: (row) => webhookSecretPlace('sealed_previous', targetOf(row)),
  },
  {
    table: 'webhook_secrets',
    column: 'sealed_headers',
    key: TARGET_KEY,
    place: (row) => webhookSecretPlace('sealed_headers', targetOf(row)),
  },
  {
    table: 'statement_keys',
    column: 'sealed_key',
    key: ['kid'],
    place: ([kid]) => statementKeyPlace(String(kid)),
  },
  {
    table: 'storage_entries',
    column: 'sealed_value',
    key: ['area', 'key'],
    place: ([area, key]) => storedValuePlace(String(area), String(key)),
  },
];

/** The database with untyped tables and columns, addressed by name. */
export const byName = (database: Database) =>
  database as unknown as Kysely<Record<string, Record<string, string | number | null>>>;

/** SQL for the key id of a sealed value. SQLite and PostgreSQL both count characters from 1. */
export const keyIdIn = (column: string) =>
  sql<string>`substr(${sql.ref(column)}, 1, ${sql.lit(KEY_ID_CHARS)})`;

const KEY_ID = new RegExp(`^[0-9a-f]{${KEY_ID_CHARS}}$`);

/**
 * Keys with which values of the store are sealed. A value that does not begin with a key id is
 * damaged and not counted: no key could open it, and opening it reports the error.
 */
export async function keysInUse(database: Database): Promise<KeyUse[]> {
  const uses = new Map<string, number>();
  for (const { table, column } of SEALED_COLUMNS) {
    const rows = await byName(database)
      .selectFrom(table)
      .select([keyIdIn(column).as('id'), ({ fn }) => fn.countAll().as('values')])
      .where(column, 'is not', null)
      .where(column, '<>', '')
      .groupBy(keyIdIn(column))
      .execute();
    for (const { id, values } of rows) {
      if (KEY_ID.test(id)) uses.set(id, (uses.get(id) ?? 0) + Number(values));
    }
  }
  return [...uses].map(([keyId, values]) => ({ keyId, values })).sort((a, b) => b.values - a.values);
}
