/**
 * The time of a service, passed in: clocks and timers. A service reads no other. A test kit gives
 * one that it can set forward; every other service has that of its machine.
 */
export interface ServiceTime {
  /** Wall clock: milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** Runs a function later; the timer keeps no process alive. @returns cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
}

export const MACHINE_TIME: ServiceTime = {
  wallNow: () => Date.now(),
  monotonicNow: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};
