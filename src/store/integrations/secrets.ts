/**
 * The secrets of integrations, set without a publish: calls that start after a change is answered see the new values.
 *
 * The active version's manifest says which secrets there are. Values that it does not name may lie there from earlier
 * versions, for a roll-back to find. Nothing here gives a value away: only `target-resolver.ts` opens them.
 */

import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type { Actor } from '../../model/actor.ts';
import { checkSecrets } from '../../model/manifest/secrets.ts';
import { unknownIntegration } from '../../model/unknown.ts';
import { type AuditEntry, insertAudit } from '../audit-rows.ts';
import type { Vault } from '../vault/vault.ts';
import { type Integration, readIntegration, readVersion } from './integration-rows.ts';
import { deleteSecret, listSecrets, upsertSecrets } from './secret-rows.ts';

export interface SecretsParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly limits: Limits;
  readonly clock: () => number;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
  /** Has calls that start from now on see what has become of an integration. */
  changed(integration: string): void;
}

/** A secret as it may be shown. */
export interface SecretState {
  readonly name: string;
  /** Whether it has a value. */
  readonly isSet: boolean;
  /** Whether the active version's manifest names it, and calls see it. */
  readonly isDeclared: boolean;
  /** Milliseconds since 1970; absent where it has no value, or got it before that was noted. */
  readonly updatedAt?: number;
}

/** An integration, and whose it was when the caller's right to it was looked at: its name may have changed hands since. */
export type OwnedIntegration = Pick<Integration, 'name' | 'organization'>;

export class Secrets {
  readonly #parts: SecretsParts;

  constructor(parts: SecretsParts) {
    this.#parts = parts;
  }

  /** By name: those that are declared, those that are set. @throws `INTEGRATION_UNKNOWN` */
  list(integration: OwnedIntegration): Promise<SecretState[]> {
    return this.#parts.database.transaction().execute(async (transaction) => {
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
   * Sets these secrets and no others, all of them or none.
   *
   * @param values name → value, as it came
   * @throws `INTEGRATION_UNKNOWN`; `REQUEST_INVALID`, which names every secret that cannot be set, and no value
   */
  async set(
    integration: OwnedIntegration,
    values: Readonly<Record<string, unknown>>,
    by: Actor,
  ): Promise<void> {
    const { vault, limits, clock } = this.#parts;
    const now = clock();
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
   * Removes one that the active version does not name. One that it names is what its code counts on: a value that is no
   * longer good is replaced, not taken away.
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

  /** One transaction with its row in the audit. @param work returns the audit's details: names, never values */
  async #change(
    { name, organization }: OwnedIntegration,
    by: Actor,
    work: (transaction: Database) => Promise<NonNullable<AuditEntry['details']>>,
  ): Promise<void> {
    const { database, clock, auditIds, changed } = this.#parts;
    const now = clock();
    await database.transaction().execute(async (transaction) => {
      const details = await work(transaction);
      const entry = { action: 'integration.secrets', organization, integration: name, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
    });
    changed(name);
  }
}

/** Names of the secrets that the active version has. @throws `INTEGRATION_UNKNOWN` */
async function declaredBy(
  transaction: Database,
  { name, organization }: OwnedIntegration,
): Promise<readonly string[]> {
  const integration = await readIntegration(transaction, name);
  if (integration?.organization !== organization) throw unknownIntegration(name);
  const version = await readVersion(transaction, name, integration.activeVersion);
  return version?.manifest.secrets ?? [];
}
