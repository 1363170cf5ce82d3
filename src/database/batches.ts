/**
 * Many rows, a bounded number at a time. A statement holds up the event loop for as long as it runs, and with it every call
 * of every installation; so what may be long is done in pieces, and everybody else has a turn in between.
 */
import { setImmediate } from 'node:timers/promises';

/** Rows of one statement. */
export const ROWS_PER_BATCH = 1_000;

/** @param batch does at most `ROWS_PER_BATCH` rows; with fewer it has done the last */
export async function inBatches(batch: () => Promise<number>): Promise<void> {
  while ((await batch()) === ROWS_PER_BATCH) await setImmediate();
}
