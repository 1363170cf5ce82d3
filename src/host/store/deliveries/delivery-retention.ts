/**
 * Retention: removes old finished deliveries with their attempts and payloads, and old events
 * without deliveries.
 *
 * Pending deliveries are never removed. Old deliveries that are kept lie between those that are
 * removed, so a search from the beginning would read the same failed deliveries each minute. Each
 * walk therefore continues at its cursor, and starts over once a day, for deliveries that finished
 * later than their neighbours.
 */

import { DAY_MS, type Limits } from '../../../limits.ts';
import type { GoesOn } from '../../database/batches.ts';
import { bulk, runForEach, TEXT } from '../../database/bulk.ts';
import type { GroupCommit } from '../../database/group-commit.ts';
import { Sequence } from '../../database/sequence.ts';
import type { Database, DeliveryState } from '../../database/tables.ts';
import { deliveriesOf } from './delivery-rows.ts';

/**
 * Rows of one transaction: it blocks the event loop while it runs, and a row may have 256 KiB to
 * free.
 */
const ROWS_PER_STEP = 200;

const REMOVE_ATTEMPTS = bulk`delete from delivery_attempts where delivery_id = ${TEXT}`;
const REMOVE_PAYLOAD = bulk`delete from delivery_payloads where delivery_id = ${TEXT}`;
const REMOVE_DELIVERY = bulk`delete from deliveries where id = ${TEXT}`;
/** Values: id of the event, first id that is too young, and the bounds of its deliveries' ids. */
const REMOVE_EVENT = bulk`
  delete from events where id = ${TEXT} and id < ${TEXT}
    and not exists (select 1 from deliveries where deliveries.id > ${TEXT} and deliveries.id < ${TEXT})`;

/** One walk through a table in the order of its ids. */
interface Walk {
  cursor: string;
  /** Checks the next rows, and removes the old ones. @returns the ids checked */
  step(transaction: Database, after: string, before: string): Promise<readonly string[]>;
  /** Minimum age of the rows that it checks. */
  readonly days: number;
}

export interface DeliveryRetentionDeps {
  readonly commits: GroupCommit;
  readonly wallNow: () => number;
  readonly limits: Pick<Limits, 'deliveryDays' | 'deliveredDays'>;
}

export class DeliveryRetention {
  readonly #deps: DeliveryRetentionDeps;
  #walks: readonly Walk[] = [];
  #restartAt = 0;
  #passing: Promise<void> | undefined;
  #stopping = false;

  constructor(deps: DeliveryRetentionDeps) {
    this.#deps = deps;
  }

  /** Removes everything old enough, in short transactions between which the event loop turns. */
  prune(goesOn?: GoesOn): Promise<void> {
    this.#passing ??= this.#pass(goesOn).finally(() => (this.#passing = undefined));
    return this.#passing;
  }

  /** @returns once no transaction is running */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#passing?.catch(() => {});
  }

  async #pass(goesOn?: GoesOn): Promise<void> {
    const { wallNow } = this.#deps;
    if (wallNow() >= this.#restartAt) {
      this.#walks = this.#newWalks();
      this.#restartAt = wallNow() + DAY_MS;
    }
    for (const walk of this.#walks) await this.#follow(walk, goesOn);
  }

  async #follow(walk: Walk, goesOn?: GoesOn): Promise<void> {
    const { commits } = this.#deps;
    const before = this.#firstOf(walk.days);
    while (!this.#stopping) {
      const checked = await commits.run((transaction) => walk.step(transaction, walk.cursor, before));
      walk.cursor = checked.at(-1) ?? walk.cursor;
      if (checked.length < ROWS_PER_STEP) return;
      if (goesOn !== undefined && !(await goesOn())) return;
    }
  }

  /**
   * Two walks through deliveries: failed and canceled ones are kept longer than successful ones.
   */
  #newWalks(): Walk[] {
    const { deliveryDays, deliveredDays } = this.#deps.limits;
    const step: Walk['step'] = (transaction, after, before) =>
      this.#removeDeliveries(transaction, after, before);
    return [
      { cursor: '', days: deliveredDays, step },
      { cursor: '', days: deliveryDays, step },
      { cursor: '', days: deliveryDays, step: removeEvents },
    ];
  }

  async #removeDeliveries(transaction: Database, after: string, before: string): Promise<string[]> {
    const rows = await transaction
      .selectFrom('deliveries')
      .select(['id', 'event', 'state', 'finished_at'])
      .where('id', '>', after)
      .where('id', '<', before)
      .orderBy('id')
      .limit(ROWS_PER_STEP)
      .execute();
    const old = rows.filter(
      (row) => row.finished_at !== null && row.finished_at < this.#keptSince(row.state),
    );
    const ids = old.map(({ id }) => [id]);
    for (const statement of [REMOVE_ATTEMPTS, REMOVE_PAYLOAD, REMOVE_DELIVERY])
      await runForEach(transaction, statement, ids);
    const eventsBefore = this.#firstOf(this.#deps.limits.deliveryDays);
    await removeWithoutDeliveries(transaction, [...new Set(old.map(({ event }) => event))], eventsBefore);
    return rows.map(({ id }) => id);
  }

  #keptSince(state: DeliveryState): number {
    const { deliveryDays, deliveredDays } = this.#deps.limits;
    const hasSucceeded = state === 'delivered' || state === 'unhandled';
    return this.#daysAgo(hasSucceeded ? deliveredDays : deliveryDays);
  }

  /** A bound that sorts before the ids of the last so many days. */
  #firstOf(days: number): string {
    return Sequence.first(this.#daysAgo(days));
  }

  #daysAgo(days: number): number {
    return this.#deps.wallNow() - days * DAY_MS;
  }
}

async function removeEvents(transaction: Database, after: string, before: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom('events')
    .select('id')
    .where('id', '>', after)
    .where('id', '<', before)
    .orderBy('id')
    .limit(ROWS_PER_STEP)
    .execute();
  const ids = rows.map(({ id }) => id);
  await removeWithoutDeliveries(transaction, ids, before);
  return ids;
}

/**
 * Removes those of the given events that have no deliveries.
 *
 * @param events `events.id`
 * @param before first id that is too young to remove
 */
async function removeWithoutDeliveries(
  transaction: Database,
  events: readonly string[],
  before: string,
): Promise<void> {
  const rows = events.map((id) => {
    const own = deliveriesOf(id);
    return [id, before, own.after, own.before];
  });
  await runForEach(transaction, REMOVE_EVENT, rows);
}
