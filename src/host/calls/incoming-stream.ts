/**
 * A stream of bytes from an isolate, as a Node `Readable`: an answer on its way to a client, or the
 * body of a fetch.
 *
 * It gives the isolate credit for chunks that were read, so a slow reader slows the producer down;
 * destroying it makes the isolate stop. What it holds is bounded by the credit, even if the cell is
 * hostile (docs/decisions/stream-credit.md).
 */
import { Readable } from 'node:stream';
import { type Outcome, STREAM_CHUNK_BYTES_MAX, STREAM_CHUNKS_IN_FLIGHT } from '../../protocol/wire.ts';
import { BrokenOff } from './call.ts';

/** Credit is given in lots: each costs the isolate an entry. */
const CREDIT_LOT = STREAM_CHUNKS_IN_FLIGHT / 2;
/** At most one chunk waits in Node's own buffer. */
const HIGH_WATER_BYTES = 1;

/** Messages to the isolate that produces a stream. */
export interface StreamProducer {
  /** Permits so many more chunks. */
  credit(chunks: number): void;
  /** The rest is not wanted. */
  drop(): void;
}

export class IncomingStream extends Readable {
  readonly #producer: StreamProducer;
  readonly #bytesMax: number;
  #waiting: Buffer[] = [];
  #wanted = false;
  #taken = 0;
  #bytes = 0;
  #closed = false;

  /** @param bytesMax more than this is a breach, because the isolate keeps the same bound */
  constructor(bytesMax: number, producer: StreamProducer) {
    super({ highWaterMark: HIGH_WATER_BYTES });
    this.#producer = producer;
    this.#bytesMax = bytesMax;
    // Its reader handles errors; one without a reader yet must not end the process.
    this.on('error', () => undefined);
  }

  /**
   * Takes the next piece. @returns false for a breach: no credit left, a wrong size, too much in
   * all, or after its end
   */
  receive(chunk: Buffer): boolean {
    const { byteLength } = chunk;
    this.#bytes += byteLength;
    if (this.#closed || this.#bytes > this.#bytesMax) return false;
    // Credit counts chunks: it bounds what is held only if each chunk is bounded.
    if (byteLength === 0 || byteLength > STREAM_CHUNK_BYTES_MAX) return false;
    if (this.destroyed) return true;
    if (this.#waiting.length >= STREAM_CHUNKS_IN_FLIGHT) return false;
    this.#waiting.push(chunk);
    this.#move();
    return true;
  }

  /** The cell ends the stream: it is complete. @returns false where it had ended before */
  close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.#move();
    return true;
  }

  /**
   * The cell or the end of the call ends the stream before it is complete. @returns false where it
   * had ended before
   */
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
    if (!this.#closed) this.#producer.drop();
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
        this.#producer.credit(this.#taken);
        this.#taken = 0;
      }
    }
  }
}
