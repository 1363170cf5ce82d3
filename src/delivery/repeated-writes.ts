/**
 * Writes about deliveries in flight, repeated while the store fails.
 *
 * While the database is away, they are repeated until it is back, however long that takes: an
 * outcome that is written late spares the receiver a repetition. A write of a claim that another
 * node has taken over by then changes nothing.
 */
import { DatabaseUnavailable } from '../database/unavailable.ts';
import type { DeliveryInFlight } from './in-flight.ts';
import { STORE_BACK_OFF_MS } from './worker-loop.ts';

export interface RepeatedWritesParts {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Whether nothing is to be repeated any more. */
  isStopped(): boolean;
  /** Receives failures of the store. */
  onError(error: unknown): void;
}

export class RepeatedWrites {
  readonly #parts: RepeatedWritesParts;
  /** Ends the waits in progress. */
  readonly #waits = new Set<() => void>();

  constructor(parts: RepeatedWritesParts) {
    this.#parts = parts;
  }

  /**
   * Repeats a write that fails. Never rejects.
   *
   * @returns its result; undefined if it was given up: the service stops, or the store fails for
   *   another reason until the lease of the delivery expires, after which it is taken back
   */
  async run<Result>(delivery: DeliveryInFlight, write: () => Promise<Result>): Promise<Result | undefined> {
    const { clock, isStopped, onError } = this.#parts;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        onError(error);
        const isAway = error instanceof DatabaseUnavailable;
        if (isStopped() || (!isAway && clock() + STORE_BACK_OFF_MS >= delivery.claimedUntil))
          return undefined;
        await this.#wait();
      }
    }
  }

  /** Repeats all writes that wait: the database answers again. */
  retryNow(): void {
    for (const end of [...this.#waits]) end();
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#waits.delete(end);
        resolve();
      };
      const cancel = this.#parts.after(STORE_BACK_OFF_MS, end);
      this.#waits.add(end);
    });
  }
}
