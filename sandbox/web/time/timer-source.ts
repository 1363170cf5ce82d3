/**
 * Timers for lazy modules, such as `AbortSignal.timeout`. The source is set at the start by the
 * timers of calls (`../../timers.ts`).
 */

/** Runs the callback once, unless the running call ends before. */
export type TimerSource = (callback: () => void, delayMs: number) => void;

let source: TimerSource = () => {};

export function setTimerSource(timers: TimerSource): void {
  source = timers;
}

/**
 * Runs the callback once, at least `delayMs` later, as a task of the running call. A delay of 0 is
 * a task that is due at once, after earlier ones.
 *
 * @throws RangeError if the call has too many timers
 */
export const later: TimerSource = (callback, delayMs) => source(callback, delayMs);
