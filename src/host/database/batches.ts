/**
 * Runs a large statement as bounded batches. A statement blocks the event loop while it runs, and
 * with it every call of every installation; between two batches the event loop turns.
 */
import { setImmediate } from 'node:timers/promises';

/**
 * Ends the transaction behind some work and begins another: PostgreSQL keeps every row that is
 * removed while one lasts. @returns false where another node has begun the same work
 */
export type GoesOn = () => Promise<boolean>;

/** Rows of one statement. */
export const ROWS_PER_BATCH = 1_000;

/**
 * @param batch handles at most `ROWS_PER_BATCH` rows; fewer than that means it was the last batch
 * @param goesOn asked between two batches
 */
export async function inBatches(batch: () => Promise<number>, goesOn?: GoesOn): Promise<void> {
  while ((await batch()) === ROWS_PER_BATCH) {
    if (goesOn !== undefined && !(await goesOn())) return;
    await setImmediate();
  }
}
