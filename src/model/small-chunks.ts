/**
 * Handles bodies in small chunks: joins the chunks of one turn of the event loop, and pauses
 * senders of too many.
 *
 * Attack: each byte of a body as its own chunk. It costs the sender six bytes and the host a parser
 * callback, an object and a message to a cell, so that 1 MB/s keeps the host busy. Joining leaves
 * only the parser callback, which the rate bounds: a sender over its rate is not read from until it
 * is below it again. Used for requests and for responses to fetches.
 */
import type { LimitName, Limits } from '../limits.ts';
import { RateLimit } from './rate-limit.ts';

/** A chunk below this is small. */
const SMALL_BYTES = 256;
/** Small chunks are charged in lots of this many; the first lot of each body is free. */
const LOT = 64;
/** Maximum bytes that are joined to one piece. */
const JOINED_BYTES_MAX = 1_024;
const LIMIT = 'smallChunksPerSecond' as const satisfies LimitName;
const SECOND_MS = 1_000;

/** The rate of small chunks of each sender. */
export class SmallChunkRate {
  readonly #rate: RateLimit;

  /** @param monotonicNow monotonic, in milliseconds */
  constructor(limits: Pick<Limits, typeof LIMIT>, monotonicNow: () => number) {
    const timesMax = Math.ceil(limits[LIMIT] / LOT);
    this.#rate = new RateLimit({ timesMax, windowMs: SECOND_MS, monotonicNow });
  }

  /** Charges one lot. @returns for how many milliseconds the sender must not be read from */
  chargeLot(sender: string): number {
    return this.#rate.charge(sender);
  }
}

/** The consumer of one body. */
export interface JoinedTo {
  /** Charges one more lot. @returns for how many milliseconds the sender is held back */
  chargeLot(): number;
  /** The next piece of the body. */
  push(bytes: Buffer): void;
  /**
   * The sender is no longer held back: all held bytes have been passed on, and reading may resume.
   */
  released(): void;
}

/** The chunks of one body. */
export class SmallChunks {
  readonly #to: JoinedTo;
  #joined: Buffer | undefined;
  #joinedBytes = 0;
  #count = 0;
  /** Bytes received while the sender is held back. */
  #held: Buffer[] = [];
  #hold: NodeJS.Timeout | undefined;
  #onEnd: (() => void) | undefined;

  constructor(to: JoinedTo) {
    this.#to = to;
  }

  /** Whether the sender is held back and must not be read from. */
  get isHeld(): boolean {
    return this.#hold !== undefined;
  }

  /** Bytes that have been joined and not passed on yet. */
  get waitingBytes(): number {
    return this.#joinedBytes;
  }

  /**
   * Adds a chunk. It is passed on in this turn of the event loop, unless the sender is held back.
   */
  add(chunk: Buffer): void {
    if (chunk.byteLength >= SMALL_BYTES) {
      this.#flush();
      this.#pass(chunk);
      return;
    }
    const isNewLot = this.#count > 0 && this.#count % LOT === 0;
    this.#count += 1;
    this.#join(chunk);
    if (!isNewLot) return;
    const holdMs = this.#to.chargeLot();
    if (holdMs === 0) return;
    // Replaces an earlier hold: chunks of the same socket read add to the debt.
    clearTimeout(this.#hold);
    this.#hold = setTimeout(() => this.#release(), holdMs).unref();
  }

  /** Ends the body. @param then called when all of it has been passed on */
  end(then: () => void): void {
    this.#flush();
    if (this.isHeld) this.#onEnd = then;
    else then();
  }

  /** Discards the rest of the body. */
  drop(): void {
    clearTimeout(this.#hold);
    this.#hold = undefined;
    this.#joined = undefined;
    this.#joinedBytes = 0;
    this.#held = [];
    this.#onEnd = undefined;
  }

  #release(): void {
    this.#flush();
    this.#hold = undefined;
    const held = this.#held;
    this.#held = [];
    for (const bytes of held) this.#to.push(bytes);
    this.#to.released();
    this.#onEnd?.();
  }

  #pass(bytes: Buffer): void {
    if (this.isHeld) this.#held.push(bytes);
    else this.#to.push(bytes);
  }

  #flush(): void {
    const joined = this.#joined?.subarray(0, this.#joinedBytes);
    this.#joined = undefined;
    this.#joinedBytes = 0;
    if (joined === undefined) return;
    // A slice keeps its whole buffer in memory, so a few bytes are copied.
    this.#pass(2 * joined.byteLength < JOINED_BYTES_MAX ? Buffer.from(joined) : joined);
  }

  #join(chunk: Buffer): void {
    if (this.#joinedBytes + chunk.byteLength > JOINED_BYTES_MAX) this.#flush();
    if (this.#joined === undefined) {
      this.#joined = Buffer.allocUnsafeSlow(JOINED_BYTES_MAX);
      // Runs after everything from this socket read is parsed. Ticks and microtasks run after each
      // chunk.
      setImmediate(() => this.#flush());
    }
    this.#joined.set(chunk, this.#joinedBytes);
    this.#joinedBytes += chunk.byteLength;
  }
}
