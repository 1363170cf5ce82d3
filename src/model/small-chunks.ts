/**
 * Bodies that come in small chunks: joins the chunks of one turn of the event loop, and holds back senders of too many.
 *
 * Attack: each byte of a body as a chunk of its own. It costs the sender six bytes and the host a callback of the parser, an
 * object and a message to a cell, so that 1 MB/s of it keeps the host busy. Joining leaves the callback of the parser; the
 * rate bounds that: a sender that is over it is not read from until there is room again. Nothing here knows what a chunk is
 * of: requests and answers to fetches are read alike.
 */
import type { LimitName, Limits } from '../limits.ts';
import { RateLimit } from './rate-limit.ts';

/** A chunk below this is small. */
const SMALL_BYTES = 256;
/** Small chunks are counted in lots; the first lot of each body is free. */
const LOT = 64;
/** What is joined before it is handed on. */
const JOINED_BYTES_MAX = 1_024;
const LIMIT = 'smallChunksPerSecond' as const satisfies LimitName;
const SECOND_MS = 1_000;

/** How many small chunks each of many senders may send. */
export class SmallChunkRate {
  readonly #rate: RateLimit;

  /** @param clock milliseconds that only ever grow */
  constructor(limits: Pick<Limits, typeof LIMIT>, clock: () => number) {
    const timesMax = Math.ceil(limits[LIMIT] / LOT);
    this.#rate = new RateLimit({ timesMax, windowMs: SECOND_MS, clock });
  }

  /** Counts one lot that has come. @returns how long nothing more is to be read from its sender, in milliseconds */
  chargeLot(sender: string): number {
    return this.#rate.charge(sender);
  }
}

/** Where the chunks of one body go. */
export interface JoinedTo {
  /** Counts one more lot of the body's. @returns how long its sender is held back, in milliseconds */
  chargeLot(): number;
  /** The next piece of the body. */
  push(bytes: Buffer): void;
  /** The sender is held back no longer: what had come has been handed on, and more may be read. */
  released(): void;
}

/** The chunks of one body. */
export class SmallChunks {
  readonly #to: JoinedTo;
  #joined: Buffer | undefined;
  #joinedBytes = 0;
  #count = 0;
  /** What has come since the sender is held back. */
  #held: Buffer[] = [];
  #hold: NodeJS.Timeout | undefined;
  #onEnd: (() => void) | undefined;

  constructor(to: JoinedTo) {
    this.#to = to;
  }

  /** Nothing more is to be read from the sender. */
  get isHeld(): boolean {
    return this.#hold !== undefined;
  }

  /** Bytes that have been joined and not handed on. */
  get waitingBytes(): number {
    return this.#joinedBytes;
  }

  /** The next chunk. It is handed on in this turn of the event loop, unless the sender is held back. */
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
    // What came with the same piece from the socket has to be made up for, too.
    clearTimeout(this.#hold);
    this.#hold = setTimeout(() => this.#release(), holdMs).unref();
  }

  /** The body has ended. @param then called when all of it has been handed on */
  end(then: () => void): void {
    this.#flush();
    if (this.isHeld) this.#onEnd = then;
    else then();
  }

  /** Nobody wants the rest. */
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
    // A piece keeps all of its memory: of few bytes, a copy is kept.
    this.#pass(2 * joined.byteLength < JOINED_BYTES_MAX ? Buffer.from(joined) : joined);
  }

  #join(chunk: Buffer): void {
    if (this.#joinedBytes + chunk.byteLength > JOINED_BYTES_MAX) this.#flush();
    if (this.#joined === undefined) {
      this.#joined = Buffer.allocUnsafeSlow(JOINED_BYTES_MAX);
      // After all that has come from the socket has been parsed. Ticks and microtasks run after each chunk.
      setImmediate(() => this.#flush());
    }
    this.#joined.set(chunk, this.#joinedBytes);
    this.#joinedBytes += chunk.byteLength;
  }
}
