/**
 * The number of pending deliveries of all endpoints: counted at the start, then updated after each
 * commit of this node.
 *
 * Counting a million rows takes a while, and metrics read the number every few seconds. Other nodes
 * on the same database change it unseen: there it is counted anew when it is read, in the
 * background and not often.
 */
import { sql } from 'kysely';
import type { Database } from '../../database/tables.ts';

/** Between two counts where other nodes change the number, too. */
const RECOUNT_MS = 30_000;

export interface BacklogDeps {
  readonly database: Database;
  /** Whether other nodes use the same database. */
  readonly isShared: boolean;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
}

export class Backlog {
  readonly #deps: BacklogDeps;
  #waiting: number;
  #countedAt: number;

  private constructor(deps: BacklogDeps, waiting: number) {
    this.#deps = deps;
    this.#waiting = waiting;
    this.#countedAt = deps.monotonicNow();
  }

  static async count(deps: BacklogDeps): Promise<Backlog> {
    return new Backlog(deps, await countPending(deps.database));
  }

  /** Deliveries in flight included. What other nodes changed is up to half a minute late. */
  get waiting(): number {
    const { isShared, monotonicNow } = this.#deps;
    if (isShared && monotonicNow() - this.#countedAt >= RECOUNT_MS) void this.#recount();
    // A node that delivers what others have accepted counts down only.
    return Math.max(0, this.#waiting);
  }

  /** Called after the commit. @param by negative if deliveries are finished */
  change(by: number): void {
    this.#waiting += by;
  }

  /** Never rejects: if the database does not answer, the number stays until the next count. */
  async #recount(): Promise<void> {
    // Set before the count, so that none begins meanwhile; the engine's time-out ends a long one.
    const { database, monotonicNow } = this.#deps;
    this.#countedAt = monotonicNow();
    await countPending(database).then(
      (waiting) => {
        this.#waiting = waiting;
      },
      () => undefined,
    );
  }
}

async function countPending(database: Database): Promise<number> {
  const { count } = await database
    .selectFrom('deliveries')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('state', '=', sql.lit('pending'))
    .executeTakeFirstOrThrow();
  return Number(count);
}
