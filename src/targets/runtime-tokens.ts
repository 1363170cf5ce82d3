/**
 * Runtime tokens and what they speak for: making them for targets, and whether the integration and the target that one
 * names are still there.
 *
 * The signature alone would let a token go on speaking for what was deleted, until it expires. A paused installation keeps
 * the tokens of the calls that it has in flight: no further call can begin, so they die with those.
 */

import type { Database } from '../database/tables.ts';
import type { ApiTokens } from '../model/environment.ts';
import { type TargetName, wholeInstallation } from '../model/installation.ts';
import { SCOPES } from '../model/manifest/scope.ts';
import type { RuntimePrincipal } from '../model/principal.ts';
import {
  mintRuntimeToken,
  type ReadRuntimeToken,
  type RuntimeClaims,
  type RuntimeTokenKeys,
  readRuntimeToken,
} from '../model/runtime-token.ts';
import { targetKey } from '../store/installations/target-rows.ts';
import type { Vault } from '../store/vault/vault.ts';

const KEY_USE = 'annex runtime tokens';
/** Bounds a token, too: the manifest of a version published long ago may name what is no scope. */
const KNOWN_SCOPES: ReadonlySet<string> = new Set(SCOPES);

/** What a token is minted for. */
export interface RuntimeTokenSubject {
  readonly integration: string;
  /** When the integration was first published. */
  readonly since: number;
  readonly scopes: readonly string[];
  /** Absent for a target that is deleted. */
  readonly target?: TargetName;
}

/** A token that is good: who holds it, and what it says. */
export interface RuntimeGrant {
  readonly principal: RuntimePrincipal;
  readonly claims: RuntimeClaims;
  /** The organization that installed; absent where the token is for no installation. */
  readonly organization?: string;
}

/** Makes the tokens of targets. */
export class RuntimeTokenMint {
  readonly #keys: RuntimeTokenKeys;

  constructor(vault: Pick<Vault, 'deriveKeys'>) {
    this.#keys = vault.deriveKeys(KEY_USE);
  }

  /** @param expiresAt unix seconds */
  tokens({ integration, since, scopes: named, target }: RuntimeTokenSubject, expiresAt: number): ApiTokens {
    const scopes = [...new Set(named)].filter((scope) => KNOWN_SCOPES.has(scope));
    const claims = { integration, since, scopes, expiresAt };
    return {
      integration: mintRuntimeToken(this.#keys, { ...claims, kind: 'integration' }),
      ...(target && {
        installation: mintRuntimeToken(this.#keys, { ...claims, kind: 'installation', target }),
      }),
    };
  }
}

export interface RuntimeTokensParts {
  readonly database: Database;
  readonly vault: Pick<Vault, 'deriveKeys'>;
  readonly clock: () => number;
}

/** Recognises them. */
export class RuntimeTokens {
  readonly #parts: RuntimeTokensParts;
  readonly #keys: RuntimeTokenKeys;

  constructor(parts: RuntimeTokensParts) {
    this.#parts = parts;
    this.#keys = parts.vault.deriveKeys(KEY_USE);
  }

  /** What a token claims, without asking the database whether that still exists. */
  read(token: string): ReadRuntimeToken {
    return readRuntimeToken(this.#keys, token, this.#parts.clock());
  }

  /** @returns who holds a token with these claims; undefined where what it speaks for is gone */
  async grant(claims: RuntimeClaims): Promise<RuntimeGrant | undefined> {
    const { integration } = claims;
    if (!(await this.#isStillThere(claims))) return undefined;
    if (claims.kind === 'integration') return { principal: { kind: 'integration', integration }, claims };
    const { target } = claims;
    const { installationId } = target;
    const organization = await this.#organizationOf(target, integration);
    if (organization === undefined) return undefined;
    const principal = { kind: 'installation', integration, installationId, target } as const;
    return { principal, claims, organization };
  }

  async #isStillThere({ integration, since }: RuntimeClaims): Promise<boolean> {
    const row = await this.#parts.database
      .selectFrom('integrations')
      .select('created_at')
      .where('name', '=', integration)
      .executeTakeFirst();
    return row?.created_at === since;
  }

  /** A token that was made for a space ends with the integration's being there, although the rest of the installation stays. */
  async #organizationOf(target: TargetName, integration: string): Promise<string | undefined> {
    const { organization } = (await this.#row(target, integration)) ?? {};
    if (organization === undefined || target.level === 'organization') return organization;
    return (await this.#row(wholeInstallation(target.installationId), integration))?.organization;
  }

  #row(target: TargetName, integration: string) {
    return this.#parts.database
      .selectFrom('targets')
      .select('organization')
      .where((row) => row.and(targetKey(target)))
      .where('integration', '=', integration)
      .executeTakeFirst();
  }
}
