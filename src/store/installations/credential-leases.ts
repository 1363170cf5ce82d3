/**
 * Leases on the credentials of a target: whoever renews an access token holds one, so that no two calls spend the same
 * refresh token (REFERENCE 6). Many providers take a token that comes twice for a stolen one, and revoke all there is.
 *
 * A row and not a lock in memory, because nothing else is shared by all calls of an installation: its isolates change with
 * versions, cells and deaths of both. A lease outlives the longest call there can be. So whoever has one is either the only
 * one at work or already dead, and no holder ever finds that its lease went to another while it was busy.
 *
 * Credentials are handed out together with the lease: what a call was given in its environment may be out of date by then.
 */

import type { Database } from '../../database/tables.ts';
import type { Limits } from '../../limits.ts';
import { base64url, type RandomBytes } from '../../model/identifiers.ts';
import type { TargetName } from '../../model/installation.ts';
import type { Vault } from '../vault/vault.ts';
import { insertRowOfTarget } from './row-of-target.ts';
import { credentialsPlace, type Installation, readTarget, targetKey } from './target-rows.ts';

/** For what a call does beside its wall time: being handed over, and being ended. */
const MARGIN_MS = 5_000;

export interface CredentialLeasesParts {
  readonly database: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly limits: Pick<Limits, 'callWallMs'>;
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
}

/** What a target's credentials are now, and the lease, unless another holds it. */
export interface LeasedCredentials {
  readonly target: Installation;
  /** Undefined where none are set. */
  readonly credentials: unknown;
  readonly lease?: { readonly id: string; readonly expiresAt: number };
}

export class CredentialLeases {
  readonly #parts: CredentialLeasesParts;
  readonly #lifeMs: number;

  constructor(parts: CredentialLeasesParts) {
    this.#parts = parts;
    this.#lifeMs = parts.limits.callWallMs + MARGIN_MS;
  }

  /**
   * Takes the lease of a target, where nobody has it, or asks for more time with the one that is held.
   *
   * @returns undefined where there is no such target
   */
  async take(name: TargetName, held?: string): Promise<LeasedCredentials | undefined> {
    const { database, vault, clock } = this.#parts;
    const now = clock();
    const lease = { id: held ?? base64url(this.#parts.randomBytes(16)), expiresAt: now + this.#lifeMs };
    const isMine = await this.#upsert(name, lease, now);
    // After the lease, never before: whoever had it last has stored what it was for.
    const found = await readTarget(database, name);
    if (found === undefined) return undefined;
    const { sealedCredentials, sealedSigningSecret, ...target } = found;
    const credentials: unknown =
      sealedCredentials === null
        ? undefined
        : JSON.parse(vault.open(credentialsPlace(name), sealedCredentials));
    return { target, credentials, ...(isMine && { lease }) };
  }

  /** Gives a lease back. One that is over, or was never given, is no trouble. */
  async release(name: TargetName, id: string): Promise<void> {
    await this.#parts.database
      .deleteFrom('credential_leases')
      .where((row) => row.and(targetKey(name)))
      .where('holder', '=', id)
      .execute();
  }

  /** One statement, so that of two who come at once one gets it. It goes by the target's row: there is none without. */
  async #upsert(
    name: TargetName,
    { id, expiresAt }: { readonly id: string; readonly expiresAt: number },
    now: number,
  ): Promise<boolean> {
    const row = await insertRowOfTarget(this.#parts.database, name, {
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
