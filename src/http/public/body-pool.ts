/**
 * One pool of bytes for bodies that the host holds, and what each holder has of it.
 *
 * A pool is never all taken by a few: a holder may have at most as much as stays free for the others. One holder gets half
 * of the pool, four get a fifth each, and a newcomer always finds as much room as the greediest holder has. The last eighth
 * is for small bodies alone. It counts and decides; who the holders are and what a body is, is up to `body-budget.ts`.
 */
import type { LimitMet } from '../../limits.ts';

/** A body up to this size may use the reserve. */
export const SMALL_BODY_BYTES = 64 * 1024;
/** Part of a pool that only small bodies may use. */
const RESERVE_SHARE = 1 / 8;
/** Unfinished bodies that are looked at for one body that finds no room. */
const CANDIDATES_MAX = 32;

/** A body whose next byte is up to its client. */
export interface Unfinished {
  /** Whether its client has hardly moved a byte of late. */
  readonly isLagging: boolean;
  /** Ends the body and gives its bytes back, before it returns. */
  giveWay(): void;
}

/** Unfinished bodies, the one that was looked at least recently first. */
class Candidates {
  readonly #bodies = new Set<Unfinished>();

  add(body: Unfinished): void {
    this.#bodies.add(body);
  }

  delete(body: Unfinished): void {
    this.#bodies.delete(body);
  }

  /** Ends one body that lags. @returns whether there was one */
  endOne(asking: Unfinished): boolean {
    let looks = Math.min(CANDIDATES_MAX, this.#bodies.size);
    for (const body of this.#bodies) {
      if (looks === 0) return false;
      looks -= 1;
      if (body.isLagging && body !== asking) {
        body.giveWay();
        return true;
      }
      // To the end, so that the next look sees others.
      this.#bodies.delete(body);
      this.#bodies.add(body);
    }
    return false;
  }
}

/** What one installation, organization or address has of a pool. */
export class Holder {
  readonly key: string;
  readonly candidates = new Candidates();
  bytes = 0;
  /** Bodies that are counted here; without one it is forgotten. */
  bodies = 0;

  constructor(key: string) {
    this.key = key;
  }
}

export class Pool {
  readonly limit: LimitMet;
  readonly candidates = new Candidates();
  readonly #largeBytesMax: number;
  readonly #holders = new Map<string, Holder>();
  bytes = 0;
  /** Bodies that are counted here. */
  bodies = 0;

  constructor(limit: LimitMet) {
    this.limit = limit;
    this.#largeBytesMax = limit.max - Math.floor(limit.max * RESERVE_SHARE);
  }

  /** Counts a body in. @returns its holders, in the order of the keys */
  enter(keys: readonly string[]): Claim {
    this.bodies += 1;
    const holders = keys.map((key) => {
      const holder = this.#holders.get(key) ?? new Holder(key);
      if (holder.bodies === 0) this.#holders.set(key, holder);
      holder.bodies += 1;
      return holder;
    });
    return { pool: this, holders };
  }

  /** Counts a body out that holds nothing any more. */
  leave(holders: readonly Holder[]): void {
    this.bodies -= 1;
    for (const holder of holders) {
      holder.bodies -= 1;
      if (holder.bodies === 0) this.#holders.delete(holder.key);
    }
  }

  /** @returns the unfinished bodies among which one may give way to these bytes; undefined where there is room for them */
  refusal(holders: readonly Holder[], more: number, isSmall: boolean): Candidates | undefined {
    const left = (isSmall ? this.limit.max : this.#largeBytesMax) - this.bytes - more;
    if (left < 0) return this.candidates;
    return holders.find(({ bytes }) => bytes + more > left)?.candidates;
  }

  /** @param more below 0: gives back */
  hold(holders: readonly Holder[], more: number): void {
    this.bytes += more;
    for (const holder of holders) holder.bytes += more;
  }
}

/** A body's standing in one pool. */
export interface Claim {
  readonly pool: Pool;
  readonly holders: readonly Holder[];
}
