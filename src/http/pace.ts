/**
 * Whether somebody who is waited for is too slow: silent for too long, or moving bytes at a trickle. One byte every nine
 * seconds is no pause, and would hold a place, a body and a connection for as long as its sender likes.
 */

export interface PaceLimits {
  /** Longest silence. */
  readonly stallMs: number;
  /** Least average, once it has been waited for as long as that. */
  readonly paceBytesPerSecond: number;
}

/** How often transfers are looked at. Limits are kept to about this. */
export const LOOK_EVERY_MS = 500;

export class Pace {
  readonly #limits: PaceLimits;
  #bytes: number;
  #firstBytes: number;
  #stillMs = 0;
  #waitedMs = 0;

  /** @param bytes as they are counted now */
  constructor(limits: PaceLimits, bytes: number) {
    this.#limits = limits;
    this.#bytes = bytes;
    this.#firstBytes = bytes;
  }

  /** @returns whether it is too slow, after having been waited for `elapsedMs` more */
  isTooSlow(bytes: number, elapsedMs: number): boolean {
    const { stallMs, paceBytesPerSecond } = this.#limits;
    this.#stillMs = bytes === this.#bytes ? this.#stillMs + elapsedMs : 0;
    this.#waitedMs += elapsedMs;
    this.#bytes = bytes;
    if (this.#stillMs >= stallMs) return true;
    // The first moments say nothing about an average.
    return (
      this.#waitedMs >= stallMs && (bytes - this.#firstBytes) * 1_000 < this.#waitedMs * paceBytesPerSecond
    );
  }

  /** It was somebody else's turn: a silence begins anew. */
  rest(): void {
    this.#stillMs = 0;
  }

  /** There is nothing left to wait for: so does the average. */
  begin(bytes: number): void {
    this.#bytes = bytes;
    this.#firstBytes = bytes;
    this.#stillMs = 0;
    this.#waitedMs = 0;
  }
}
