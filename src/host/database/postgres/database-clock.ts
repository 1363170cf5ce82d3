/**
 * The clock of the database, on which all nodes agree: leases, schedules and ids use it, so that it
 * does not matter when the clock of a machine is wrong.
 *
 * The node asks for the time every second and counts on with its monotonic clock. An answer
 * that took long is inexact and is used only if there was none for a while.
 */

/** An answer on a longer way is inexact. */
const EXACT_MS = 250;
/** Clocks that are further apart are not both right: the operator is warned. */
const APART_MS = 60_000;
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
  readonly #monotonicNow: () => number;
  readonly #wall: () => number;
  readonly #apart: (aheadMs: number) => void;
  /** Milliseconds since 1970 when the monotonic clock was at 0. */
  #origin: number;
  /** The same by an answer that took no time on its way here: no later than is true. */
  #earliest: number;
  #isApart = false;
  #readAt = Number.NEGATIVE_INFINITY;

  /**
   * @param monotonicNow monotonic clock, in milliseconds
   * @param wall used until the first answer; milliseconds since 1970
   * @param apart receives how far ahead of `wall` the database is, once that is a minute or more,
   *   either way
   */
  constructor(
    monotonicNow: () => number,
    wall: () => number,
    apart: (aheadMs: number) => void = () => undefined,
  ) {
    this.#monotonicNow = monotonicNow;
    this.#wall = wall;
    this.#apart = apart;
    this.#origin = wall() - monotonicNow();
    this.#earliest = this.#origin;
  }

  /** Milliseconds since 1970. */
  readonly now = (): number => Math.round(this.#origin + this.#monotonicNow());

  /**
   * Milliseconds since 1970, no later than is true: for signatures, which receivers refuse if they
   * are of the future. It is that of the earlier clock, unless one of the two is wrong.
   */
  readonly passed = (): number => {
    const passed = Math.floor(this.#earliest + this.#monotonicNow());
    const wall = this.#wall();
    return Math.abs(passed - wall) < APART_MS ? Math.min(passed, Math.floor(wall)) : passed;
  };

  read({ asked, answered, now }: ClockReading): void {
    const isExact = answered - asked <= EXACT_MS;
    if (!isExact && answered - this.#readAt < STALE_MS) return;
    this.#origin = now - (asked + answered) / 2;
    this.#earliest = now - answered;
    if (!isExact) return;
    this.#readAt = answered;
    this.#compare();
  }

  #compare(): void {
    const aheadMs = Math.round(this.now() - this.#wall());
    const isApart = Math.abs(aheadMs) >= APART_MS;
    if (isApart && !this.#isApart) this.#apart(aheadMs);
    this.#isApart = isApart;
  }
}
