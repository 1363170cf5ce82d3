/**
 * Queue in which endpoints with a single delivery pass those with a backlog.
 *
 * Without it, an endpoint that gets an event now and then would wait for a turn of each of a
 * thousand backlogged endpoints. After eight sparse ones in a row a backlogged one has its turn, so
 * many single deliveries do not starve a backlog. Pure.
 */
import { Fifo } from './fifo.ts';

/** Sparse items in a row before one of the others has its turn. */
const IN_A_ROW_MAX = 8;

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
