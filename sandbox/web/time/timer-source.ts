/**
 * Timers for interfaces that are evaluated only when a script needs them (`AbortSignal.timeout`): the source is handed in
 * at the start, by whoever keeps the timers of a call.
 */

/** Runs the callback once, unless the call that is running now ends before. */
export type TimerSource = (callback: () => void, delayMs: number) => void;

let source: TimerSource = () => {};

export function setTimerSource(timers: TimerSource): void {
  source = timers;
}

/**
 * Runs the callback once, at least `delayMs` later, on the account of the running call and while it lasts. One with a delay
 * of 0 is a task that is due at once, behind the others of its kind.
 *
 * @throws RangeError where the call has too many timers already
 */
export const later: TimerSource = (callback, delayMs) => source(callback, delayMs);
