/**
 * A bounded wait: the caller continues at the bound, whether or not the work is done. The work is
 * not stopped.
 */

/** @returns whether the work was done in time @throws what the work throws in time */
export async function within(boundMs: number, work: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(resolve, boundMs, false);
  const done = work.then(() => true);
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}
