/**
 * The line in which long scripts of a cell wait to be compiled, one after the other.
 *
 * The engine's parser takes up to some hundred bytes beside the heap for each character of a script, for as long as it
 * compiles, and no limit counts them. Attack: many installations of a script of megabytes are called at once; each load is
 * allowed, and all of them together take the cell over its bound. It knows no scripts: it only hands out turns.
 */
export class CompileQueue {
  #last: Promise<void> = Promise.resolve();

  /** Waits until all that came before are done. @returns what ends the turn, to be called once */
  async turn(): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    return resolve;
  }
}
