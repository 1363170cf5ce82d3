/**
 * Finds out which isolate the cell's memory grows under, and ends that one before the host has to end the cell.
 *
 * No figure of the engine says what its libraries hold, so the process is asked: every few milliseconds in which code has
 * run, how far it has grown is put on the account of those that ran, by the CPU that each used. Chance evens out, and one
 * that grows again and again stands out. Attack: an installation fills the cell over many calls that all succeed, and is
 * idle when memory runs out; whoever executes just then would be blamed for it.
 *
 * What is asked for is the peak, the one figure that a process without files can read; the host has the system forget it
 * several times a second. Where the figure falls, those that ran are credited with it as they are charged with growth, and all
 * are cut to what is left, so that what a busy isolate was charged with wrongly does not add up. Attack: many installations
 * take and give back memory, in turn, while a busy neighbour runs, until most of it is on the neighbour's account. So the CPU
 * of one that also runs while nothing grows weighs less.
 */
import type { CpuUse } from './cpu-use.ts';

const MIB = 1024 * 1024;
const SAMPLE_MS = 10;
/** Less than this is warmth: code, caches, a heap of its own. */
const HOLDER_BYTES_MIN = 64 * MIB;
/** Share of the bound from which on an isolate is ended in the middle of its calls; one without calls, from the above on. */
const IN_CALLS_FROM = 1 / 6;
/** Of what a cell has grown by, how much counts: others may have run at the same time. What the engine counts, counts in full. */
const TRUST = 0.5;
/** After the end of one isolate, how long the memory it gives back may take to show. */
const RELIEF_MS = 500;
/** Less growth in a sample is none, and not worth a question of the engine. */
const GROWTH_BYTES_MIN = MIB;
/** CPU from which on half of a habit is forgotten. */
const HABIT_NS = 2e9;
/** Of CPU that never was there when the cell grew: what has not been seen may begin. */
const WEIGHT_MIN = 0.05;
/** For how long the one that was ended stays the one to blame: an innocent that grows a little meanwhile is not it. */
const BLAME_MS = 2_000;
/** Share of the host's bound from which on isolates are ended. */
const RELIEF_FROM = 0.75;
/** Share of it from which on the engine is asked what an isolate holds, as soon as the cell has grown while it ran. */
const MEASURE_FROM = 0.5;

export interface MemoryWatchParts {
  /** Resident memory at which the host kills the cell, bytes. */
  readonly rssBytesMax: number;
  /** The most that the process has held so far, bytes. */
  peakBytes(): number;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Where it is noted which isolate holds most, for the host to find when the cell has died. */
  note(key: string): void;
  /** What the engine counts of an isolate, when last measured, bytes. */
  heapBytes(key: string): number;
  /** Asks the engine anew. Resolves once `heapBytes` knows the answer. */
  measure(key: string): Promise<void>;
  /** Whether an isolate has no calls: its end costs its installation no more than an eviction does. */
  idle(key: string): boolean;
  /** Ends an isolate and all that runs in it. */
  end(key: string): void;
}

/** How much of the CPU of one isolate falls into samples in which the cell grows. */
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
  readonly #parts: MemoryWatchParts;
  /** What has run since the last sample. */
  #ran: CpuUse[] = [];
  /** Bytes that the cell has grown by while each isolate ran. */
  readonly #grown = new Map<string, number>();
  readonly #habits = new Map<string, Habit>();
  /** Before any tenant was there. */
  readonly #emptyBytes: number;
  /** Isolates that the engine is being asked about. */
  readonly #measuring = new Set<string>();
  #peakBytes: number;
  #holder: string | undefined;
  #relievedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: MemoryWatchParts) {
    this.#parts = parts;
    this.#emptyBytes = parts.peakBytes();
    this.#peakBytes = this.#emptyBytes;
  }

  /** An isolate has used CPU, for the first time since the last sample. */
  ran(use: CpuUse): void {
    this.#ran.push(use);
    this.#timer ??= setTimeout(() => this.sample(), SAMPLE_MS);
  }

  /** Puts what the cell has grown by, or what it has given back, on the account of those that ran. */
  sample(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const ran = this.#ran;
    this.#ran = [];
    const peakBytes = this.#parts.peakBytes();
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
    if (grownBytes < 0) this.#cut(peakBytes - this.#emptyBytes);
    if (grownBytes <= 0 || weights <= 0) return;
    if (peakBytes > this.#parts.rssBytesMax * MEASURE_FROM)
      for (const { key, weight } of shares)
        if ((grownBytes * weight) / weights >= GROWTH_BYTES_MIN) void this.#measure(key);
    this.#noteHolder();
    this.#relieveIfTight();
  }

  /** Attack: an isolate that fills up between two looks of the engine, while busy ones share its growth with it. */
  async #measure(key: string): Promise<void> {
    if (this.#measuring.has(key)) return;
    this.#measuring.add(key);
    await this.#parts.measure(key);
    this.#measuring.delete(key);
    this.#noteHolder();
    this.#relieveIfTight();
  }

  #relieveIfTight(): void {
    // The last peak is what the process has now, or had a moment ago.
    if (this.#peakBytes > this.#parts.rssBytesMax * RELIEF_FROM) this.relieve();
  }

  /** The cell is about to be too large: ends what has grown most. The next one only where that has not helped. */
  relieve(): void {
    const now = this.#parts.now();
    if (now - this.#relievedAt < RELIEF_MS) return;
    const holder =
      this.#largest(this.#parts.rssBytesMax * IN_CALLS_FROM) ??
      this.#largest(HOLDER_BYTES_MIN, (key) => this.#parts.idle(key));
    if (holder === undefined) return;
    this.#relievedAt = now;
    this.#grown.delete(holder);
    this.#note(holder);
    this.#parts.end(holder);
  }

  /** An isolate is gone, and what it held with it. That it held most stands noted until another one does. */
  forget(key: string): void {
    this.#grown.delete(key);
    this.#habits.delete(key);
  }

  #habitOf(key: string): Habit {
    const habit = this.#habits.get(key) ?? new Habit();
    this.#habits.set(key, habit);
    return habit;
  }

  /** No more can be held than there is. */
  #cut(heldBytes: number): void {
    let chargedBytes = 0;
    for (const bytes of this.#grown.values()) chargedBytes += bytes;
    if (chargedBytes <= heldBytes) return;
    const left = Math.max(0, heldBytes) / chargedBytes;
    for (const [key, bytes] of this.#grown) this.#grown.set(key, bytes * left);
  }

  #noteHolder(): void {
    // What the one that was ended held may still be there, and may be what the cell dies of.
    if (this.#parts.now() - this.#relievedAt < BLAME_MS) return;
    const holder = this.#largest(HOLDER_BYTES_MIN);
    if (holder !== undefined) this.#note(holder);
  }

  #note(holder: string): void {
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#parts.note(holder);
  }

  #largest(bytesMin: number, counts: (key: string) => boolean = () => true): string | undefined {
    let largest: string | undefined;
    let mostBytes = bytesMin;
    for (const [key, grownBytes] of this.#grown) {
      const bytes = Math.max(grownBytes * TRUST, this.#parts.heapBytes(key));
      if (bytes < mostBytes || !counts(key)) continue;
      largest = key;
      mostBytes = bytes;
    }
    return largest;
  }
}
