/**
 * Secrets of integrations, set without a publish: calls that start after the answer see the new
 * values.
 *
 * The active version's manifest declares the secrets. Values that it does not declare may remain
 * from earlier versions, for a roll-back. No method returns a value: only `target-resolver.ts`
 * opens them.
 */

import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import type { Actor } from '../../../model/actor.ts';
import { checkSecrets } from '../../../model/manifest/secrets.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { lock } from '../../database/locks.ts';
import { announce } from '../../database/notices.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import { type AuditEntry, insertAudit } from '../audit-rows.ts';
import type { Vault } from '../vault/vault.ts';
import { type Integration, integrationLock, readIntegration, readVersion } from './integration-rows.ts';
import { deleteSecret, listSecrets, upsertSecrets } from './secret-rows.ts';

export interface SecretsDeps {
  readonly database: Database;
  readonly vault: Vault;
  readonly limits: Limits;
  readonly wallNow: () => number;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
  /** Invalidates what is cached of an integration. Called after the commit, before its answer. */
  changed(integration: string): void;
}

/** A secret as it is listed, without its value. */
export interface SecretState {
  readonly name: string;
  /** Whether it has a value. */
  readonly isSet: boolean;
  /** Whether the active version's manifest declares it; calls see it then. */
  readonly isDeclared: boolean;
  /** Milliseconds since 1970; absent without a value, or if it was set before this was recorded. */
  readonly updatedAt?: number;
}

/**
 * An integration, and its owner when the caller was authorized: the name may belong to another
 * organization by now.
 */
export type OwnedIntegration = Pick<Integration, 'name' | 'organization'>;

export class Secrets {
  readonly #deps: SecretsDeps;

  constructor(deps: SecretsDeps) {
    this.#deps = deps;
  }

  /**
   * All secrets that are declared or have a value, sorted by name. @throws `INTEGRATION_UNKNOWN`
   */
  list(integration: OwnedIntegration): Promise<SecretState[]> {
    return inTransaction(this.#deps.database, async (transaction) => {
      const declared = await declaredBy(transaction, integration);
      const set = await listSecrets(transaction, integration.name);
      const known = new Map(set.map((record) => [record.name, record]));
      const names = [...new Set([...declared, ...known.keys()])].sort();
      return names.map((name) => {
        const record = known.get(name);
        const isDeclared = declared.includes(name);
        return { ...record, name, isSet: record !== undefined, isDeclared };
      });
    });
  }

  /**
   * Sets these secrets, all or none; others stay.
   *
   * @param values name → value, not validated
   * @throws `INTEGRATION_UNKNOWN`; `REQUEST_INVALID`, which names every secret that cannot be set,
   * and no value
   */
  async set(
    integration: OwnedIntegration,
    values: Readonly<Record<string, unknown>>,
    by: Actor,
  ): Promise<void> {
    const { vault, limits, wallNow } = this.#deps;
    const now = wallNow();
    await this.#change(integration, by, async (transaction) => {
      const declared = await declaredBy(transaction, integration);
      const checked = checkSecrets({ declared, values, limits });
      if (!checked.ok) {
        const { problems, limit } = checked;
        throw new AnnexError('REQUEST_INVALID', problems.join(' '), { ...(limit && { limit }) });
      }
      await upsertSecrets(transaction, vault, {
        integration: integration.name,
        values: checked.secrets,
        now,
      });
      return { set: [...checked.secrets.keys()] };
    });
  }

  /**
   * Deletes a secret that the active version does not declare. The code relies on declared ones:
   * replace their value instead.
   *
   * @throws `INTEGRATION_UNKNOWN`, `SECRET_UNKNOWN`, `SECRET_NEEDED`
   */
  async delete(integration: OwnedIntegration, name: string, by: Actor): Promise<void> {
    await this.#change(integration, by, async (transaction) => {
      if ((await declaredBy(transaction, integration)).includes(name)) {
        const message = `The active version of "${integration.name}" declares the secret "${name}": set another value, or publish a version without it first.`;
        throw new AnnexError('SECRET_NEEDED', message);
      }
      if (!(await deleteSecret(transaction, integration.name, name))) {
        const message = `Integration "${integration.name}" has no secret "${name}".`;
        throw new AnnexError('SECRET_UNKNOWN', message);
      }
      return { deleted: [name] };
    });
  }

  /**
   * Runs `work` and writes its audit entry in one transaction. @param work returns the entry's
   * details: names, never values
   */
  async #change(
    { name, organization }: OwnedIntegration,
    by: Actor,
    work: (transaction: Database) => Promise<NonNullable<AuditEntry['details']>>,
  ): Promise<void> {
    const { database, wallNow, auditIds, changed } = this.#deps;
    const now = wallNow();
    await inTransaction(database, async (transaction) => {
      await lock(transaction, integrationLock(name));
      const details = await work(transaction);
      const entry = { action: 'integration.secrets', organization, integration: name, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      await announce(transaction, 'integration', name);
    });
    changed(name);
  }
}

/** Names of the secrets that the active version declares. @throws `INTEGRATION_UNKNOWN` */
async function declaredBy(
  transaction: Database,
  { name, organization }: OwnedIntegration,
): Promise<readonly string[]> {
  const integration = await readIntegration(transaction, name);
  if (integration?.organization !== organization) throw unknownIntegration(name);
  const version = await readVersion(transaction, name, integration.activeVersion);
  return version?.manifest.secrets ?? [];
}
