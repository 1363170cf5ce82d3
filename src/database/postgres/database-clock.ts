/**
 * The clock of the database, on which all nodes agree: leases, schedules and ids use it, so that it
 * does not matter when the clock of a machine is wrong.
 *
 * The node asks for the time every second and counts on with its monotonic clock. An answer
 * that took long is inexact and is used only if there was none for a while.
 */

/** An answer on a longer way is inexact. */
const EXACT_MS = 250;
/** After this long without an exact answer, any is better. */
const STALE_MS = 30_000;

/** One answer: monotonic times of the question and of the answer, and what the database said. */
export interface ClockReading {
  readonly asked: number;
  readonly answered: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export class DatabaseClock {
  readonly #ticks: () => number;
  /** Milliseconds since 1970 when the monotonic clock was at 0. */
  #origin: number;
  #readAt = Number.NEGATIVE_INFINITY;

  /**
   * @param ticks monotonic clock, in milliseconds
   * @param wall used until the first answer; milliseconds since 1970
   */
  constructor(ticks: () => number, wall: () => number) {
    this.#ticks = ticks;
    this.#origin = wall() - ticks();
  }

  /** Milliseconds since 1970. */
  readonly now = (): number => Math.round(this.#origin + this.#ticks());

  read({ asked, answered, now }: ClockReading): void {
    const isExact = answered - asked <= EXACT_MS;
    if (!isExact && answered - this.#readAt < STALE_MS) return;
    this.#origin = now - (asked + answered) / 2;
    if (isExact) this.#readAt = answered;
  }
}
