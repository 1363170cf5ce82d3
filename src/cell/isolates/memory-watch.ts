/**
 * Finds the isolate under which the cell's memory grows, and ends it before the host has to end the
 * cell.
 *
 * No figure of the engine counts what its libraries hold, so the size of the process is sampled:
 * every few milliseconds in which code has run, its growth is charged to the isolates that ran, by
 * the CPU that each used. Errors even out over many samples, and an isolate that grows again and
 * again stands out. Attack: an installation fills the cell over many calls that all succeed, and is
 * idle when memory runs out; the isolate that executes just then would be blamed for it.
 *
 * The sampled figure is the peak, the only one that a process without files can read; the host has
 * the system reset it several times a second. Where it falls, the isolates that ran are credited,
 * as they are charged with growth, and all accounts are scaled down to what is left, so that wrong
 * charges of a busy isolate do not add up. Attack: many installations take and return memory, in
 * turn, while a busy neighbour runs, until most of it is on the neighbour's account. So the CPU of
 * an isolate that also runs while nothing grows has a lower weight.
 */
import type { RecentCpu } from './recent-cpu.ts';

const MIB = 1024 * 1024;
const SAMPLE_MS = 10;
/** Less than this is what any isolate takes: code, caches, a heap of its own. */
const HOLDER_BYTES_MIN = 64 * MIB;
/**
 * Share of the bound from which on an isolate is ended in the middle of its calls; one without
 * calls, from `HOLDER_BYTES_MIN`.
 */
const IN_CALLS_FROM = 1 / 6;
/**
 * Share of the charged growth that counts: others may have run at the same time. What the engine
 * measures counts in full.
 */
const TRUST = 0.5;
/** After the end of one isolate, how long its memory may take to be returned. */
const RELIEF_MS = 500;
/** Less growth in a sample counts as none, and the engine is not asked for a measurement. */
const GROWTH_BYTES_MIN = MIB;
/** CPU of a habit from which on it is halved. */
const HABIT_NS = 2e9;
/** Weight of an isolate that has never run while the cell grew: it may begin to. */
const WEIGHT_MIN = 0.05;
/**
 * How long an isolate that was ended stays the noted holder, whatever another one grows by
 * meanwhile.
 */
const BLAME_MS = 2_000;
/** Share of the host's bound from which on isolates are ended. */
const RELIEF_FROM = 0.75;
/**
 * Share of it from which on an isolate is measured by the engine as soon as the cell has grown
 * while it ran.
 */
const MEASURE_FROM = 0.5;

export interface MemoryWatchDeps {
  /** Resident memory at which the host kills the cell, bytes. */
  readonly rssBytesMax: number;
  /** Most resident memory of the process since the last reset, bytes. */
  peakBytes(): number;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Notes the isolate that holds most, for the host to read when the cell has died. */
  note(key: string): void;
  /** Memory of an isolate as the engine counts it, when last measured, bytes. */
  heapBytes(key: string): number;
  /** Has the engine measure an isolate. Resolves once `heapBytes` has the result. */
  measure(key: string): Promise<void>;
  /**
   * Whether an isolate has no calls: its end then costs its installation no more than an eviction.
   */
  idle(key: string): boolean;
  /** Ends an isolate with its calls. */
  end(key: string): void;
}

/** The share of an isolate's CPU that falls into samples in which the cell grows. */
class Habit {
  #growingNs = 0;
  #calmNs = 0;

  /** @returns its weight in this sample: low for one that mostly runs while nothing grows */
  add(usedNs: number, grownBytes: number): number {
    if (grownBytes >= GROWTH_BYTES_MIN) this.#growingNs += usedNs;
    else this.#calmNs += usedNs;
    const allNs = this.#growingNs + this.#calmNs;
    if (allNs > HABIT_NS) {
      this.#growingNs /= 2;
      this.#calmNs /= 2;
    }
    return grownBytes < 0 || allNs === 0 ? 1 : Math.max(WEIGHT_MIN, this.#growingNs / allNs);
  }
}

export class MemoryWatch {
  readonly #deps: MemoryWatchDeps;
  /** Isolates that have run since the last sample. */
  #ran: RecentCpu[] = [];
  /** Growth of the cell that is charged to each isolate, bytes. */
  readonly #grown = new Map<string, number>();
  readonly #habits = new Map<string, Habit>();
  /** Size of the cell before its first tenant. */
  readonly #emptyBytes: number;
  /** Isolates that are being measured. */
  readonly #measuring = new Set<string>();
  #peakBytes: number;
  #holder: string | undefined;
  #relievedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: MemoryWatchDeps) {
    this.#deps = deps;
    this.#emptyBytes = deps.peakBytes();
    this.#peakBytes = this.#emptyBytes;
  }

  /** An isolate has used CPU, for the first time since the last sample. */
  ran(use: RecentCpu): void {
    this.#ran.push(use);
    this.#timer ??= setTimeout(() => this.sample(), SAMPLE_MS);
  }

  /**
   * Charges growth of the cell to the isolates that ran since the last sample, or credits them
   * where it has shrunk.
   */
  sample(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const ran = this.#ran;
    this.#ran = [];
    const peakBytes = this.#deps.peakBytes();
    const grownBytes = peakBytes - this.#peakBytes;
    this.#peakBytes = peakBytes;
    let weights = 0;
    const shares = ran.map((use) => {
      const usedNs = use.takeNs();
      const weight = usedNs * this.#habitOf(use.key).add(usedNs, grownBytes);
      weights += weight;
      return { key: use.key, weight };
    });
    if (weights > 0)
      for (const { key, weight } of shares)
        this.#grown.set(key, Math.max(0, (this.#grown.get(key) ?? 0) + (grownBytes * weight) / weights));
    if (grownBytes < 0) this.#scaleDown(peakBytes - this.#emptyBytes);
    if (grownBytes <= 0 || weights <= 0) return;
    if (peakBytes > this.#deps.rssBytesMax * MEASURE_FROM)
      for (const { key, weight } of shares)
        if ((grownBytes * weight) / weights >= GROWTH_BYTES_MIN) void this.#measure(key);
    this.#noteHolder();
    this.#relieveIfTight();
  }

  /**
   * Attack: an isolate fills up between two regular measurements, while busy isolates share its
   * growth with it.
   */
  async #measure(key: string): Promise<void> {
    if (this.#measuring.has(key)) return;
    this.#measuring.add(key);
    await this.#deps.measure(key);
    this.#measuring.delete(key);
    this.#noteHolder();
    this.#relieveIfTight();
  }

  #relieveIfTight(): void {
    // The last peak is the size of the process now, or a moment ago.
    if (this.#peakBytes > this.#deps.rssBytesMax * RELIEF_FROM) this.relieve();
  }

  /**
   * The cell is about to be too large: ends the isolate that has grown most, and after a while
   * another one where needed.
   */
  relieve(): void {
    const now = this.#deps.now();
    if (now - this.#relievedAt < RELIEF_MS) return;
    const holder =
      this.#largest(this.#deps.rssBytesMax * IN_CALLS_FROM) ??
      this.#largest(HOLDER_BYTES_MIN, (key) => this.#deps.idle(key));
    if (holder === undefined) return;
    this.#relievedAt = now;
    this.#grown.delete(holder);
    this.#note(holder);
    this.#deps.end(holder);
  }

  /**
   * An isolate has been disposed of, with what it held. It stays the noted holder until another one
   * holds most.
   */
  forget(key: string): void {
    this.#grown.delete(key);
    this.#habits.delete(key);
  }

  #habitOf(key: string): Habit {
    const habit = this.#habits.get(key) ?? new Habit();
    this.#habits.set(key, habit);
    return habit;
  }

  /** Scales all accounts down where together they are more than the cell holds. */
  #scaleDown(heldBytes: number): void {
    let chargedBytes = 0;
    for (const bytes of this.#grown.values()) chargedBytes += bytes;
    if (chargedBytes <= heldBytes) return;
    const left = Math.max(0, heldBytes) / chargedBytes;
    for (const [key, bytes] of this.#grown) this.#grown.set(key, bytes * left);
  }

  #noteHolder(): void {
    // Memory of the isolate that was ended may not be returned yet, and may be why the cell dies.
    if (this.#deps.now() - this.#relievedAt < BLAME_MS) return;
    const holder = this.#largest(HOLDER_BYTES_MIN);
    if (holder !== undefined) this.#note(holder);
  }

  #note(holder: string): void {
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#deps.note(holder);
  }

  #largest(bytesMin: number, counts: (key: string) => boolean = () => true): string | undefined {
    let largest: string | undefined;
    let mostBytes = bytesMin;
    for (const [key, grownBytes] of this.#grown) {
      const bytes = Math.max(grownBytes * TRUST, this.#deps.heapBytes(key));
      if (bytes < mostBytes || !counts(key)) continue;
      largest = key;
      mostBytes = bytes;
    }
    return largest;
  }
}
