/**
 * The environment of a target that is cached: all of it stays as it is, but for the tokens, which are made anew.
 *
 * A token outlives each call that is handed it and dies soon after. One for each call would cost two signatures and a copy
 * of the environment at every request; so calls of half a minute share theirs, and none is made while there are no calls.
 */
import type { Limits } from '../limits.ts';
import type { ApiTokens, Environment } from '../model/environment.ts';

const MS_PER_S = 1_000;
/** How long tokens are handed out. */
const SHARED_MS = 30_000;
/** For what comes between the reading of the environment and the beginning of the call's own time. */
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
  /** How long a token lives: whoever takes it last may wait for a place as long as calls do, and then run as long. */
  readonly #lifeMs: number;
  #sharedUntil = Number.NEGATIVE_INFINITY;
  #current: { readonly environment: Environment; readonly json: Uint8Array } | undefined;

  constructor(parts: LiveEnvironmentParts) {
    this.#parts = parts;
    this.#lifeMs = SHARED_MS + parts.limits.firstByteMs + parts.limits.callWallMs + MARGIN_MS;
  }

  /** With tokens that are good for a call that is handed over now, and as the text of the same. */
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
