/**
 * The environment of a cached target: constant except for its runtime tokens, which are minted
 * anew.
 *
 * A token outlives each call that gets it, and expires soon after. Tokens for each call would cost
 * two signatures and a copy of the environment at every request. So calls within half a minute
 * share tokens, and none are minted while there are no calls.
 */
import type { Limits } from '../limits.ts';
import type { ApiTokens, Environment } from '../model/environment.ts';

const MS_PER_S = 1_000;
/** How long the same tokens are given to new calls. */
const SHARED_MS = 30_000;
/** For the time between reading the environment and the start of the call's wall time. */
const MARGIN_MS = 5_000;

export interface LiveEnvironmentParts {
  readonly environment: Omit<Environment, 'apiTokens'>;
  readonly limits: Pick<Limits, 'firstByteMs' | 'callWallMs'>;
  readonly clock: () => number;
  /** @param expiresAt unix seconds */
  mint(expiresAt: number): ApiTokens;
}

export class LiveEnvironment {
  readonly #parts: LiveEnvironmentParts;
  /**
   * Life of a token: the last call that gets it may wait for a slot, and then run for its whole
   * wall time.
   */
  readonly #lifeMs: number;
  #sharedUntil = Number.NEGATIVE_INFINITY;
  #current: { readonly environment: Environment; readonly json: Uint8Array } | undefined;

  constructor(parts: LiveEnvironmentParts) {
    this.#parts = parts;
    this.#lifeMs = SHARED_MS + parts.limits.firstByteMs + parts.limits.callWallMs + MARGIN_MS;
  }

  /** The environment with tokens valid for a call that starts now, as an object and as JSON. */
  get current(): { readonly environment: Environment; readonly json: Uint8Array } {
    const now = this.#parts.clock();
    if (this.#current !== undefined && now < this.#sharedUntil) return this.#current;
    const apiTokens = this.#parts.mint(Math.ceil((now + this.#lifeMs) / MS_PER_S));
    const environment = { apiTokens, ...this.#parts.environment };
    this.#sharedUntil = now + SHARED_MS;
    this.#current = { environment, json: Buffer.from(JSON.stringify(environment), 'utf8') };
    return this.#current;
  }
}
