/**
 * The time as a script sees it: whole milliseconds, and never backwards.
 *
 * Attack: measuring caches and other tenants with a fine clock. The engine's `Date.now` is as
 * coarse, and there is no other clock.
 */
import { now } from '../primordials.ts';

/**
 * Start of this isolate in milliseconds since 1970: `performance.timeOrigin`. One millisecond
 * earlier, so that nothing happens at 0, which scripts take for "no time".
 */
export const timeOrigin: number = now() - 1;
let latest = 0;

/** Milliseconds since then. If the system clock goes back, this one stands still. */
export function sinceOrigin(): number {
  const elapsed = now() - timeOrigin;
  if (elapsed > latest) latest = elapsed;
  return latest;
}

/**
 * Takes each fetch whose answer has come. Undefined until a script has used `performance`, so that
 * others pay nothing.
 */
export let fetchLog: ((url: string, startTime: number, status: number) => void) | undefined;
export function setFetchLog(log: typeof fetchLog): void {
  fetchLog = log;
}
