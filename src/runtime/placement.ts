/**
 * Which place an installation lives in. Most share a few cells, by a stable hash, so that their isolates stay warm; some are
 * kept apart from everybody else:
 *
 *   quarantine  crashes its cell: each in a cell of its own
 *   trial       may have crashed a cell: as few together as there are cells for it, the likeliest ones alone
 *   heavy       burns CPU: together, in a cell that yields to the others
 *
 * It only decides. Which processes there are is for the pool, who is suspected for `suspicion.ts`, who is heavy for
 * `cpu-load.ts`; while nobody is any of it, a hash is all it takes.
 */
import type { CellProcess } from './cell-process.ts';
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
  readonly suspicion: Pick<Suspicion, 'idle' | 'isSuspect' | 'isGuilty' | 'scoreOf'>;
  isHeavy(installationId: string): boolean;
}

export class Placement {
  readonly #parts: PlacementParts;
  readonly shared: readonly Place[];
  /** Places whose cells are started on demand. */
  readonly apart: readonly Place[];
  readonly #heavy = new Place('heavy');
  readonly #trials: readonly Place[];
  readonly #quarantines: readonly Place[];
  /** Where each suspect lives, and each guilty one. */
  readonly #trialOf = new Map<string, Place>();
  readonly #quarantineOf = new Map<string, Place>();

  constructor(parts: PlacementParts) {
    this.#parts = parts;
    this.shared = places('shared', parts.cells);
    this.#trials = places('trial', parts.trialCells);
    this.#quarantines = places('quarantine', parts.quarantineCells);
    this.apart = [this.#heavy, ...this.#trials, ...this.#quarantines];
  }

  /** @returns undefined where it has to be alone, and there is no place to be alone in */
  placeOf(installationId: string): Place | undefined {
    const { suspicion, isHeavy } = this.#parts;
    if (!suspicion.idle) {
      if (suspicion.isGuilty(installationId)) return this.#quarantineFor(installationId);
      if (suspicion.isSuspect(installationId)) return this.#trialFor(installationId);
    }
    return isHeavy(installationId) ? this.#heavy : this.#sharedFor(installationId);
  }

  /** Whether `placeOf` has an answer. */
  hasPlace(installationId: string): boolean {
    if (!this.#parts.suspicion.isGuilty(installationId)) return true;
    return this.#quarantineOf.has(installationId) || this.#freeQuarantine() !== undefined;
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
    for (const [id, own] of this.#quarantineOf) if (own === place) this.#quarantineOf.delete(id);
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

  #quarantineFor(installationId: string): Place | undefined {
    const place = this.#quarantineOf.get(installationId) ?? this.#freeQuarantine();
    if (place !== undefined) this.#quarantineOf.set(installationId, place);
    return place;
  }

  #freeQuarantine(): Place | undefined {
    const { suspicion } = this.#parts;
    for (const id of this.#quarantineOf.keys()) if (!suspicion.isGuilty(id)) this.#quarantineOf.delete(id);
    const taken = new Set(this.#quarantineOf.values());
    return this.#quarantines.find((place) => !taken.has(place));
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
