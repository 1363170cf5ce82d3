/**
 * How quickly an installation hears that a fetch of its was refused: by the policy of the egress, or by this service itself.
 *
 * Attack: calls that fetch what is refused, again and again. A refusal costs the caller nothing, and the host a request to
 * its own API or a look at its policy; a few dozen such calls take the event loop that everybody needs. So each installation
 * has a token bucket of refusals. One that has overdrawn it hears of the next one later, and its calls, which wait for the
 * answer, go on more slowly. All that have overdrawn theirs share one rate; nobody else waits.
 */

/** Refusals that an installation may have at once, */
const BURST = 20;
/** and those of all that have had more, in a second. */
const REFUSALS_PER_SECOND = 150;
const MS_PER_S = 1_000;
/** Longest that one is held back: a call is to end with its own outcome. */
const WAIT_MS_MAX = 2_000;

interface Bucket {
  left: number;
  at: number;
}

export class RefusalPace {
  /** Those that do not have all of their burst. */
  readonly #buckets = new Map<string, Bucket>();
  #overdrawn = 0;

  /** Installations that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Counts one refusal.
   *
   * @param now milliseconds of a clock that never goes back
   * @returns how long it is to be held back
   */
  add(owner: string, now: number): number {
    const bucket = this.#buckets.get(owner) ?? { left: BURST, at: now };
    this.#refill(bucket, now);
    if (bucket.left >= 0 && bucket.left < 1) this.#overdrawn += 1;
    bucket.left -= 1;
    this.#buckets.delete(owner);
    this.#buckets.set(owner, bucket);
    this.#forget(now);
    return bucket.left >= 0 ? 0 : Math.min(WAIT_MS_MAX, -bucket.left / this.#rate);
  }

  /** Refusals in a millisecond, for each that has overdrawn. */
  get #rate(): number {
    return REFUSALS_PER_SECOND / MS_PER_S / Math.max(1, this.#overdrawn);
  }

  #refill(bucket: Bucket, now: number): void {
    const wasOverdrawn = bucket.left < 0;
    bucket.left = Math.min(BURST, bucket.left + (now - bucket.at) * this.#rate);
    bucket.at = now;
    if (wasOverdrawn && bucket.left >= 0) this.#overdrawn -= 1;
  }

  /** Those that were heard of longest ago come first; one that has its whole burst again need not be remembered. */
  #forget(now: number): void {
    for (const [owner, bucket] of this.#buckets) {
      this.#refill(bucket, now);
      if (bucket.left < BURST) return;
      this.#buckets.delete(owner);
    }
  }
}
