/**
 * Fetch tally: counts requests in flight, for the bounds on them, and ended ones by result.
 */
import type { LimitMet, LimitName } from '../limits.ts';
import { FETCH_RESULTS, type FetchResult } from './egress-error.ts';

export interface TallyLimits {
  /** The bound on all requests in flight together. */
  readonly all: LimitMet;
  /** Name of the bound on those of one owner. */
  readonly ofOwner: LimitName;
}

export class FetchTally {
  readonly #limits: TallyLimits;
  readonly #inFlightOf = new Map<string, number>();
  readonly #ended = new Map<FetchResult, number>(FETCH_RESULTS.map((result) => [result, 0]));
  #inFlight = 0;

  constructor(limits: TallyLimits) {
    this.#limits = limits;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that have ended, for every result. */
  get ended(): ReadonlyMap<FetchResult, number> {
    return this.#ended;
  }

  /**
   * Counts a request that begins.
   *
   * @param ofOwnerMax the bound of one owner
   * @returns the limit that is exceeded now, if one is
   */
  begin(owner: string, ofOwnerMax: number): LimitMet | undefined {
    const { all, ofOwner: name } = this.#limits;
    const ofOwner = (this.#inFlightOf.get(owner) ?? 0) + 1;
    this.#inFlight += 1;
    this.#inFlightOf.set(owner, ofOwner);
    if (ofOwner > ofOwnerMax) return { name, max: ofOwnerMax };
    return this.#inFlight > all.max ? all : undefined;
  }

  /** Counts the end of a request; once for each that began, those over a limit included. */
  end(owner: string, result: FetchResult): void {
    const ofOwner = (this.#inFlightOf.get(owner) ?? 0) - 1;
    this.#inFlight -= 1;
    this.#ended.set(result, (this.#ended.get(result) ?? 0) + 1);
    if (ofOwner <= 0) this.#inFlightOf.delete(owner);
    else this.#inFlightOf.set(owner, ofOwner);
  }
}
