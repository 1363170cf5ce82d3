/**
 * Rows of integrations' secrets: SQL and the vault, no caches and no decisions.
 *
 * Each function runs in the given database or transaction.
 */
import type { Database } from '../../database/tables.ts';
import type { Vault, VaultPlace } from '../vault/vault.ts';

/** The place of a secret's value, for the vault. */
export const secretPlace = (integration: string, name: string): VaultPlace => [
  'secrets',
  'sealed_value',
  integration,
  name,
];

/** A secret without its value. */
export interface SecretRecord {
  readonly name: string;
  /** Milliseconds since 1970; absent for secrets set before this was recorded. */
  readonly updatedAt?: number;
}

/**
 * Sets the given secrets. Others stay, because an older version that is activated again may need
 * them. It gets the current values, so a roll-back never restores a rotated key.
 */
export async function upsertSecrets(
  database: Database,
  vault: Vault,
  {
    integration,
    values,
    now,
  }: { readonly integration: string; readonly values: ReadonlyMap<string, string>; readonly now: number },
): Promise<void> {
  if (values.size === 0) return;
  const rows = [...values].map(([name, value]) => ({
    integration,
    name,
    sealed_value: vault.seal(secretPlace(integration, name), value),
    updated_at: now,
  }));
  await database
    .insertInto('secrets')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['integration', 'name']).doUpdateSet((row) => ({
        sealed_value: row.ref('excluded.sealed_value'),
        updated_at: row.ref('excluded.updated_at'),
      })),
    )
    .execute();
}

/**
 * Sets the given secrets that have no value yet; stored values stay, because they may have been
 * rotated since the publisher's copy was made.
 *
 * @returns names of the secrets whose stored value differs from the given one
 */
export async function addSecrets(
  database: Database,
  vault: Vault,
  {
    integration,
    values,
    now,
  }: { readonly integration: string; readonly values: ReadonlyMap<string, string>; readonly now: number },
): Promise<readonly string[]> {
  const stored = await openSecrets(database, vault, integration, [...values.keys()]);
  const added = new Map([...values].filter(([name]) => !stored.has(name)));
  await upsertSecrets(database, vault, { integration, values: added, now });
  return [...stored].filter(([name, value]) => value !== values.get(name)).map(([name]) => name);
}

/** Sets the given secrets. @returns no names: none keeps another value, as with `addSecrets` */
export async function replaceSecrets(
  ...parameters: Parameters<typeof upsertSecrets>
): Promise<readonly string[]> {
  await upsertSecrets(...parameters);
  return [];
}

/** Opens the secrets of the given names. */
export async function openSecrets(
  database: Database,
  vault: Pick<Vault, 'open'>,
  integration: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await database
    .selectFrom('secrets')
    .select(['name', 'sealed_value'])
    .where('integration', '=', integration)
    .where('name', 'in', names)
    .execute();
  return new Map(
    rows.map((row) => [row.name, vault.open(secretPlace(integration, row.name), row.sealed_value)]),
  );
}

/** All secrets of an integration that have a value, sorted by name. */
export async function listSecrets(database: Database, integration: string): Promise<SecretRecord[]> {
  const rows = await database
    .selectFrom('secrets')
    .select(['name', 'updated_at'])
    .where('integration', '=', integration)
    .orderBy('name')
    .execute();
  return rows.map(({ name, updated_at }) => ({ name, ...(updated_at > 0 && { updatedAt: updated_at }) }));
}

/** @returns whether the secret existed */
export async function deleteSecret(database: Database, integration: string, name: string): Promise<boolean> {
  const row = await database
    .deleteFrom('secrets')
    .where('integration', '=', integration)
    .where('name', '=', name)
    .returning('name')
    .executeTakeFirst();
  return row !== undefined;
}
