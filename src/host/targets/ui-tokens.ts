/**
 * UI tokens: makes them for targets, and resolves them into principals
 * (docs/contract/api.md#ui-tokens).
 *
 * A valid signature alone is not enough: a token ends with its target, with its integration, and
 * with the stored token that asked for it.
 */
import type { TargetName } from '../../model/installation.ts';
import type { UiPrincipal } from '../../model/principal.ts';
import type { RuntimeTokenKeys } from '../../model/runtime-token-format.ts';
import { mintUiToken, readUiToken } from '../../model/ui-token-format.ts';
import type { TargetSource } from '../store/target-source.ts';
import type { Tokens } from '../store/tokens.ts';

export interface UiTokensDeps {
  readonly keys: RuntimeTokenKeys;
  readonly source: Pick<TargetSource, 'firstPublishedAt' | 'organizationOf'>;
  readonly tokens: Pick<Tokens, 'exists'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

/** What a UI token is asked for. */
export interface AskedUiToken {
  readonly integration: string;
  readonly target: TargetName;
  /** Id of the stored token that asks. */
  readonly issuer: string;
  readonly origins: readonly string[];
  /** Seconds. */
  readonly expiresIn: number;
  /** Whether it is for the webhook of the target, too. */
  readonly webhook?: boolean;
}

/** The origins that may use a token, and its principal or why it has none. */
export interface UiGrant {
  readonly origins: readonly string[];
  readonly principal: UiPrincipal | 'expired' | 'unknown';
}

export class UiTokens {
  readonly #deps: UiTokensDeps;

  constructor(deps: UiTokensDeps) {
    this.#deps = deps;
  }

  /** @returns undefined if there is no such integration any more */
  async create({
    expiresIn,
    ...asked
  }: AskedUiToken): Promise<{ token: string; expiresAt: number } | undefined> {
    const { keys, source, wallNow } = this.#deps;
    const since = await source.firstPublishedAt(asked.integration);
    if (since === undefined) return undefined;
    const { integration, target, issuer, origins, webhook } = asked;
    const expiresAt = Math.floor(wallNow() / 1_000) + expiresIn;
    return {
      token: mintUiToken(keys, {
        ...{ integration, since, target, issuer, origins, expiresAt },
        ...(webhook && { webhook }),
      }),
      expiresAt: expiresAt * 1_000,
    };
  }

  async grant(token: string): Promise<UiGrant> {
    const { keys, wallNow } = this.#deps;
    const claims = readUiToken(keys, token);
    if (claims === undefined) return { origins: [], principal: 'unknown' };
    const { integration, since, target, issuer, origins, expiresAt, webhook } = claims;
    if (wallNow() >= expiresAt * 1_000) return { origins, principal: 'expired' };
    const { source, tokens } = this.#deps;
    const organization = await source.organizationOf(target, integration);
    const isLeft = (await source.firstPublishedAt(integration)) === since && (await tokens.exists(issuer));
    if (organization === undefined || !isLeft) return { origins, principal: 'unknown' };
    const own = { tokenId: issuer, integration, organization, target, ...(webhook && { webhook }) };
    return { origins, principal: { kind: 'ui', ...own } };
  }
}
