/**
 * Decides whether a peer is too slow: silent for too long, or below a minimum pace.
 *
 * Attack: one byte every nine seconds, which is no silence, and holds a place, a body and a
 * connection for as long as the sender likes.
 */

export interface PaceLimits {
  /** Longest silence, in milliseconds. */
  readonly stallMs: number;
  /**
   * Minimum pace. A peer that is behind it by `stallMs` is too slow; being ahead of it earns no
   * time.
   */
  readonly paceBytesPerSecond: number;
}

/** How often transfers are checked: the precision of these limits. */
export const PACE_CHECK_MS = 500;

export class Pace {
  readonly #limits: PaceLimits;
  #bytes: number;
  #stillMs = 0;
  #behindMs = 0;

  /** @param bytes moved so far */
  constructor(limits: PaceLimits, bytes: number) {
    this.#limits = limits;
    this.#bytes = bytes;
  }

  /**
   * @param bytes moved so far
   * @param elapsedMs time that the peer was waited for since the last check
   * @returns whether the peer is too slow
   */
  isTooSlow(bytes: number, elapsedMs: number): boolean {
    const { stallMs, paceBytesPerSecond } = this.#limits;
    const moved = bytes - this.#bytes;
    this.#bytes = bytes;
    this.#stillMs = moved === 0 ? this.#stillMs + elapsedMs : 0;
    // Attack: most of a body at once and then a trickle. An average over the whole body would be
    // good for minutes.
    this.#behindMs = Math.max(0, this.#behindMs + elapsedMs - (moved * 1_000) / paceBytesPerSecond);
    return this.#stillMs >= stallMs || this.#behindMs >= stallMs;
  }

  /** The peer was not waited for: its silence is counted from zero again. */
  pause(): void {
    this.#stillMs = 0;
  }

  /** Nothing is left to wait for: silence and lag are counted from zero again. */
  reset(bytes: number): void {
    this.#bytes = bytes;
    this.#stillMs = 0;
    this.#behindMs = 0;
  }
}
