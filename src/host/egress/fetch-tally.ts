/**
 * Fetch tally: counts requests in flight, for the bounds on them, and ended ones by result.
 */
import { isFairPlace, type LimitMet, type LimitName } from '../../limits.ts';
import { FETCH_RESULTS, type FetchResult } from './egress-error.ts';

/** The one that makes a request. */
export interface FetchOwner {
  /** The installation, or what else has a bound of its own. */
  readonly owner: string;
  /**
   * Attack: a few installations of one organization that make all requests there may be. So an
   * organization has no more of them than it leaves to others. Absent for the host's own.
   */
  readonly organization?: string | undefined;
}

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
  begin({ owner, organization }: FetchOwner, ofOwnerMax: number): LimitMet | undefined {
    const { all, ofOwner: name } = this.#limits;
    const ofOrganization = this.#add(keyOf(organization), 1) - 1;
    const ofOwner = this.#add(owner, 1);
    this.#inFlight += 1;
    if (ofOwner > ofOwnerMax) return { name, max: ofOwnerMax };
    const left = all.max - this.#inFlight;
    return isFairPlace(organization === undefined ? 0 : ofOrganization, left) ? undefined : all;
  }

  /** Counts the end of a request; once for each that began, those over a limit included. */
  end({ owner, organization }: FetchOwner, result: FetchResult): void {
    this.#add(keyOf(organization), -1);
    this.#add(owner, -1);
    this.#inFlight -= 1;
    this.#ended.set(result, (this.#ended.get(result) ?? 0) + 1);
  }

  /** @returns the requests in flight of the key, afterwards */
  #add(key: string, more: 1 | -1): number {
    const count = (this.#inFlightOf.get(key) ?? 0) + more;
    if (count <= 0) this.#inFlightOf.delete(key);
    else this.#inFlightOf.set(key, count);
    return count;
  }
}

const keyOf = (organization: string | undefined): string => `organization ${organization ?? ''}`;
