/**
 * How much CPU an installation's isolate has used lately: what decides whether its new work goes behind that of others.
 *
 * It outlives the isolate. One that spins loses its isolate with every call, and would otherwise come back each time as one
 * nobody knows.
 */
import { LRUCache } from 'lru-cache';

/** What was used counts for this long, less and less. */
const MEMORY_MS = 1_000;
/** Share of one core over that time from which an isolate is heavy. */
const HEAVY_SHARE = 0.25;
/** Decay is worked out this often at most: entries are many and short. */
const DECAY_EVERY_MS = 20;
/** Isolates remembered: more than a cell keeps, because those that go away are the ones to remember. */
const REMEMBERED = 1_000;
const NS_PER_MS = 1e6;

/** The use of one isolate, and of those that stand in its place later. */
export class CpuUse {
  /** Of the isolate. */
  readonly key: string;
  readonly #ran: ((use: CpuUse) => void) | undefined;
  #usedMs = 0;
  #at = 0;
  #untakenNs = 0;

  /** @param ran is told of the first use, and of the first after each `takeNs` */
  constructor(key = '', ran?: (use: CpuUse) => void) {
    this.key = key;
    this.#ran = ran;
  }

  /** @param now milliseconds of a clock that never goes back */
  add(cpuNs: number, now: number): void {
    this.#decay(now);
    this.#usedMs += cpuNs / NS_PER_MS;
    if (cpuNs <= 0) return;
    if (this.#untakenNs === 0) this.#ran?.(this);
    this.#untakenNs += cpuNs;
  }

  /** What was used since this was last asked. */
  takeNs(): number {
    const taken = this.#untakenNs;
    this.#untakenNs = 0;
    return taken;
  }

  isHeavy(now: number): boolean {
    this.#decay(now);
    return this.#usedMs > HEAVY_SHARE * MEMORY_MS;
  }

  #decay(now: number): void {
    const elapsedMs = now - this.#at;
    if (elapsedMs < DECAY_EVERY_MS) return;
    this.#usedMs *= Math.exp(-elapsedMs / MEMORY_MS);
    this.#at = now;
  }
}

/** The use of all isolates of a cell, by their key. */
export class CpuUses {
  readonly #uses = new LRUCache<string, CpuUse>({ max: REMEMBERED });
  readonly #ran: ((use: CpuUse) => void) | undefined;

  /** @param ran is told of each use that begins (`CpuUse`) */
  constructor(ran?: (use: CpuUse) => void) {
    this.#ran = ran;
  }

  of(key: string): CpuUse {
    const known = this.#uses.get(key);
    if (known !== undefined) return known;
    const use = new CpuUse(key, this.#ran);
    this.#uses.set(key, use);
    return use;
  }
}
