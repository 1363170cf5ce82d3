/**
 * Writes what people do with deliveries: each method is one transaction, with its audit entry.
 *
 * An action invalidates the current claim. A task that has ended has no content any more and is not
 * redelivered. A redelivered delivery has a new budget of retries; its attempts continue to be
 * numbered, and an existing payload stays. `delivery/delivery-actions.ts` answers and passes
 * redelivered deliveries on to the worker.
 */

import type { Actor } from '../../../model/actor.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { type EndpointName, installedName } from '../../../model/target.ts';
import { TASK } from '../../../model/task.ts';
import { type BulkStatement, bulk, type ColumnValue, runForEach, TEXT, WHOLE } from '../../database/bulk.ts';
import type { GroupCommit } from '../../database/group-commit.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database, DeliveryState } from '../../database/tables.ts';
import { type AuditAction, type AuditEntry, insertAudit } from '../audit-rows.ts';
import type { Backlog } from './backlog.ts';
import type { Delivery, WaitingDelivery } from './delivery.ts';
import type { Step } from './delivery-change.ts';
import type { CommittedSteps } from './delivery-feed.ts';
import { type DeliveryRow, deliveryOf } from './delivery-rows.ts';
import { type DeliveryFilter, searchDeliveries } from './delivery-search.ts';
import { endTasks } from './task-rows.ts';

/** Deliveries of one transaction: a statement blocks the event loop while it runs. */
export const ROWS_PER_ACTION = 500;

/**
 * Makes a finished delivery pending. It is armed after the last pause of its target and
 * installation, also if the clock was set back since; otherwise that pause would cancel it. Values:
 * those of `redelivery`.
 */
const REDELIVER = bulk`
  update deliveries
  set state = 'pending', due_at = ${WHOLE}, lease_until = null, fence = fence + 1,
    armed_at = coalesce(
      (select max(paused_at) + 1 from targets
        where targets.installation_id = deliveries.installation_id and paused_at >= ${WHOLE}
          and (targets.level = 'organization' or (targets.level = deliveries.level and targets.place = deliveries.place))),
      ${WHOLE}),
    retries = 0, unknowns = 0, faults = 0, finished_at = null
  where id = ${TEXT} and state <> 'pending' and type <> 'task'
  returning *`;

const redelivery = (id: string, now: number): ColumnValue[] => [now, now, now, id];

/** Values: now, id. */
const CANCEL = bulk`
  update deliveries
  set state = 'canceled', outcome = 'canceled', lease_until = null, fence = fence + 1, finished_at = ${WHOLE}
  where id = ${TEXT} and state = 'pending'
  returning *`;

/** Selects finished deliveries of one installation for redelivery. */
export interface ReplayQuery extends Pick<DeliveryFilter, 'place' | 'type' | 'from' | 'to'> {
  readonly installationId: string;
  readonly state: Exclude<DeliveryState, 'pending'>;
  /** `next` of the previous replay. */
  readonly cursor?: string | undefined;
}

/** Why an action changed nothing: there is no such delivery, or its state does not allow it. */
export type ActionRefusal = 'unknown' | 'wrong state';

/** Deliveries made pending by one step of a replay. */
export interface ReplayedSome {
  readonly made: readonly WaitingDelivery[];
  /** Cursor for the next step; absent if no delivery is left. */
  readonly next?: string;
}

export interface DeliveryActionRowsDeps {
  readonly database: Database;
  readonly commits: GroupCommit;
  readonly backlog: Pick<Backlog, 'change'>;
  readonly deliveryFeed: CommittedSteps;
  readonly auditIds: Sequence;
  readonly wallNow: () => number;
}

export class DeliveryActionRows {
  readonly #deps: DeliveryActionRowsDeps;

  constructor(deps: DeliveryActionRowsDeps) {
    this.#deps = deps;
  }

  /** Makes a finished delivery pending. */
  async redeliver(id: string, by: Actor): Promise<Delivery | ActionRefusal> {
    const row = await this.#act(id, by, 'delivery.redeliver', (now) => [REDELIVER, redelivery(id, now)]);
    if (typeof row === 'string') return row;
    this.#deps.backlog.change(1);
    this.#committed([row], 'redelivered');
    return deliveryOf(row);
  }

  /** Cancels a pending delivery. */
  async cancel(id: string, by: Actor): Promise<Delivery | ActionRefusal> {
    const row = await this.#act(id, by, 'delivery.cancel', (now) => [CANCEL, [now, id]]);
    if (typeof row === 'string') return row;
    this.#deps.backlog.change(-1);
    this.#committed([row], 'ended');
    return deliveryOf(row);
  }

  /**
   * Makes finished deliveries pending, oldest first.
   *
   * @param limit at most `ROWS_PER_ACTION`; fewer are found if matches are rare
   */
  async redeliverSome(query: ReplayQuery, limit: number, by: Actor): Promise<ReplayedSome> {
    const { rows, next } = await this.#replay(query, limit, by);
    this.#deps.backlog.change(rows.length);
    this.#committed(rows, 'redelivered');
    return { made: rows.map(waitingOf), ...(next !== undefined && { next }) };
  }

  /** What `redeliverSome` would make pending, unchanged. */
  async findSome(query: ReplayQuery, limit: number): Promise<ReplayedSome> {
    const search = { ...query, limit, newestFirst: false };
    const { items, next } = await searchDeliveries(this.#deps.database, search);
    const made = items.filter(({ type }) => type !== TASK).map(waitingOf);
    return { made, ...(next !== undefined && { next }) };
  }

  #committed(rows: readonly DeliveryRow[], step: Step): void {
    const { deliveryFeed } = this.#deps;
    if (!deliveryFeed.isFollowed) return;
    deliveryFeed.committed(
      rows.map(({ id, organization, installation_id: installationId }) => ({
        ...{ id, step, organization, installationId },
      })),
    );
  }

  /** @returns the changed row */
  async #act(
    id: string,
    by: Actor,
    action: AuditAction,
    statement: (now: number) => readonly [statement: BulkStatement, values: ColumnValue[]],
  ): Promise<DeliveryRow | ActionRefusal> {
    const { commits, wallNow } = this.#deps;
    // A refusal is returned, not thrown: an error would roll back the other work of the group
    // commit.
    return commits.run(async (transaction) => {
      const [written, values] = statement(wallNow());
      const [row] = await runForEach<DeliveryRow>(transaction, written, [values]);
      if (row === undefined) return (await isKnown(transaction, id)) ? 'wrong state' : 'unknown';
      if (row.type === TASK && row.state === 'canceled') await endTasks(transaction, [id]);
      const { target, eventId } = deliveryOf(row);
      const details = { delivery: id, event: eventId };
      await this.#audit(transaction, by, { action, ...ownersOf(row), ...auditedTarget(target), details });
      return row;
    });
  }

  #replay(query: ReplayQuery, limit: number, by: Actor) {
    const { commits, wallNow } = this.#deps;
    return commits.run(async (transaction) => {
      const { items, next } = await searchDeliveries(transaction, { ...query, limit, newestFirst: false });
      const now = wallNow();
      const values = items.map(({ id }) => redelivery(id, now));
      const rows = await runForEach<DeliveryRow>(transaction, REDELIVER, values);
      // An engine may return what one statement changed in any order.
      rows.sort((one, other) => (one.id < other.id ? -1 : 1));
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
    const { auditIds, wallNow } = this.#deps;
    const at = wallNow();
    await insertAudit(transaction, { id: auditIds.next(at), at, by, entry });
  }
}

const waitingOf = ({ id, endpoint, organization, integration }: DeliveryRow): WaitingDelivery => ({
  id,
  endpoint,
  organization,
  integration,
});

/** The organization and integration of an audit entry. */
const ownersOf = ({ organization, integration }: DeliveryRow) => ({ organization, integration });

/** At the level of the integration there is no target, and the entry names the integration. */
function auditedTarget(name: EndpointName) {
  const target = installedName(name);
  return target === undefined ? {} : { target };
}

async function isKnown(transaction: Database, id: string): Promise<boolean> {
  const row = await transaction.selectFrom('deliveries').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}
