/**
 * Bounds how quickly fetches of an installation are refused, by the policy of the egress or by this
 * service itself.
 *
 * Attack: calls fetch refused URLs in a loop. A refusal costs the tenant nothing, and the host a
 * request to its own API or a check of its policy; a few dozen such calls take the whole event
 * loop. So each installation has a token bucket of refusals. Beyond it, each refusal is delayed,
 * which slows down the calls that wait for it. All installations beyond theirs share one rate; no
 * other installation waits.
 */

/** Refusals that an installation may have at once. */
const BURST = 20;
/** Refusals in a second of all installations that have had more. */
const REFUSALS_PER_SECOND = 150;
const MS_PER_S = 1_000;
/** Longest delay: a call is to end with its own outcome. */
const WAIT_MS_MAX = 2_000;

interface Bucket {
  left: number;
  at: number;
}

export class RefusalPace {
  /** Installations that have used a part of their burst. */
  readonly #buckets = new Map<string, Bucket>();
  #overdrawn = 0;

  /** Installations that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Counts one refusal.
   *
   * @param now milliseconds of the monotonic clock
   * @returns milliseconds by which to delay it
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

  /** Refusals in a millisecond for each installation that has overdrawn its bucket. */
  get #rate(): number {
    return REFUSALS_PER_SECOND / MS_PER_S / Math.max(1, this.#overdrawn);
  }

  #refill(bucket: Bucket, now: number): void {
    const wasOverdrawn = bucket.left < 0;
    bucket.left = Math.min(BURST, bucket.left + (now - bucket.at) * this.#rate);
    bucket.at = now;
    if (wasOverdrawn && bucket.left >= 0) this.#overdrawn -= 1;
  }

  /** Forgets full buckets, from the one refused longest ago on. */
  #forget(now: number): void {
    for (const [owner, bucket] of this.#buckets) {
      this.#refill(bucket, now);
      if (bucket.left < BURST) return;
      this.#buckets.delete(owner);
    }
  }
}
