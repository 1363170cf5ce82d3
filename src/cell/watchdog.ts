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
  /** Entries: slice and CPU. */
  checkCpu(now: number): void;
  /** Calls: wall time. */
  checkWall(now: number): void;
}

export class Watchdog {
  readonly #watched = new Set<Watched>();
  #interval: NodeJS.Timeout | undefined;
  #ticks = 0;

  watch(isolate: Watched): void {
    this.#watched.add(isolate);
    this.#interval ??= setInterval(() => this.#tick(), CPU_TICK_MS);
  }

  unwatch(isolate: Watched): void {
    this.#watched.delete(isolate);
    if (this.#watched.size > 0) return;
    clearInterval(this.#interval);
    this.#interval = undefined;
  }

  #tick(): void {
    const now = performance.now();
    this.#ticks += 1;
    const wall = this.#ticks % WALL_EVERY === 0;
    for (const isolate of this.#watched) {
      isolate.checkCpu(now);
      if (wall) isolate.checkWall(now);
    }
  }
}
