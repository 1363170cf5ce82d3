/**
 * The script of one version in this cell: its source, and V8's code cache of it from the second
 * isolate on.
 *
 * V8 makes the cache of the source before the script runs in that isolate; nothing that tenant code
 * has touched goes into it, and it never leaves the cell.
 */
import type ivm from 'isolated-vm';
import type { CompileQueue } from './compile-queue.ts';

/** Scripts longer than this are compiled one after the other. */
export const LONG_CHARS = 512 * 1024;

export class CompiledScript {
  readonly #source: string;
  readonly #queue: CompileQueue;
  #cache: ivm.CachedDataResult['cachedData'];
  #compiled = 0;

  /** @param queue shared by all scripts of the cell */
  constructor(source: string, queue: CompileQueue) {
    this.#source = source;
    this.#queue = queue;
  }

  /** Characters of the source. */
  get length(): number {
    return this.#source.length;
  }

  /**
   * Waits until the script may be compiled. @returns a function that ends the turn; undefined where
   * no turn is needed
   */
  async turn(): Promise<(() => void) | undefined> {
    if (this.#isQuick) return undefined;
    const end = await this.#queue.turn();
    // The load before it has left a cache: nothing has to be parsed any more.
    if (!this.#isQuick) return end;
    end();
    return undefined;
  }

  /** Compiles the script; to be called in a turn. @throws SyntaxError */
  async compile(isolate: ivm.Isolate, filename: string): Promise<ivm.Script> {
    this.#compiled += 1;
    if (this.#cache !== undefined)
      return isolate.compileScript(this.#source, { filename, cachedData: this.#cache });
    // Most scripts are compiled once in a cell: the first call does not wait for a cache that may
    // not be needed. For a long script, other loads may be waiting already.
    const produceCachedData = this.#compiled > 1 || !this.#isQuick;
    const script: ivm.Script & ivm.CachedDataResult = await isolate.compileScript(this.#source, {
      filename,
      produceCachedData,
    });
    this.#cache = script.cachedData;
    return script;
  }

  get #isQuick(): boolean {
    return this.#source.length <= LONG_CHARS || this.#cache !== undefined;
  }
}
