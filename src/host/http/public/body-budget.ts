/**
 * Bounds the bodies that the process holds in memory: one budget for requests, one for answers.
 *
 * A body is buffered before its call is admitted, and an answer is held until its client has read
 * it, so neither the limit of one body nor admission bounds their sum. Attack: clients that send
 * most of a body, or read nothing of an answer, and wait, so that the bodies of all others are
 * refused. So each body counts for its organization and for the address of its client, within the
 * pool of its installation too, and until its signature is verified within a small pool of its own.
 * If a pool is full, it evicts a body whose client has stopped moving bytes. The budget reads
 * nothing and keeps no body.
 */
import type { LimitMet } from '../../../limits.ts';
import { PACE_CHECK_MS } from '../slow-senders.ts';

/** A body up to this size may use the reserve. */
const SMALL_BODY_BYTES = 64 * 1024;
/** Part of a pool that is reserved for small bodies. */
const RESERVE_SHARE = 1 / 8;
/** Unfinished bodies that are checked for one that can be evicted. */
const CANDIDATES_MAX = 32;

/** A body that waits for its client. */
interface Unfinished {
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

/**
 * One pool of bytes for bodies that the host holds, divided among holders.
 *
 * A few holders never take the whole pool: each may have at most as much as stays free for the
 * others. One holder gets half of the pool, four get a fifth each, and a new holder always finds as
 * much room as the largest holder has. The last eighth is reserved for small bodies. The pool
 * counts and decides; `body-budget.ts` says what the holders and bodies are.
 */
class Pool {
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
interface Claim {
  readonly pool: Pool;
  readonly holders: readonly Holder[];
}

/** A client that moves less than this lags; its body may be evicted. */
const LAGGING_BYTES_PER_SECOND = 64 * 1024;
/** How long a client is measured before it can lag. */
const WINDOW_MS = 2_000;

/** What a body is counted for. */
export interface BodyOwner {
  readonly tenant: string;
  readonly organization: string;
  /**
   * Key of the client's address; absent for the host product, whose requests are those of all its
   * users.
   */
  readonly sender: string | undefined;
  /** Whether the signature of the body still has to be verified. */
  readonly isUnverified: boolean;
}

interface BodyBudgetDeps {
  /** All bodies together. */
  readonly all: LimitMet;
  /** Bodies of one installation. */
  readonly perInstallation: LimitMet;
  /** Bodies whose signatures are not verified yet. */
  readonly unverified?: LimitMet;
  /** Monotonic, in milliseconds. */
  readonly monotonicNow: () => number;
}

export class BodyBudget {
  readonly #deps: BodyBudgetDeps;
  readonly #all: Pool;
  readonly #unverified: Pool | undefined;
  readonly #installations = new Map<string, Pool>();
  readonly #unfinished = new Set<BodyShare>();
  readonly #timer: NodeJS.Timeout;

  constructor(deps: BodyBudgetDeps) {
    this.#deps = deps;
    this.#all = new Pool(deps.all);
    this.#unverified = deps.unverified && new Pool(deps.unverified);
    this.#timer = setInterval(() => this.pass(), PACE_CHECK_MS).unref();
  }

  /** Bytes held now. */
  get heldBytes(): number {
    return this.#all.bytes;
  }

  /** A share for one body, empty at first. */
  open(owner: BodyOwner): BodyShare {
    return new BodyShare(this, owner);
  }

  /** Measures all unfinished bodies once. */
  pass(): void {
    const now = this.#deps.monotonicNow();
    for (const share of this.#unfinished) share.measure(now);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** For `BodyShare` alone. */
  enter({ tenant, organization, sender, isUnverified }: BodyOwner): Claim[] {
    const senders = sender === undefined ? [] : [`address ${sender}`];
    let installation = this.#installations.get(tenant);
    if (installation === undefined) {
      installation = new Pool(this.#deps.perInstallation);
      this.#installations.set(tenant, installation);
    }
    const claims = [
      this.#all.enter([`organization ${organization}`, ...senders]),
      installation.enter(senders),
    ];
    if (isUnverified && this.#unverified)
      claims.push(this.#unverified.enter([`installation ${tenant}`, ...senders]));
    return claims;
  }

  /** For `BodyShare` alone. */
  leave({ pool, holders }: Claim, { tenant }: BodyOwner): void {
    pool.leave(holders);
    if (pool.bodies === 0 && pool === this.#installations.get(tenant)) this.#installations.delete(tenant);
  }

  /** For `BodyShare` alone: starts to measure a body that waits for its client. */
  watch(share: BodyShare): void {
    share.measure(this.#deps.monotonicNow());
    this.#unfinished.add(share);
  }

  /** For `BodyShare` alone. */
  forget(share: BodyShare): void {
    this.#unfinished.delete(share);
  }
}

/** Progress of a client with its body. */
interface Progress {
  /** Bytes that the client has sent of a request, or read of an answer. */
  movedBytes(): number;
  /** Ends the body; its share must be released before this returns. */
  evict(): void;
}

/** The bytes that one body holds of a budget. */
export class BodyShare implements Unfinished {
  readonly #budget: BodyBudget;
  readonly #owner: BodyOwner;
  /** Memberships in pools; empty until the first byte is taken. */
  #claims: Claim[] = [];
  #bytes = 0;
  #progress: Progress | undefined;
  #movedBytes = 0;
  #measuredAt = Number.NaN;
  isLagging = false;
  /** The limit that refused the last `take`. */
  limit: LimitMet | undefined;

  constructor(budget: BodyBudget, owner: BodyOwner) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /**
   * @returns whether the bytes were taken, after evicting others if necessary; if not, none was
   * taken
   */
  take(bytes: number): boolean {
    if (this.#claims.length === 0) this.#claims = this.#budget.enter(this.#owner);
    const isSmall = this.#bytes + bytes <= SMALL_BODY_BYTES;
    for (const { pool, holders } of this.#claims) {
      for (;;) {
        const candidates = pool.refusal(holders, bytes, isSmall);
        if (candidates === undefined) break;
        if (candidates.evictOne(this)) continue;
        this.limit = pool.limit;
        if (this.#bytes === 0) this.release();
        return false;
      }
    }
    for (const { pool, holders } of this.#claims) pool.hold(holders, bytes);
    this.#bytes += bytes;
    return true;
  }

  /** The body now waits for its client, and may be evicted. */
  awaitClient(progress: Progress): void {
    if (this.#claims.length === 0) this.#claims = this.#budget.enter(this.#owner);
    this.#progress = progress;
    this.#budget.watch(this);
    for (const { pool, holders } of this.#claims) {
      pool.candidates.add(this);
      for (const { candidates } of holders) candidates.add(this);
    }
  }

  /** The body waits for its client no more. Idempotent. */
  settle(): void {
    if (this.#progress === undefined) return;
    this.#progress = undefined;
    this.#budget.forget(this);
    for (const { pool, holders } of this.#claims) {
      pool.candidates.delete(this);
      for (const { candidates } of holders) candidates.delete(this);
    }
  }

  evict(): void {
    const progress = this.#progress;
    this.settle();
    progress?.evict();
    this.release();
  }

  /** For `BodyBudget` alone. */
  measure(now: number): void {
    const movedBytes = this.#progress?.movedBytes() ?? 0;
    const isFirst = Number.isNaN(this.#measuredAt);
    if (!isFirst && now - this.#measuredAt < WINDOW_MS) return;
    const neededBytes = ((now - this.#measuredAt) / 1_000) * LAGGING_BYTES_PER_SECOND;
    this.isLagging = !isFirst && movedBytes - this.#movedBytes < neededBytes;
    this.#measuredAt = now;
    this.#movedBytes = movedBytes;
  }

  /** The signature is verified: the body no longer counts as unverified. */
  verified(): void {
    if (this.#claims.length === 0) return;
    this.settle();
    for (const claim of this.#claims.splice(2)) this.#leave(claim);
  }

  /** Returns all bytes taken. Idempotent. */
  release(): void {
    if (this.#claims.length === 0) return;
    this.settle();
    const claims = this.#claims;
    this.#claims = [];
    for (const claim of claims) this.#leave(claim);
    this.#bytes = 0;
  }

  #leave(claim: Claim): void {
    claim.pool.hold(claim.holders, -this.#bytes);
    this.#budget.leave(claim, this.#owner);
  }
}
