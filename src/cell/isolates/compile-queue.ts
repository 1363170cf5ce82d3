/**
 * Queue in which long scripts of a cell wait to be compiled, one after the other.
 *
 * While it compiles, the engine's parser takes up to some hundred bytes outside the heap for each
 * character of a script, and no limit counts them. Attack: many installations of a script of
 * megabytes are called at once; each load is allowed, and all of them together take the cell over
 * its memory bound. It knows no scripts: it gives turns.
 */
export class CompileQueue {
  #last: Promise<void> = Promise.resolve();

  /**
   * Waits until all earlier turns have ended. @returns a function that ends this turn, to be called
   * once
   */
  async turn(): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    return resolve;
  }
}
