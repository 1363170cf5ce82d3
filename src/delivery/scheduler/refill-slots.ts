/**
 * Refill slots: how many endpoint queues are refilled from the store at once.
 *
 * A queue without a slot waits here. A slot that becomes free is reserved for the next waiting
 * queue until its turn, which uses it or gives it back. Pure.
 */
import type { EndpointQueue } from './endpoint-queue.ts';
import { Fifo } from './fifo.ts';

/** With ten thousand refills at once after a start, nothing else would reach the store. */
const REFILLS_MAX = 16;

export class RefillSlots {
  readonly #waiting = new Fifo<EndpointQueue>();
  #inFlight = 0;
  #reserved = 0;

  /** Starts a refill of a queue, or lets the queue wait for a slot. @returns whether it started */
  take(queue: EndpointQueue): boolean {
    if (!this.#isFree()) {
      queue.queued = true;
      this.#waiting.push(queue);
      return false;
    }
    this.#inFlight += 1;
    return true;
  }

  /** A refill has ended. */
  release(): void {
    this.#inFlight -= 1;
  }

  /** Ends the reservation of a queue whose turn has come. */
  collect(queue: EndpointQueue): void {
    if (queue.hasRefillSlot) this.#reserved -= 1;
    queue.hasRefillSlot = false;
  }

  /**
   * Reserves a free slot. @returns the queue it is reserved for; undefined if none waits or fits
   */
  reserve(): EndpointQueue | undefined {
    const queue = this.#isFree() ? this.#waiting.shift() : undefined;
    if (queue === undefined) return undefined;
    queue.hasRefillSlot = true;
    this.#reserved += 1;
    return queue;
  }

  #isFree(): boolean {
    return this.#inFlight + this.#reserved < REFILLS_MAX;
  }
}
