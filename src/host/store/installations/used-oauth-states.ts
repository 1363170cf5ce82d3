/**
 * OAuth states that were used, so that each is valid once (docs/contract/oauth.md#state).
 *
 * Attack: to repeat a callback from a browser's history or a log, and finish a flow a second time
 * with another code. Isolates of an installation share no memory, and a new version starts with
 * none, so the host keeps the used states: only a hash of each, for as long as the state could be
 * valid.
 */

import type { TargetName } from '../../../model/installation.ts';
import type { Database } from '../../database/tables.ts';
import { insertRowOfTarget } from './row-of-target.ts';

/** Longer than the life of a state, which is ten minutes from the beginning of its flow. */
const KEPT_MS = 15 * 60_000;
/** Expired rows that one call removes: no call pays for a flood of earlier ones. */
const ROWS_PER_PRUNING = 100;

export interface UsedOAuthStatesDeps {
  readonly database: Database;
  readonly wallNow: () => number;
}

export class UsedOAuthStates {
  readonly #deps: UsedOAuthStatesDeps;

  constructor(deps: UsedOAuthStatesDeps) {
    this.#deps = deps;
  }

  /**
   * Marks a state of a target as used. One statement: of two concurrent calls with the same state,
   * one succeeds.
   *
   * @param digest hash of the state
   * @returns false if the state was used before, or there is no such target
   */
  async spend(name: TargetName, digest: string): Promise<boolean> {
    const { database, wallNow } = this.#deps;
    const now = wallNow();
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

  /** Whether a state of a target was used before. */
  async isSpent({ installationId, level, place }: TargetName, digest: string): Promise<boolean> {
    const row = await this.#deps.database
      .selectFrom('spent_states')
      .select('digest')
      .where('installation_id', '=', installationId)
      .where('level', '=', level)
      .where('place', '=', place)
      .where('digest', '=', digest)
      .executeTakeFirst();
    return row !== undefined;
  }

  async #prune(now: number): Promise<void> {
    const { database } = this.#deps;
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
