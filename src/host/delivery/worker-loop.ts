/**
 * Worker loop: what both delivery workers share. One timer, a count of the tasks in flight, and an
 * orderly stop. It decides nothing and polls nothing: a worker runs a pass after each change.
 *
 * Due times are wall-clock; back-off in the process uses the monotonic clock, so that a wall clock
 * that is set back delays nothing.
 */
import { DELAY_MS_MAX } from './delays.ts';

/** Rows per page when a worker starts. */
export const PAGE = 500;
/** Back-off after a failure of the store. */
export const STORE_BACK_OFF_MS = 5_000;
/** Longest back-off, jitter included: a longer one is due to a clock that was set back. */
export const BACK_OFF_MS_MAX = 2 * DELAY_MS_MAX;

export interface WorkerLoopDeps {
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
}

export class WorkerLoop {
  readonly #deps: WorkerLoopDeps;
  readonly #onTimer: () => void;
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new';
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  #tasks = 0;
  #onIdle: (() => void) | undefined;

  constructor(deps: WorkerLoopDeps, onTimer: () => void) {
    this.#deps = deps;
    this.#onTimer = onTimer;
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  /** Whether the stop is over: nothing is retried any more. */
  get isStopped(): boolean {
    return this.#state === 'stopped';
  }

  /** @returns whether it runs now; false if it was stopped before */
  start(): boolean {
    if (this.#state === 'new') this.#state = 'running';
    return this.isRunning;
  }

  /** Cancels the timer, and lets no task start. */
  stop(): void {
    this.#state = 'stopping';
    this.setTimer(undefined);
  }

  /** Ends the stop. */
  finish(): void {
    this.#state = 'stopped';
  }

  begin(): void {
    this.#tasks += 1;
  }

  /** Ends so many tasks. */
  end(tasks = 1): void {
    this.#tasks -= tasks;
    if (this.#tasks === 0) this.#onIdle?.();
  }

  /** Waits until no task is in flight. @returns whether that is so within the time */
  async idle(withinMs?: number): Promise<boolean> {
    if (this.#tasks === 0) return true;
    return new Promise((resolve) => {
      const cancel = withinMs === undefined ? undefined : this.#deps.after(withinMs, () => resolve(false));
      this.#onIdle = () => {
        cancel?.();
        resolve(true);
      };
    });
  }

  /** Sets the timer, unless it is earlier already. @param at monotonic time */
  setTimerBy(at: number): void {
    if (this.#timer === undefined || at < this.#timer.at) this.setTimer(at);
  }

  /** Sets the only timer. @param at monotonic time; undefined cancels it */
  setTimer(at: number | undefined): void {
    if (at === this.#timer?.at) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (at === undefined || !this.isRunning) return;
    const { monotonicNow, after } = this.#deps;
    // Rounded up: a timer may come a little early, and is then set again.
    const cancel = after(Math.max(1, Math.ceil(at - monotonicNow())), () => {
      this.#timer = undefined;
      this.#onTimer();
    });
    this.#timer = { at, cancel };
  }
}
