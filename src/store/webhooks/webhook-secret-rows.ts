/**
 * The rows of webhook secrets (REFERENCE D24): SQL and the vault, and nothing that caches or decides.
 *
 * Each function runs in whatever it is given, the database or a transaction.
 */

import type { Database } from '../../database/tables.ts';
import type { TargetName } from '../../model/installation.ts';
import { targetKey } from '../installations/target-rows.ts';
import type { Vault, VaultPlace } from '../vault/vault.ts';

type SealedColumnName = 'sealed_secret' | 'sealed_previous';

/** Where a secret of a target is sealed. */
export const webhookSecretPlace = (
  column: SealedColumnName,
  { installationId, level, place }: TargetName,
): VaultPlace => ['webhook_secrets', column, installationId, level, place];

/** What webhooks of one target are signed with. */
export interface WebhookSecret {
  readonly secret: string;
  /** The one before, and until when both sign. */
  readonly previous?: { readonly secret: string; readonly until: number };
  /** Since when it is the one that signs; milliseconds since 1970, as all times here. */
  readonly createdAt: number;
}

export async function readWebhookSecret(
  database: Database,
  vault: Pick<Vault, 'open'>,
  name: TargetName,
  now: number,
): Promise<WebhookSecret | undefined> {
  const row = await database
    .selectFrom('webhook_secrets')
    .selectAll()
    .where((row) => row.and(targetKey(name)))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { sealed_previous: sealed, previous_until: until } = row;
  const secret = vault.open(webhookSecretPlace('sealed_secret', name), row.sealed_secret);
  const isOverlapping = sealed !== null && until !== null && now < until;
  return {
    secret,
    createdAt: row.updated_at,
    ...(isOverlapping && {
      previous: { secret: vault.open(webhookSecretPlace('sealed_previous', name), sealed), until },
    }),
  };
}

/** Gives a target its first secret. One statement: of two that come at once one makes it, and there is none without a target. */
export async function insertWebhookSecret(
  database: Database,
  vault: Pick<Vault, 'seal'>,
  name: TargetName,
  { secret, createdAt }: Pick<WebhookSecret, 'secret' | 'createdAt'>,
): Promise<void> {
  const sealed = vault.seal(webhookSecretPlace('sealed_secret', name), secret);
  await database
    .insertInto('webhook_secrets')
    .columns(['installation_id', 'level', 'place', 'sealed_secret', 'updated_at'])
    .expression((query) =>
      query
        .selectFrom('targets')
        .select(({ val, lit }) => [
          ...(['installation_id', 'level', 'place'] as const),
          val(sealed).as('sealed_secret'),
          lit(createdAt).as('updated_at'),
        ])
        .where((row) => row.and(targetKey(name))),
    )
    .onConflict((conflict) => conflict.columns(['installation_id', 'level', 'place']).doNothing())
    .execute();
}

/** Puts a secret in the place of what there is. The target is known to be there. */
export async function writeWebhookSecret(
  database: Database,
  vault: Pick<Vault, 'seal'>,
  name: TargetName,
  { secret, previous, createdAt }: WebhookSecret,
): Promise<void> {
  const values = {
    sealed_secret: vault.seal(webhookSecretPlace('sealed_secret', name), secret),
    sealed_previous: previous
      ? vault.seal(webhookSecretPlace('sealed_previous', name), previous.secret)
      : null,
    previous_until: previous?.until ?? null,
    updated_at: createdAt,
  };
  await database
    .insertInto('webhook_secrets')
    .values({ ...targetKey(name), ...values })
    .onConflict((conflict) => conflict.columns(['installation_id', 'level', 'place']).doUpdateSet(values))
    .execute();
}
