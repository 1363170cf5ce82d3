/**
 * Bounds the CPU time that a cell reports for its calls by the time that has passed.
 *
 * Attack: a cell that was taken over claims an hour of CPU for a call of a millisecond. That would
 * spoil the operator's counters for good, and make a neighbour look heavy. The figure is the
 * cell's; its bound is the host's clock. No I/O and no clock of its own.
 */

/** Threads that work for one call at once: its isolate's, and the one of its cryptographic job. */
const THREADS_PER_CALL = 2;
/** An honest cell estimates, and is never further off than this. */
const ERROR_MS_MAX = 5_000;

export class CpuClaims {
  readonly #cores: number;
  readonly #startedAt: number;
  #claimedMs = 0;

  /**
   * @param cores of the machine
   * @param startedAt when the cell was started, on the monotonic clock, in milliseconds
   */
  constructor(cores: number, startedAt: number) {
    this.#cores = cores;
    this.#startedAt = startedAt;
  }

  /**
   * Takes one claim.
   *
   * @param claimedMs CPU of a call, as the cell reports it
   * @param since when the call was given to a cell
   * @returns the milliseconds that count; undefined where no honest cell would claim that
   */
  take(claimedMs: number, since: number, now: number): number | undefined {
    const possibleMs = (now - since) * Math.min(THREADS_PER_CALL, this.#cores);
    if (claimedMs > possibleMs + ERROR_MS_MAX) return undefined;
    // Many calls at once do not make more cores.
    const leftMs = Math.max(0, (now - this.#startedAt) * this.#cores - this.#claimedMs);
    const countedMs = Math.min(claimedMs, possibleMs, leftMs);
    this.#claimedMs += countedMs;
    return countedMs;
  }
}
