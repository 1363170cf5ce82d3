/**
 * Shares the quarantine cells among guilty installations.
 *
 * Each has a place of its own as long as there are places. One organization, or one integration,
 * holds half of them at most; its further installations share those. Where all are held, the two
 * places whose last death is longest ago are joined, and the new installation has the place that
 * this frees. So there is always a place, and an innocent installation that was framed shares with
 * calm ones and not with one that crashes at every call. Attack: a few guilty installations hold
 * every place, and an innocent one that needs one is refused everything.
 */
import type { CellPlace } from './cell-place.ts';
import type { Suspicion } from './suspicion.ts';

/** The organization that owns an installation, and the integration whose code it runs. */
export interface Origin {
  readonly organization: string;
  readonly integration: string;
}

interface Resident {
  readonly origin: Origin | undefined;
  place: CellPlace;
}

export class Quarantine {
  readonly places: readonly CellPlace[];
  readonly #suspicion: Pick<Suspicion, 'isGuilty' | 'diedAt'>;
  readonly #residents = new Map<string, Resident>();

  /** @param places at least one */
  constructor(places: readonly CellPlace[], suspicion: Pick<Suspicion, 'isGuilty' | 'diedAt'>) {
    this.places = places;
    this.#suspicion = suspicion;
  }

  /** The place of a guilty installation. */
  placeOf(tenant: string, origin: Origin | undefined): CellPlace {
    const known = this.#residents.get(tenant);
    if (known !== undefined) return known.place;
    for (const id of this.#residents.keys()) if (!this.#suspicion.isGuilty(id)) this.#residents.delete(id);
    const place = this.#ownShare(origin) ?? this.#free() ?? this.#moveTogether();
    this.#residents.set(tenant, { origin, place });
    return place;
  }

  /** The place was not needed for a while: other installations may have it. */
  vacate(place: CellPlace): void {
    for (const [id, resident] of this.#residents) if (resident.place === place) this.#residents.delete(id);
  }

  /**
   * The emptiest place of its organization and integration, where these hold as many as they may.
   */
  #ownShare(origin: Origin | undefined): CellPlace | undefined {
    if (origin === undefined) return undefined;
    const own = new Set<CellPlace>();
    for (const { origin: other, place } of this.#residents.values())
      if (other?.organization === origin.organization || other?.integration === origin.integration)
        own.add(place);
    if (own.size < Math.max(1, Math.floor(this.places.length / 2))) return undefined;
    return least([...own], (place) => this.#residentsOf(place).length);
  }

  #free(): CellPlace | undefined {
    return this.places.find((place) => this.#residentsOf(place).length === 0);
  }

  #moveTogether(): CellPlace {
    const calmest = (places: readonly CellPlace[]) => least(places, (place) => this.#diedAt(place));
    const kept = calmest(this.places);
    if (kept === undefined) throw new Error('A quarantine has at least one place.');
    const freed = calmest(this.places.filter((place) => place !== kept));
    if (freed === undefined) return kept;
    for (const id of this.#residentsOf(freed)) {
      const resident = this.#residents.get(id);
      if (resident !== undefined) resident.place = kept;
    }
    // The installations that ran there may have left something in the cell that crashes it.
    freed.stale = true;
    return freed;
  }

  #diedAt(place: CellPlace): number {
    return Math.max(0, ...this.#residentsOf(place).map((id) => this.#suspicion.diedAt(id)));
  }

  #residentsOf(place: CellPlace): string[] {
    return [...this.#residents].filter(([, resident]) => resident.place === place).map(([id]) => id);
  }
}

const least = (places: readonly CellPlace[], weight: (place: CellPlace) => number): CellPlace | undefined =>
  places.toSorted((one, other) => weight(one) - weight(other))[0];
