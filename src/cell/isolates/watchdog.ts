/**
 * Looks at every isolate that has calls, many times a second: has an entry used up its call's CPU, has a call used up
 * its wall time?
 *
 * It runs on the cell's main thread, which never executes tenant code. isolated-vm's own `timeout` is not used: it
 * stops counting at the first `await` and while a host function runs, so a call could stretch it without end.
 */

const CPU_TICK_MS = 10;
/** Every how many ticks wall time is looked at. */
const WALL_EVERY = 10;

export interface Watched {
  /** Whether tenant code is running. */
  readonly running: boolean;
  /**
   * Entries: slice and CPU.
   *
   * @param share of the time since the last look that a running isolate really had a core
   */
  checkCpu(now: number, share: number): void;
  /** Calls: wall time. */
  checkWall(now: number): void;
}

export class Watchdog {
  readonly #watched = new Set<Watched>();
  #interval: NodeJS.Timeout | undefined;
  #ticks = 0;
  #lookedAt = 0;
  #usedMs = 0;

  watch(isolate: Watched): void {
    this.#watched.add(isolate);
    if (this.#interval !== undefined) return;
    this.#lookedAt = performance.now();
    this.#usedMs = processCpuMs();
    this.#interval = setInterval(() => this.#tick(), CPU_TICK_MS);
  }

  unwatch(isolate: Watched): void {
    this.#watched.delete(isolate);
    if (this.#watched.size > 0) return;
    clearInterval(this.#interval);
    this.#interval = undefined;
  }

  /**
   * isolated-vm's `cpuTime` runs on while a thread waits for a core: beside 18 spinning isolates a call of half a second
   * would seem to take many. What the process really used, shared out among those that ran, sets it right.
   */
  #share(now: number): number {
    const used = processCpuMs();
    const running = [...this.#watched].filter((isolate) => isolate.running).length;
    const share = (used - this.#usedMs) / ((now - this.#lookedAt) * Math.max(1, running));
    this.#lookedAt = now;
    this.#usedMs = used;
    return Math.min(1, share);
  }

  #tick(): void {
    const now = performance.now();
    const share = this.#share(now);
    this.#ticks += 1;
    const wall = this.#ticks % WALL_EVERY === 0;
    for (const isolate of this.#watched) {
      isolate.checkCpu(now, share);
      if (wall) isolate.checkWall(now);
    }
  }
}

/** CPU of this process so far, all threads. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
