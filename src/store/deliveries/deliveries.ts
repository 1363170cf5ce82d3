/**
 * The store of deliveries: one event to one target each, from its acceptance to the day it is forgotten.
 *
 * What it answers with is committed. What waits is asked for and claimed (`delivery-queue.ts`, `delivery-claims.ts`), looked at
 * (`delivery-list.ts`), ordered anew or called off (`delivery-orders.ts`), and forgotten (`delivery-retention.ts`); rows are made
 * with their events. Who is delivered to when, and whether something is tried again, is decided in `delivery/`.
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
  /** Shared by all who write often. */
  readonly commits: GroupCommit;
  /** Shared with those who make deliveries. */
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
  /** Told after a commit of what is to be delivered anew. */
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

  /** How many wait, those under way included. */
  async waiting(): Promise<number> {
    return this.#backlog.waiting;
  }

  /** In the order of the endpoints' keys. */
  waitingEndpoints(request: PageRequest): Promise<Page<WaitingEndpoint>> {
    return this.#queue.waitingEndpoints(request);
  }

  /** What of an endpoint may be claimed, the longest due first. */
  due(endpoint: string, now: number, limit: number): Promise<DueDeliveries> {
    return this.#queue.due(endpoint, now, limit);
  }

  /**
   * Takes deliveries for whoever asks, for `deliveryLeaseMs`. Left out are those that are over, that somebody has, and that are
   * not due by then.
   */
  claim(ids: readonly string[], dueBy: number = this.#clock()): Promise<ClaimedDelivery[]> {
    return this.#claims.claim(ids, dueBy);
  }

  /**
   * Puts down what is to be posted, before it is. What is there already stays; where it goes is written over.
   *
   * @returns false where the claim is lost
   */
  keepPayload(claim: Claim, payload: DeliveryPayload): Promise<boolean> {
    return this.#claims.keepPayload(claim, payload);
  }

  /**
   * Puts down what has become of a claimed delivery, with its attempt.
   *
   * @returns false where the claim is lost; nothing is written then
   */
  settle(settlement: Settlement): Promise<boolean> {
    return this.#claims.settle(settlement);
  }

  /** Gives back what was not tried: as if it had never been claimed. */
  release(claims: readonly Claim[]): Promise<void> {
    return this.#claims.release(claims);
  }

  /** From now on for another `deliveryLeaseMs`. @returns ids of those whose claim is not lost */
  renew(claims: readonly Claim[]): Promise<string[]> {
    return this.#claims.renew(claims);
  }

  /**
   * Takes back leases, and counts in `unknowns` that nobody knows how far their holders came.
   *
   * @param all at the start, when every lease is of a process that is dead; otherwise those that are over
   */
  recover(which: { readonly all: boolean }): Promise<WaitingDelivery[]> {
    return this.#claims.recover(which);
  }

  /** Newest first. A page may hold fewer than were asked for, or none, and not be the last. */
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

  /** The oldest first, `deliveriesPerReplay` at most; says where to go on. */
  replay(query: ReplayQuery, by: Actor): Promise<Replayed> {
    return this.#orders.replay(query, by);
  }

  /** Forgets what is over and old, events of which nothing is left included. */
  prune(): Promise<void> {
    return this.#retention.prune();
  }

  /** Begins nothing any more that was not asked for. @returns once it is over */
  stop(): Promise<void> {
    return this.#retention.stop();
  }
}
