/**
 * Which place an installation lives in. Most share a few cells, by a stable hash, so that their isolates stay warm; some are
 * kept apart from everybody else:
 *
 *   quarantine  crashes its cell: each in a cell of its own, as far as there are cells (`quarantine.ts`)
 *   trial       may have crashed a cell: as few together as there are cells for it, the likeliest ones alone
 *   heavy       burns CPU: together, in a cell that yields to the others
 *
 * It only decides. Which processes there are is for the pool, who is suspected for `suspicion.ts`, who is heavy for
 * `cpu-load.ts`; while nobody is any of it, a hash is all it takes.
 */
import type { CellProcess } from './cell-process.ts';
import { type Origin, Quarantine } from './quarantine.ts';
import type { Suspicion } from './suspicion.ts';

export type PlaceKind = 'shared' | 'heavy' | 'trial' | 'quarantine';

/** A place for a cell: it outlives the process in it. */
export class Place {
  readonly kind: PlaceKind;
  /** Absent where it is started on demand and nobody needs it. */
  cell: CellProcess | undefined;
  /** Cells in a row that died before they were ready, and no next one before this moment. */
  stillborn = 0;
  restAt = 0;
  /** What lives here has changed: the next call gets a fresh cell. */
  stale = false;
  /** Since when it has had nothing to do, and how many tasks it had been given by then. */
  idleSince: number | undefined;
  tasks = 0;

  constructor(kind: PlaceKind) {
    this.kind = kind;
  }
}

export interface PlacementParts {
  /** Cells that installations share. */
  readonly cells: number;
  readonly trialCells: number;
  readonly quarantineCells: number;
  readonly suspicion: Pick<Suspicion, 'idle' | 'isSuspect' | 'isGuilty' | 'scoreOf' | 'diedAt'>;
  isHeavy(installationId: string): boolean;
}

export class Placement {
  readonly #parts: PlacementParts;
  readonly shared: readonly Place[];
  /** Places whose cells are started on demand. */
  readonly apart: readonly Place[];
  readonly #heavy = new Place('heavy');
  readonly #trials: readonly Place[];
  readonly #quarantine: Quarantine;
  /** Where each suspect lives. */
  readonly #trialOf = new Map<string, Place>();

  constructor(parts: PlacementParts) {
    this.#parts = parts;
    this.shared = places('shared', parts.cells);
    this.#trials = places('trial', parts.trialCells);
    this.#quarantine = new Quarantine(places('quarantine', parts.quarantineCells), parts.suspicion);
    this.apart = [this.#heavy, ...this.#trials, ...this.#quarantine.places];
  }

  /** @param origin whose it is, where that is known */
  placeOf(installationId: string, origin?: Origin): Place {
    const { suspicion, isHeavy } = this.#parts;
    if (!suspicion.idle) {
      if (suspicion.isGuilty(installationId)) return this.#quarantine.placeOf(installationId, origin);
      if (suspicion.isSuspect(installationId)) return this.#trialFor(installationId);
    }
    return isHeavy(installationId) ? this.#heavy : this.#sharedFor(installationId);
  }

  /** Sets suspects apart, from each other and from those that are there already. */
  spread(installationIds: readonly string[]): void {
    const { suspicion } = this.#parts;
    for (const id of installationIds) this.#trialOf.delete(id);
    for (const id of this.#trialOf.keys()) if (!suspicion.isSuspect(id)) this.#trialOf.delete(id);
    const likeliestFirst = installationIds
      .filter((id) => suspicion.isSuspect(id))
      .sort((one, other) => suspicion.scoreOf(other) - suspicion.scoreOf(one));
    for (const id of likeliestFirst) this.#trialFor(id);
  }

  /** Nobody has needed this place for a while: another may have it. */
  vacate(place: Place): void {
    this.#quarantine.vacate(place);
  }

  #sharedFor(installationId: string): Place {
    const place = this.shared[hash(installationId) % this.shared.length];
    if (place === undefined) throw new Error('A pool has at least one cell.');
    return place;
  }

  #trialFor(installationId: string): Place {
    const known = this.#trialOf.get(installationId);
    if (known !== undefined) return known;
    const load = new Map(this.#trials.map((place) => [place, 0]));
    for (const [id, place] of this.#trialOf) {
      // Squared, so that a likely one weighs more than several unlikely ones, who had better be together.
      load.set(place, (load.get(place) ?? 0) + this.#parts.suspicion.scoreOf(id) ** 2);
    }
    const [lightest] = [...load].sort(([, one], [, other]) => one - other);
    if (lightest === undefined) return this.#sharedFor(installationId);
    this.#trialOf.set(installationId, lightest[0]);
    return lightest[0];
  }
}

const places = (kind: PlaceKind, count: number): Place[] =>
  Array.from({ length: count }, () => new Place(kind));

/** FNV-1a: ids are random already, so a cheap hash spreads them as well as a strong one. */
function hash(installationId: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < installationId.length; i++) {
    value = Math.imul(value ^ installationId.charCodeAt(i), 0x01000193);
  }
  return value >>> 0;
}
