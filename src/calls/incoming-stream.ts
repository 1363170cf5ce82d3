/**
 * A stream of bytes from an isolate, as a Node `Readable`: an answer on its way to a client, or the body of a fetch.
 *
 * It gives the isolate credit for what has really been taken, so a slow reader holds the producer back; and destroying it
 * tells the isolate that nobody wants the rest. What it holds is bounded by the credit, whoever is on the other side.
 */
import { Readable } from 'node:stream';
import { type Outcome, STREAM_CHUNK_BYTES_MAX, STREAM_CHUNKS_IN_FLIGHT } from '../protocol/wire.ts';
import { BrokenOff } from './call.ts';

/** Credit is given in lots: each costs the isolate an entry. */
const CREDIT_LOT = STREAM_CHUNKS_IN_FLIGHT / 2;
/** One chunk at most is waiting in Node's own buffer. */
const HIGH_WATER_BYTES = 1;

/** The way back to the isolate. */
export interface IncomingPeer {
  credit(chunks: number): void;
  drop(): void;
}

export class IncomingStream extends Readable {
  readonly #peer: IncomingPeer;
  readonly #bytesMax: number;
  #waiting: Buffer[] = [];
  #wanted = false;
  #taken = 0;
  #bytes = 0;
  #closed = false;

  /** @param bytesMax more than this is a breach, because the isolate keeps the same bound */
  constructor(bytesMax: number, peer: IncomingPeer) {
    super({ highWaterMark: HIGH_WATER_BYTES });
    this.#peer = peer;
    this.#bytesMax = bytesMax;
    // Who reads it hears of errors; one that nobody reads yet must not end the process.
    this.on('error', () => undefined);
  }

  /** The next piece. @returns false where the sender broke the rules: no credit left, a size that no piece has, too much in all, or after its end */
  hear(chunk: Buffer): boolean {
    const { byteLength } = chunk;
    this.#bytes += byteLength;
    if (this.#closed || this.#bytes > this.#bytesMax) return false;
    // Credit counts chunks: it bounds what is held only as long as each of them is bounded.
    if (byteLength === 0 || byteLength > STREAM_CHUNK_BYTES_MAX) return false;
    if (this.destroyed) return true;
    if (this.#waiting.length >= STREAM_CHUNKS_IN_FLIGHT) return false;
    this.#waiting.push(chunk);
    this.#move();
    return true;
  }

  /** The sender's end: that was all. @returns false where it had ended before */
  close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.#move();
    return true;
  }

  /** The sender's end, and that was not all. @returns false where it had ended before */
  breakOff(why: string, outcome: Outcome): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.destroy(new BrokenOff(why, outcome));
    return true;
  }

  override _read(): void {
    this.#wanted = true;
    this.#move();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#waiting = [];
    if (!this.#closed) this.#peer.drop();
    callback(error);
  }

  #move(): void {
    while (this.#wanted) {
      const chunk = this.#waiting.shift();
      if (chunk === undefined) {
        if (this.#closed) {
          this.#wanted = false;
          this.push(null);
        }
        return;
      }
      this.#wanted = this.push(chunk);
      this.#taken += 1;
      if (this.#taken >= CREDIT_LOT && !this.#closed) {
        this.#peer.credit(this.#taken);
        this.#taken = 0;
      }
    }
  }
}
