/**
 * Watchdog: has every isolate with calls check them many times a second, CPU at each tick and wall
 * time at every tenth.
 *
 * It runs on the cell's main thread, which never executes tenant code. isolated-vm's own `timeout`
 * is not used: it stops counting at the first `await` and while a host function runs, so a call
 * could stretch it without end.
 */

const CPU_TICK_MS = 10;
/** Every how many ticks wall time is checked. */
const WALL_EVERY = 10;
const US_PER_MS = 1_000;

export interface Watched {
  /** Whether tenant code is running. */
  readonly running: boolean;
  /**
   * Checks the entry that runs: its slice, and the CPU of its call.
   *
   * @param share of the time since the last check that a running isolate really had a core
   */
  checkCpu(now: number, share: number): void;
  /** Checks the wall time of each call. */
  checkWall(now: number): void;
}

export class Watchdog {
  readonly #watched = new Set<Watched>();
  #interval: NodeJS.Timeout | undefined;
  #ticks = 0;
  #checkedAt = 0;
  /** How long ticks came late, all together. */
  #lateMs = 0;
  #usedMs = 0;

  /** Checks an isolate from now on; the timer runs while any is watched. */
  watch(isolate: Watched): void {
    this.#watched.add(isolate);
    if (this.#interval !== undefined) return;
    this.#checkedAt = performance.now();
    this.#usedMs = otherThreadsCpuMs();
    this.#interval = setInterval(() => this.#tick(), CPU_TICK_MS);
  }

  /**
   * How long this thread got no core while isolates were watched, since the start: other work of
   * the machine, or a signal, had stopped the cell. A delay of a single tick is no sign of it.
   */
  get lateMs(): number {
    return this.#lateMs;
  }

  /** CPU of all isolates since the last check: no entry that has begun since can have used more. */
  get usedMs(): number {
    return Math.max(0, otherThreadsCpuMs() - this.#usedMs);
  }

  /** Checks it no longer. */
  unwatch(isolate: Watched): void {
    this.#watched.delete(isolate);
    if (this.#watched.size > 0) return;
    clearInterval(this.#interval);
    this.#interval = undefined;
  }

  /**
   * Corrects isolated-vm's `cpuTime`, which also counts the time that a thread waits for a core:
   * beside 18 spinning isolates a call of half a second would seem to take many. The CPU of the
   * process but for this thread, divided among the isolates that ran, gives the real share.
   */
  #share(now: number): number {
    const used = otherThreadsCpuMs();
    const running = [...this.#watched].filter((isolate) => isolate.running).length;
    const share = (used - this.#usedMs) / ((now - this.#checkedAt) * Math.max(1, running));
    this.#checkedAt = now;
    this.#usedMs = used;
    return Math.max(0, Math.min(1, share));
  }

  #tick(): void {
    const now = performance.now();
    const gapMs = now - this.#checkedAt;
    if (gapMs > 2 * CPU_TICK_MS) this.#lateMs += gapMs - CPU_TICK_MS;
    const share = this.#share(now);
    this.#ticks += 1;
    const wall = this.#ticks % WALL_EVERY === 0;
    for (const isolate of this.#watched) {
      isolate.checkCpu(now, share);
      if (wall) isolate.checkWall(now);
    }
  }
}

/**
 * CPU of this process so far, but for that of the main thread, in milliseconds. The main thread
 * makes isolates and passes messages on for all tenants: a call that waits for a core meanwhile has
 * not used its CPU.
 */
export function otherThreadsCpuMs(): number {
  const all = process.cpuUsage();
  const own = process.threadCpuUsage();
  return (all.user + all.system - own.user - own.system) / US_PER_MS;
}
