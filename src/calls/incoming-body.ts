/**
 * A body that a cell sends in pieces and that is handed on as a whole: a large answer, or the body of a fetch.
 *
 * It takes what comes and gives credit for it at once, as long as all such bodies together are within their bound; beyond
 * that, of each installation the one that began first goes on, and the others wait in their isolates. So each of them
 * comes to its end, no installation waits for another, and what the host holds of unfinished bodies is bounded.
 */
import { STREAM_CHUNK_BYTES_MAX, STREAM_CHUNKS_IN_FLIGHT } from '../protocol/wire.ts';

/** Credit is given in lots: each costs the isolate an entry. */
const CREDIT_LOT = STREAM_CHUNKS_IN_FLIGHT / 2;
/** Pieces that come before there is any credit: `CHUNKS_AT_FIRST` of the sandbox. */
const CHUNKS_AT_FIRST = 2;
/** Bytes of all bodies that are being collected, beyond which only one of each installation goes on, */
const COLLECTED_BYTES_MAX = 64 * 1024 * 1024;
/** and of those of one installation. */
const COLLECTED_BYTES_MAX_PER_OWNER = 16 * 1024 * 1024;

/** What one installation has under way, in the order it began. */
interface OwnBodies {
  readonly bodies: Set<IncomingWhole>;
  bytes: number;
}

/** All bodies that the host is collecting. */
export class Collecting {
  readonly #owners = new Map<string, OwnBodies>();
  #bytes = 0;

  /** Bytes of bodies that are not all there yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** For `IncomingWhole` alone, like the following. */
  begin(owner: string, body: IncomingWhole): void {
    const own = this.#owners.get(owner);
    if (own) own.bodies.add(body);
    else this.#owners.set(owner, { bodies: new Set([body]), bytes: 0 });
  }

  took(owner: string, bytes: number): void {
    this.#bytes += bytes;
    const own = this.#owners.get(owner);
    if (own) own.bytes += bytes;
  }

  mayGoOn(owner: string, body: IncomingWhole): boolean {
    const own = this.#owners.get(owner);
    if (own === undefined) return false;
    const [first] = own.bodies;
    if (first === body) return true;
    return this.#bytes < COLLECTED_BYTES_MAX && own.bytes < COLLECTED_BYTES_MAX_PER_OWNER;
  }

  /** It is all there, or not wanted any more: those that wait may go on. */
  end(owner: string, body: IncomingWhole, bytes: number): void {
    this.#bytes -= bytes;
    const own = this.#owners.get(owner);
    if (own === undefined) return;
    own.bytes -= bytes;
    own.bodies.delete(body);
    if (own.bodies.size === 0) this.#owners.delete(owner);
    for (const { bodies } of this.#owners.values()) for (const waiting of bodies) waiting.goOn();
  }
}

/** What a body needs of its call. */
export interface WholePeer {
  credit(chunks: number): void;
  /** All of it is there. */
  done(body: Buffer): void;
}

export class IncomingWhole {
  readonly #bytesMax: number;
  readonly #collecting: Collecting;
  readonly #owner: string;
  readonly #peer: WholePeer;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Pieces that the sender may still send. */
  #credit = CHUNKS_AT_FIRST;
  #over = false;
  #closed = false;

  /** @param bytesMax more than this is a breach, because the isolate keeps the same bound */
  constructor(bytesMax: number, collecting: Collecting, owner: string, peer: WholePeer) {
    this.#bytesMax = bytesMax;
    this.#collecting = collecting;
    this.#owner = owner;
    this.#peer = peer;
    collecting.begin(owner, this);
    this.goOn();
  }

  /** The next piece. @returns false where the sender broke the rules */
  hear(chunk: Buffer): boolean {
    const { byteLength } = chunk;
    if (this.#closed || this.#credit === 0) return false;
    if (byteLength === 0 || byteLength > STREAM_CHUNK_BYTES_MAX) return false;
    this.#credit -= 1;
    // Nobody waits for it any more: what was on its way is let go of.
    if (this.#over) return true;
    if (this.#bytes + byteLength > this.#bytesMax) return false;
    this.#bytes += byteLength;
    this.#collecting.took(this.#owner, byteLength);
    this.#pieces.push(chunk);
    this.goOn();
    return true;
  }

  /** For `Collecting` and its own use: gives credit where enough has been taken and there is room. */
  goOn(): void {
    const chunks = STREAM_CHUNKS_IN_FLIGHT - this.#credit;
    if (this.#over || chunks < CREDIT_LOT || !this.#collecting.mayGoOn(this.#owner, this)) return;
    this.#credit += chunks;
    this.#peer.credit(chunks);
  }

  /** The sender's end: that was all. @returns false where it had ended before */
  close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    const pieces = this.#pieces;
    const wanted = !this.#over;
    this.drop();
    if (wanted) this.#peer.done(Buffer.concat(pieces));
    return true;
  }

  /** The sender's end, or that of the call, and that was not all. @returns false where it had ended before */
  breakOff(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.drop();
    return true;
  }

  /** Nobody wants it any more. */
  drop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#pieces = [];
    this.#collecting.end(this.#owner, this, this.#bytes);
  }
}
