/**
 * Which place an installation runs in. Most share a few cells, by a stable hash, so that their
 * isolates stay warm; some are kept apart:
 *
 *   quarantine  guilty: each in a cell of its own, as far as there are cells (`quarantine.ts`)
 *   trial       suspects: spread over the trial cells, the likeliest ones alone
 *   heavy       heavy installations: together, in a cell with lower CPU priority
 *
 * It only decides. The pool starts processes, `suspicion.ts` finds suspects, and
 * `calls/heavy-installations.ts` finds heavy installations; where there are none, placing costs one
 * hash.
 */
import { CellPlace, type PlaceKind } from './cell-place.ts';
import { type Origin, Quarantine } from './quarantine.ts';
import type { Suspicion } from './suspicion.ts';

export interface PlacementDeps {
  /** Cells that installations share. */
  readonly cells: number;
  readonly trialCells: number;
  readonly quarantineCells: number;
  readonly suspicion: Pick<Suspicion, 'idle' | 'isSuspect' | 'isGuilty' | 'scoreOf' | 'diedAt'>;
  isHeavy(tenant: string): boolean;
}

export class Placement {
  readonly #deps: PlacementDeps;
  readonly shared: readonly CellPlace[];
  /** Places whose cells are started on demand. */
  readonly apart: readonly CellPlace[];
  readonly #heavy = new CellPlace('heavy');
  readonly #trials: readonly CellPlace[];
  readonly #quarantine: Quarantine;
  /** The place of each suspect. */
  readonly #trialOf = new Map<string, CellPlace>();

  constructor(deps: PlacementDeps) {
    this.#deps = deps;
    this.shared = places('shared', deps.cells);
    this.#trials = places('trial', deps.trialCells);
    this.#quarantine = new Quarantine(places('quarantine', deps.quarantineCells), deps.suspicion);
    this.apart = [this.#heavy, ...this.#trials, ...this.#quarantine.places];
  }

  /** @param origin organization and integration of the installation, where they are known */
  placeOf(tenant: string, origin?: Origin): CellPlace {
    const { suspicion, isHeavy } = this.#deps;
    if (!suspicion.idle) {
      if (suspicion.isGuilty(tenant)) return this.#quarantine.placeOf(tenant, origin);
      if (suspicion.isSuspect(tenant)) return this.#trialFor(tenant);
    }
    return isHeavy(tenant) ? this.#heavy : this.#sharedFor(tenant);
  }

  /** Gives suspects new places, apart from each other and from earlier suspects. */
  spread(tenants: readonly string[]): void {
    const { suspicion } = this.#deps;
    for (const id of tenants) this.#trialOf.delete(id);
    for (const id of this.#trialOf.keys()) if (!suspicion.isSuspect(id)) this.#trialOf.delete(id);
    const likeliestFirst = tenants
      .filter((id) => suspicion.isSuspect(id))
      .sort((one, other) => suspicion.scoreOf(other) - suspicion.scoreOf(one));
    for (const id of likeliestFirst) this.#trialFor(id);
  }

  /** The place was not needed for a while: other installations may have it. */
  vacate(place: CellPlace): void {
    this.#quarantine.vacate(place);
  }

  #sharedFor(tenant: string): CellPlace {
    const place = this.shared[hash(tenant) % this.shared.length];
    if (place === undefined) throw new Error('A pool has at least one cell.');
    return place;
  }

  #trialFor(tenant: string): CellPlace {
    const known = this.#trialOf.get(tenant);
    if (known !== undefined) return known;
    const load = new Map(this.#trials.map((place) => [place, 0]));
    for (const [id, place] of this.#trialOf) {
      // Squared: one likely suspect weighs more than several unlikely ones, which are better
      // together.
      load.set(place, (load.get(place) ?? 0) + this.#deps.suspicion.scoreOf(id) ** 2);
    }
    const [lightest] = [...load].sort(([, one], [, other]) => one - other);
    if (lightest === undefined) return this.#sharedFor(tenant);
    this.#trialOf.set(tenant, lightest[0]);
    return lightest[0];
  }
}

const places = (kind: PlaceKind, count: number): CellPlace[] =>
  Array.from({ length: count }, () => new CellPlace(kind));

/** FNV-1a: ids are random already, so a cheap hash spreads them as well as a strong one. */
function hash(tenant: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < tenant.length; i++) {
    value = Math.imul(value ^ tenant.charCodeAt(i), 0x01000193);
  }
  return value >>> 0;
}
