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
import { isSparse, type Lane } from './endpoint-queue.ts';
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
  readonly lane: Lane;
  /** Name of the room. */
  readonly room: string;
}

export interface Room {
  readonly name: string;
  readonly max: number;
  inFlight: number;
  /** Of it, what is kept for lanes that were called up. */
  promised: number;
  /** The one of these that keeps its place while it stands aside for another room. */
  keeper: Lane | undefined;
  readonly standing: SparseFirst<Ticket>;
}

export type RoomLimits = Pick<Limits, 'deliveriesInFlight' | 'deliveriesInFlightPerOrganization'>;

export class Rooms {
  readonly #rooms = new Map<string, Room>();
  readonly #limits: RoomLimits;

  constructor(limits: RoomLimits) {
    this.#limits = limits;
  }

  /** Those that a lane shares, and the one that has called it up where that is another by now. */
  of(lane: Lane): Room[] {
    return namesOf(lane).map((name) => this.#room(name));
  }

  /** Ends what rooms have kept for a lane whose turn has come. @returns those rooms */
  collect(lane: Lane, rooms: readonly Room[]): Room[] {
    const caller = lane.promised === undefined ? undefined : this.#rooms.get(lane.promised);
    const callers = new Set(rooms.filter(({ keeper }) => keeper === lane));
    if (caller !== undefined) callers.add(caller);
    for (const room of callers) {
      room.promised -= 1;
      if (room.keeper === lane) room.keeper = undefined;
    }
    lane.promised = undefined;
    return [...callers];
  }

  /**
   * Where two rooms of a lane are full and others wait for each, what is free of one is gone again when something of the other
   * is: it would go to and fro for ever. So one lane of an integration may keep its place there, and is the next of its
   * organization. None keeps a place of its organization's, which may have no other.
   */
  standAside(lane: Lane, full: Room, callers: readonly Room[]): void {
    lane.queued = true;
    const kept = callers.find(({ name }) => name !== full.name && !name.startsWith(ORGANIZATION));
    if (kept === undefined || kept.keeper !== undefined) {
      full.standing.push(this.#ticket(lane, full), isSparse(lane));
      return;
    }
    kept.keeper = lane;
    kept.promised += 1;
    full.standing.unshift(this.#ticket(lane, full), isSparse(lane));
  }

  /** Takes a place in each of its rooms. */
  enter(lane: Lane, rooms: readonly Room[]): void {
    lane.inFlight += 1;
    for (const room of rooms) room.inFlight += 1;
  }

  /** Gives the places back. */
  leave(lane: Lane, rooms: readonly Room[]): void {
    lane.inFlight -= 1;
    for (const room of rooms) room.inFlight -= 1;
  }

  /**
   * What is in flight counts, or no longer counts, as slow.
   *
   * @returns the rooms in which places may be free now, and whether the lane stands aside no longer: its turn is now
   */
  setSlow(lane: Lane, slow: boolean): { readonly rooms: readonly Room[]; readonly isFree: boolean } {
    if (lane.slow === slow) return { rooms: [], isFree: false };
    const names = slowNames(lane);
    lane.slow = slow;
    const rooms = names.map((name) => this.#room(name));
    for (const room of rooms) room.inFlight += slow ? lane.inFlight : -lane.inFlight;
    const isFree = !slow && lane.standing !== undefined && names.includes(lane.standing.room);
    if (isFree) lane.standing = undefined;
    return { rooms, isFree };
  }

  /** Gives what is free of a room to its lanes that stand aside, in turn. @returns them */
  callUp(room: Room): Lane[] {
    const called: Lane[] = [];
    while (room.inFlight + room.promised < room.max) {
      const ticket = room.standing.shift();
      if (ticket === undefined) break;
      const { lane } = ticket;
      if (lane.standing !== ticket) continue;
      lane.standing = undefined;
      lane.promised = room.name;
      room.promised += 1;
      called.push(lane);
    }
    if (room.inFlight + room.promised + room.standing.length === 0) this.#rooms.delete(room.name);
    return called;
  }

  #ticket(lane: Lane, { name: room }: Room): Ticket {
    lane.standing = { lane, room };
    return lane.standing;
  }

  #room(name: string): Room {
    const known = this.#rooms.get(name);
    if (known !== undefined) return known;
    const max = this.#maxOf(name);
    const room = {
      name,
      max,
      inFlight: 0,
      promised: 0,
      keeper: undefined,
      standing: new SparseFirst<Ticket>(),
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

const slowNames = ({ integration }: Lane): string[] => [`${SLOW_OF_INTEGRATION}${integration}`, SLOW];

const namesOf = (lane: Lane): string[] => [
  `${ORGANIZATION}${lane.organization}`,
  `${INTEGRATION}${lane.integration}`,
  ...(lane.slow ? slowNames(lane) : []),
];
