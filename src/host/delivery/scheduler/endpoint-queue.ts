/**
 * Endpoint queue: what the scheduler knows of one endpoint with deliveries waiting or in flight.
 */
import { entryCache } from '../../../model/entry-cache.ts';
import type { DueDeliveries, WaitingDelivery } from '../../store/deliveries/delivery.ts';
import { Fifo } from './queues.ts';

/** An endpoint, and the organization and the integration whose quotas it uses. */
export type EndpointOwners = Omit<WaitingDelivery, 'id'>;

export interface EndpointQueue extends EndpointOwners {
  /** Hints: ids of deliveries that are likely to be due. */
  readonly ids: Fifo<string>;
  /** Whether the store may have due deliveries that are not in `ids`. */
  moreInStore: boolean;
  /** Whether a refill is in flight. */
  refilling: boolean;
  /** Whether a delivery was added during the refill: the answer may lack it, so another follows. */
  refillAgain: boolean;
  inFlight: number;
  /** Hints in a row that another node had claimed. */
  misses: number;
  /** Refills to come that are spread, because another node works on the endpoint, too. */
  contestedRefills: number;
  /** Whether it also counts in the quotas of slow endpoints, until it answers in time. */
  slow: boolean;
  /** Of a receiver with a rate: the time between two turns, and when the next one may be. */
  pace: Pace | undefined;
  /** When the next delivery is due. */
  retryAt: number | undefined;
  /** Time of its valid entry in the back-off heap, at most `retryAt`; other entries are void. */
  heapAt: number | undefined;
  /** Whether it is in the ready queue, blocked in a quota, or waiting for a refill slot. */
  queued: boolean;
  /** Its place among the blocked endpoints of a quota. */
  blocked: Ticket | undefined;
  /** Name of the quota that reserves a place for its next turn. */
  reservedIn: string | undefined;
  /** Whether a refill slot is reserved for its next turn. */
  hasRefillSlot: boolean;
}

export interface Pace {
  readonly intervalMs: number;
  readonly notBefore: number;
}

/** A place among the blocked endpoints of a quota; void once its queue has another, or none. */
export interface Ticket {
  readonly queue: EndpointQueue;
  /** Name of the quota. */
  readonly quota: string;
}

export const newEndpointQueue = (
  { endpoint, organization, integration }: EndpointOwners,
  slow: boolean,
): EndpointQueue => ({
  endpoint,
  organization,
  integration,
  ids: new Fifo(),
  moreInStore: false,
  refilling: false,
  refillAgain: false,
  inFlight: 0,
  misses: 0,
  contestedRefills: 0,
  slow,
  pace: undefined,
  retryAt: undefined,
  heapAt: undefined,
  queued: false,
  blocked: undefined,
  reservedIn: undefined,
  hasRefillSlot: false,
});

/** Whether it answers in time, has at most one delivery waiting, and none in flight. */
export const isSparse = ({ ids, moreInStore, inFlight, slow }: EndpointQueue): boolean =>
  inFlight === 0 && !moreInStore && !slow && ids.length <= 1;

/**
 * The same deliveries from another place on: nodes that work on one endpoint begin at different
 * places.
 *
 * @param share from 0, which changes nothing, to 1
 */
export function begunAt({ ids, ...due }: DueDeliveries, share: number): DueDeliveries {
  const at = Math.floor(share * ids.length);
  return { ...due, ids: [...ids.slice(at), ...ids.slice(0, at)] };
}

const ENDPOINTS_MAX = 50_000;

/** What the end of a delivery says of its endpoint: `none` if not tried, or a platform fault. */
export type EndpointSignal = 'succeeded' | 'failed' | 'none';

/**
 * Endpoint health: which endpoints fail again and again, and which do not answer in time.
 *
 * Remembered while nothing waits for an endpoint, for those that failed or were slow last. Pure.
 */
export class EndpointHealth {
  readonly #failuresBeforeProbing: number;
  /** Failures in a row. */
  readonly #failures = entryCache<number>(ENDPOINTS_MAX);
  readonly #slow = entryCache<true>(ENDPOINTS_MAX);

  constructor(failuresBeforeProbing: number) {
    this.#failuresBeforeProbing = failuresBeforeProbing;
  }

  record(endpoint: string, signal: EndpointSignal): void {
    if (signal === 'succeeded') this.#failures.delete(endpoint);
    else if (signal === 'failed') this.#failures.set(endpoint, (this.#failures.get(endpoint) ?? 0) + 1);
  }

  /** Whether it has failed so often in a row that it gets one delivery at a time. */
  isProbed(endpoint: string): boolean {
    return (this.#failures.get(endpoint) ?? 0) >= this.#failuresBeforeProbing;
  }

  setSlow(endpoint: string, slow: boolean): void {
    if (slow) this.#slow.set(endpoint, true);
    else this.#slow.delete(endpoint);
  }

  isSlow(endpoint: string): boolean {
    return this.#slow.has(endpoint);
  }
}
