/**
 * Repeatable random choices: the same ones for the same seed.
 */

/** A repeatable random source (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** An integer from 0 up to, excluding, the bound. */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }

  /** True once in so many times. */
  once(inTimes: number): boolean {
    return this.below(inTimes) === 0;
  }

  pick<T>(from: readonly T[]): T {
    const index = this.below(from.length);
    if (index >= from.length) throw new Error('There is nothing to pick from.');
    return from[index] as T;
  }
}
