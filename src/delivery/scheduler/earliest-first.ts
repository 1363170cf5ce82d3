/**
 * Items with a time each, the earliest on top: a binary heap.
 *
 * Ten thousand lanes may rest at once, and their times come up one by one. Looking through all of them each time would take the
 * processor that is there for delivering. Pure.
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

  /** The earliest, which stays. */
  peek(): Entry<Item> | undefined {
    return this.#heap[0];
  }

  /** Takes the earliest. */
  pop(): Entry<Item> | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last);
    return first;
  }

  /** Finds the place of an entry, from the top. */
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
