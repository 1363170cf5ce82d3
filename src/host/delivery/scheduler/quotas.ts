/**
 * Quotas: what an organization, an integration, and all slow endpoints may have in flight at once.
 *
 * An endpoint whose quota is used up is blocked in that quota; a place that becomes free is
 * reserved for the next blocked endpoint. Slow endpoints have three quarters of a quota at most,
 * and the rest is for endpoints that answer in time. Tasks have half of the places of all, and of
 * their organization, and the rest is for events. Slow is an endpoint whose last attempt was, or
 * with a backlog from before the start. Pure.
 *
 * Attack: an organization with a thousand receivers that never answer; an integration in a thousand
 * organizations; two hundred hanging receivers of different organizations behind one integration,
 * which took every place of it for ten seconds at a time while a healthy endpoint waited; an
 * integration whose tasks run for long at a thousand targets, to delay the product's events.
 */
import type { Limits } from '../../../limits.ts';
import { isTaskLane } from '../../../model/task.ts';
import { type EndpointQueue, isSparse, type Ticket } from './endpoint-queue.ts';
import { SparseFirstQueue } from './queues.ts';

const ORGANIZATION = 'organization ';
const INTEGRATION = 'integration ';
/** Slow endpoints of one integration, and of all integrations. */
const SLOW_OF_INTEGRATION = 'integration, slow ';
const SLOW = 'slow';
/** Tasks of one organization, and of all. */
const TASKS_OF_ORGANIZATION = 'tasks of organization ';
const TASKS = 'tasks';
/** At least one: else no task would start. */
const half = (all: number): number => Math.max(1, all >> 1);
/** One integration leaves a quarter to others; slow endpoints leave one to those in time. */
const exceptAQuarter = (all: number): number => all - (all >> 2);

export interface Quota {
  readonly name: string;
  readonly max: number;
  inFlight: number;
  /** Places that are reserved for the next endpoints in turn. */
  reserved: number;
  /** The endpoint that keeps its reserved place here while it is blocked in another quota. */
  reserver: EndpointQueue | undefined;
  readonly blocked: SparseFirstQueue<Ticket>;
}

export type QuotaLimits = Pick<Limits, 'deliveriesInFlight' | 'deliveriesInFlightPerOrganization'>;

export class Quotas {
  readonly #quotas = new Map<string, Quota>();
  readonly #limits: QuotaLimits;

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** The quotas that an endpoint uses. */
  of(queue: EndpointQueue): Quota[] {
    return namesOf(queue).map((name) => this.#quota(name));
  }

  /**
   * Ends the reservations of an endpoint whose turn has come. The one in `reservedIn` may be in a
   * quota that it no longer uses.
   *
   * @returns the quotas that had reserved a place for it
   */
  collect(queue: EndpointQueue, quotas: readonly Quota[]): Quota[] {
    const reserving = queue.reservedIn === undefined ? undefined : this.#quotas.get(queue.reservedIn);
    const collected = new Set(quotas.filter(({ reserver }) => reserver === queue));
    if (reserving !== undefined) collected.add(reserving);
    for (const quota of collected) {
      quota.reserved -= 1;
      if (quota.reserver === queue) quota.reserver = undefined;
    }
    queue.reservedIn = undefined;
    return [...collected];
  }

  /**
   * Blocks an endpoint in a quota that is used up.
   *
   * If two quotas of an endpoint are used up and others are blocked in each, a place in one is
   * taken again before the other has one, and the endpoint would move between them for ever. So one
   * endpoint of an integration may keep its place there, and is then the next of its organization.
   * None keeps a place of its organization, which may have no other.
   *
   * @param collected the quotas that had reserved a place for this turn
   */
  block(queue: EndpointQueue, full: Quota, collected: readonly Quota[]): void {
    queue.queued = true;
    const kept = collected.find(({ name }) => name !== full.name && !isOfOrganization(name));
    if (kept === undefined || kept.reserver !== undefined) {
      full.blocked.push(ticketFor(queue, full), isSparse(queue));
      return;
    }
    kept.reserver = queue;
    kept.reserved += 1;
    full.blocked.unshift(ticketFor(queue, full), isSparse(queue));
  }

  /** Takes a place in each quota of an endpoint. */
  enter(queue: EndpointQueue, quotas: readonly Quota[]): void {
    queue.inFlight += 1;
    for (const quota of quotas) quota.inFlight += 1;
  }

  /** Gives the places back. */
  leave(queue: EndpointQueue, quotas: readonly Quota[]): void {
    queue.inFlight -= 1;
    for (const quota of quotas) quota.inFlight -= 1;
  }

  /**
   * Counts the deliveries in flight of an endpoint as slow, or no longer.
   *
   * @returns the quotas in which places may be free now, and whether the endpoint was blocked in
   * one
   *   of them and is now ready
   */
  setSlow(
    queue: EndpointQueue,
    slow: boolean,
  ): { readonly quotas: readonly Quota[]; readonly isFree: boolean } {
    if (queue.slow === slow) return { quotas: [], isFree: false };
    const names = slowNames(queue);
    queue.slow = slow;
    const quotas = names.map((name) => this.#quota(name));
    for (const quota of quotas) quota.inFlight += slow ? queue.inFlight : -queue.inFlight;
    const isFree = !slow && queue.blocked !== undefined && names.includes(queue.blocked.quota);
    if (isFree) queue.blocked = undefined;
    return { quotas, isFree };
  }

  /** Reserves the free places of a quota for its blocked endpoints, in turn. @returns these */
  unblock(quota: Quota): EndpointQueue[] {
    const unblocked: EndpointQueue[] = [];
    while (quota.inFlight + quota.reserved < quota.max) {
      const ticket = quota.blocked.shift();
      if (ticket === undefined) break;
      const { queue } = ticket;
      if (queue.blocked !== ticket) continue;
      queue.blocked = undefined;
      queue.reservedIn = quota.name;
      quota.reserved += 1;
      unblocked.push(queue);
    }
    if (quota.inFlight + quota.reserved + quota.blocked.length === 0) this.#quotas.delete(quota.name);
    return unblocked;
  }

  #quota(name: string): Quota {
    const known = this.#quotas.get(name);
    if (known !== undefined) return known;
    const quota = {
      name,
      max: this.#maxOf(name),
      inFlight: 0,
      reserved: 0,
      reserver: undefined,
      blocked: new SparseFirstQueue<Ticket>(),
    };
    this.#quotas.set(name, quota);
    return quota;
  }

  #maxOf(name: string): number {
    const { deliveriesInFlight: all, deliveriesInFlightPerOrganization } = this.#limits;
    if (name.startsWith(TASKS_OF_ORGANIZATION)) return half(deliveriesInFlightPerOrganization);
    if (name === TASKS) return half(all);
    if (name.startsWith(ORGANIZATION)) return deliveriesInFlightPerOrganization;
    if (name.startsWith(SLOW_OF_INTEGRATION)) return exceptAQuarter(exceptAQuarter(all));
    return exceptAQuarter(all);
  }
}

const isOfOrganization = (name: string): boolean =>
  name.startsWith(ORGANIZATION) || name.startsWith(TASKS_OF_ORGANIZATION);

function ticketFor(queue: EndpointQueue, { name }: Quota): Ticket {
  queue.blocked = { queue, quota: name };
  return queue.blocked;
}

const slowNames = ({ integration }: EndpointQueue): string[] => [
  `${SLOW_OF_INTEGRATION}${integration}`,
  SLOW,
];

const namesOf = (queue: EndpointQueue): string[] => [
  `${ORGANIZATION}${queue.organization}`,
  `${INTEGRATION}${queue.integration}`,
  ...(queue.slow ? slowNames(queue) : []),
  ...(isTaskLane(queue.endpoint) ? [`${TASKS_OF_ORGANIZATION}${queue.organization}`, TASKS] : []),
];
