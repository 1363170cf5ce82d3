/** Fetch tally: counts fetches in flight, for the bounds on them, and ended ones by result. */
import type { LimitMet, Limits } from '../limits.ts';
import { FETCH_RESULTS, type FetchResult } from './egress-error.ts';

export class FetchTally {
  readonly #fetchesMax: number;
  readonly #inFlightOf = new Map<string, number>();
  readonly #ended = new Map<FetchResult, number>(FETCH_RESULTS.map((result) => [result, 0]));
  #inFlight = 0;

  constructor({ fetchConnections }: Pick<Limits, 'fetchConnections'>) {
    this.#fetchesMax = fetchConnections;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Fetches that have ended, for every result. */
  get ended(): ReadonlyMap<FetchResult, number> {
    return this.#ended;
  }

  /**
   * Counts a fetch that begins.
   *
   * @param ofOwnerMax the bound of one owner
   * @returns the limit that is exceeded now, if one is
   */
  begin(owner: string, ofOwnerMax: number): LimitMet | undefined {
    const ofOwner = (this.#inFlightOf.get(owner) ?? 0) + 1;
    this.#inFlight += 1;
    this.#inFlightOf.set(owner, ofOwner);
    if (ofOwner > ofOwnerMax) return { name: 'fetchesInFlightPerInstallation', max: ofOwnerMax };
    return this.#inFlight > this.#fetchesMax
      ? { name: 'fetchConnections', max: this.#fetchesMax }
      : undefined;
  }

  /** Counts the end of a fetch; once for each that began, those over a limit included. */
  end(owner: string, result: FetchResult): void {
    const ofOwner = (this.#inFlightOf.get(owner) ?? 0) - 1;
    this.#inFlight -= 1;
    this.#ended.set(result, (this.#ended.get(result) ?? 0) + 1);
    if (ofOwner <= 0) this.#inFlightOf.delete(owner);
    else this.#inFlightOf.set(owner, ofOwner);
  }
}
