/**
 * Who may run now: an own semaphore before isolated-vm's thread pool, which would otherwise start one thread per entry.
 *
 * There are as many slots as cores, handed round the isolates that have work. An isolate that runs longer than a slice
 * gives its slot back and is counted apart, up to a bound: from then on the operating system shares the cores between
 * it and the rest, so spinning tenants never fill the slots and quick calls keep passing them by.
 *
 * One that has lately used much CPU is *heavy*, and is counted apart from the first moment: it takes no slot at all while
 * there is room beside them. Where there is none, it waits behind the light ones, which let it pass now and then.
 *
 * One that has background calls alone waits behind the others. The attack: an organization lets thousands of deliveries
 * pile up, and each call of another organization waits for hundreds of theirs. A share of the turns keeps them going.
 */

/** How long an entry may hold a slot before it counts as long-running. */
export const SLICE_MS = 5;
/** A heavy one has its turn after so many light ones, however many of these wait. */
const LIGHT_IN_A_ROW = 7;
/** A background one has its turn after so many others, however many of these wait. */
const FOREGROUND_IN_A_ROW = 8;

/** Something that has entries to run. */
export interface Runnable {
  /** It has lately used much CPU: asked for when it asks for a slot. */
  readonly heavy?: boolean;
  /** It has background calls alone: asked for when it asks for a slot. */
  readonly background?: boolean;
  /** Runs queued entries; called with a slot in hand, which `Slots.release` gives back. */
  run(): void;
}

export class Slots {
  readonly #slots: number;
  readonly #longMax: number;
  /** Of the places beside the slots, those that heavy ones may begin in; light ones that turn out long find the others. */
  readonly #heavyMax: number;
  readonly #light = new Set<Runnable>();
  readonly #heavy = new Set<Runnable>();
  readonly #background = new Set<Runnable>();
  readonly #holding = new Set<Runnable>();
  readonly #long = new Set<Runnable>();
  /** Light ones that were granted a slot while heavy ones waited. */
  #passed = 0;
  /** Others that have begun while background ones waited. */
  #overtaken = 0;

  /** @param longMax most long-running isolates beside the slots. */
  constructor(slots: number, longMax: number) {
    this.#slots = slots;
    this.#longMax = longMax;
    this.#heavyMax = Math.floor(longMax / 2);
  }

  /** Asks for a slot. Does nothing for one that waits, or runs, already; one that is no longer background moves forward. */
  request(runnable: Runnable): void {
    if (this.#holding.has(runnable) || this.#long.has(runnable)) return;
    if (this.#light.has(runnable) || this.#heavy.has(runnable)) return;
    if (this.#background.has(runnable)) {
      if (runnable.background) return;
      this.#background.delete(runnable);
    }
    const isHeavy = runnable.heavy === true;
    (isHeavy ? this.#heavy : runnable.background ? this.#background : this.#light).add(runnable);
    this.#grant();
  }

  /** Gives the slot back; the longest waiting isolate is next. */
  release(runnable: Runnable): void {
    if (!this.#light.delete(runnable) && !this.#heavy.delete(runnable)) this.#background.delete(runnable);
    if (this.#holding.delete(runnable) || this.#long.delete(runnable)) this.#grant();
  }

  /** Counts a holder apart, so that others may run beside it. */
  overrun(runnable: Runnable): void {
    if (this.#long.size >= this.#longMax || !this.#holding.delete(runnable)) return;
    this.#long.add(runnable);
    this.#grant();
  }

  /** Isolates that run, whoever asks included. */
  get running(): number {
    return Math.max(1, this.#holding.size + this.#long.size);
  }

  /** How much of its time one that runs has a core, as far as how many run at once can tell. */
  get share(): number {
    return Math.min(1, this.#slots / this.running);
  }

  /** Whether anybody else is waiting: a holder with more work then lets the others go first. */
  get contended(): boolean {
    return this.#light.size > 0 || this.#heavy.size > 0 || this.#background.size > 0;
  }

  #grant(): void {
    while (this.#long.size < this.#heavyMax) {
      const next = first(this.#heavy);
      if (next === undefined) break;
      this.#begin(next, this.#heavy, this.#long);
    }
    while (this.#holding.size < this.#slots) {
      const from = this.#nextQueue();
      const next = first(from);
      if (next === undefined) return;
      this.#begin(next, from, this.#holding);
    }
  }

  /** The queue that a free slot goes to. */
  #nextQueue(): Set<Runnable> {
    if (this.#background.size > 0 && this.#overtaken >= FOREGROUND_IN_A_ROW) return this.#background;
    if (this.#heavyMayHold) return this.#heavy;
    return this.#light.size > 0 ? this.#light : this.#background;
  }

  /** Whether a slot that is free goes to a heavy one: on its turn, or while no light one waits and another slot stays free. */
  get #heavyMayHold(): boolean {
    if (this.#heavy.size === 0) return false;
    if (this.#light.size > 0) return this.#passed >= LIGHT_IN_A_ROW;
    return this.#holding.size < this.#slots - 1 || this.#long.size === 0;
  }

  #begin(runnable: Runnable, from: Set<Runnable>, to: Set<Runnable>): void {
    from.delete(runnable);
    to.add(runnable);
    if (from !== this.#background)
      this.#passed = from === this.#light && this.#heavy.size > 0 ? this.#passed + 1 : 0;
    this.#overtaken = from !== this.#background && this.#background.size > 0 ? this.#overtaken + 1 : 0;
    runnable.run();
  }
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  for (const one of set) return one;
  return undefined;
}
