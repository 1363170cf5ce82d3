/**
 * Ends requests whose bodies arrive too slowly. Attack: slowloris.
 *
 * A client that is held back because the tenant does not read is not slow.
 */
import { PACE_CHECK_MS, Pace, type PaceLimits } from './sender-pace.ts';

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
  readonly #clock: () => number;
  /** An array: a map that is filled and emptied for every request creates long-lived garbage. */
  readonly #watched: WatchedSender[] = [];
  readonly #timer: NodeJS.Timeout;
  #lastAt: number;

  /** @param clock monotonic, in milliseconds */
  constructor(limits: PaceLimits, clock: () => number) {
    this.#limits = limits;
    this.#clock = clock;
    this.#lastAt = clock();
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
    const now = this.#clock();
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
