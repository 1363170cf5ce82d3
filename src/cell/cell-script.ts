/**
 * The script of one version in this cell: its source, and V8's code cache of it from the second isolate on.
 *
 * The cache is V8's own work on the source, taken before the script runs in that isolate; nothing that a tenant's code has
 * touched goes into it, and it never leaves the cell.
 */
import type ivm from 'isolated-vm';

export class CellScript {
  readonly #source: string;
  #cache: ivm.CachedDataResult['cachedData'];
  #compiled = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Characters of the source. */
  get length(): number {
    return this.#source.length;
  }

  async compile(isolate: ivm.Isolate, filename: string): Promise<ivm.Script> {
    this.#compiled += 1;
    if (this.#cache !== undefined)
      return isolate.compileScript(this.#source, { filename, cachedData: this.#cache });
    // Most scripts are compiled once in a cell: the first call does not wait for a cache that nobody may need.
    const produceCachedData = this.#compiled > 1;
    const script: ivm.Script & ivm.CachedDataResult = await isolate.compileScript(this.#source, {
      filename,
      produceCachedData,
    });
    this.#cache = script.cachedData;
    return script;
  }
}
