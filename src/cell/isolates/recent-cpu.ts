/**
 * Recent CPU of an installation's isolate: decides whether its new work goes behind that of others.
 *
 * It outlives the isolate. Attack: an installation that spins loses its isolate with every call,
 * and would otherwise begin each time without a past.
 */
import { LRUCache } from 'lru-cache';

/** Time constant of the exponential decay. */
const MEMORY_MS = 1_000;
/** Share of one core over that time from which an isolate is heavy. */
const HEAVY_SHARE = 0.25;
/** The decay is computed this often at most: entries are many and short. */
const DECAY_EVERY_MS = 20;
/**
 * Isolates remembered: more than a cell keeps, because those that are lost have to be remembered
 * too.
 */
const REMEMBERED = 1_000;
const NS_PER_MS = 1e6;

/** Recent CPU of one isolate and of its successors with the same key. */
export class RecentCpu {
  /** Of the isolate. */
  readonly key: string;
  readonly #ran: ((use: RecentCpu) => void) | undefined;
  #usedMs = 0;
  #at = 0;
  #untakenNs = 0;

  /** @param ran called at the first use, and at the first one after each `takeNs` */
  constructor(key = '', ran?: (use: RecentCpu) => void) {
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

  /** CPU since the last call of this method, nanoseconds. */
  takeNs(): number {
    const taken = this.#untakenNs;
    this.#untakenNs = 0;
    return taken;
  }

  /** Whether it has used more than a quarter of a core over the last second. */
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

/** Recent CPU of all isolates of a cell, by key. */
export class RecentCpuOfIsolates {
  readonly #uses = new LRUCache<string, RecentCpu>({ max: REMEMBERED });
  readonly #ran: ((use: RecentCpu) => void) | undefined;

  /** @param ran as of `RecentCpu` */
  constructor(ran?: (use: RecentCpu) => void) {
    this.#ran = ran;
  }

  /** The use of one isolate; made at its first use. */
  of(key: string): RecentCpu {
    const known = this.#uses.get(key);
    if (known !== undefined) return known;
    const use = new RecentCpu(key, this.#ran);
    this.#uses.set(key, use);
    return use;
  }
}
