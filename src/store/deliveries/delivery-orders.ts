/**
 * Orders for deliveries: cancel, redeliver, and replay of many
 * (docs/contract/webhooks.md#redelivery-and-replay).
 *
 * An order invalidates the current claim, and its audit entry is in the same commit. A redelivered
 * delivery has a new budget of retries; its attempts continue to be numbered, and an existing
 * payload stays.
 */

import { type ColumnValue, runForEach } from '../../database/bulk.ts';
import type { GroupCommit } from '../../database/group-commit.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database, DeliveryState } from '../../database/tables.ts';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type { Actor } from '../../model/actor.ts';
import { wholeInstallation } from '../../model/installation.ts';
import { type AuditAction, type AuditEntry, insertAudit } from '../audit-rows.ts';
import type { Backlog } from './backlog.ts';
import type { Delivery, WaitingDelivery } from './delivery.ts';
import { type DeliveryRow, deliveryOf } from './delivery-rows.ts';
import { type DeliveryFilter, searchDeliveries } from './delivery-search.ts';

/** Deliveries of one transaction: a statement blocks the event loop while it runs. */
const ROWS_PER_ORDER = 500;
/**
 * Searches of `ROWS_PER_SEARCH` rows that may find less than a full batch, before a replay returns:
 * matches may be rare.
 */
const SPARSE_SEARCHES_MAX = 20;

/**
 * Makes a finished delivery pending. It is armed after the last pause of its target and
 * installation, also if the clock was set back since; otherwise that pause would cancel it. Values:
 * those of `redelivery`.
 */
const REDELIVER = `
  update deliveries
  set state = 'pending', due_at = ?, lease_until = null, fence = fence + 1,
    armed_at = coalesce(
      (select max(paused_at) + 1 from targets
        where targets.installation_id = deliveries.installation_id and paused_at >= ?
          and (targets.level = 'organization' or (targets.level = deliveries.level and targets.place = deliveries.place))),
      ?),
    retries = 0, unknowns = 0, faults = 0, finished_at = null
  where id = ? and state <> 'pending'
  returning *`;

const redelivery = (id: string, now: number): ColumnValue[] => [now, now, now, id];

/** Values: now, id. */
const CANCEL = `
  update deliveries
  set state = 'canceled', outcome = 'canceled', lease_until = null, fence = fence + 1, finished_at = ?
  where id = ? and state = 'pending'
  returning *`;

/** Selects finished deliveries of one installation for redelivery. */
export interface ReplayQuery extends Pick<DeliveryFilter, 'place' | 'type' | 'from' | 'to'> {
  readonly installationId: string;
  readonly state: Exclude<DeliveryState, 'pending'>;
  /** `next` of the previous replay. */
  readonly cursor?: string | undefined;
}

export interface Replayed {
  readonly replayed: number;
  /** Cursor for the next replay; absent if no delivery is left. */
  readonly next?: string;
}

export interface DeliveryOrdersParts {
  readonly commits: GroupCommit;
  readonly backlog: Backlog;
  readonly auditIds: Sequence;
  readonly clock: () => number;
  readonly limits: Pick<Limits, 'deliveriesPerReplay'>;
  /** Called after a commit that made deliveries pending. */
  waiting(made: readonly WaitingDelivery[]): void;
}

export class DeliveryOrders {
  readonly #parts: DeliveryOrdersParts;

  constructor(parts: DeliveryOrdersParts) {
    this.#parts = parts;
  }

  /** @throws AnnexError `DELIVERY_UNKNOWN`, `DELIVERY_PENDING` */
  async redeliver(id: string, by: Actor): Promise<Delivery> {
    const row = await this.#order(id, by, 'delivery.redeliver', (now) => [REDELIVER, redelivery(id, now)]);
    if (row === undefined) {
      const message = `Delivery "${id}" is pending or in flight: cancel it first, or wait until it is finished.`;
      throw new AnnexError('DELIVERY_PENDING', message);
    }
    this.#madePending([row]);
    return deliveryOf(row);
  }

  /**
   * Does not stop an attempt in flight; its outcome is discarded.
   *
   * @throws AnnexError `DELIVERY_UNKNOWN`, `DELIVERY_OVER`
   */
  async cancel(id: string, by: Actor): Promise<Delivery> {
    const row = await this.#order(id, by, 'delivery.cancel', (now) => [CANCEL, [now, id]]);
    if (row === undefined)
      throw new AnnexError('DELIVERY_OVER', `Delivery "${id}" is finished: there is nothing to cancel.`);
    this.#parts.backlog.change(-1);
    return deliveryOf(row);
  }

  /**
   * Oldest first, at most `deliveriesPerReplay`, and fewer if matches are rare. Uses several
   * transactions, each with its own audit entry.
   */
  async replay({ cursor, ...query }: ReplayQuery, by: Actor): Promise<Replayed> {
    const { deliveriesPerReplay } = this.#parts.limits;
    let replayed = 0;
    let sparse = 0;
    let next = cursor;
    while (replayed < deliveriesPerReplay && sparse < SPARSE_SEARCHES_MAX) {
      const limit = Math.min(ROWS_PER_ORDER, deliveriesPerReplay - replayed);
      const some = await this.#replaySome({ ...query, cursor: next }, limit, by);
      this.#madePending(some.rows);
      replayed += some.rows.length;
      if (some.rows.length < limit) sparse += 1;
      next = some.next;
      if (next === undefined) return { replayed };
    }
    return { replayed, ...(next !== undefined && { next }) };
  }

  /**
   * @returns the changed row; undefined if the delivery exists and its state does not allow the
   * order
   */
  async #order(
    id: string,
    by: Actor,
    action: AuditAction,
    statement: (now: number) => readonly [sql: string, values: ColumnValue[]],
  ): Promise<DeliveryRow | undefined> {
    const { commits, clock } = this.#parts;
    // A refusal is returned, not thrown: an error would roll back the other work of the group
    // commit.
    const { row, known } = await commits.run(async (transaction) => {
      const [sql, values] = statement(clock());
      const [row] = await runForEach<DeliveryRow>(transaction, sql, [values]);
      if (row === undefined) return { row, known: await isKnown(transaction, id) };
      const { target, eventId } = deliveryOf(row);
      const details = { delivery: id, event: eventId };
      await this.#audit(transaction, by, { action, ...ownersOf(row), target, details });
      return { row, known: true };
    });
    if (!known) throw new AnnexError('DELIVERY_UNKNOWN', `There is no delivery "${id}".`);
    return row;
  }

  #replaySome(query: ReplayQuery, limit: number, by: Actor) {
    const { commits, clock } = this.#parts;
    return commits.run(async (transaction) => {
      const { items, next } = await searchDeliveries(transaction, { ...query, limit, newestFirst: false });
      const now = clock();
      const values = items.map(({ id }) => redelivery(id, now));
      const rows = await runForEach<DeliveryRow>(transaction, REDELIVER, values);
      const [first] = rows;
      if (first !== undefined) {
        const { installationId, place, state, type, from, to } = query;
        const target = place ? { installationId, ...place } : wholeInstallation(installationId);
        const details = { deliveries: rows.length, state, type, from, to };
        await this.#audit(transaction, by, {
          action: 'delivery.replay',
          ...ownersOf(first),
          target,
          details,
        });
      }
      return { rows, next };
    });
  }

  async #audit(transaction: Database, by: Actor, entry: AuditEntry): Promise<void> {
    const { auditIds, clock } = this.#parts;
    const at = clock();
    await insertAudit(transaction, { id: auditIds.next(at), at, by, entry });
  }

  #madePending(rows: readonly DeliveryRow[]): void {
    if (rows.length === 0) return;
    const { backlog, waiting } = this.#parts;
    backlog.change(rows.length);
    waiting(
      rows.map(({ id, endpoint, organization, integration }) => ({
        id,
        endpoint,
        organization,
        integration,
      })),
    );
  }
}

/** The organization and integration of an audit entry. */
const ownersOf = ({ organization, integration }: DeliveryRow) => ({ organization, integration });

async function isKnown(transaction: Database, id: string): Promise<boolean> {
  const row = await transaction.selectFrom('deliveries').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}
