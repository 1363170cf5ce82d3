/**
 * How many deliveries wait, all endpoints together: counted once, and kept by whoever commits a change of it.
 *
 * A million rows take a while to count, and metrics ask every few seconds.
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

  get waiting(): number {
    return this.#waiting;
  }

  /** To be told after the commit. @param by less than 0 where they are over */
  change(by: number): void {
    this.#waiting += by;
  }
}
