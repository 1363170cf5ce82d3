/**
 * The store of deliveries, from the acceptance of their event to their removal. Each delivery is
 * one event for one target.
 *
 * An answer is committed before it is given. Parts: what is due (`delivery-queue.ts`), claims and
 * outcomes (`delivery-claims.ts`), lists (`delivery-list.ts`), cancel, redelivery and replay
 * (`delivery-orders.ts`), removal by age (`delivery-retention.ts`). Deliveries are created with
 * their events (`events/`). Scheduling and retries are decided in `delivery/`.
 */

import type { GroupCommit } from '../../database/group-commit.ts';
import type { Page, PageRequest } from '../../database/page.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import type { Limits } from '../../limits.ts';
import type { Actor } from '../../model/actor.ts';
import type { Backlog } from './backlog.ts';
import type {
  ClaimedDelivery,
  Delivery,
  DeliveryPayload,
  DueDeliveries,
  RecordedAttempt,
  Settlement,
  WaitingDelivery,
} from './delivery.ts';
import { type Claim, DeliveryClaims } from './delivery-claims.ts';
import { DeliveryList } from './delivery-list.ts';
import { DeliveryOrders, type Replayed, type ReplayQuery } from './delivery-orders.ts';
import { DeliveryQueue, type WaitingEndpoint } from './delivery-queue.ts';
import { DeliveryRetention } from './delivery-retention.ts';
import type { DeliveryFilter } from './delivery-search.ts';

export interface DeliveriesParts {
  readonly database: Database;
  /** Shared by all frequent writers. */
  readonly commits: GroupCommit;
  /** Shared with the code that creates deliveries. */
  readonly backlog: Backlog;
  readonly auditIds: Sequence;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly limits: Pick<Limits, 'deliveryLeaseMs' | 'deliveriesPerReplay' | 'deliveryDays' | 'deliveredDays'>;
}

export class Deliveries {
  readonly #clock: () => number;
  readonly #backlog: Backlog;
  readonly #queue: DeliveryQueue;
  readonly #claims: DeliveryClaims;
  readonly #list: DeliveryList;
  readonly #orders: DeliveryOrders;
  readonly #retention: DeliveryRetention;
  /** Called after a commit that made deliveries pending again. */
  onWaiting: ((made: readonly WaitingDelivery[]) => void) | undefined;

  constructor(parts: DeliveriesParts) {
    const { database, backlog, clock } = parts;
    this.#clock = clock;
    this.#backlog = backlog;
    this.#queue = new DeliveryQueue(database);
    this.#claims = new DeliveryClaims(parts);
    this.#list = new DeliveryList(database);
    this.#orders = new DeliveryOrders({ ...parts, waiting: (made) => this.onWaiting?.(made) });
    this.#retention = new DeliveryRetention(parts);
  }

  /** Number of pending deliveries, those in flight included. */
  async waiting(): Promise<number> {
    return this.#backlog.waiting;
  }

  /** Endpoints with pending deliveries, sorted by endpoint key. */
  waitingEndpoints(request: PageRequest): Promise<Page<WaitingEndpoint>> {
    return this.#queue.waitingEndpoints(request);
  }

  /** Deliveries of an endpoint that can be claimed, the longest due first. */
  due(endpoint: string, now: number, limit: number): Promise<DueDeliveries> {
    return this.#queue.due(endpoint, now, limit);
  }

  /**
   * Claims deliveries for `deliveryLeaseMs`. Skips those that are finished, claimed, or not due by
   * `dueBy` (milliseconds since 1970).
   */
  claim(ids: readonly string[], dueBy: number = this.#clock()): Promise<ClaimedDelivery[]> {
    return this.#claims.claim(ids, dueBy);
  }

  /**
   * Stores the payload before it is posted. An existing payload stays; its destination is updated.
   *
   * @returns false if the claim is lost
   */
  keepPayload(claim: Claim, payload: DeliveryPayload): Promise<boolean> {
    return this.#claims.keepPayload(claim, payload);
  }

  /**
   * Stores the outcome of a claimed delivery, with its attempt.
   *
   * @returns false if the claim is lost; nothing is written then
   */
  settle(settlement: Settlement): Promise<boolean> {
    return this.#claims.settle(settlement);
  }

  /** Releases claims that were not attempted, as if they had never been made. */
  release(claims: readonly Claim[]): Promise<void> {
    return this.#claims.release(claims);
  }

  /**
   * Extends claims to `deliveryLeaseMs` from now. @returns ids of the deliveries whose claim still
   * holds
   */
  renew(claims: readonly Claim[]): Promise<string[]> {
    return this.#claims.renew(claims);
  }

  /**
   * Takes back leases, and counts an unknown outcome for each (`unknowns`).
   *
   * @param all true at a start, when all leases belong to dead processes; otherwise only expired
   * leases
   */
  recover(which: { readonly all: boolean }): Promise<WaitingDelivery[]> {
    return this.#claims.recover(which);
  }

  /** Newest first. A page may be short or empty without being the last. */
  list(query: DeliveryFilter & PageRequest): Promise<Page<Delivery>> {
    return this.#list.list(query);
  }

  ofEvent(eventId: string): Promise<Delivery[]> {
    return this.#list.ofEvent(eventId);
  }

  read(id: string): Promise<Delivery | undefined> {
    return this.#list.read(id);
  }

  attempts(id: string): Promise<RecordedAttempt[]> {
    return this.#list.attempts(id);
  }

  payload(id: string): Promise<DeliveryPayload | undefined> {
    return this.#list.payload(id);
  }

  /** @throws AnnexError `DELIVERY_UNKNOWN`, `DELIVERY_OVER` */
  cancel(id: string, by: Actor): Promise<Delivery> {
    return this.#orders.cancel(id, by);
  }

  /** @throws AnnexError `DELIVERY_UNKNOWN`, `DELIVERY_PENDING` */
  redeliver(id: string, by: Actor): Promise<Delivery> {
    return this.#orders.redeliver(id, by);
  }

  /** Oldest first, at most `deliveriesPerReplay`; returns a cursor for the rest. */
  replay(query: ReplayQuery, by: Actor): Promise<Replayed> {
    return this.#orders.replay(query, by);
  }

  /** Removes old finished deliveries, and old events without deliveries. */
  prune(): Promise<void> {
    return this.#retention.prune();
  }

  /** Stops removing. @returns once no transaction of it is running */
  stop(): Promise<void> {
    return this.#retention.stop();
  }
}
