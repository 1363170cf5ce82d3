/**
 * A stream of bytes to an isolate, out of a Node `Readable`: a client's upload, or the body of a
 * fetch's answer.
 *
 * It sends no more than the isolate has given credit for, so a tenant that does not read slows its
 * sender down and fills no memory of the host (docs/decisions/stream-credit.md). Small pieces are
 * joined once there are many (`PieceRateLimit`). The source is destroyed when the isolate
 * wants no more, and when the call is over.
 */
import type { Readable } from 'node:stream';
import { STREAM_CHUNK_BYTES_MAX, STREAM_CHUNKS_IN_FLIGHT } from '../../protocol/wire.ts';

/** Messages to the isolate that reads a stream. */
export interface StreamConsumer {
  chunk(bytes: Uint8Array): void;
  /** @param error for the tenant: why the stream ended before it was complete */
  close(error: string | undefined): void;
}

export class OutgoingStream {
  readonly #source: Readable;
  readonly #consumer: StreamConsumer;
  /** Words for the tenant, where the source fails. */
  readonly #describe: (cause: Error) => string;
  readonly #pace = new PieceRateLimit(performance.now());
  /** Runs while small pieces wait for more. */
  #waiting: NodeJS.Timeout | undefined;
  /** Chunks that were sent and not credited. */
  #ahead = 0;
  /** The rest of the piece that was read last. */
  #rest: Buffer | undefined;
  /** The source has ended; its last bytes may still wait for credit. */
  #drained = false;
  #over = false;

  constructor(source: Readable, consumer: StreamConsumer, describe: (cause: Error) => string) {
    this.#source = source;
    this.#consumer = consumer;
    this.#describe = describe;
    source.on('readable', this.#pump);
    source.once('end', this.#ended);
    source.once('error', this.#failed);
    source.once('close', this.#closed);
    if (source.destroyed) this.#closed();
    else this.#pump();
  }

  /** The isolate has taken chunks. @returns false where it credits more than was sent */
  credit(chunks: number): boolean {
    this.#ahead -= chunks;
    if (this.#ahead < 0) return false;
    this.#pump();
    return true;
  }

  /** The rest is not wanted. */
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
      this.#consumer.chunk(larger ? piece.subarray(0, STREAM_CHUNK_BYTES_MAX) : piece);
    }
    if (this.#drained && this.#rest === undefined && !this.#over) {
      this.#stop();
      this.#consumer.close(undefined);
    }
  };

  /**
   * All bytes that have arrived; null where there are none, and where they are to wait for more.
   */
  #read(): Buffer | null {
    if (this.#waiting !== undefined) return null;
    const { readableLength, readableHighWaterMark } = this.#source;
    // An empty source is read all the same: only then does it report its end.
    const isFull = readableLength === 0 || readableLength >= readableHighWaterMark;
    const waitMs = isFull ? 0 : this.#pace.waitMs(performance.now());
    if (waitMs > 0) {
      this.#waiting = setTimeout(() => {
        this.#waiting = undefined;
        this.#pump();
      }, waitMs);
      return null;
    }
    // Without a length, `read` returns the first piece only, however small.
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
    this.#consumer.close(this.#describe(cause));
  };

  readonly #closed = (): void => this.#failed(new Error('The sender disconnected.'));

  #stop(): void {
    this.#over = true;
    clearTimeout(this.#waiting);
    this.#source.off('readable', this.#pump).off('end', this.#ended).off('close', this.#closed);
  }
}

/** Pieces that are handed over at once in the beginning. */
const BURST = 64;
/**
 * Small pieces in a second after that: more than the words of a text that is generated while it is
 * read.
 */
const PIECES_PER_SECOND = 100;
/** So many bytes pay for one piece. A body of 10 MiB has 2,560 such pieces at most. */
const BYTES_PER_PIECE = 4 * 1024;
const MS_PER_S = 1_000;

/**
 * Bounds how many pieces of a body an isolate is given in a second: a token bucket of pieces, into
 * which large pieces pay (docs/decisions/joined-pieces.md).
 *
 * Attack: a client sends its upload byte by byte, each in a segment of its own. Each piece is one
 * entry into the isolate, so 12 KB/s from one connection used up all CPU of an honest call within
 * six seconds, and a few of those opened the circuit of the installation. Beyond the rate, bytes
 * are handed over later, joined with all that have arrived by then.
 */
export class PieceRateLimit {
  #left = BURST;
  #at: number;

  /** @param now milliseconds of the monotonic clock, as in `waitMs` */
  constructor(now: number) {
    this.#at = now;
  }

  /** @returns how long the next piece has to wait, in milliseconds */
  waitMs(now: number): number {
    if (this.#left >= 1) return 0;
    const earned = ((now - this.#at) * PIECES_PER_SECOND) / MS_PER_S;
    this.#left = Math.min(BURST, this.#left + earned);
    this.#at = now;
    return this.#left >= 1 ? 0 : ((1 - this.#left) * MS_PER_S) / PIECES_PER_SECOND;
  }

  /** A piece has been handed over. */
  took(bytes: number): void {
    this.#left = Math.min(BURST, this.#left - 1 + bytes / BYTES_PER_PIECE);
  }
}
