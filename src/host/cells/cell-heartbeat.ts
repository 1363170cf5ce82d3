/**
 * The heartbeat of a cell: whether it has been silent for too long. Counts pings in a row without a
 * byte from it, less the time for which the system gave it no core.
 *
 * A cell yields to the host and to other processes of the machine. On a machine that is full of
 * other work it may wait for a core for longer than the limit. Killing it then would lose its calls
 * and gain nothing: the next cell would wait as well. A cell that hangs does not wait for a core,
 * and one that spins has one.
 *
 * Attack: a cell that was taken over starts threads that compete with its own main thread, so that
 * this thread waits. So there is a bound that no waiting moves.
 */
export const PING_EVERY_MS = 1_000;
/** A cell that is silent for so many times the limit is ended, whatever it waits for. */
export const STARVED_TIMES_MAX = 6;

export class CellHeartbeat {
  readonly #limitMs: number;
  readonly #waitedMs: () => number;
  /** Pings in a row since the last byte from the cell. */
  #unansweredPings = 0;
  /** What `waitedMs` was at the first of these. */
  #waitedBeforeMs = 0;

  /**
   * @param limitMs how long a cell may be silent
   * @param waitedMs how long it has waited for a core since its start, as the system counts it
   */
  constructor(limitMs: number, waitedMs: () => number) {
    this.#limitMs = limitMs;
    this.#waitedMs = waitedMs;
  }

  /** A ping is sent, which happens every `PING_EVERY_MS`. */
  pinged(): void {
    if (this.#unansweredPings === 0) this.#waitedBeforeMs = this.#waitedMs();
    this.#unansweredPings += 1;
  }

  /** Bytes have arrived. */
  heard(): void {
    this.#unansweredPings = 0;
  }

  /** It counts pings and not time: a host that stalls must not take its cells for dead. */
  get isSilentTooLong(): boolean {
    const silentMs = this.#unansweredPings * PING_EVERY_MS;
    if (silentMs <= this.#limitMs) return false;
    if (silentMs > this.#limitMs * STARVED_TIMES_MAX) return true;
    return silentMs - (this.#waitedMs() - this.#waitedBeforeMs) > this.#limitMs;
  }
}
