/**
 * FIFO queue at constant cost, however long it is.
 *
 * `Array.shift` moves all remaining items, and a `Set` whose first member is removed again and
 * again steps over the removed ones: with ten thousand endpoint queues, either is most of the work.
 * Pure.
 */

/** Free places at the head are cut off from this many on. */
const COMPACT_FROM = 1_024;

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
