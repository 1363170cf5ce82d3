/**
 * How often something may happen, for each of many keys: a token bucket that holds one window's worth.
 *
 * A key costs one number, the time at which its bucket will be full again, so asking is one look-up and two additions. The
 * keys are bounded: whoever has many addresses pushes out the least recently used bucket, and with it at worst a burst.
 */
import { LRUCache } from 'lru-cache';

const KEYS_MAX = 50_000;
/** What a key can owe after it was charged again and again. */
const DEBT_WINDOWS_MAX = 30;
/** For what is lost in adding fractions. */
const SLACK_MS = 0.001;

export interface RateLimitParts {
  /** How often in one window, and at once after a pause of one. */
  readonly timesMax: number;
  readonly windowMs: number;
  /** Milliseconds that only ever grow. */
  readonly clock: () => number;
}

export class RateLimit {
  readonly #windowMs: number;
  /** What one time costs. */
  readonly #costMs: number;
  readonly #clock: () => number;
  readonly #buckets = new LRUCache<string, { fullAt: number }>({ max: KEYS_MAX });

  constructor({ timesMax, windowMs, clock }: RateLimitParts) {
    this.#windowMs = windowMs;
    this.#costMs = windowMs / timesMax;
    this.#clock = clock;
  }

  /**
   * @param spareMs part of the window that has to stay free
   * @returns whether there was room; where there was none, nothing is taken
   */
  take(key: string, spareMs = 0): boolean {
    const now = this.#clock();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      this.#buckets.set(key, { fullAt: now + this.#costMs });
      return true;
    }
    const fullAt = Math.max(now, bucket.fullAt);
    if (!this.#hasRoom(fullAt - now + spareMs)) return false;
    bucket.fullAt = fullAt + this.#costMs;
    return true;
  }

  /** Takes, also what is not there. @returns how long it takes until that is made up for, in milliseconds */
  charge(key: string): number {
    const now = this.#clock();
    const bucket = this.#buckets.get(key) ?? { fullAt: now };
    const fullAt = Math.max(now, bucket.fullAt) + this.#costMs;
    bucket.fullAt = Math.min(fullAt, now + DEBT_WINDOWS_MAX * this.#windowMs);
    this.#buckets.set(key, bucket);
    return Math.max(0, bucket.fullAt - now - this.#windowMs - SLACK_MS);
  }

  /** @returns whether `take` would be refused */
  isSpent(key: string): boolean {
    const bucket = this.#buckets.get(key);
    return bucket !== undefined && !this.#hasRoom(bucket.fullAt - this.#clock());
  }

  #hasRoom(takenMs: number): boolean {
    return takenMs + this.#costMs <= this.#windowMs + SLACK_MS;
  }
}
