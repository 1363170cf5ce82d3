/**
 * Ends requests whose bodies arrive too slowly, and decides when any peer is too slow. Attack:
 * slowloris.
 *
 * A client that is held back because the tenant does not read is not slow.
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

/**
 * Decides whether a peer is too slow: silent for too long, or below a minimum pace.
 *
 * Attack: one byte every nine seconds, which is no silence, and holds a place, a body and a
 * connection for as long as the sender likes.
 */
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

/** A request body that is being received. */
export interface Sender {
  readonly sentBytes: number;
  /** Whether the host waits for the client's next byte. */
  readonly isAwaited: boolean;
  /** Called once; the body is not watched any more. */
  tooSlow(): void;
}

/** Handle of a watched body, for `forget`. */
export interface WatchedSender {
  readonly sender: Sender;
  /** Bytes that had arrived when watching began. */
  readonly firstBytes: number;
  /** Created at the first check: most bodies have arrived before it. */
  pace: Pace | undefined;
  /** Index among the watched; -1 after `forget`. */
  index: number;
}

export class SlowSenders {
  readonly #limits: PaceLimits;
  readonly #monotonicNow: () => number;
  /** An array: a map that is filled and emptied for every request creates long-lived garbage. */
  readonly #watched: WatchedSender[] = [];
  readonly #timer: NodeJS.Timeout;
  #lastAt: number;

  /** @param monotonicNow monotonic, in milliseconds */
  constructor(limits: PaceLimits, monotonicNow: () => number) {
    this.#limits = limits;
    this.#monotonicNow = monotonicNow;
    this.#lastAt = monotonicNow();
    this.#timer = setInterval(() => this.pass(), PACE_CHECK_MS).unref();
  }

  watch(sender: Sender): WatchedSender {
    const index = this.#watched.length;
    const watched = { sender, firstBytes: sender.sentBytes, pace: undefined, index };
    this.#watched.push(watched);
    return watched;
  }

  /** Idempotent. */
  forget(watched: WatchedSender): void {
    if (watched.index < 0) return;
    const last = this.#watched.pop();
    if (last !== undefined && last !== watched) {
      this.#watched[watched.index] = last;
      last.index = watched.index;
    }
    watched.index = -1;
  }

  /** Checks all bodies once. */
  pass(): void {
    const now = this.#monotonicNow();
    const elapsedMs = now - this.#lastAt;
    this.#lastAt = now;
    for (const watched of [...this.#watched]) {
      const { sender, firstBytes } = watched;
      watched.pace ??= new Pace(this.#limits, firstBytes);
      if (!sender.isAwaited) watched.pace.pause();
      else if (watched.pace.isTooSlow(sender.sentBytes, elapsedMs)) {
        this.forget(watched);
        sender.tooSlow();
      }
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
