/**
 * Whether somebody who is waited for is too slow: silent for too long, or moving bytes at a trickle. One byte every nine
 * seconds is no pause, and would hold a place, a body and a connection for as long as its sender likes.
 */

export interface PaceLimits {
  /** Longest silence. */
  readonly stallMs: number;
  /** Least pace. Whoever is behind it by as much time as that is too slow; being ahead of it earns no time. */
  readonly paceBytesPerSecond: number;
}

/** How often transfers are looked at. Limits are kept to about this. */
export const LOOK_EVERY_MS = 500;

export class Pace {
  readonly #limits: PaceLimits;
  #bytes: number;
  #stillMs = 0;
  #behindMs = 0;

  /** @param bytes as they are counted now */
  constructor(limits: PaceLimits, bytes: number) {
    this.#limits = limits;
    this.#bytes = bytes;
  }

  /** @returns whether it is too slow, after having been waited for `elapsedMs` more */
  isTooSlow(bytes: number, elapsedMs: number): boolean {
    const { stallMs, paceBytesPerSecond } = this.#limits;
    const moved = bytes - this.#bytes;
    this.#bytes = bytes;
    this.#stillMs = moved === 0 ? this.#stillMs + elapsedMs : 0;
    // Attack: most of a body at once and then a trickle. An average over all of it would be good for minutes.
    this.#behindMs = Math.max(0, this.#behindMs + elapsedMs - (moved * 1_000) / paceBytesPerSecond);
    return this.#stillMs >= stallMs || this.#behindMs >= stallMs;
  }

  /** It was somebody else's turn: a silence begins anew. */
  rest(): void {
    this.#stillMs = 0;
  }

  /** There is nothing left to wait for: so does the average. */
  begin(bytes: number): void {
    this.#bytes = bytes;
    this.#stillMs = 0;
    this.#behindMs = 0;
  }
}
