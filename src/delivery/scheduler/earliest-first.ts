/**
 * Priority queue: items with a time each, the earliest first; a binary heap.
 *
 * Ten thousand endpoints may back off at once, and their times come up one by one: a scan of all
 * of them each time would take the processor time that deliveries need. Pure.
 */

interface Entry<Item> {
  readonly at: number;
  readonly item: Item;
}

export class EarliestFirst<Item> {
  readonly #heap: Entry<Item>[] = [];

  get length(): number {
    return this.#heap.length;
  }

  push(at: number, item: Item): void {
    const heap = this.#heap;
    const entry = { at, item };
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above] as Entry<Item>;
      if (parent.at <= at) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = entry;
  }

  /** The earliest entry, which stays. */
  peek(): Entry<Item> | undefined {
    return this.#heap[0];
  }

  /** Removes the earliest entry. */
  pop(): Entry<Item> | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last);
    return first;
  }

  /** Moves an entry down from the top to its place. */
  #sink(entry: Entry<Item>): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      const left = heap[below];
      if (left === undefined) break;
      const right = heap[below + 1];
      if (right !== undefined && right.at < left.at) below += 1;
      const child = heap[below] as Entry<Item>;
      if (child.at >= entry.at) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = entry;
  }
}
