/**
 * Leases for renewing a target's OAuth credentials (docs/contract/oauth.md#leases): one call at a
 * time uses a refresh token. Many providers treat a refresh token that is used twice as stolen, and
 * revoke all of the user's tokens.
 *
 * A row and not a lock in memory, because the calls of an installation share nothing else: they run
 * in different isolates and cells. A lease outlives the longest possible call. So a holder is
 * either the only one working or already dead, and never loses its lease while it works.
 *
 * The answer includes the current credentials, because those in the environment of the call may be
 * outdated.
 */

import type { Limits } from '../../../limits.ts';
import { base64url, type RandomBytes } from '../../../model/identifiers.ts';
import type { TargetName } from '../../../model/installation.ts';
import type { Database } from '../../database/tables.ts';
import type { Vault } from '../vault/vault.ts';
import { insertRowOfTarget } from './row-of-target.ts';
import { credentialsPlace, type Installation, readTarget, targetKey } from './target-rows.ts';

/** For the time of a call beside its wall time: dispatch before, and termination after. */
const MARGIN_MS = 5_000;

export interface CredentialLeasesDeps {
  readonly database: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly limits: Pick<Limits, 'callWallMs'>;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
}

/** A target's current credentials, and the lease unless another call holds it. */
export interface LeasedCredentials {
  readonly target: Installation;
  /** Undefined if no credentials are set. */
  readonly credentials: unknown;
  readonly lease?: { readonly id: string; readonly expiresAt: number };
}

export class CredentialLeases {
  readonly #deps: CredentialLeasesDeps;
  readonly #lifeMs: number;

  constructor(deps: CredentialLeasesDeps) {
    this.#deps = deps;
    this.#lifeMs = deps.limits.callWallMs + MARGIN_MS;
  }

  /**
   * Takes the lease of a target if it is free, or extends the lease that the caller holds.
   *
   * @returns undefined if there is no such target
   */
  async take(name: TargetName, held?: string): Promise<LeasedCredentials | undefined> {
    const { database, vault, wallNow } = this.#deps;
    const now = wallNow();
    const lease = { id: held ?? base64url(this.#deps.randomBytes(16)), expiresAt: now + this.#lifeMs };
    const isHolder = await this.#upsert(name, lease, now);
    // Read after the lease is taken: the previous holder has stored the renewed credentials by
    // then.
    const found = await readTarget(database, name);
    if (found === undefined) return undefined;
    const { sealedCredentials, sealedSigningSecret, ...target } = found;
    const credentials: unknown =
      sealedCredentials === null
        ? undefined
        : JSON.parse(vault.open(credentialsPlace(name), sealedCredentials));
    return { target, credentials, ...(isHolder && { lease }) };
  }

  /** Releases a lease. Does nothing if it has expired or does not exist. */
  async release(name: TargetName, id: string): Promise<void> {
    await this.#deps.database
      .deleteFrom('credential_leases')
      .where((row) => row.and(targetKey(name)))
      .where('holder', '=', id)
      .execute();
  }

  /**
   * One statement, so that one of two concurrent calls gets the lease. Selects the target's row: no
   * target, no lease.
   */
  async #upsert(
    name: TargetName,
    { id, expiresAt }: { readonly id: string; readonly expiresAt: number },
    now: number,
  ): Promise<boolean> {
    const row = await insertRowOfTarget(this.#deps.database, name, {
      table: 'credential_leases',
      column: 'holder',
      value: id,
      expiresAt,
    })
      .onConflict((conflict) =>
        conflict
          .columns(['installation_id', 'level', 'place'])
          .doUpdateSet({ holder: id, expires_at: expiresAt })
          .where(({ or, eb }) =>
            or([eb('credential_leases.expires_at', '<=', now), eb('credential_leases.holder', '=', id)]),
          ),
      )
      .returning('holder')
      .executeTakeFirst();
    return row !== undefined;
  }
}
