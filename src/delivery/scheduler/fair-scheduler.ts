/**
 * Whose turn it is: each endpoint with deliveries that wait is a lane, and lanes with room are served one delivery each in turn
 * (REFERENCE D30). One with a thousand deliveries comes as often as one with a single delivery.
 *
 * What is held are hints: ids that are likely to be due, so many of a lane and so many in all. The store has the truth. A lane
 * whose hints are used up while the store may have more is looked up when its turn comes, and one that has nothing is dropped.
 *
 * The attacks: a receiver that answers after ten seconds, so that all that may be under way is under way to it; an organization
 * with a thousand such receivers; an integration in a thousand organizations whose code takes half a minute for each event. None
 * keeps anybody else waiting: an endpoint has so much room, and so have an organization, an integration and all that is slow, whose
 * other lanes stand aside until some of it is free (`quotas.ts`). An endpoint that fails again and again gets one delivery at a
 * time, until one succeeds. Pure: it knows no clock but the one it is told.
 */
import { LRUCache } from 'lru-cache';
import type { Limits } from '../../limits.ts';
import type { DueDeliveries, WaitingDelivery } from '../../store/deliveries/delivery.ts';
import { EarliestFirst } from './earliest-first.ts';
import { type EndpointQueue, isSparse, newEndpointQueue } from './endpoint-queue.ts';
import { Fifo } from './fifo.ts';
import { type Quota, Quotas } from './quotas.ts';
import { SparseFirst } from './sparse-first.ts';

/** Ids that are held of one lane, and that the store is asked for at once. */
export const HINTS_PER_ENDPOINT = 200;
/** And of all together: some megabytes. Beyond this, a lane gets a few at a time. */
const HINTS_MAX = 100_000;
const HINTS_LEAST = 5;
/** Lanes that are looked up at once: with ten thousand of them at a start, nothing else would come to the store. */
const LOOKS_MAX = 16;
/** Endpoints of which it is known how often they have failed in a row: those that have done so last. */
const FAILING_MAX = 50_000;

export type SchedulerLimits = Pick<
  Limits,
  | 'deliveriesInFlight'
  | 'deliveriesInFlightPerOrganization'
  | 'deliveriesInFlightPerEndpoint'
  | 'failuresBeforeProbing'
>;

/** A delivery that may begin; to be followed by `done`. */
export interface Turn {
  readonly endpoint: string;
  readonly id: string;
  /** Whether more of its endpoint waits than may be in flight to it. */
  readonly isBacklogged: boolean;
}

/** A lane that the store is to be asked about; to be followed by `found`, or by `leave`. */
export interface Refill {
  readonly endpoint: string;
  /** How many ids are of use. */
  readonly hints: number;
}

/** What a delivery says of its endpoint; `nothing` where it was not tried, or the platform was in the way. */
export type RefillAnswer = 'succeeded' | 'failed' | 'nothing';

export class FairScheduler {
  readonly #limits: SchedulerLimits;
  readonly #lanes = new Map<string, EndpointQueue>();
  readonly #rooms: Quotas;
  /** In turn. */
  readonly #turns = new SparseFirst<EndpointQueue>();
  /** Whose turn has come, but that cannot be looked up yet. */
  readonly #lookers = new Fifo<EndpointQueue>();
  readonly #resting = new EarliestFirst<EndpointQueue>();
  readonly #failures = new LRUCache<string, number>({ max: FAILING_MAX });
  /** Endpoints that have to show that they answer in time. */
  readonly #slow = new LRUCache<string, true>({ max: FAILING_MAX });
  #inFlight = 0;
  #looks = 0;
  /** Looks that are kept for lanes that were called up. */
  #promisedLooks = 0;
  #hints = 0;

  constructor(limits: SchedulerLimits) {
    this.#limits = limits;
    this.#rooms = new Quotas(limits);
  }

  /** Deliveries that have begun and are not done. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Endpoints of which something waits or is under way. */
  get size(): number {
    return this.#lanes.size;
  }

  /** When `wake` has something to do; undefined where nothing rests. */
  get nextAt(): number | undefined {
    for (;;) {
      const first = this.#resting.peek();
      if (first === undefined || first.item.retryAt === first.at) return first?.at;
      this.#resting.pop();
      const { item: lane, at } = first;
      // One that was brought forward since has another place.
      if (lane.backsOffUntil !== at) continue;
      lane.backsOffUntil = undefined;
      if (lane.retryAt !== undefined) this.#restUntil(lane, lane.retryAt);
    }
  }

  /** A delivery that is due. */
  add({ id, ...whose }: WaitingDelivery): void {
    const lane = this.#lane(whose);
    // What has been waiting in the store comes first.
    if (lane.refilling) lane.news = true;
    else if (!lane.more) this.#hint(lane, id);
    this.#queue(lane);
  }

  /** The store may have something of this endpoint that is due. */
  look(whose: Omit<WaitingDelivery, 'id'>): void {
    const lane = this.#lane(whose);
    if (lane.refilling) lane.news = true;
    else lane.more = true;
    this.#queue(lane);
  }

  /** Something more of an endpoint, of which something is under way, is due then. */
  later(endpoint: string, at: number): void {
    const lane = this.#lanes.get(endpoint);
    if (lane !== undefined) this.#restUntil(lane, at);
  }

  /** Nothing of an endpoint can be begun: it is looked up then, and nothing more of it has its turn before, unless there is news. */
  rest(endpoint: string, until: number): void {
    const lane = this.#lanes.get(endpoint);
    if (lane === undefined) return;
    this.#hints -= lane.ids.length;
    lane.ids.clear();
    lane.more = false;
    this.#restUntil(lane, until);
  }

  /** What is to be done next; undefined where nothing may be. */
  next(): Turn | Refill | undefined {
    while (this.#inFlight < this.#limits.deliveriesInFlight) {
      const lane = this.#turns.shift();
      if (lane === undefined) return undefined;
      lane.queued = false;
      const rooms = this.#rooms.of(lane);
      const callers = this.#rooms.collect(lane, rooms);
      if (lane.mayRefill) this.#promisedLooks -= 1;
      lane.mayRefill = false;
      const next = this.#turn(lane, rooms, callers);
      // What it was promised and has not used is another one's: a lane that stands aside for a full room needs no look yet,
      // and those behind it would wait for one until a receiver of that room answers.
      this.#callUp(new Set([...rooms, ...callers]));
      this.#callLookers();
      if (next !== undefined) return next;
    }
    return undefined;
  }

  /** What the store has said of a lane that was looked up. */
  found(endpoint: string, { ids, more, nextAt }: DueDeliveries): void {
    const lane = this.#looked(endpoint);
    if (lane === undefined) return;
    lane.more = more || lane.news;
    lane.news = false;
    for (const id of ids) this.#hint(lane, id);
    if (nextAt !== undefined) this.#restUntil(lane, nextAt);
    this.#queue(lane);
    this.#dropEmpty(lane);
  }

  /** The store could not be asked: the lane is looked up then, and not before unless there is news of it. */
  leave(endpoint: string, until: number): void {
    const lane = this.#looked(endpoint);
    if (lane === undefined) return;
    lane.news = false;
    this.#restUntil(lane, until);
  }

  /** A delivery that had its turn is over, for now. */
  done(endpoint: string, news: RefillAnswer): void {
    const lane = this.#lanes.get(endpoint);
    if (lane === undefined) return;
    this.#inFlight -= 1;
    const rooms = this.#rooms.of(lane);
    this.#rooms.leave(lane, rooms);
    if (news === 'succeeded') this.#failures.delete(endpoint);
    else if (news === 'failed') this.#failures.set(endpoint, (this.#failures.get(endpoint) ?? 0) + 1);
    this.#callUp(rooms);
    this.#queue(lane);
    this.#dropEmpty(lane);
  }

  /**
   * Whether an endpoint has to show that it answers in time: its last attempt took long, or what it has waiting is of before the
   * start, and nothing is known of it. The places that are left for those that do answer are not for it meanwhile.
   */
  setSlow(endpoint: string, slow: boolean): void {
    if (slow) this.#slow.set(endpoint, true);
    else this.#slow.delete(endpoint);
    const lane = this.#lanes.get(endpoint);
    if (lane === undefined) return;
    const { rooms, isFree } = this.#rooms.setSlow(lane, slow);
    if (isFree) this.#turns.push(lane, isSparse(lane));
    this.#callUp(rooms);
  }

  /** Ends the rest of those that have rested long enough. */
  wake(now: number): void {
    for (let at = this.nextAt; at !== undefined && at <= now; at = this.nextAt) {
      const lane = this.#resting.pop()?.item as EndpointQueue;
      lane.retryAt = undefined;
      lane.backsOffUntil = undefined;
      if (lane.refilling) lane.news = true;
      else lane.more = true;
      this.#queue(lane);
    }
  }

  /** Of a lane whose turn has come. */
  #turn(lane: EndpointQueue, rooms: readonly Quota[], callers: readonly Quota[]): Turn | Refill | undefined {
    if (!this.#canGo(lane)) {
      this.#dropEmpty(lane);
      return undefined;
    }
    const full = rooms.find(({ inFlight, reserved: promised, max }) => inFlight + promised >= max);
    if (full !== undefined) {
      this.#rooms.block(lane, full, callers);
      return undefined;
    }
    const { endpoint } = lane;
    const id = lane.ids.shift();
    if (id !== undefined) {
      this.#hints -= 1;
      this.#inFlight += 1;
      this.#rooms.enter(lane, rooms);
      this.#queue(lane);
      const isBacklogged = lane.more || lane.ids.length >= this.#limits.deliveriesInFlightPerEndpoint;
      return { endpoint, id, isBacklogged };
    }
    if (this.#looks + this.#promisedLooks >= LOOKS_MAX) {
      lane.queued = true;
      this.#lookers.push(lane);
      return undefined;
    }
    this.#looks += 1;
    lane.refilling = true;
    lane.more = false;
    // The answer says anew when the next one is due.
    lane.retryAt = undefined;
    return { endpoint, hints: this.#hints < HINTS_MAX ? HINTS_PER_ENDPOINT : HINTS_LEAST };
  }

  #looked(endpoint: string): EndpointQueue | undefined {
    this.#looks -= 1;
    this.#callLookers();
    const lane = this.#lanes.get(endpoint);
    if (lane !== undefined) lane.refilling = false;
    return lane;
  }

  #canGo(lane: EndpointQueue): boolean {
    if (lane.refilling || (lane.ids.length === 0 && !lane.more)) return false;
    const { failuresBeforeProbing, deliveriesInFlightPerEndpoint } = this.#limits;
    const isProbed = (this.#failures.get(lane.endpoint) ?? 0) >= failuresBeforeProbing;
    return lane.inFlight < (isProbed ? 1 : deliveriesInFlightPerEndpoint);
  }

  #queue(lane: EndpointQueue): void {
    if (lane.queued || !this.#canGo(lane)) return;
    lane.queued = true;
    this.#turns.push(lane, isSparse(lane));
  }

  /** Gives what is free of rooms to their lanes that stand aside. */
  #callUp(rooms: Iterable<Quota>): void {
    for (const room of rooms)
      for (const lane of this.#rooms.unblock(room)) this.#turns.push(lane, isSparse(lane));
  }

  /** Gives the looks that are free to the lanes that wait for one, in turn. */
  #callLookers(): void {
    while (this.#looks + this.#promisedLooks < LOOKS_MAX) {
      const lane = this.#lookers.shift();
      if (lane === undefined) return;
      lane.mayRefill = true;
      this.#promisedLooks += 1;
      this.#turns.push(lane, isSparse(lane));
    }
  }

  #hint(lane: EndpointQueue, id: string): void {
    const max = this.#hints < HINTS_MAX ? HINTS_PER_ENDPOINT : HINTS_LEAST;
    if (lane.ids.length >= max) {
      lane.more = true;
      return;
    }
    this.#hints += 1;
    lane.ids.push(id);
  }

  #restUntil(lane: EndpointQueue, at: number): void {
    if (lane.retryAt === undefined || at < lane.retryAt) lane.retryAt = at;
    if (lane.backsOffUntil !== undefined && lane.backsOffUntil <= lane.retryAt) return;
    lane.backsOffUntil = lane.retryAt;
    this.#resting.push(lane.retryAt, lane);
  }

  #lane(whose: Omit<WaitingDelivery, 'id'>): EndpointQueue {
    const known = this.#lanes.get(whose.endpoint);
    if (known !== undefined) return known;
    const lane = newEndpointQueue(whose, this.#slow.has(whose.endpoint));
    this.#lanes.set(whose.endpoint, lane);
    return lane;
  }

  #dropEmpty(lane: EndpointQueue): void {
    const { ids, more, refilling: looking, inFlight, retryAt: wakeAt, queued } = lane;
    if (ids.length > 0 || more || looking || inFlight > 0 || wakeAt !== undefined || queued) return;
    this.#lanes.delete(lane.endpoint);
  }
}
