/**
 * Distinguishes a SIGKILL by the kernel, for lack of memory, from one by the operator. A tenant may
 * have caused the first, never the second. A cell does not kill itself, unless it was taken over.
 */
import { readFileSync } from 'node:fs';

/**
 * Linux counts its kills here, those in other containers too: these can add a suspect and never
 * hide one.
 */
const COUNTERS = '/proc/vmstat';

export class OomKills {
  readonly #read: () => string;
  #noted: number | undefined;

  /** @param read the kernel's counters; throws where the system has none */
  constructor(read = () => readFileSync(COUNTERS, 'latin1')) {
    this.#read = read;
    this.note();
  }

  /** To be called regularly: `happened` is about the time since the last call. */
  note(): void {
    this.#noted = this.#count();
  }

  /** Whether there was a kill since the last `note`; undefined where the system has no counter. */
  happened(): boolean | undefined {
    const count = this.#count();
    return count === undefined || this.#noted === undefined ? undefined : count > this.#noted;
  }

  #count(): number | undefined {
    try {
      const count = /^oom_kill (\d+)$/m.exec(this.#read())?.[1];
      return count === undefined ? undefined : Number(count);
    } catch {
      return undefined;
    }
  }
}
