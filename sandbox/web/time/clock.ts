/**
 * The time as a script sees it: whole milliseconds, and never backwards.
 *
 * Attack: a fine clock measures caches and other tenants. `Date.now` of the engine is as coarse as this, and there is no
 * other clock.
 */
import { now } from '../primordials.ts';

/**
 * When this isolate began, in milliseconds since 1970: `performance.timeOrigin`. The millisecond before, so that nothing
 * happens at 0, which scripts take for "no time".
 */
export const timeOrigin: number = now() - 1;
let latest = 0;

/** Milliseconds since then. The operating system may set its clock back, this one then stands still. */
export function sinceOrigin(): number {
  const elapsed = now() - timeOrigin;
  if (elapsed > latest) latest = elapsed;
  return latest;
}
