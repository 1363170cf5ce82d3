/**
 * One budget for the bodies, of requests and of answers, that the whole process holds in memory.
 *
 * A body is buffered before anyone is asked whether the installation has a place for the call, so neither the limit of
 * one body nor admission bounds their sum: 150 connections that each send most of a body and then wait would hold
 * gigabytes of the host. This does. It counts and decides; it reads nothing and keeps no body.
 */

/** Bytes that may be held at once, shared by all requests. */
export class BodyBudget {
  readonly #bytesMax: number;
  #heldBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that are held now. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** One request's share, nothing so far. */
  open(): BodyShare {
    let bytes = 0;
    return {
      take: (more) => {
        if (this.#heldBytes + more > this.#bytesMax) return false;
        this.#heldBytes += more;
        bytes += more;
        return true;
      },
      giveBack: () => {
        this.#heldBytes -= bytes;
        bytes = 0;
      },
    };
  }
}

/** What one request holds of a budget. */
export interface BodyShare {
  /** @returns whether there was room; where there was none, nothing is taken */
  take(bytes: number): boolean;
  /** Returns everything taken so far. Idempotent: a second call returns nothing. */
  giveBack(): void;
}
