/**
 * The `state` of each OAuth flow that has come back, so that each is good once.
 *
 * The attack: a callback that is sent again, from a browser's history, a log or by whoever has seen its URL, so that a flow is
 * finished a second time with another code. Isolates of an installation share no memory, and its next version starts with none,
 * so the host keeps what was spent. It keeps a hash, for as long as the state could be good, and nothing else of a flow.
 */

import type { Database } from '../../database/tables.ts';
import type { TargetName } from '../../model/installation.ts';
import { insertRowOfTarget } from './row-of-target.ts';

/** Longer than a state is good, which is ten minutes from the beginning of its flow. */
const KEPT_MS = 15 * 60_000;
/** Rows that one call removes of those that are over: no call pays for a flood before it. */
const ROWS_PER_PRUNING = 100;

export interface SpentStatesParts {
  readonly database: Database;
  readonly clock: () => number;
}

export class SpentStates {
  readonly #parts: SpentStatesParts;

  constructor(parts: SpentStatesParts) {
    this.#parts = parts;
  }

  /**
   * Spends a state of a target. One statement, so that of two calls that come at once one is the first.
   *
   * @param digest hash of the state
   * @returns whether it was good: false where it was spent before, and where there is no such target
   */
  async spend(name: TargetName, digest: string): Promise<boolean> {
    const { database, clock } = this.#parts;
    const now = clock();
    await this.#prune(now);
    const row = await insertRowOfTarget(database, name, {
      table: 'spent_states',
      column: 'digest',
      value: digest,
      expiresAt: now + KEPT_MS,
    })
      .onConflict((conflict) => conflict.columns(['installation_id', 'level', 'place', 'digest']).doNothing())
      .returning('digest')
      .executeTakeFirst();
    return row !== undefined;
  }

  async #prune(now: number): Promise<void> {
    const { database } = this.#parts;
    const over = await database
      .selectFrom('spent_states')
      .select(['installation_id', 'level', 'place', 'digest'])
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(ROWS_PER_PRUNING)
      .execute();
    if (over.length === 0) return;
    await database
      .deleteFrom('spent_states')
      .where((where) => where.or(over.map((row) => where.and(row))))
      .execute();
  }
}
