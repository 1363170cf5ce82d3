/**
 * The one list of what is sealed: every column that holds values of the vault, and how a value's place is made of its row.
 *
 * What has to reach all sealed values goes through this list: the look for missing keys at the start, and sealing anew
 * under another key. A test compares it with the schema, so that no column is forgotten when a key is taken away.
 */
import { type Kysely, sql } from 'kysely';
import type { Database } from '../../database/tables.ts';
import type { Level } from '../../model/installation.ts';
import { lifecycleEventPlace, renewedRecord } from '../installations/lifecycle-event-rows.ts';
import { credentialsPlace, signingSecretPlace } from '../installations/target-rows.ts';
import { integrationSecretPlace } from '../integrations/integration-rows.ts';
import { secretPlace } from '../integrations/secret-rows.ts';
import { webhookSecretPlace } from '../webhooks/webhook-secret-rows.ts';
import { KEY_ID_CHARS, type Vault, type VaultPlace } from './vault.ts';
import type { KeyUse } from './vault-key.ts';

/** What names a row: its key columns, in their order. */
export type RowKey = readonly (string | number)[];

export interface SealedColumn {
  readonly table: string;
  /** Null and the empty text mean that nothing is sealed. */
  readonly column: string;
  /** Columns that name a row and order the rows. */
  readonly key: readonly [string, ...string[]];
  place(row: RowKey): VaultPlace;
  /** What has to be done to the text inside, where that holds sealed values, too. */
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
];

/** The tables as this list needs them: columns by name. */
export const byName = (database: Database) =>
  database as unknown as Kysely<Record<string, Record<string, string | number | null>>>;

/** Text of a value up to its key's id. Both SQLite and PostgreSQL count characters from 1. */
export const keyIdIn = (column: string) => sql<string>`substr(${sql.ref(column)}, 1, ${KEY_ID_CHARS})`;

const KEY_ID = new RegExp(`^[0-9a-f]{${KEY_ID_CHARS}}$`);

/**
 * Every key that a value of the store is sealed with. A value that does not begin with the id of a key is damaged: no key
 * could open it, and it is told where it is opened.
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
