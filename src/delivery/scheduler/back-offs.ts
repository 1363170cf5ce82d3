/**
 * Back-offs: endpoint queues in the order of their `retryAt`.
 *
 * A heap does not move an entry, so a queue that is brought forward gets a second one; the entry
 * at any other time than the queue's `heapAt` is void and skipped. Pure.
 */
import { EarliestFirst } from './earliest-first.ts';
import type { EndpointQueue } from './endpoint-queue.ts';

export class BackOffs {
  readonly #heap = new EarliestFirst<EndpointQueue>();

  /** Time of the earliest back-off; undefined if there is none. */
  get nextAt(): number | undefined {
    for (;;) {
      const first = this.#heap.peek();
      if (first === undefined || first.item.retryAt === first.at) return first?.at;
      this.#heap.pop();
      const { item: queue, at } = first;
      if (queue.heapAt !== at) continue;
      queue.heapAt = undefined;
      if (queue.retryAt !== undefined) this.until(queue, queue.retryAt);
    }
  }

  /** Backs a queue off until `at`, unless an earlier time is set already. */
  until(queue: EndpointQueue, at: number): void {
    if (queue.retryAt === undefined || at < queue.retryAt) queue.retryAt = at;
    if (queue.heapAt !== undefined && queue.heapAt <= queue.retryAt) return;
    queue.heapAt = queue.retryAt;
    this.#heap.push(queue.retryAt, queue);
  }

  /** Removes the earliest queue whose time has come; undefined if there is none. */
  shift(now: number): EndpointQueue | undefined {
    const at = this.nextAt;
    if (at === undefined || at > now) return undefined;
    const queue = this.#heap.pop()?.item as EndpointQueue;
    queue.retryAt = undefined;
    queue.heapAt = undefined;
    return queue;
  }
}
