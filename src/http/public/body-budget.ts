/**
 * One budget for the bodies, of requests and of answers, that the whole process holds in memory.
 *
 * A body is buffered before anyone is asked whether the installation has a place for the call, so neither the limit of
 * one body nor admission bounds their sum: 150 connections that each send most of a body and then wait would hold
 * gigabytes of the host. This does. Nobody may have all of it: whoever floods one installation, or makes one whose answers
 * nobody reads, leaves the others theirs. It counts and decides; it reads nothing and keeps no body.
 */
import type { LimitMet } from '../../limits.ts';

/** Bytes that may be held at once, shared by all requests. */
export class BodyBudget {
  readonly #bytesMax: number;
  readonly #bytesMaxPerOwner: number;
  readonly #held = new Map<string, number>();
  #heldBytes = 0;

  constructor(bytesMax: number, bytesMaxPerOwner = bytesMax) {
    this.#bytesMax = bytesMax;
    this.#bytesMaxPerOwner = bytesMaxPerOwner;
  }

  /** Bytes that are held now. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** One request's share, nothing so far. @param owner the installation it is for */
  open(owner: string): BodyShare {
    return new BodyShare(this, owner);
  }

  /** For `BodyShare` alone. @returns the limit in the way; undefined where the bytes are taken */
  take(owner: string, more: number): LimitMet | undefined {
    const held = this.#held.get(owner) ?? 0;
    if (this.#heldBytes + more > this.#bytesMax) return { name: 'bufferedBodyBytes', max: this.#bytesMax };
    if (held + more > this.#bytesMaxPerOwner)
      return { name: 'bufferedBodyBytesPerInstallation', max: this.#bytesMaxPerOwner };
    this.#hold(owner, held + more, more);
    return undefined;
  }

  /** For `BodyShare` alone. */
  giveBack(owner: string, bytes: number): void {
    this.#hold(owner, (this.#held.get(owner) ?? 0) - bytes, -bytes);
  }

  #hold(owner: string, held: number, more: number): void {
    this.#heldBytes += more;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }
}

/** What one request holds of a budget. */
export class BodyShare {
  readonly #budget: BodyBudget;
  readonly #owner: string;
  #bytes = 0;
  /** The limit in the way, after a `take` that was refused. */
  limit: LimitMet | undefined;

  constructor(budget: BodyBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** @returns whether there was room; where there was none, nothing is taken */
  take(bytes: number): boolean {
    this.limit = this.#budget.take(this.#owner, bytes);
    if (this.limit !== undefined) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Returns everything taken so far. Idempotent: a second call returns nothing. */
  giveBack(): void {
    if (this.#bytes > 0) this.#budget.giveBack(this.#owner, this.#bytes);
    this.#bytes = 0;
  }
}
