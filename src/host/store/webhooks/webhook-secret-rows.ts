/**
 * Rows of webhook secrets (docs/contract/webhooks.md#secret), with the own headers of the webhooks:
 * SQL and the vault, no caches and no decisions.
 *
 * Each function runs in the given database or transaction.
 */

import { type Selectable, sql } from 'kysely';
import type { TargetName } from '../../../model/installation.ts';
import type { OwnHeaders } from '../../../model/own-headers.ts';
import type { Database, Tables } from '../../database/tables.ts';
import { targetKey } from '../installations/target-rows.ts';
import type { Vault, VaultPlace } from '../vault/vault.ts';

type SealedColumnName = 'sealed_secret' | 'sealed_previous' | 'sealed_headers';

/** The place of a target's webhook secret, or of its headers, for the vault. */
export const webhookSecretPlace = (
  column: SealedColumnName,
  { installationId, level, place }: TargetName,
): VaultPlace => ['webhook_secrets', column, installationId, level, place];

/** Signing secrets of one target's webhooks. Times are milliseconds since 1970. */
export interface WebhookSecret {
  readonly secret: string;
  /** The previous secret, and the time until which both sign. */
  readonly previous?: { readonly secret: string; readonly until: number };
  /** Since when `secret` signs. */
  readonly createdAt: number;
  /** The own headers of the webhook, for `openedHeaders`. */
  readonly sealedHeaders?: string;
}

/**
 * @param use a damaged secret that is read `toReplace` it counts as none: it cannot sign beside the
 * next, and a rotation is how an operator gets rid of it
 * @throws if the secret is damaged and is not replaced
 */
export async function readWebhookSecret(
  database: Database,
  vault: Pick<Vault, 'open'>,
  name: TargetName,
  { now, use }: { readonly now: number; readonly use?: 'toReplace' },
): Promise<WebhookSecret | undefined> {
  const row = await database
    .selectFrom('webhook_secrets')
    .selectAll()
    .where((row) => row.and(targetKey(name)))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  try {
    return opened(vault, name, row, now);
  } catch (cause) {
    if (use === 'toReplace') return undefined;
    throw cause;
  }
}

function opened(
  vault: Pick<Vault, 'open'>,
  name: TargetName,
  row: Selectable<Tables['webhook_secrets']>,
  now: number,
): WebhookSecret {
  const { sealed_previous: sealed, previous_until: until, sealed_headers: sealedHeaders } = row;
  const secret = vault.open(webhookSecretPlace('sealed_secret', name), row.sealed_secret);
  const isOverlapping = sealed !== null && until !== null && now < until;
  return {
    secret,
    createdAt: row.updated_at,
    ...(isOverlapping && {
      previous: { secret: vault.open(webhookSecretPlace('sealed_previous', name), sealed), until },
    }),
    ...(sealedHeaders !== null && { sealedHeaders }),
  };
}

/**
 * Inserts a target's first secret. One statement: concurrent calls insert one, and a deleted target
 * gets none.
 */
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

/** Replaces the secret of an existing target. */
export async function writeWebhookSecret(
  database: Database,
  vault: Pick<Vault, 'seal'>,
  name: TargetName,
  { secret, previous, createdAt }: Omit<WebhookSecret, 'sealedHeaders'>,
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

/** @throws if they are damaged */
export const openedHeaders = (vault: Pick<Vault, 'open'>, name: TargetName, sealed: string): OwnHeaders =>
  JSON.parse(vault.open(webhookSecretPlace('sealed_headers', name), sealed));

/** Replaces the headers of a target that has a secret. @param headers null for none */
export async function writeOwnHeaders(
  database: Database,
  vault: Pick<Vault, 'seal'>,
  name: TargetName,
  headers: OwnHeaders | null,
): Promise<void> {
  const sealed = headers && vault.seal(webhookSecretPlace('sealed_headers', name), JSON.stringify(headers));
  await database
    .updateTable('webhook_secrets')
    .set({ sealed_headers: sealed })
    .where((row) => row.and(targetKey(name)))
    .execute();
}

/** A turn that is farther off was taken by a clock that was set back since. */
const TURN_AHEAD_MS_MAX = 60_000;

/**
 * Takes the next turn of a webhook that has a secret, and may send a request in each interval.
 *
 * @returns when its request may be sent
 */
export async function takeTurn(
  database: Database,
  name: TargetName,
  { now, intervalMs }: { readonly now: number; readonly intervalMs: number },
): Promise<number> {
  const isAhead = sql`next_post_at > ${now} and next_post_at <= ${now + TURN_AHEAD_MS_MAX}`;
  const row = await database
    .updateTable('webhook_secrets')
    .set({
      next_post_at: sql<number>`(case when ${isAhead} then next_post_at else ${now} end) + ${intervalMs}`,
    })
    .where((row) => row.and(targetKey(name)))
    .returning('next_post_at')
    .executeTakeFirst();
  return Number(row?.next_post_at ?? now + intervalMs) - intervalMs;
}
