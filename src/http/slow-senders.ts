/**
 * Ends requests whose bodies come too slowly (slowloris), whoever waits for them. A tenant that does not read holds its
 * client back, and then the client is not slow.
 */
import { LOOK_EVERY_MS, Pace, type PaceLimits } from './sender-pace.ts';

/** A body on its way. */
export interface Sender {
  readonly sentBytes: number;
  /** Whether the next byte is up to the client. */
  readonly isAwaited: boolean;
  /** Told once; it is not watched any more. */
  tooSlow(): void;
}

/** A body that is watched, for whoever watches it to give back. */
export interface WatchedSender {
  readonly sender: Sender;
  /** What it had sent to begin with. */
  readonly firstBytes: number;
  /** Made at the first look: most bodies are there before it. */
  pace: Pace | undefined;
  /** Where it stands among the others; below 0 once it is forgotten. */
  index: number;
}

export class SlowSenders {
  readonly #limits: PaceLimits;
  readonly #clock: () => number;
  /** An array, because a map that is filled and emptied for every request makes garbage that lives long. */
  readonly #watched: WatchedSender[] = [];
  readonly #timer: NodeJS.Timeout;
  #lastAt: number;

  /** @param clock milliseconds that only ever grow */
  constructor(limits: PaceLimits, clock: () => number) {
    this.#limits = limits;
    this.#clock = clock;
    this.#lastAt = clock();
    this.#timer = setInterval(() => this.pass(), LOOK_EVERY_MS).unref();
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

  /** Looks at all of them once. */
  pass(): void {
    const now = this.#clock();
    const elapsedMs = now - this.#lastAt;
    this.#lastAt = now;
    for (const watched of [...this.#watched]) {
      const { sender, firstBytes } = watched;
      watched.pace ??= new Pace(this.#limits, firstBytes);
      if (!sender.isAwaited) watched.pace.rest();
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
