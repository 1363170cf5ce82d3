/**
 * Who may run now: an own semaphore before isolated-vm's thread pool, which would otherwise start one thread per entry.
 *
 * There are as many slots as cores, handed round the isolates that have work. An isolate that runs longer than a slice
 * gives its slot back and is counted apart, up to a bound: from then on the operating system shares the cores between
 * it and the rest, so spinning tenants never fill the slots and quick calls keep passing them by.
 */

/** How long an entry may hold a slot before it counts as long-running. */
export const SLICE_MS = 5;

/** Something that has entries to run. */
export interface Runnable {
  /** Runs queued entries; called with a slot in hand, which `Slots.release` gives back. */
  run(): void;
}

export class Slots {
  readonly #slots: number;
  readonly #longMax: number;
  readonly #waiting = new Set<Runnable>();
  readonly #holding = new Set<Runnable>();
  readonly #long = new Set<Runnable>();

  /** @param longMax most long-running isolates beside the slots. */
  constructor(slots: number, longMax: number) {
    this.#slots = slots;
    this.#longMax = longMax;
  }

  /** Asks for a slot. Does nothing for one that waits, or runs, already. */
  request(runnable: Runnable): void {
    if (this.#holding.has(runnable) || this.#long.has(runnable)) return;
    this.#waiting.add(runnable);
    this.#grant();
  }

  /** Gives the slot back; the longest waiting isolate is next. */
  release(runnable: Runnable): void {
    this.#waiting.delete(runnable);
    if (this.#holding.delete(runnable) || this.#long.delete(runnable)) this.#grant();
  }

  /** Counts a holder apart, so that others may run beside it. */
  overrun(runnable: Runnable): void {
    if (this.#long.size >= this.#longMax || !this.#holding.delete(runnable)) return;
    this.#long.add(runnable);
    this.#grant();
  }

  /** Whether anybody else is waiting: a holder with more work then lets the others go first. */
  get contended(): boolean {
    return this.#waiting.size > 0;
  }

  #grant(): void {
    for (const next of this.#waiting) {
      if (this.#holding.size >= this.#slots) return;
      this.#waiting.delete(next);
      this.#holding.add(next);
      next.run();
    }
  }
}
