/**
 * What somebody orders about deliveries: to call one off, to have one delivered again, or all of a kind (REFERENCE D32).
 *
 * Whatever is ordered takes the delivery away from whoever has claimed it, and is in the audit by the same commit. What is
 * ordered anew has a new budget of attempts; they go on being counted, and a payload that was made stays what it is.
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

/** Deliveries that are ordered by one statement: it holds up the event loop for as long as it runs. */
const ROWS_PER_ORDER = 500;
/** How often a replay looks at `ROWS_LOOKED_AT` rows without finding that many: what it is about may be rare. */
const LOOKS_IN_VAIN_MAX = 20;

/**
 * Armed after the last pause of its target, or of the installation, also by a clock that was set back since: or else it would be
 * one of those that the pause has called off. Values: those of `anew`.
 */
const ORDER_ANEW = `
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

const anew = (id: string, now: number): ColumnValue[] => [now, now, now, id];

/** Values: now, id. */
const CANCEL = `
  update deliveries
  set state = 'canceled', outcome = 'canceled', lease_until = null, fence = fence + 1, finished_at = ?
  where id = ? and state = 'pending'
  returning *`;

/** Which deliveries of one installation are to be delivered again. */
export interface ReplayQuery extends Pick<DeliveryFilter, 'place' | 'type' | 'from' | 'to'> {
  readonly installationId: string;
  readonly state: Exclude<DeliveryState, 'pending'>;
  /** `next` of the replay before. */
  readonly cursor?: string | undefined;
}

export interface Replayed {
  readonly replayed: number;
  /** Where to go on; absent where none is left. */
  readonly next?: string;
}

export interface DeliveryOrdersParts {
  readonly commits: GroupCommit;
  readonly backlog: Backlog;
  readonly auditIds: Sequence;
  readonly clock: () => number;
  readonly limits: Pick<Limits, 'deliveriesPerReplay'>;
  /** Told after the commit of what waits anew. */
  waiting(made: readonly WaitingDelivery[]): void;
}

export class DeliveryOrders {
  readonly #parts: DeliveryOrdersParts;

  constructor(parts: DeliveryOrdersParts) {
    this.#parts = parts;
  }

  /** @throws AnnexError `DELIVERY_UNKNOWN`, `DELIVERY_PENDING` */
  async redeliver(id: string, by: Actor): Promise<Delivery> {
    const row = await this.#order(id, by, 'delivery.redeliver', (now) => [ORDER_ANEW, anew(id, now)]);
    if (row === undefined) {
      const message = `Delivery "${id}" still waits, or is under way: cancel it first, or wait for its end.`;
      throw new AnnexError('DELIVERY_PENDING', message);
    }
    this.#ordered([row]);
    return deliveryOf(row);
  }

  /**
   * What is under way is not stopped by it; its end is not heard of any more.
   *
   * @throws AnnexError `DELIVERY_UNKNOWN`, `DELIVERY_OVER`
   */
  async cancel(id: string, by: Actor): Promise<Delivery> {
    const row = await this.#order(id, by, 'delivery.cancel', (now) => [CANCEL, [now, id]]);
    if (row === undefined)
      throw new AnnexError('DELIVERY_OVER', `Delivery "${id}" is over: there is nothing left to cancel.`);
    this.#parts.backlog.change(-1);
    return deliveryOf(row);
  }

  /**
   * The oldest first, `deliveriesPerReplay` at most, and fewer where many others lie between them. It takes several transactions,
   * each with its entry in the audit.
   */
  async replay({ cursor, ...query }: ReplayQuery, by: Actor): Promise<Replayed> {
    const { deliveriesPerReplay } = this.#parts.limits;
    let replayed = 0;
    let inVain = 0;
    let next = cursor;
    while (replayed < deliveriesPerReplay && inVain < LOOKS_IN_VAIN_MAX) {
      const limit = Math.min(ROWS_PER_ORDER, deliveriesPerReplay - replayed);
      const some = await this.#replaySome({ ...query, cursor: next }, limit, by);
      this.#ordered(some.rows);
      replayed += some.rows.length;
      if (some.rows.length < limit) inVain += 1;
      next = some.next;
      if (next === undefined) return { replayed };
    }
    return { replayed, ...(next !== undefined && { next }) };
  }

  /** @returns the row as it is now; undefined where it is there, and in no state to be ordered that */
  async #order(
    id: string,
    by: Actor,
    action: AuditAction,
    statement: (now: number) => readonly [sql: string, values: ColumnValue[]],
  ): Promise<DeliveryRow | undefined> {
    const { commits, clock } = this.#parts;
    // A refusal is a result: thrown, it would undo what was gathered with it.
    const { row, known } = await commits.run(async (transaction) => {
      const [sql, values] = statement(clock());
      const [row] = await runForEach<DeliveryRow>(transaction, sql, [values]);
      if (row === undefined) return { row, known: await isKnown(transaction, id) };
      const { target, eventId } = deliveryOf(row);
      const details = { delivery: id, event: eventId };
      await this.#note(transaction, by, { action, ...ownersOf(row), target, details });
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
      const values = items.map(({ id }) => anew(id, now));
      const rows = await runForEach<DeliveryRow>(transaction, ORDER_ANEW, values);
      const [first] = rows;
      if (first !== undefined) {
        const { installationId, place, state, type, from, to } = query;
        const target = place ? { installationId, ...place } : wholeInstallation(installationId);
        const details = { deliveries: rows.length, state, type, from, to };
        await this.#note(transaction, by, { action: 'delivery.replay', ...ownersOf(first), target, details });
      }
      return { rows, next };
    });
  }

  async #note(transaction: Database, by: Actor, entry: AuditEntry): Promise<void> {
    const { auditIds, clock } = this.#parts;
    const at = clock();
    await insertAudit(transaction, { id: auditIds.next(at), at, by, entry });
  }

  #ordered(rows: readonly DeliveryRow[]): void {
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

/** Whom a change of it concerns. */
const ownersOf = ({ organization, integration }: DeliveryRow) => ({ organization, integration });

async function isKnown(transaction: Database, id: string): Promise<boolean> {
  const row = await transaction.selectFrom('deliveries').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}
