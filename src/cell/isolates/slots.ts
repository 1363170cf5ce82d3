/**
 * Slots: a semaphore in front of isolated-vm's thread pool, which would otherwise start one thread
 * per entry.
 *
 * There are as many slots as cores, given in turn to the isolates that have work. An isolate that
 * runs longer than a slice gives its slot back and counts as long-running, up to a bound: from then
 * on the operating system shares the cores between it and the rest. So spinning tenants never fill
 * the slots, and quick calls run beside them.
 *
 * An isolate that has lately used much CPU is *heavy*, and counts as long-running from the start:
 * it takes no slot while there is a place beside the slots. Where there is none, it waits behind
 * the light ones and has its turn after several of them.
 *
 * The isolates of one organization have a fair share of the places, slots and those beside them.
 * Attack: eighteen of them spin. Once no place is left beside the slots, the last ones keep their
 * slots until they are out of CPU, and every other call waits for that.
 *
 * An isolate with background calls alone waits behind the others. Attack: an organization lets
 * thousands of deliveries pile up, and each call of another organization waits for hundreds of
 * theirs. Every so many turns a background one is next.
 */

import { isFairPlace } from '../../limits.ts';

/** How long an entry may hold a slot before it counts as long-running. */
export const SLICE_MS = 5;
/** A heavy isolate has its turn after so many light ones, however many of these wait. */
const LIGHT_IN_A_ROW = 7;
/** A background isolate has its turn after so many others, however many of these wait. */
const FOREGROUND_IN_A_ROW = 8;

/** An isolate, or a queue of Web Crypto jobs, that has work. */
export interface Runnable {
  /** Has a share of the places, together with all others of the same holder. */
  readonly holder?: string;
  /** It has lately used much CPU. Read when it requests a slot. */
  readonly heavy?: boolean;
  /** It has background calls alone. Read when it requests a slot. */
  readonly background?: boolean;
  /** Runs queued work; called with a slot in hand, which `Slots.release` gives back. */
  run(): void;
}

export class Slots {
  readonly #slots: number;
  readonly #longMax: number;
  /**
   * Places beside the slots in which heavy ones may begin; the others are left to light ones that
   * turn out long.
   */
  readonly #heavyMax: number;
  readonly #light = new Set<Runnable>();
  readonly #heavy = new Set<Runnable>();
  readonly #background = new Set<Runnable>();
  readonly #holding = new Set<Runnable>();
  readonly #long = new Set<Runnable>();
  /** How many of each holder run. */
  readonly #runningOf = new Map<string, number>();
  /** Light ones that were granted a slot in a row while heavy ones waited. */
  #passed = 0;
  /** Other ones that began in a row while background ones waited. */
  #overtaken = 0;

  /** @param longMax most long-running isolates beside the slots */
  constructor(slots: number, longMax: number) {
    this.#slots = slots;
    this.#longMax = longMax;
    this.#heavyMax = Math.floor(longMax / 2);
  }

  /**
   * Requests a slot. Does nothing for one that waits or runs already; one that is no longer
   * background moves forward.
   */
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

  /** Gives the slot back, and leaves the queue; the longest waiting isolate is next. */
  release(runnable: Runnable): void {
    if (!this.#light.delete(runnable) && !this.#heavy.delete(runnable)) this.#background.delete(runnable);
    if (!this.#holding.delete(runnable) && !this.#long.delete(runnable)) return;
    this.#count(runnable, -1);
    this.#grant();
  }

  /** Counts the holder of a slot as long-running, so that others may run beside it. */
  overrun(runnable: Runnable): void {
    if (this.#long.size >= this.#longMax || !this.#holding.delete(runnable)) return;
    this.#long.add(runnable);
    this.#grant();
  }

  /** Isolates that run, at least 1: the caller is one of them. */
  get running(): number {
    return Math.max(1, this.#holding.size + this.#long.size);
  }

  /** Estimated share of its time that a running isolate has a core, by how many run at once. */
  get share(): number {
    return Math.min(1, this.#slots / this.running);
  }

  /** Whether others wait: a holder with more work then lets them go first. */
  get contended(): boolean {
    return this.#light.size > 0 || this.#heavy.size > 0 || this.#background.size > 0;
  }

  #grant(): void {
    while (this.#long.size < this.#heavyMax) {
      const next = this.#first(this.#heavy);
      if (next === undefined) break;
      this.#begin(next, this.#heavy, this.#long);
    }
    while (this.#holding.size < this.#slots) {
      const next = this.#next();
      if (next === undefined) return;
      this.#begin(next[1], next[0], this.#holding);
    }
  }

  /** What gets a free slot, and the queue that it is in. */
  #next(): [Set<Runnable>, Runnable] | undefined {
    const background = this.#first(this.#background);
    if (background !== undefined && this.#overtaken >= FOREGROUND_IN_A_ROW)
      return [this.#background, background];
    const light = this.#first(this.#light);
    const heavy = this.#first(this.#heavy);
    if (heavy !== undefined && this.#heavyMayHold(light !== undefined)) return [this.#heavy, heavy];
    if (light !== undefined) return [this.#light, light];
    return background && [this.#background, background];
  }

  /**
   * Whether a free slot goes to a heavy one: at its turn, or while no light one waits and another
   * slot stays free.
   */
  #heavyMayHold(isLightWaiting: boolean): boolean {
    if (isLightWaiting) return this.#passed >= LIGHT_IN_A_ROW;
    return this.#holding.size < this.#slots - 1 || this.#long.size === 0;
  }

  /** The first in a queue that may run. */
  #first(queue: ReadonlySet<Runnable>): Runnable | undefined {
    if (queue.size === 0) return undefined;
    const left = this.#slots + this.#longMax - this.#holding.size - this.#long.size - 1;
    for (const one of queue)
      if (one.holder === undefined || isFairPlace(this.#runningOf.get(one.holder) ?? 0, left)) return one;
    return undefined;
  }

  #count({ holder }: Runnable, more: 1 | -1): void {
    if (holder === undefined) return;
    const running = (this.#runningOf.get(holder) ?? 0) + more;
    if (running === 0) this.#runningOf.delete(holder);
    else this.#runningOf.set(holder, running);
  }

  #begin(runnable: Runnable, from: Set<Runnable>, to: Set<Runnable>): void {
    from.delete(runnable);
    to.add(runnable);
    this.#count(runnable, 1);
    if (from !== this.#background)
      this.#passed = from === this.#light && this.#heavy.size > 0 ? this.#passed + 1 : 0;
    this.#overtaken = from !== this.#background && this.#background.size > 0 ? this.#overtaken + 1 : 0;
    runnable.run();
  }
}
