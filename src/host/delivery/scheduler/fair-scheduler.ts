/**
 * Fair scheduler: one FIFO per endpoint, served round-robin within per-endpoint, organization,
 * integration and slow-endpoint quotas (docs/contract/webhooks.md#fairness).
 *
 * An endpoint with a thousand deliveries comes as often as one with a single delivery. The queues
 * hold hints: ids that are likely to be due, bounded per endpoint and in all. Whether a delivery is
 * due is decided by the database when it is claimed. A queue without hints is refilled from the
 * store when its turn comes, and dropped if nothing is left. Pure: callers pass the time.
 *
 * Attack: an organization has a thousand receivers that answer after ten seconds, or an integration
 * of a thousand organizations takes half a minute for each event, to delay all other deliveries.
 * Endpoints of that organization or integration are blocked once its quota is used up
 * (`quotas.ts`). An endpoint that keeps failing gets one delivery at a time until one succeeds.
 */
import type { Limits } from '../../../limits.ts';
import type { DueDeliveries, WaitingDelivery } from '../../store/deliveries/delivery.ts';
import {
  EndpointHealth,
  type EndpointOwners,
  type EndpointQueue,
  type EndpointSignal,
  isSparse,
  newEndpointQueue,
  type Pace,
} from './endpoint-queue.ts';
import { EarliestFirst, Fifo, SparseFirstQueue } from './queues.ts';
import { type Quota, Quotas } from './quotas.ts';

/** Ids that are held for one endpoint, and that one refill asks for. */
export const HINTS_PER_ENDPOINT = 200;
/** Ids that are held for all endpoints: some megabytes. Beyond this, an endpoint gets a few. */
const HINTS_MAX = 100_000;
const HINTS_LEAST = 5;
/** How many refills of an endpoint are spread after another node had its hints. */
const CONTESTED_REFILLS = 8;

export type SchedulerLimits = Pick<
  Limits,
  | 'deliveriesInFlight'
  | 'deliveriesInFlightPerOrganization'
  | 'deliveriesInFlightPerEndpoint'
  | 'failuresBeforeProbing'
>;

/** A delivery that may start; `done` follows. */
export interface Turn {
  readonly endpoint: string;
  readonly id: string;
  /** Whether more deliveries of its endpoint wait than may be in flight to it. */
  readonly isBacklogged: boolean;
}

/** A request to ask the store for due deliveries; `refilled` or `refillFailed` follows. */
export interface Refill {
  readonly endpoint: string;
  /** How many ids to ask for. */
  readonly hints: number;
  /** Whether another node works on the endpoint: the ids should begin elsewhere than there. */
  readonly isContested: boolean;
}

export class FairScheduler {
  readonly #limits: SchedulerLimits;
  readonly #queues = new Map<string, EndpointQueue>();
  readonly #quotas: Quotas;
  /** Endpoints with something to do, in turn. */
  readonly #ready = new SparseFirstQueue<EndpointQueue>();
  readonly #refills = new RefillSlots();
  readonly #backOffs = new BackOffs();
  readonly #health: EndpointHealth;
  #inFlight = 0;
  #hints = 0;
  /** Time of the last `wake`. */
  #now = 0;

  constructor(limits: SchedulerLimits) {
    this.#limits = limits;
    this.#quotas = new Quotas(limits);
    this.#health = new EndpointHealth(limits.failuresBeforeProbing);
  }

  /** Deliveries that have started and are not done. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Endpoints with deliveries waiting or in flight. */
  get size(): number {
    return this.#queues.size;
  }

  /** Whether an endpoint has deliveries waiting or in flight, as far as is known. */
  has(endpoint: string): boolean {
    return this.#queues.has(endpoint);
  }

  /** Time of the earliest back-off, for `wake`; undefined if nothing backs off. */
  get nextAt(): number | undefined {
    return this.#backOffs.nextAt;
  }

  /** Adds a delivery that is due. */
  add({ id, ...owners }: WaitingDelivery): void {
    const queue = this.#queueOf(owners);
    // Deliveries that wait in the store are older and come first.
    if (queue.refilling) queue.refillAgain = true;
    else if (!queue.moreInStore) this.#hint(queue, id);
    this.#enqueue(queue);
  }

  /** Adds an endpoint for which the store may have due deliveries. */
  addEndpoint(owners: EndpointOwners): void {
    const queue = this.#queueOf(owners);
    expectRefill(queue);
    this.#enqueue(queue);
  }

  /** Adds an endpoint with a delivery that is due at `at`. */
  addLater({ endpoint, organization, integration }: EndpointOwners, at: number): void {
    this.#backOffs.until(this.#queueOf({ endpoint, organization, integration }), at);
  }

  /** Another delivery of an endpoint with deliveries in flight is due at `at`. */
  retryAt(endpoint: string, at: number): void {
    const queue = this.#queues.get(endpoint);
    if (queue !== undefined) this.#backOffs.until(queue, at);
  }

  /**
   * Backs an endpoint off: drops its hints, and refills it at `until` unless one is added first.
   */
  backOff(endpoint: string, until: number): void {
    const queue = this.#queues.get(endpoint);
    if (queue === undefined) return;
    this.#hints -= queue.ids.length;
    queue.ids.clear();
    queue.moreInStore = false;
    this.#backOffs.until(queue, until);
  }

  /** A hinted delivery of an endpoint was claimed. */
  claimed(endpoint: string): void {
    const queue = this.#queues.get(endpoint);
    if (queue !== undefined) queue.misses = 0;
  }

  /**
   * Another node has a hinted delivery of an endpoint. To try the next hint costs less than new
   * ones. But after as many misses in a row as may be in flight, that node works its way through
   * the same hints: they are dropped, and the next ones are from another place. Without further
   * hints the endpoint backs off until `until`.
   */
  outrun(endpoint: string, until: number): void {
    const queue = this.#queues.get(endpoint);
    if (queue === undefined) return;
    queue.misses += 1;
    const isLast = queue.ids.length === 0;
    if (!isLast && queue.misses < this.#limits.deliveriesInFlightPerEndpoint) return;
    queue.misses = 0;
    queue.contestedRefills = CONTESTED_REFILLS;
    this.backOff(endpoint, until);
    if (isLast) return;
    expectRefill(queue);
    this.#enqueue(queue);
  }

  /** What to do next; undefined if nothing may start. */
  next(): Turn | Refill | undefined {
    while (this.#inFlight < this.#limits.deliveriesInFlight) {
      const queue = this.#ready.shift();
      if (queue === undefined) return undefined;
      queue.queued = false;
      const quotas = this.#quotas.of(queue);
      const collected = this.#quotas.collect(queue, quotas);
      this.#refills.collect(queue);
      const next = this.#turn(queue, quotas, collected);
      // Reservations that this turn has not used go to the next: a queue that is blocked in a quota
      // needs no refill slot yet, and those behind it would wait for one until a receiver of that
      // quota answers.
      this.#unblock(new Set([...quotas, ...collected]));
      this.#reserveRefills();
      if (next !== undefined) return next;
    }
    return undefined;
  }

  /** A refill has succeeded. */
  refilled(endpoint: string, { ids, more, nextAt }: DueDeliveries): void {
    const queue = this.#endRefill(endpoint);
    if (queue === undefined) return;
    queue.moreInStore = more || queue.refillAgain;
    queue.refillAgain = false;
    for (const id of ids) this.#hint(queue, id);
    if (nextAt !== undefined) this.#backOffs.until(queue, nextAt);
    this.#enqueue(queue);
    this.#dropEmpty(queue);
  }

  /** A refill has failed: the next is at `until`, unless a delivery is added before. */
  refillFailed(endpoint: string, until: number): void {
    const queue = this.#endRefill(endpoint);
    if (queue === undefined) return;
    queue.refillAgain = false;
    this.#backOffs.until(queue, until);
  }

  /** A delivery that had its turn has ended, or its attempt has. */
  done(endpoint: string, signal: EndpointSignal): void {
    const queue = this.#queues.get(endpoint);
    if (queue === undefined) return;
    this.#inFlight -= 1;
    const quotas = this.#quotas.of(queue);
    this.#quotas.leave(queue, quotas);
    this.#health.record(endpoint, signal);
    this.#unblock(quotas);
    this.#enqueue(queue);
    this.#dropEmpty(queue);
  }

  /**
   * Marks an endpoint as slow: its last attempt took long, or it has deliveries from before the
   * start. Until it answers in time, it uses the quotas of slow endpoints, too.
   */
  setSlow(endpoint: string, slow: boolean): void {
    this.#health.setSlow(endpoint, slow);
    const queue = this.#queues.get(endpoint);
    if (queue === undefined) return;
    const { quotas, isFree } = this.#quotas.setSlow(queue, slow);
    if (isFree) this.#ready.push(queue, isSparse(queue));
    this.#unblock(quotas);
  }

  /**
   * Sets the pace of an endpoint, or takes it away: its deliveries wait here until they may be
   * sent.
   *
   * Attack: webhooks with a request a second and long backlogs, whose deliveries would wait in the
   * places of others.
   */
  setPace(endpoint: string, pace: Pace | undefined): void {
    const queue = this.#queues.get(endpoint);
    if (queue === undefined) return;
    const { notBefore = 0 } = queue.pace ?? {};
    queue.pace = pace && { ...pace, notBefore: Math.max(notBefore, pace.notBefore) };
  }

  /** Ends the back-offs whose time has come. */
  wake(now: number): void {
    this.#now = now;
    for (let queue = this.#backOffs.shift(now); queue !== undefined; queue = this.#backOffs.shift(now)) {
      expectRefill(queue);
      this.#enqueue(queue);
    }
  }

  /** The turn of a queue: starts a delivery or a refill, blocks it in a quota, or drops it. */
  #turn(
    queue: EndpointQueue,
    quotas: readonly Quota[],
    collected: readonly Quota[],
  ): Turn | Refill | undefined {
    if (!this.#canGo(queue) || !this.#isInTime(queue)) {
      this.#dropEmpty(queue);
      return undefined;
    }
    const full = quotas.find(({ inFlight, reserved, max }) => inFlight + reserved >= max);
    if (full !== undefined) {
      this.#quotas.block(queue, full, collected);
      return undefined;
    }
    const { endpoint } = queue;
    const id = queue.ids.shift();
    if (id !== undefined) {
      this.#hints -= 1;
      this.#inFlight += 1;
      this.#quotas.enter(queue, quotas);
      if (queue.pace) queue.pace = { ...queue.pace, notBefore: this.#now + queue.pace.intervalMs };
      this.#enqueue(queue);
      const isBacklogged =
        queue.moreInStore || queue.ids.length >= this.#limits.deliveriesInFlightPerEndpoint;
      return { endpoint, id, isBacklogged };
    }
    if (!this.#refills.take(queue)) return undefined;
    queue.refilling = true;
    queue.moreInStore = false;
    // The answer has the time of the next one.
    queue.retryAt = undefined;
    const isContested = queue.contestedRefills > 0;
    if (isContested) queue.contestedRefills -= 1;
    return { endpoint, hints: this.#hintsMax(), isContested };
  }

  #endRefill(endpoint: string): EndpointQueue | undefined {
    this.#refills.release();
    this.#reserveRefills();
    const queue = this.#queues.get(endpoint);
    if (queue !== undefined) queue.refilling = false;
    return queue;
  }

  #canGo(queue: EndpointQueue): boolean {
    if (queue.refilling || (queue.ids.length === 0 && !queue.moreInStore)) return false;
    const max = this.#health.isProbed(queue.endpoint) ? 1 : this.#limits.deliveriesInFlightPerEndpoint;
    return queue.inFlight < max;
  }

  /** Whether the pace of a queue that could go lets it; it backs off until then. */
  #isInTime(queue: EndpointQueue): boolean {
    const { notBefore = 0 } = queue.pace ?? {};
    if (notBefore <= this.#now) return true;
    this.#backOffs.until(queue, notBefore);
    return false;
  }

  #enqueue(queue: EndpointQueue): void {
    if (queue.queued || !this.#canGo(queue) || !this.#isInTime(queue)) return;
    queue.queued = true;
    this.#ready.push(queue, isSparse(queue));
  }

  /** Gives the free places of quotas to endpoints that are blocked in them. */
  #unblock(quotas: Iterable<Quota>): void {
    for (const quota of quotas)
      for (const queue of this.#quotas.unblock(quota)) this.#ready.push(queue, isSparse(queue));
  }

  /** Gives free refill slots to the endpoints that wait for one. */
  #reserveRefills(): void {
    for (let queue = this.#refills.reserve(); queue !== undefined; queue = this.#refills.reserve())
      this.#ready.push(queue, isSparse(queue));
  }

  #hintsMax(): number {
    return this.#hints < HINTS_MAX ? HINTS_PER_ENDPOINT : HINTS_LEAST;
  }

  #hint(queue: EndpointQueue, id: string): void {
    if (queue.ids.length >= this.#hintsMax()) {
      queue.moreInStore = true;
      return;
    }
    this.#hints += 1;
    queue.ids.push(id);
  }

  #queueOf(owners: EndpointOwners): EndpointQueue {
    const known = this.#queues.get(owners.endpoint);
    if (known !== undefined) return known;
    const queue = newEndpointQueue(owners, this.#health.isSlow(owners.endpoint));
    this.#queues.set(owners.endpoint, queue);
    return queue;
  }

  #dropEmpty({ endpoint, ids, moreInStore, refilling, inFlight, retryAt, queued }: EndpointQueue): void {
    if (ids.length > 0 || moreInStore || refilling || inFlight > 0 || retryAt !== undefined || queued) return;
    this.#queues.delete(endpoint);
  }
}

/** The store may have due deliveries that the queue has no ids of. */
function expectRefill(queue: EndpointQueue): void {
  if (queue.refilling) queue.refillAgain = true;
  else queue.moreInStore = true;
}

/**
 * Back-offs: endpoint queues in the order of their `retryAt`.
 *
 * A heap does not move an entry, so a queue that is brought forward gets a second one; the entry
 * at any other time than the queue's `heapAt` is void and skipped. Pure.
 */
class BackOffs {
  readonly #heap = new EarliestFirst<EndpointQueue>();

  /** Time of the earliest back-off; undefined if there is none. */
  get nextAt(): number | undefined {
    for (;;) {
      const first = this.#heap.peek();
      if (first === undefined || first.item.retryAt === first.at) return first?.at;
      this.#heap.pop();
      const { item: queue, at } = first;
      if (queue.heapAt !== at) continue;
      queue.heapAt = undefined;
      if (queue.retryAt !== undefined) this.until(queue, queue.retryAt);
    }
  }

  /** Backs a queue off until `at`, unless an earlier time is set already. */
  until(queue: EndpointQueue, at: number): void {
    if (queue.retryAt === undefined || at < queue.retryAt) queue.retryAt = at;
    if (queue.heapAt !== undefined && queue.heapAt <= queue.retryAt) return;
    queue.heapAt = queue.retryAt;
    this.#heap.push(queue.retryAt, queue);
  }

  /** Removes the earliest queue whose time has come; undefined if there is none. */
  shift(now: number): EndpointQueue | undefined {
    const at = this.nextAt;
    if (at === undefined || at > now) return undefined;
    const queue = this.#heap.pop()?.item as EndpointQueue;
    queue.retryAt = undefined;
    queue.heapAt = undefined;
    return queue;
  }
}

/** With ten thousand refills at once after a start, nothing else would reach the store. */
const REFILLS_MAX = 16;

/**
 * Refill slots: how many endpoint queues are refilled from the store at once.
 *
 * A queue without a slot waits here. A slot that becomes free is reserved for the next waiting
 * queue until its turn, which uses it or gives it back. Pure.
 */
class RefillSlots {
  readonly #waiting = new Fifo<EndpointQueue>();
  #inFlight = 0;
  #reserved = 0;

  /** Starts a refill of a queue, or lets the queue wait for a slot. @returns whether it started */
  take(queue: EndpointQueue): boolean {
    if (!this.#isFree()) {
      queue.queued = true;
      this.#waiting.push(queue);
      return false;
    }
    this.#inFlight += 1;
    return true;
  }

  /** A refill has ended. */
  release(): void {
    this.#inFlight -= 1;
  }

  /** Ends the reservation of a queue whose turn has come. */
  collect(queue: EndpointQueue): void {
    if (queue.hasRefillSlot) this.#reserved -= 1;
    queue.hasRefillSlot = false;
  }

  /**
   * Reserves a free slot. @returns the queue it is reserved for; undefined if none waits or fits
   */
  reserve(): EndpointQueue | undefined {
    const queue = this.#isFree() ? this.#waiting.shift() : undefined;
    if (queue === undefined) return undefined;
    queue.hasRefillSlot = true;
    this.#reserved += 1;
    return queue;
  }

  #isFree(): boolean {
    return this.#inFlight + this.#reserved < REFILLS_MAX;
  }
}
