/**
 * A queue in which lanes with a single delivery pass those with a backlog.
 *
 * With a thousand backlogged lanes, a lane that gets an event now and then would wait for a turn of each of them, every time. It
 * passes them instead; after so many in a row one of the others has its turn, so that many single deliveries do not keep a
 * backlog waiting for ever. Pure.
 */
import { Fifo } from './fifo.ts';

/** Of those that pass, before one of the others has its turn. */
const IN_A_ROW_MAX = 8;

export class SparseFirst<Item> {
  readonly #sparse = new Fifo<Item>();
  readonly #others = new Fifo<Item>();
  #inARow = 0;

  get length(): number {
    return this.#sparse.length + this.#others.length;
  }

  push(item: Item, isSparse: boolean): void {
    (isSparse ? this.#sparse : this.#others).push(item);
  }

  /** Lets one in before all of its kind. */
  unshift(item: Item, isSparse: boolean): void {
    (isSparse ? this.#sparse : this.#others).unshift(item);
  }

  /** The next in turn; undefined where none waits. */
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
