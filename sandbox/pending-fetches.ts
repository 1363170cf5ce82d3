/**
 * The fetches of one call: those without an answer, and a FIFO queue of those that wait because as
 * many as the limit allows are in flight.
 *
 * Operations of storage wait in the same way (`storage.ts`).
 *
 * Counts inside the isolate, because each fetch beyond would already hold memory outside its heap.
 */
import type { CallSite } from './web/console/error-stack.ts';
import type { OutgoingRequest } from './web/fetch/request.ts';
import type { Response } from './web/fetch/response.ts';
import { abort } from './web/lazy.ts';
import { List, push } from './web/list.ts';
import { MapIntrinsic, mapForEach, PromiseIntrinsic } from './web/primordials.ts';

/** The answer to an operation of storage: JSON, and the value that was read. */
export type Stored = readonly [answer: string, value: ArrayBuffer | undefined];

/** A fetch that waits for the head of its answer. */
export interface PendingFetch<Answer = Response> {
  resolve(response: Answer): void;
  reject(reason: unknown): void;
  /** Stops listening to the request's signal, which may outlive the fetch. */
  readonly unwatch: (() => void) | undefined;
  /** Whether the method is HEAD: the answer has no body, whatever its status. */
  readonly head: boolean;
  /**
   * Whether the script has called `fetch`. A fetch of the prelude is of no use without its call.
   */
  readonly ofScript: boolean;
  /** Where the script has called `fetch`, if that was recorded. */
  readonly place: CallSite | undefined;
}

/** A fetch in the queue. */
interface QueuedFetch {
  begin(): void;
  aborted: boolean;
}

export class PendingFetches<Answer = Response> {
  /** Fetches of the call so far; the last one's id. */
  begun = 0;
  /** Fetches that are sent and have no answer. */
  inFlight = 0;
  /** By id. */
  readonly pending: Map<number, PendingFetch<Answer>> = new MapIntrinsic();
  #queue = new List<QueuedFetch>();
  #first = 0;

  /**
   * Takes a place among those in flight. `leave` gives it back.
   *
   * @returns undefined if a place is free; otherwise a promise that settles when the place is
   *   taken, and rejects if the signal is aborted before
   */
  enter(inFlightMax: number, signal: OutgoingRequest['signal']): Promise<void> | undefined {
    if (this.inFlight < inFlightMax) {
      this.inFlight += 1;
      return undefined;
    }
    return new PromiseIntrinsic((resolve, reject) => {
      const unwatch =
        signal &&
        abort().onAbort(signal, () => {
          queued.aborted = true;
          reject(abort().abortReason(signal));
        });
      const queued: QueuedFetch = {
        begin: () => {
          unwatch?.();
          resolve();
        },
        aborted: false,
      };
      push(this.#queue, queued);
    });
  }

  /** Hands the place of a fetch that has ended to the next in the queue. */
  leave(): void {
    for (let next = this.#queue[this.#first]; next !== undefined; next = this.#queue[this.#first]) {
      delete this.#queue[this.#first];
      this.#first += 1;
      if (next.aborted) continue;
      next.begin();
      return;
    }
    this.inFlight -= 1;
  }

  /** Fetches of the script without an answer, with the place of the first. */
  unanswered(): { count: number; place: CallSite | undefined } {
    const found = { count: 0, place: undefined as CallSite | undefined };
    mapForEach(this.pending, ({ ofScript, place }) => {
      if (!ofScript) return;
      if (found.count === 0) found.place = place;
      found.count += 1;
    });
    for (let at = this.#first; at < this.#queue.length; at += 1)
      if (this.#queue[at]?.aborted === false) found.count += 1;
    return found;
  }

  /** The call has ended: rejects all of its fetches. */
  end(reason: unknown): void {
    mapForEach(this.pending, ({ reject, unwatch }) => {
      unwatch?.();
      reject(reason);
    });
  }
}
