/** Which fetches are under way, and how the others ended: the bounds on their number, and what the operator can measure. */
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

  /** So many have ended so far, for every result there is. */
  get ended(): ReadonlyMap<FetchResult, number> {
    return this.#ended;
  }

  /**
   * @param ofOwnerMax so that nobody takes all
   * @returns the limit that is met, where there are now more in flight than may be
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

  /** Once for each that has begun, those without room included. */
  end(owner: string, result: FetchResult): void {
    const ofOwner = (this.#inFlightOf.get(owner) ?? 0) - 1;
    this.#inFlight -= 1;
    this.#ended.set(result, (this.#ended.get(result) ?? 0) + 1);
    if (ofOwner <= 0) this.#inFlightOf.delete(owner);
    else this.#inFlightOf.set(owner, ofOwner);
  }
}
