/**
 * The time of a service for tests: that of the machine, which a test sets forward. Between two
 * settings it goes on, so deadlines hold; a retry that is due tomorrow is made at once.
 */
import type { ServiceTime } from '../../model/service-time.ts';

interface Timer {
  /** In ticks. */
  readonly at: number;
  run(): void;
}

export interface Advancing {
  /** Waits until all that is due has been done. */
  settled(): Promise<void>;
  /** When the next work is due, in milliseconds since 1970; undefined if there is none. */
  nextDueAt(): Promise<number | undefined>;
}

export class TestTime implements ServiceTime {
  #aheadMs = 0;
  readonly #timers = new Set<Timer>();

  readonly clock = (): number => Date.now() + this.#aheadMs;

  readonly ticks = (): number => performance.now() + this.#aheadMs;

  readonly after = (ms: number, run: () => void): (() => void) => {
    const cancel = () => {
      clearTimeout(handle);
      this.#timers.delete(timer);
    };
    const timer: Timer = {
      at: this.ticks() + ms,
      run: () => {
        cancel();
        run();
      },
    };
    const handle = setTimeout(timer.run, ms).unref();
    this.#timers.add(timer);
    return cancel;
  };

  /** Sets the time forward, from one time at which work is due to the next. */
  async advance(ms: number, { settled, nextDueAt }: Advancing): Promise<void> {
    await settled();
    for (let left = ms; left > 0; ) {
      const dueAt = await nextDueAt();
      // At least one: what is due at this very time is so by a clock of whole milliseconds.
      const step = dueAt === undefined ? left : Math.min(left, Math.max(1, dueAt - this.clock()));
      left -= step;
      this.#jump(step);
      await settled();
    }
  }

  #jump(ms: number): void {
    this.#aheadMs += ms;
    const now = this.ticks();
    const due = [...this.#timers].filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
    for (const timer of due) if (this.#timers.has(timer)) timer.run();
  }
}
