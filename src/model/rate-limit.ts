/**
 * Rate limit with a token bucket for each key; a bucket holds the tokens of one window.
 *
 * A bucket is one number, the time at which it is full again, so a check is one look-up and two
 * additions. The number of keys is bounded: a client with many addresses evicts the least recently
 * used bucket, which allows at worst one more burst.
 */
import { entryCache } from './entry-cache.ts';

const KEYS_MAX = 50_000;
/** Maximum debt of a key, in windows. */
const DEBT_WINDOWS_MAX = 30;
/** Tolerance for rounding errors. */
const SLACK_MS = 0.001;

export interface RateLimitDeps {
  /** Tokens per window; also the burst after an idle window. */
  readonly timesMax: number;
  readonly windowMs: number;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
}

export class RateLimit {
  readonly #windowMs: number;
  /** Time in which one token is refilled. */
  readonly #costMs: number;
  readonly #monotonicNow: () => number;
  readonly #buckets = entryCache<{ fullAt: number }>(KEYS_MAX);

  constructor({ timesMax, windowMs, monotonicNow }: RateLimitDeps) {
    this.#windowMs = windowMs;
    this.#costMs = windowMs / timesMax;
    this.#monotonicNow = monotonicNow;
  }

  /**
   * A full bucket gives what is asked for, also where a window has fewer tokens.
   *
   * @param spareMs part of the window that has to stay free
   * @returns whether the tokens were taken: one, unless said otherwise
   */
  take(key: string, { spareMs = 0, tokens = 1 }: { spareMs?: number; tokens?: number } = {}): boolean {
    const now = this.#monotonicNow();
    const bucket = this.#buckets.get(key);
    const costMs = tokens * this.#costMs;
    if (bucket === undefined) {
      this.#buckets.set(key, { fullAt: now + costMs });
      return true;
    }
    const fullAt = Math.max(now, bucket.fullAt);
    if (fullAt > now && !this.#hasRoom(fullAt - now + spareMs, costMs)) return false;
    bucket.fullAt = fullAt + costMs;
    return true;
  }

  /**
   * Takes a token even from an empty bucket, as debt.
   * @returns milliseconds until the debt is
   * repaid
   */
  charge(key: string): number {
    const now = this.#monotonicNow();
    const bucket = this.#buckets.get(key) ?? { fullAt: now };
    const fullAt = Math.max(now, bucket.fullAt) + this.#costMs;
    bucket.fullAt = Math.min(fullAt, now + DEBT_WINDOWS_MAX * this.#windowMs);
    this.#buckets.set(key, bucket);
    return Math.max(0, bucket.fullAt - now - this.#windowMs - SLACK_MS);
  }

  /** @returns whether `take` would be refused */
  isSpent(key: string): boolean {
    const bucket = this.#buckets.get(key);
    return bucket !== undefined && !this.#hasRoom(bucket.fullAt - this.#monotonicNow());
  }

  #hasRoom(takenMs: number, costMs = this.#costMs): boolean {
    return takenMs + costMs <= this.#windowMs + SLACK_MS;
  }
}
