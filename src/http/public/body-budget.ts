/**
 * The bodies that the process holds in memory: the budget of requests, and the one of answers.
 *
 * A body is buffered before its call is admitted, and an answer is held until its client has read it, so neither the limit
 * of one body nor admission bounds their sum. Attack: clients that send most of a body, or read nothing of an answer, and
 * wait, so that bodies of all others are refused. So each body counts for its organization and for the address of its
 * client, within its installation's pool too, and, until its signature is verified, within a small pool of its own. Where a
 * body finds no room, one whose client has stopped moving bytes gives way. The budget reads nothing and keeps no body.
 */
import type { LimitMet } from '../../limits.ts';
import { LOOK_EVERY_MS } from '../sender-pace.ts';
import { type Claim, Pool, SMALL_BODY_BYTES, type Unfinished } from './body-pool.ts';

/** A client that moves less than this while others need the room lags. */
const LAGGING_BYTES_PER_SECOND = 64 * 1024;
/** How long a client is looked at before it can lag. */
const WINDOW_MS = 2_000;

/** Who a body is counted for. */
export interface BodyOwner {
  readonly installationId: string;
  readonly organization: string;
  /** Key of the client's address; absent for the platform, which sends and reads for everybody. */
  readonly sender: string | undefined;
  /** Whether it is yet to be shown that its sender may send it. */
  readonly isUnverified: boolean;
}

export interface BodyBudgetParts {
  /** All bodies together. */
  readonly all: LimitMet;
  /** Bodies of one installation. */
  readonly perInstallation: LimitMet;
  /** Bodies whose sender is not verified yet. */
  readonly unverified?: LimitMet;
  /** Milliseconds that only ever grow. */
  readonly clock: () => number;
}

export class BodyBudget {
  readonly #parts: BodyBudgetParts;
  readonly #all: Pool;
  readonly #unverified: Pool | undefined;
  readonly #installations = new Map<string, Pool>();
  readonly #unfinished = new Set<BodyShare>();
  readonly #timer: NodeJS.Timeout;

  constructor(parts: BodyBudgetParts) {
    this.#parts = parts;
    this.#all = new Pool(parts.all);
    this.#unverified = parts.unverified && new Pool(parts.unverified);
    this.#timer = setInterval(() => this.pass(), LOOK_EVERY_MS).unref();
  }

  /** Bytes that are held now. */
  get heldBytes(): number {
    return this.#all.bytes;
  }

  /** One body's share, nothing so far. */
  open(owner: BodyOwner): BodyShare {
    return new BodyShare(this, owner);
  }

  /** Looks at all unfinished bodies once. */
  pass(): void {
    const now = this.#parts.clock();
    for (const share of this.#unfinished) share.look(now);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** For `BodyShare` alone. */
  enter({ installationId, organization, sender, isUnverified }: BodyOwner): Claim[] {
    const senders = sender === undefined ? [] : [`address ${sender}`];
    let installation = this.#installations.get(installationId);
    if (installation === undefined) {
      installation = new Pool(this.#parts.perInstallation);
      this.#installations.set(installationId, installation);
    }
    const claims = [
      this.#all.enter([`organization ${organization}`, ...senders]),
      installation.enter(senders),
    ];
    if (isUnverified && this.#unverified)
      claims.push(this.#unverified.enter([`installation ${installationId}`, ...senders]));
    return claims;
  }

  /** For `BodyShare` alone. */
  leave({ pool, holders }: Claim, { installationId }: BodyOwner): void {
    pool.leave(holders);
    if (pool.bodies === 0 && pool === this.#installations.get(installationId))
      this.#installations.delete(installationId);
  }

  /** For `BodyShare` alone: its next byte is up to its client. */
  watch(share: BodyShare): void {
    share.look(this.#parts.clock());
    this.#unfinished.add(share);
  }

  /** For `BodyShare` alone. */
  forget(share: BodyShare): void {
    this.#unfinished.delete(share);
  }
}

/** How far a client has come with its body. */
export interface Progress {
  /** Bytes that the client has sent, or read. */
  movedBytes(): number;
  /** The body gives way to others: it has to end, and its share to be given back, before this returns. */
  giveWay(): void;
}

/** What one body holds of a budget. */
export class BodyShare implements Unfinished {
  readonly #budget: BodyBudget;
  readonly #owner: BodyOwner;
  /** Empty until the first byte is taken. */
  #claims: Claim[] = [];
  #bytes = 0;
  #progress: Progress | undefined;
  #movedBytes = 0;
  #lookedAt = Number.NaN;
  isLagging = false;
  /** The limit in the way, after a `take` that was refused. */
  limit: LimitMet | undefined;

  constructor(budget: BodyBudget, owner: BodyOwner) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** @returns whether there was room, if need be because others gave way; where there was none, nothing is taken */
  take(bytes: number): boolean {
    if (this.#claims.length === 0) this.#claims = this.#budget.enter(this.#owner);
    const isSmall = this.#bytes + bytes <= SMALL_BODY_BYTES;
    for (const { pool, holders } of this.#claims) {
      for (;;) {
        const candidates = pool.refusal(holders, bytes, isSmall);
        if (candidates === undefined) break;
        if (candidates.endOne(this)) continue;
        this.limit = pool.limit;
        if (this.#bytes === 0) this.giveBack();
        return false;
      }
    }
    for (const { pool, holders } of this.#claims) pool.hold(holders, bytes);
    this.#bytes += bytes;
    return true;
  }

  /** From now on the next byte is up to the client, and the body may have to give way. */
  await(progress: Progress): void {
    if (this.#claims.length === 0) this.#claims = this.#budget.enter(this.#owner);
    this.#progress = progress;
    this.#budget.watch(this);
    for (const { pool, holders } of this.#claims) {
      pool.candidates.add(this);
      for (const { candidates } of holders) candidates.add(this);
    }
  }

  /** The client has done its part. Idempotent. */
  settle(): void {
    if (this.#progress === undefined) return;
    this.#progress = undefined;
    this.#budget.forget(this);
    for (const { pool, holders } of this.#claims) {
      pool.candidates.delete(this);
      for (const { candidates } of holders) candidates.delete(this);
    }
  }

  giveWay(): void {
    const progress = this.#progress;
    this.settle();
    progress?.giveWay();
    this.giveBack();
  }

  /** For `BodyBudget` alone. */
  look(now: number): void {
    const movedBytes = this.#progress?.movedBytes() ?? 0;
    const isFirst = Number.isNaN(this.#lookedAt);
    if (!isFirst && now - this.#lookedAt < WINDOW_MS) return;
    const neededBytes = ((now - this.#lookedAt) / 1_000) * LAGGING_BYTES_PER_SECOND;
    this.isLagging = !isFirst && movedBytes - this.#movedBytes < neededBytes;
    this.#lookedAt = now;
    this.#movedBytes = movedBytes;
  }

  /** The sender may send it: it is not counted among the unverified any more. */
  verified(): void {
    if (this.#claims.length === 0) return;
    this.settle();
    for (const claim of this.#claims.splice(2)) this.#release(claim);
  }

  /** Returns everything taken so far. Idempotent: a second call returns nothing. */
  giveBack(): void {
    if (this.#claims.length === 0) return;
    this.settle();
    const claims = this.#claims;
    this.#claims = [];
    for (const claim of claims) this.#release(claim);
    this.#bytes = 0;
  }

  #release(claim: Claim): void {
    claim.pool.hold(claim.holders, -this.#bytes);
    this.#budget.leave(claim, this.#owner);
  }
}
