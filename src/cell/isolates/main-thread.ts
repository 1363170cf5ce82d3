/**
 * The cell's main thread as a shared resource: how long it has worked for each isolate, and when it
 * may work for it again.
 *
 * Attack: an isolate whose own thread does little has the main thread convert domain names, make
 * random bytes, set timers, read jobs of Web Crypto or copy the text of rejections. The watchdog
 * and every neighbour need that thread. So the work is charged to the call like CPU, and each
 * isolate has a token bucket: an isolate that has overdrawn it is entered again when the bucket has
 * refilled. All isolates that have overdrawn theirs share one part of the thread.
 *
 * It measures nothing and delays nothing: callers report work, and ask how long to wait.
 */

/**
 * Part of the main thread that all isolates together may use for such work, once they have
 * overdrawn.
 */
const SHARE = 0.4;
/** Size of a token bucket. */
const BURST_MS = 20;

export class MainThread {
  readonly #overdrawn = new Set<MainThreadUse>();

  /** The account of one isolate. */
  open(): MainThreadUse {
    return new MainThreadUse(this.#overdrawn);
  }
}

/** How long the main thread has worked for one isolate. */
export class MainThreadUse {
  readonly #overdrawn: Set<MainThreadUse>;
  #leftMs = BURST_MS;
  #at = 0;

  constructor(overdrawn: Set<MainThreadUse>) {
    this.#overdrawn = overdrawn;
  }

  /** @param now milliseconds of a clock that never goes back */
  add(workedMs: number, now: number): void {
    this.#refill(now);
    this.#leftMs -= workedMs;
    if (this.#leftMs < 0) this.#overdrawn.add(this);
  }

  /** How long until more may be done for the isolate; 0 where it may be done now. */
  waitMs(now: number): number {
    if (this.#leftMs >= 0) return 0;
    this.#refill(now);
    return this.#leftMs >= 0 ? 0 : -this.#leftMs / this.#rate;
  }

  /** The isolate has been disposed of. */
  close(): void {
    this.#overdrawn.delete(this);
  }

  get #rate(): number {
    return SHARE / Math.max(1, this.#overdrawn.size);
  }

  #refill(now: number): void {
    this.#leftMs = Math.min(BURST_MS, this.#leftMs + (now - this.#at) * this.#rate);
    this.#at = now;
    if (this.#leftMs >= 0) this.#overdrawn.delete(this);
  }
}
