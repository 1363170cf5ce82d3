/**
 * Runtime tokens (docs/decisions/runtime-tokens.md): mints them for targets, and resolves them into
 * principals.
 *
 * A valid signature alone is not enough: the integration and the target must still exist, or a
 * token would outlive them. A paused installation keeps the tokens of its calls in flight; since no
 * further call can start, they expire soon.
 */

import type { ApiTokens } from '../../model/environment.ts';
import { DECLARED_SCOPE } from '../../model/event-type.ts';
import { type TargetName, wholeInstallation } from '../../model/installation.ts';
import { SCOPES } from '../../model/manifest/scope.ts';
import type { RuntimePrincipal } from '../../model/principal.ts';
import {
  mintRuntimeToken,
  type ReadRuntimeToken,
  type RuntimeClaims,
  type RuntimeTokenKeys,
  readRuntimeToken,
} from '../../model/runtime-token-format.ts';
import type { TargetSource } from '../store/target-source.ts';

/** Bounds the size of a token: the manifest of an old version may name scopes that do not exist. */
const KNOWN_SCOPES: ReadonlySet<string> = new Set(SCOPES);
/** Characters of the product's scopes in one token: 25 and more of them. */
const DECLARED_CHARS_MAX = 1_500;

/** The integration and target for which tokens are minted. */
export interface RuntimeTokenSubject {
  readonly integration: string;
  /** When the integration was first published, in milliseconds since 1970. */
  readonly since: number;
  /** Number of the version that runs. */
  readonly version: number;
  readonly scopes: readonly string[];
  /** Absent for a deleted target: no installation token is minted. */
  readonly target?: TargetName;
}

/** A valid token: its principal and claims. */
export interface RuntimeGrant {
  readonly principal: RuntimePrincipal;
  readonly claims: RuntimeClaims;
  /** The organization of the installation; absent for an integration token. */
  readonly organization?: string;
}

/** Mints the tokens of targets. */
export class RuntimeTokenMint {
  readonly #keys: RuntimeTokenKeys;

  constructor(keys: RuntimeTokenKeys) {
    this.#keys = keys;
  }

  /** @param expiresAt unix seconds */
  tokens(subject: RuntimeTokenSubject, expiresAt: number): ApiTokens {
    const { integration, since, version, scopes: named, target } = subject;
    const distinct = [...new Set(named)];
    let left = DECLARED_CHARS_MAX;
    const scopes = distinct.filter((scope) => {
      if (KNOWN_SCOPES.has(scope)) return true;
      if (!DECLARED_SCOPE.test(scope)) return false;
      left -= scope.length;
      return left >= 0;
    });
    const claims = { integration, since, version, scopes, expiresAt };
    return {
      integration: mintRuntimeToken(this.#keys, { ...claims, kind: 'integration' }),
      ...(target && {
        installation: mintRuntimeToken(this.#keys, { ...claims, kind: 'installation', target }),
      }),
    };
  }
}

export interface RuntimeTokensDeps {
  readonly keys: RuntimeTokenKeys;
  readonly source: Pick<TargetSource, 'firstPublishedAt' | 'organizationOf'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

/** Verifies and resolves runtime tokens. */
export class RuntimeTokens {
  readonly #deps: RuntimeTokensDeps;

  constructor(deps: RuntimeTokensDeps) {
    this.#deps = deps;
  }

  /**
   * Verifies a token and returns its claims; does not check whether integration and target still
   * exist.
   */
  read(token: string): ReadRuntimeToken {
    return readRuntimeToken(this.#deps.keys, token, this.#deps.wallNow());
  }

  /**
   * @returns the principal of these claims; undefined if the integration or the target was deleted
   */
  async grant(claims: RuntimeClaims): Promise<RuntimeGrant | undefined> {
    const { integration, since } = claims;
    if ((await this.#deps.source.firstPublishedAt(integration)) !== since) return undefined;
    if (claims.kind === 'integration') return { principal: { kind: 'integration', integration }, claims };
    const { target } = claims;
    const { installationId } = target;
    const organization = await this.#organizationOf(target, integration);
    if (organization === undefined) return undefined;
    const principal = { kind: 'installation', integration, installationId, target } as const;
    return { principal, claims, organization };
  }

  /**
   * A token of a space or site target ends with that target, even if the rest of the installation
   * stays.
   */
  async #organizationOf(target: TargetName, integration: string): Promise<string | undefined> {
    const { source } = this.#deps;
    const organization = await source.organizationOf(target, integration);
    if (organization === undefined || target.level === 'organization') return organization;
    return source.organizationOf(wholeInstallation(target.installationId), integration);
  }
}
