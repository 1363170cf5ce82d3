/**
 * First in, first out, at the same small cost however much it holds.
 *
 * An array that is shifted moves all that is left, and a `Set` whose first member is taken again and again steps over the
 * places of those that are gone: with ten thousand lanes that go round, either is most of the work. Pure.
 */

/** Places at the head that are let go of at once, and no sooner. */
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

  /** Lets one in before all others. */
  unshift(item: Item): void {
    if (this.#head === 0) this.#items.unshift(item);
    else {
      this.#head -= 1;
      this.#items[this.#head] = item;
    }
  }

  /** The one that has waited longest; undefined where none does. */
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
