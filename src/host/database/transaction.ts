/**
 * Transactions of changes that come one at a time. Thousands a second share commits instead
 * (`group-commit.ts`).
 */
import type { Database } from './tables.ts';
import { WriteConflict } from './unavailable.ts';

/** Runs of work that collides with that of another node. */
const RUNS_MAX = 5;

/**
 * Runs `work` in a transaction: everything that it writes is committed, or nothing. Runs it again
 * if it collides with a transaction of another node, so it must change nothing but the database.
 *
 * @throws what `work` throws, or what the commit does
 */
export async function inTransaction<Result>(
  database: Database,
  work: (transaction: Database) => Promise<Result>,
): Promise<Result> {
  for (let runs = 1; ; runs += 1) {
    try {
      return await database.transaction().execute(work);
    } catch (cause) {
      if (!(cause instanceof WriteConflict) || runs === RUNS_MAX) throw cause;
    }
  }
}
