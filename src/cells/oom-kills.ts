/**
 * Tells a SIGKILL of the kernel, which had run out of memory, from one of the operator: the first may be a tenant's doing,
 * the second is nobody's. No process does either to itself, unless it was taken over.
 */
import { readFileSync } from 'node:fs';

/** Linux counts its kills here, those in other containers too: one of these makes a suspect more, and no suspect less. */
const COUNTERS = '/proc/vmstat';

export class OomKills {
  readonly #read: () => string;
  #noted: number | undefined;

  /** @param read the kernel's counters; throws where the system has none */
  constructor(read = () => readFileSync(COUNTERS, 'latin1')) {
    this.#read = read;
    this.note();
  }

  /** To be called regularly: what has happened until now is no news any more. */
  note(): void {
    this.#noted = this.#count();
  }

  /** Whether there was one since the last `note`; undefined where the system does not tell. */
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
