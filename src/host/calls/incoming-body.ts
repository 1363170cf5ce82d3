/**
 * A body that a cell sends in pieces and that is handed on as a whole: a large answer, or the body
 * of a fetch (docs/decisions/large-answers.md).
 *
 * It gives credit for each piece at once, as long as all such bodies together are within their
 * bound; beyond that, only the first body of each installation continues, and the others wait in
 * their isolates. So each body completes, no installation waits for another, and what the host
 * holds of unfinished bodies is bounded.
 */
import { STREAM_CHUNK_BYTES_MAX, STREAM_CHUNKS_IN_FLIGHT } from '../../protocol/wire.ts';

/** Credit is given in lots: each costs the isolate an entry. */
const CREDIT_LOT = STREAM_CHUNKS_IN_FLIGHT / 2;
/** Pieces that are sent before any credit: `CHUNKS_AT_FIRST` of the sandbox. */
const CHUNKS_AT_FIRST = 2;
/** Bytes of all unfinished bodies, beyond which only one body of each installation continues. */
const COLLECTED_BYTES_MAX = 64 * 1024 * 1024;
/** The same for the bodies of one installation. */
const COLLECTED_BYTES_MAX_PER_OWNER = 16 * 1024 * 1024;

/** The unfinished bodies of one installation, in the order in which they began. */
interface OwnBodies {
  readonly bodies: Set<IncomingBody>;
  bytes: number;
}

/** All bodies that the host is collecting, and how much it holds of them. */
export class IncomingBodies {
  readonly #owners = new Map<string, OwnBodies>();
  #bytes = 0;

  /** Bytes of unfinished bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** For `IncomingBody` alone, like the following. */
  begin(owner: string, body: IncomingBody): void {
    const own = this.#owners.get(owner);
    if (own) own.bodies.add(body);
    else this.#owners.set(owner, { bodies: new Set([body]), bytes: 0 });
  }

  add(owner: string, bytes: number): void {
    this.#bytes += bytes;
    const own = this.#owners.get(owner);
    if (own) own.bytes += bytes;
  }

  mayContinue(owner: string, body: IncomingBody): boolean {
    const own = this.#owners.get(owner);
    if (own === undefined) return false;
    const [first] = own.bodies;
    if (first === body) return true;
    return this.#bytes < COLLECTED_BYTES_MAX && own.bytes < COLLECTED_BYTES_MAX_PER_OWNER;
  }

  /** The body is complete or no longer wanted: others may continue. */
  end(owner: string, body: IncomingBody, bytes: number): void {
    this.#bytes -= bytes;
    const own = this.#owners.get(owner);
    if (own === undefined) return;
    own.bytes -= bytes;
    own.bodies.delete(body);
    if (own.bodies.size === 0) this.#owners.delete(owner);
    for (const { bodies } of this.#owners.values()) for (const waiting of bodies) waiting.giveCredit();
  }
}

/** What a body calls on its call. */
export interface BodyCallbacks {
  /** Permits the isolate to send so many more chunks. */
  credit(chunks: number): void;
  /** The body is complete. */
  done(body: Buffer): void;
}

export class IncomingBody {
  readonly #bytesMax: number;
  readonly #bodies: IncomingBodies;
  readonly #owner: string;
  readonly #callbacks: BodyCallbacks;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Pieces that the cell may still send. */
  #credit = CHUNKS_AT_FIRST;
  /** It is complete or not wanted: further pieces are dropped. */
  #over = false;
  /** The cell has ended it. */
  #closed = false;

  /** @param bytesMax more than this is a breach, because the isolate keeps the same bound */
  constructor(bytesMax: number, bodies: IncomingBodies, owner: string, callbacks: BodyCallbacks) {
    this.#bytesMax = bytesMax;
    this.#bodies = bodies;
    this.#owner = owner;
    this.#callbacks = callbacks;
    bodies.begin(owner, this);
    this.giveCredit();
  }

  /**
   * Takes the next piece. @returns false for a breach: no credit left, a wrong size, too much in
   * all, or after its end
   */
  receive(chunk: Buffer): boolean {
    const { byteLength } = chunk;
    if (this.#closed || this.#credit === 0) return false;
    if (byteLength === 0 || byteLength > STREAM_CHUNK_BYTES_MAX) return false;
    this.#credit -= 1;
    if (this.#over) return true;
    if (this.#bytes + byteLength > this.#bytesMax) return false;
    this.#bytes += byteLength;
    this.#bodies.add(this.#owner, byteLength);
    this.#pieces.push(chunk);
    this.giveCredit();
    return true;
  }

  /** For `IncomingBodies`, too: gives credit where enough pieces were taken and there is room. */
  giveCredit(): void {
    const chunks = STREAM_CHUNKS_IN_FLIGHT - this.#credit;
    if (this.#over || chunks < CREDIT_LOT || !this.#bodies.mayContinue(this.#owner, this)) return;
    this.#credit += chunks;
    this.#callbacks.credit(chunks);
  }

  /** The cell ends the body: it is complete. @returns false where it had ended before */
  close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    const pieces = this.#pieces;
    const wanted = !this.#over;
    this.drop();
    if (wanted) this.#callbacks.done(Buffer.concat(pieces));
    return true;
  }

  /**
   * The cell or the end of the call ends the body before it is complete. @returns false where it
   * had ended before
   */
  breakOff(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.drop();
    return true;
  }

  /** The body is no longer wanted: releases what was collected. */
  drop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#pieces = [];
    this.#bodies.end(this.#owner, this, this.#bytes);
  }
}
