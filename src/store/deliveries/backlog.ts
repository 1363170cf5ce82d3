/**
 * The number of pending deliveries of all endpoints: counted once at the start, then updated after
 * each commit.
 *
 * Counting a million rows takes a while, and metrics read the number every few seconds.
 */
import { sql } from 'kysely';
import type { Database } from '../../database/tables.ts';

export class Backlog {
  #waiting: number;

  private constructor(waiting: number) {
    this.#waiting = waiting;
  }

  static async count(database: Database): Promise<Backlog> {
    const { count } = await database
      .selectFrom('deliveries')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('state', '=', sql.lit('pending'))
      .executeTakeFirstOrThrow();
    return new Backlog(Number(count));
  }

  /** Deliveries in flight included. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Called after the commit. @param by negative if deliveries are finished */
  change(by: number): void {
    this.#waiting += by;
  }
}
