/**
 * What people do with deliveries: cancel, redeliver, and replay of many
 * (docs/contract/webhooks.md#redelivery-and-replay).
 *
 * An action is written first, with its audit entry; then the deliveries that are pending again are
 * passed on to the worker.
 */
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type { Actor } from '../../model/actor.ts';
import type { Delivery } from '../store/deliveries/delivery.ts';
import {
  type ActionRefusal,
  type DeliveryActionRows,
  type ReplayQuery,
  ROWS_PER_ACTION,
} from '../store/deliveries/delivery-action-rows.ts';
import type { DeliveryWorker } from './delivery-worker.ts';

/**
 * Searches of `ROWS_PER_SEARCH` rows that may find less than a full batch, before a replay returns:
 * matches may be rare.
 */
const SPARSE_SEARCHES_MAX = 20;

export interface Replayed {
  readonly replayed: number;
  /** Cursor for the next replay; absent if no delivery is left. */
  readonly next?: string;
}

export interface DeliveryActionsDeps {
  readonly rows: Pick<DeliveryActionRows, 'redeliver' | 'cancel' | 'redeliverSome' | 'findSome'>;
  readonly worker: Pick<DeliveryWorker, 'add'>;
  readonly limits: Pick<Limits, 'deliveriesPerReplay'>;
}

export class DeliveryActions {
  readonly #deps: DeliveryActionsDeps;

  constructor(deps: DeliveryActionsDeps) {
    this.#deps = deps;
  }

  /** @throws AnnexError `DELIVERY_UNKNOWN`, `DELIVERY_PENDING` */
  async redeliver(id: string, by: Actor): Promise<Delivery> {
    const { rows, worker } = this.#deps;
    const delivery = known(id, await rows.redeliver(id, by));
    if (delivery === undefined) {
      const message = `Delivery "${id}" is pending or in flight: cancel it first, or wait until it is finished.`;
      throw new AnnexError('DELIVERY_PENDING', message);
    }
    const { endpoint, organization, integration } = delivery;
    worker.add([{ id, endpoint, organization, integration }]);
    return delivery;
  }

  /**
   * Does not stop an attempt in flight; its outcome is discarded.
   *
   * @throws AnnexError `DELIVERY_UNKNOWN`, `DELIVERY_OVER`
   */
  async cancel(id: string, by: Actor): Promise<Delivery> {
    const delivery = known(id, await this.#deps.rows.cancel(id, by));
    if (delivery === undefined)
      throw new AnnexError('DELIVERY_OVER', `Delivery "${id}" is finished: there is nothing to cancel.`);
    return delivery;
  }

  /**
   * Oldest first, at most `deliveriesPerReplay`, and fewer if matches are rare. Uses several
   * transactions, each with its own audit entry.
   *
   * @param isDry counts, and changes nothing
   */
  async replay({ cursor, ...query }: ReplayQuery, by: Actor, isDry = false): Promise<Replayed> {
    const { rows, worker, limits } = this.#deps;
    let replayed = 0;
    let sparse = 0;
    let next = cursor;
    while (replayed < limits.deliveriesPerReplay && sparse < SPARSE_SEARCHES_MAX) {
      const limit = Math.min(ROWS_PER_ACTION, limits.deliveriesPerReplay - replayed);
      const some = { ...query, cursor: next };
      const found = isDry ? rows.findSome(some, limit) : rows.redeliverSome(some, limit, by);
      const { made, next: rest } = await found;
      if (made.length > 0 && !isDry) worker.add(made);
      replayed += made.length;
      if (made.length < limit) sparse += 1;
      next = rest;
      if (next === undefined) return { replayed };
    }
    return { replayed, ...(next !== undefined && { next }) };
  }
}

/**
 * @returns undefined if the state of the delivery does not allow the action
 * @throws `DELIVERY_UNKNOWN`
 */
function known(id: string, answer: Delivery | ActionRefusal): Delivery | undefined {
  if (answer === 'unknown') throw new AnnexError('DELIVERY_UNKNOWN', `There is no delivery "${id}".`);
  return answer === 'wrong state' ? undefined : answer;
}
