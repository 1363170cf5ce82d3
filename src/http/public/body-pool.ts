/**
 * One pool of bytes for bodies that the host holds, divided among holders.
 *
 * A few holders never take the whole pool: each may have at most as much as stays free for the
 * others. One holder gets half of the pool, four get a fifth each, and a new holder always finds as
 * much room as the largest holder has. The last eighth is reserved for small bodies. The pool
 * counts and decides; `body-budget.ts` says what the holders and bodies are.
 */
import type { LimitMet } from '../../limits.ts';

/** A body up to this size may use the reserve. */
export const SMALL_BODY_BYTES = 64 * 1024;
/** Part of a pool that is reserved for small bodies. */
const RESERVE_SHARE = 1 / 8;
/** Unfinished bodies that are checked for one that can be evicted. */
const CANDIDATES_MAX = 32;

/** A body that waits for its client. */
export interface Unfinished {
  /** Whether its client has hardly moved a byte lately. */
  readonly isLagging: boolean;
  /** Ends the body and releases its bytes before it returns. */
  evict(): void;
}

/** Unfinished bodies, the least recently checked first. */
class Candidates {
  readonly #bodies = new Set<Unfinished>();

  add(body: Unfinished): void {
    this.#bodies.add(body);
  }

  delete(body: Unfinished): void {
    this.#bodies.delete(body);
  }

  /** Evicts one lagging body. @returns whether there was one */
  evictOne(requester: Unfinished): boolean {
    let checksLeft = Math.min(CANDIDATES_MAX, this.#bodies.size);
    for (const body of this.#bodies) {
      if (checksLeft === 0) return false;
      checksLeft -= 1;
      if (body.isLagging && body !== requester) {
        body.evict();
        return true;
      }
      // Moved to the end, so that the next search checks others.
      this.#bodies.delete(body);
      this.#bodies.add(body);
    }
    return false;
  }
}

/** The bytes that one installation, organization or address holds of a pool. */
class Holder {
  readonly key: string;
  readonly candidates = new Candidates();
  bytes = 0;
  /** Bodies of this holder; the pool forgets a holder without any. */
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
  /** Bodies of all holders. */
  bodies = 0;

  constructor(limit: LimitMet) {
    this.limit = limit;
    this.#largeBytesMax = limit.max - Math.floor(limit.max * RESERVE_SHARE);
  }

  /** Adds a body. @returns its holders, in the order of the keys */
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

  /** Removes a body that holds no bytes any more. */
  leave(holders: readonly Holder[]): void {
    this.bodies -= 1;
    for (const holder of holders) {
      holder.bodies -= 1;
      if (holder.bodies === 0) this.#holders.delete(holder.key);
    }
  }

  /**
   * @returns undefined if there is room for the bytes; otherwise the unfinished bodies of which one
   * may be evicted
   */
  refusal(holders: readonly Holder[], more: number, isSmall: boolean): Candidates | undefined {
    const left = (isSmall ? this.limit.max : this.#largeBytesMax) - this.bytes - more;
    if (left < 0) return this.candidates;
    return holders.find(({ bytes }) => bytes + more > left)?.candidates;
  }

  /** @param more bytes to add; negative to release */
  hold(holders: readonly Holder[], more: number): void {
    this.bytes += more;
    for (const holder of holders) holder.bytes += more;
  }
}

/** A body's membership in one pool. */
export interface Claim {
  readonly pool: Pool;
  readonly holders: readonly Holder[];
}
