/**
 * How much of what may be in flight the lanes of an organization, of an integration, and of slow endpoints may have.
 *
 * A lane whose room is full stands aside in that room, and is called up when a place is free. The attacks: an organization with a
 * thousand receivers that never answer; an integration in a thousand organizations; two hundred hanging receivers, each of an
 * organization of its own, that all use the same integration: together they held every place of the integration for ten seconds at
 * a time, and a healthy endpoint waited for them. So endpoints that were slow last, and those with a backlog from before a start,
 * may have three quarters of a room, and the rest is for endpoints that answer in time. Pure.
 */
import type { Limits } from '../../limits.ts';
import { type EndpointQueue, isSparse } from './endpoint-queue.ts';
import { SparseFirst } from './sparse-first.ts';

const ORGANIZATION = 'organization ';
const INTEGRATION = 'integration ';
/** Of an integration's room, what its slow endpoints may have; and of all together. */
const SLOW_OF_INTEGRATION = 'integration, slow ';
const SLOW = 'slow';
/** What others cannot have: a quarter is left by one integration, and by what is slow. */
const exceptAQuarter = (all: number): number => all - (all >> 2);

/** A lane that stands aside. It is void once the lane has another one, or none. */
export interface Ticket {
  readonly lane: EndpointQueue;
  /** Name of the room. */
  readonly quota: string;
}

export interface Quota {
  readonly name: string;
  readonly max: number;
  inFlight: number;
  /** Of it, what is kept for lanes that were called up. */
  reserved: number;
  /** The one of these that keeps its place while it stands aside for another room. */
  reserver: EndpointQueue | undefined;
  readonly blocked: SparseFirst<Ticket>;
}

export type QuotaLimits = Pick<Limits, 'deliveriesInFlight' | 'deliveriesInFlightPerOrganization'>;

export class Quotas {
  readonly #rooms = new Map<string, Quota>();
  readonly #limits: QuotaLimits;

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** Those that a lane shares, and the one that has called it up where that is another by now. */
  of(lane: EndpointQueue): Quota[] {
    return namesOf(lane).map((name) => this.#room(name));
  }

  /** Ends what rooms have kept for a lane whose turn has come. @returns those rooms */
  collect(lane: EndpointQueue, rooms: readonly Quota[]): Quota[] {
    const caller = lane.reserved === undefined ? undefined : this.#rooms.get(lane.reserved);
    const callers = new Set(rooms.filter(({ reserver: keeper }) => keeper === lane));
    if (caller !== undefined) callers.add(caller);
    for (const room of callers) {
      room.reserved -= 1;
      if (room.reserver === lane) room.reserver = undefined;
    }
    lane.reserved = undefined;
    return [...callers];
  }

  /**
   * Where two rooms of a lane are full and others wait for each, what is free of one is gone again when something of the other
   * is: it would go to and fro for ever. So one lane of an integration may keep its place there, and is the next of its
   * organization. None keeps a place of its organization's, which may have no other.
   */
  block(lane: EndpointQueue, full: Quota, callers: readonly Quota[]): void {
    lane.queued = true;
    const kept = callers.find(({ name }) => name !== full.name && !name.startsWith(ORGANIZATION));
    if (kept === undefined || kept.reserver !== undefined) {
      full.blocked.push(this.#ticket(lane, full), isSparse(lane));
      return;
    }
    kept.reserver = lane;
    kept.reserved += 1;
    full.blocked.unshift(this.#ticket(lane, full), isSparse(lane));
  }

  /** Takes a place in each of its rooms. */
  enter(lane: EndpointQueue, rooms: readonly Quota[]): void {
    lane.inFlight += 1;
    for (const room of rooms) room.inFlight += 1;
  }

  /** Gives the places back. */
  leave(lane: EndpointQueue, rooms: readonly Quota[]): void {
    lane.inFlight -= 1;
    for (const room of rooms) room.inFlight -= 1;
  }

  /**
   * What is in flight counts, or no longer counts, as slow.
   *
   * @returns the rooms in which places may be free now, and whether the lane stands aside no longer: its turn is now
   */
  setSlow(
    lane: EndpointQueue,
    slow: boolean,
  ): { readonly rooms: readonly Quota[]; readonly isFree: boolean } {
    if (lane.slow === slow) return { rooms: [], isFree: false };
    const names = slowNames(lane);
    lane.slow = slow;
    const rooms = names.map((name) => this.#room(name));
    for (const room of rooms) room.inFlight += slow ? lane.inFlight : -lane.inFlight;
    const isFree = !slow && lane.blocked !== undefined && names.includes(lane.blocked.quota);
    if (isFree) lane.blocked = undefined;
    return { rooms, isFree };
  }

  /** Gives what is free of a room to its lanes that stand aside, in turn. @returns them */
  unblock(room: Quota): EndpointQueue[] {
    const called: EndpointQueue[] = [];
    while (room.inFlight + room.reserved < room.max) {
      const ticket = room.blocked.shift();
      if (ticket === undefined) break;
      const { lane } = ticket;
      if (lane.blocked !== ticket) continue;
      lane.blocked = undefined;
      lane.reserved = room.name;
      room.reserved += 1;
      called.push(lane);
    }
    if (room.inFlight + room.reserved + room.blocked.length === 0) this.#rooms.delete(room.name);
    return called;
  }

  #ticket(lane: EndpointQueue, { name: room }: Quota): Ticket {
    lane.blocked = { lane, quota: room };
    return lane.blocked;
  }

  #room(name: string): Quota {
    const known = this.#rooms.get(name);
    if (known !== undefined) return known;
    const max = this.#maxOf(name);
    const room = {
      name,
      max,
      inFlight: 0,
      reserved: 0,
      reserver: undefined,
      blocked: new SparseFirst<Ticket>(),
    };
    this.#rooms.set(name, room);
    return room;
  }

  #maxOf(name: string): number {
    const { deliveriesInFlight: all, deliveriesInFlightPerOrganization } = this.#limits;
    if (name.startsWith(ORGANIZATION)) return deliveriesInFlightPerOrganization;
    if (name.startsWith(SLOW_OF_INTEGRATION)) return exceptAQuarter(exceptAQuarter(all));
    return exceptAQuarter(all);
  }
}

const slowNames = ({ integration }: EndpointQueue): string[] => [
  `${SLOW_OF_INTEGRATION}${integration}`,
  SLOW,
];

const namesOf = (lane: EndpointQueue): string[] => [
  `${ORGANIZATION}${lane.organization}`,
  `${INTEGRATION}${lane.integration}`,
  ...(lane.slow ? slowNames(lane) : []),
];
