/**
 * A stream of bytes out of the isolate: a streamed answer, or the body of a fetch.
 *
 * Reads the tenant's stream as fast as the host gives credit, so nothing piles up outside the
 * isolate's heap. A chunk that is not a Uint8Array ends it.
 *
 * Small chunks that follow each other at once are joined (docs/decisions/joined-pieces.md). Attack:
 * a stream of single bytes, each of which costs a message to the cell, a frame to the host and a
 * write to the client.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import { formatError } from './web/console/format-error.ts';
import { type Bytes, copyBytes, subBytes } from './web/encoding/bytes.ts';
import {
  arrayBufferByteLength,
  min,
  PromiseIntrinsic,
  slice,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArraySet,
  Uint8ArrayIntrinsic,
} from './web/primordials.ts';
import type { ByteSource } from './web/streams/byte-source.ts';

/** `STREAM_CHUNKS_IN_FLIGHT` of the wire. */
const CHUNKS_IN_FLIGHT = 8;
/** `STREAM_CHUNK_BYTES_MAX` of the wire. */
const CHUNK_BYTES_MAX = 64 * 1024;
const ERROR_CHARS_MAX = 1_000;
/** Chunks below this size are joined. */
const SMALL_BYTES = 4 * 1024;
/** Size of joined chunks. */
const JOINED_BYTES_MAX = 16 * 1024;
/**
 * Chunks are joined if no more microtasks lie between them; a chain of transforms takes a dozen.
 */
const MICROTASKS_APART_MAX = 32;

/** How a stream ended. */
export type OutboundEnd = 'done' | 'failed' | 'dropped' | 'large';

export class Outbound {
  readonly #call: number;
  readonly #stream: number;
  readonly #emit: Emit;
  readonly #source: ByteSource;
  /** Chunks sent without credit for them yet. */
  #ahead = 0;
  #dropped = false;
  #onCredit: (() => void) | undefined;
  /** Small chunks that leave together, within the credit; allocated with the first one. */
  #joined: Bytes | undefined;
  #joinedLength = 0;
  /** Microtasks until the joined chunks leave. */
  #patience = 0;
  /** Error of the tenant's stream, after `failed`. */
  reason: unknown;

  constructor(call: number, stream: number, emit: Emit, source: ByteSource) {
    this.#call = call;
    this.#stream = stream;
    this.#emit = emit;
    this.#source = source;
  }

  /** The host has taken this many chunks. */
  credit(chunks: number): void {
    this.#ahead -= chunks;
    this.#wake();
  }

  /** The host does not want the rest. */
  drop(reason: unknown): void {
    if (this.#dropped) return;
    this.#dropped = true;
    this.#source.cancel(reason);
    this.#wake();
  }

  /**
   * Sends the stream to its end. Never rejects.
   *
   * @param bytesMax limit of the body; beyond it the stream is cancelled
   * @param onFailure receives the error of the stream before the host does
   */
  async run(bytesMax: number, onFailure?: (reason: unknown) => void): Promise<OutboundEnd> {
    let sent = 0;
    try {
      for (;;) {
        const piece = await this.#source.take();
        if (this.#dropped) return 'dropped';
        if (piece === undefined) break;
        const { bytes } = piece;
        sent += typedArrayByteLength(bytes);
        if (sent > bytesMax) {
          this.#source.cancel(new TypeError(`The body is over its limit of ${bytesMax} bytes`));
          return 'large';
        }
        if (!(await this.#send(bytes))) return 'dropped';
      }
    } catch (thrown) {
      if (this.#dropped) return 'dropped';
      this.#flush();
      this.reason = thrown;
      onFailure?.(thrown);
      this.#emit(
        'close',
        this.#call,
        this.#stream,
        slice(formatError(thrown), 0, ERROR_CHARS_MAX) || 'Error',
      );
      return 'failed';
    }
    this.#flush();
    this.#emit('close', this.#call, this.#stream, '');
    return 'done';
  }

  /** @returns false if the host does not want it */
  async #send(bytes: Bytes): Promise<boolean> {
    const length = typedArrayByteLength(bytes);
    if (length < SMALL_BYTES) return this.#join(bytes, length);
    this.#flush();
    for (let at = 0; at < length; at += CHUNK_BYTES_MAX) {
      if (!(await this.#mayEmit())) return false;
      const piece =
        length <= CHUNK_BYTES_MAX
          ? exactBytes(bytes)
          : copyBytes(subBytes(bytes, at, min(at + CHUNK_BYTES_MAX, length)));
      this.#emitChunk(piece);
    }
    return true;
  }

  /** Waits for credit. @returns false if the host does not want more */
  async #mayEmit(): Promise<boolean> {
    while (this.#ahead >= CHUNKS_IN_FLIGHT && !this.#dropped) {
      await new PromiseIntrinsic<void>((resolve) => {
        this.#onCredit = resolve;
      });
    }
    return !this.#dropped;
  }

  #emitChunk(piece: Bytes): void {
    this.#ahead += 1;
    this.#emit('chunk', this.#call, this.#stream, typedArrayBuffer(piece));
  }

  /** @returns false if the host does not want it */
  async #join(bytes: Bytes, length: number): Promise<boolean> {
    if (this.#joinedLength + length > JOINED_BYTES_MAX) this.#flush();
    if (this.#joinedLength === 0 && !(await this.#mayEmit())) return false;
    this.#joined ??= new Uint8ArrayIntrinsic(JOINED_BYTES_MAX);
    typedArraySet(this.#joined, bytes, this.#joinedLength);
    this.#joinedLength += length;
    const isWaiting = this.#patience > 0;
    this.#patience = MICROTASKS_APART_MAX;
    if (!isWaiting) void this.#flushSoon();
    return true;
  }

  /** Sends the joined chunks once the source pauses. */
  async #flushSoon(): Promise<void> {
    while (this.#patience > 0) {
      this.#patience -= 1;
      await undefined;
    }
    this.#flush();
  }

  #flush(): void {
    const length = this.#joinedLength;
    this.#joinedLength = 0;
    if (this.#joined === undefined || length === 0 || this.#dropped) return;
    this.#emitChunk(copyBytes(subBytes(this.#joined, 0, length)));
  }

  #wake(): void {
    const wake = this.#onCredit;
    this.#onCredit = undefined;
    wake?.();
  }
}

/**
 * Bytes in a buffer of exactly their size. Attack: a chunk of one byte over a buffer of megabytes.
 */
const exactBytes = (bytes: Bytes): Bytes =>
  arrayBufferByteLength(typedArrayBuffer(bytes)) === typedArrayByteLength(bytes) ? bytes : copyBytes(bytes);
