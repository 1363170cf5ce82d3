/**
 * The queues of the scheduler: first in, first out; sparse first; earliest first. Pure.
 */

/** Free places at the head are cut off from this many on. */
const COMPACT_FROM = 1_024;

/**
 * FIFO queue at constant cost, however long it is.
 *
 * `Array.shift` moves all remaining items, and a `Set` whose first member is removed again and
 * again steps over the removed ones: with ten thousand endpoint queues, either is most of the work.
 */
export class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** Adds an item before all others. */
  unshift(item: Item): void {
    if (this.#head === 0) this.#items.unshift(item);
    else {
      this.#head -= 1;
      this.#items[this.#head] = item;
    }
  }

  /** Removes the oldest item; undefined if there is none. */
  shift(): Item | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) this.clear();
    else if (this.#head >= COMPACT_FROM && this.#head * 2 >= this.#items.length) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}

/** Sparse items in a row before one of the others has its turn. */
const IN_A_ROW_MAX = 8;

/**
 * Queue in which endpoints with a single delivery pass those with a backlog.
 *
 * Without it, an endpoint that gets an event now and then would wait for a turn of each of a
 * thousand backlogged endpoints. After eight sparse ones in a row a backlogged one has its turn, so
 * many single deliveries do not starve a backlog. Pure.
 */
export class SparseFirstQueue<Item> {
  readonly #sparse = new Fifo<Item>();
  readonly #others = new Fifo<Item>();
  #inARow = 0;

  get length(): number {
    return this.#sparse.length + this.#others.length;
  }

  push(item: Item, isSparse: boolean): void {
    (isSparse ? this.#sparse : this.#others).push(item);
  }

  /** Adds an item before all others of its kind. */
  unshift(item: Item, isSparse: boolean): void {
    (isSparse ? this.#sparse : this.#others).unshift(item);
  }

  /** Removes the next item; undefined if there is none. */
  shift(): Item | undefined {
    const othersTurn = this.#sparse.length === 0 || this.#inARow >= IN_A_ROW_MAX;
    if (othersTurn && this.#others.length > 0) {
      this.#inARow = 0;
      return this.#others.shift();
    }
    this.#inARow += 1;
    return this.#sparse.shift();
  }
}

interface Entry<Item> {
  readonly at: number;
  readonly item: Item;
}

/**
 * Priority queue: items with a time each, the earliest first; a binary heap.
 *
 * Ten thousand endpoints may back off at once, and their times come up one by one: a scan of all
 * of them each time would take the processor time that deliveries need. Pure.
 */
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
