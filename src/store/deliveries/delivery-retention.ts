/**
 * Forgets what is over and old: deliveries with their attempts and payloads, and events of which no delivery is left.
 *
 * What waits is never forgotten. What is kept lies between what goes, so whoever looks for what has come of age would look at
 * the same failed deliveries again each minute; each walk therefore goes on where it has got to, and begins anew once a day, for
 * those that were over later than their neighbours.
 */

import { runForEach } from '../../database/bulk.ts';
import type { GroupCommit } from '../../database/group-commit.ts';
import { Sequence } from '../../database/sequence.ts';
import type { Database, DeliveryState } from '../../database/tables.ts';
import { DAY_MS, type Limits } from '../../limits.ts';
import { deliveriesOf } from './delivery-rows.ts';

/** Rows of one transaction: each holds up the event loop for as long as it runs, and a row may have 256 KiB to be let go of. */
const ROWS_PER_STEP = 200;

const FORGET_ATTEMPTS = 'delete from delivery_attempts where delivery_id = ?';
const FORGET_PAYLOAD = 'delete from delivery_payloads where delivery_id = ?';
const FORGET_DELIVERY = 'delete from deliveries where id = ?';
/** Values: id of the event, what is kept anyway, and the bounds of its deliveries' ids. */
const FORGET_EVENT =
  'delete from events where id = ? and id < ? and not exists (select 1 from deliveries where id > ? and id < ?)';

/** Where a walk has got to. It looks at ids in their order, at each once. */
interface Walk {
  cursor: string;
  /** Looks at the next rows, and forgets what is to be forgotten of them. @returns the ids it has looked at */
  step(transaction: Database, after: string, before: string): Promise<readonly string[]>;
  /** What is younger is not looked at yet. */
  readonly days: number;
}

export interface DeliveryRetentionParts {
  readonly commits: GroupCommit;
  readonly clock: () => number;
  readonly limits: Pick<Limits, 'deliveryDays' | 'deliveredDays'>;
}

export class DeliveryRetention {
  readonly #parts: DeliveryRetentionParts;
  #walks: readonly Walk[] = [];
  #anewAt = 0;
  #passing: Promise<void> | undefined;
  #stopping = false;

  constructor(parts: DeliveryRetentionParts) {
    this.#parts = parts;
  }

  /** Forgets all that has come of age, in short transactions between which everybody else has a turn. */
  prune(): Promise<void> {
    this.#passing ??= this.#pass().finally(() => (this.#passing = undefined));
    return this.#passing;
  }

  /** @returns once nothing is under way */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#passing?.catch(() => {});
  }

  async #pass(): Promise<void> {
    const { clock } = this.#parts;
    if (clock() >= this.#anewAt) {
      this.#walks = this.#newWalks();
      this.#anewAt = clock() + DAY_MS;
    }
    for (const walk of this.#walks) await this.#follow(walk);
  }

  async #follow(walk: Walk): Promise<void> {
    const { commits } = this.#parts;
    const before = this.#firstOf(walk.days);
    while (!this.#stopping) {
      const seen = await commits.run((transaction) => walk.step(transaction, walk.cursor, before));
      walk.cursor = seen.at(-1) ?? walk.cursor;
      if (seen.length < ROWS_PER_STEP) return;
    }
  }

  /** Deliveries that were kept for being failed are looked at a second time when they have come of age. */
  #newWalks(): Walk[] {
    const { deliveryDays, deliveredDays } = this.#parts.limits;
    const step: Walk['step'] = (transaction, after, before) =>
      this.#forgetDeliveries(transaction, after, before);
    return [
      { cursor: '', days: deliveredDays, step },
      { cursor: '', days: deliveryDays, step },
      { cursor: '', days: deliveryDays, step: forgetEvents },
    ];
  }

  async #forgetDeliveries(transaction: Database, after: string, before: string): Promise<string[]> {
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
    for (const sql of [FORGET_ATTEMPTS, FORGET_PAYLOAD, FORGET_DELIVERY])
      await runForEach(transaction, sql, ids);
    const eventsBefore = this.#firstOf(this.#parts.limits.deliveryDays);
    await forgetEmptied(transaction, [...new Set(old.map(({ event }) => event))], eventsBefore);
    return rows.map(({ id }) => id);
  }

  #keptSince(state: DeliveryState): number {
    const { deliveryDays, deliveredDays } = this.#parts.limits;
    const hasSucceeded = state === 'delivered' || state === 'unhandled';
    return this.#daysAgo(hasSucceeded ? deliveredDays : deliveryDays);
  }

  /** What sorts before the ids of the last so many days. */
  #firstOf(days: number): string {
    return Sequence.first(this.#daysAgo(days));
  }

  #daysAgo(days: number): number {
    return this.#parts.clock() - days * DAY_MS;
  }
}

async function forgetEvents(transaction: Database, after: string, before: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom('events')
    .select('id')
    .where('id', '>', after)
    .where('id', '<', before)
    .orderBy('id')
    .limit(ROWS_PER_STEP)
    .execute();
  const ids = rows.map(({ id }) => id);
  await forgetEmptied(transaction, ids, before);
  return ids;
}

/**
 * Of these events, those of which no delivery is left.
 *
 * @param events `events.id`
 * @param before what is kept anyway
 */
async function forgetEmptied(
  transaction: Database,
  events: readonly string[],
  before: string,
): Promise<void> {
  const rows = events.map((id) => {
    const own = deliveriesOf(id);
    return [id, before, own.after, own.before];
  });
  await runForEach(transaction, FORGET_EVENT, rows);
}
