/**
 * A stream of bytes to an isolate, out of a Node `Readable`: a client's upload, or the body of a fetch's answer.
 *
 * Sends no more than the isolate has given credit for, so that a tenant that does not read holds its sender back and not
 * the memory of the host. Small pieces are joined once there are many (`piece-pace.ts`). Ends the source when the isolate wants
 * no more, and when the call is over.
 */
import type { Readable } from 'node:stream';
import { STREAM_CHUNK_BYTES_MAX, STREAM_CHUNKS_IN_FLIGHT } from '../protocol/wire.ts';
import { PiecePace } from './piece-pace.ts';

/** The way to the isolate. */
export interface OutgoingPeer {
  chunk(bytes: Uint8Array): void;
  /** @param error for the tenant: why there is no more, where that was not all */
  close(error: string | undefined): void;
}

export class OutgoingStream {
  readonly #source: Readable;
  readonly #peer: OutgoingPeer;
  /** Words for the tenant, where the source fails. */
  readonly #describe: (cause: Error) => string;
  readonly #pace = new PiecePace(performance.now());
  /** Runs while what has come waits for more. */
  #waiting: NodeJS.Timeout | undefined;
  #ahead = 0;
  /** What is left of the piece that was read last. */
  #rest: Buffer | undefined;
  /** The source has given all it has; the last of it may still have to wait for credit. */
  #drained = false;
  #over = false;

  constructor(source: Readable, peer: OutgoingPeer, describe: (cause: Error) => string) {
    this.#source = source;
    this.#peer = peer;
    this.#describe = describe;
    source.on('readable', this.#pump);
    source.once('end', this.#ended);
    source.once('error', this.#failed);
    source.once('close', this.#closed);
    if (source.destroyed) this.#closed();
    else this.#pump();
  }

  /** @returns false where more was taken than had been sent */
  credit(chunks: number): boolean {
    this.#ahead -= chunks;
    if (this.#ahead < 0) return false;
    this.#pump();
    return true;
  }

  /** Nobody wants the rest. */
  drop(): void {
    if (this.#over) return;
    this.#stop();
    this.#source.destroy();
  }

  readonly #pump = (): void => {
    while (!this.#over && this.#ahead < STREAM_CHUNKS_IN_FLIGHT) {
      const piece = this.#rest ?? this.#read();
      if (piece === null) break;
      const larger = piece.byteLength > STREAM_CHUNK_BYTES_MAX;
      this.#rest = larger ? piece.subarray(STREAM_CHUNK_BYTES_MAX) : undefined;
      this.#ahead += 1;
      this.#peer.chunk(larger ? piece.subarray(0, STREAM_CHUNK_BYTES_MAX) : piece);
    }
    if (this.#drained && this.#rest === undefined && !this.#over) {
      this.#stop();
      this.#peer.close(undefined);
    }
  };

  /** All that has come; null where there is nothing, and where it is to wait for more. */
  #read(): Buffer | null {
    if (this.#waiting !== undefined) return null;
    const { readableLength, readableHighWaterMark } = this.#source;
    // Where nothing is there, the source has to be asked all the same: that is how it says that it has ended.
    const isFull = readableLength === 0 || readableLength >= readableHighWaterMark;
    const waitMs = isFull ? 0 : this.#pace.waitMs(performance.now());
    if (waitMs > 0) {
      this.#waiting = setTimeout(() => {
        this.#waiting = undefined;
        this.#pump();
      }, waitMs);
      return null;
    }
    // Without a length it would be what came at once, however small.
    const bytes = Math.min(readableLength, STREAM_CHUNK_BYTES_MAX);
    const piece = (bytes === 0 ? this.#source.read() : this.#source.read(bytes)) as Buffer | null;
    if (piece !== null) this.#pace.took(piece.byteLength);
    return piece;
  }

  readonly #ended = (): void => {
    this.#drained = true;
    this.#pump();
  };

  readonly #failed = (cause: Error): void => {
    if (this.#over || this.#drained) return;
    this.#stop();
    this.#peer.close(this.#describe(cause));
  };

  readonly #closed = (): void => this.#failed(new Error('The sender went away.'));

  #stop(): void {
    this.#over = true;
    clearTimeout(this.#waiting);
    this.#source.off('readable', this.#pump).off('end', this.#ended).off('close', this.#closed);
  }
}
