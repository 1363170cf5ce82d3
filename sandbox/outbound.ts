/**
 * A stream of bytes that leaves the isolate: a streamed answer, or the body of a fetch.
 *
 * Reads the tenant's stream only as fast as the other side gives credit, so nothing piles up outside the isolate's heap.
 * What it reads is the tenant's: anything but a Uint8Array ends it.
 *
 * Small pieces that the tenant has at once leave as one. Attack: a stream of single bytes, each a message to the cell, a frame
 * to the host and a write to the client, would cost everybody else more than the tenant.
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
/** Pieces below this are joined, */
const SMALL_BYTES = 4 * 1024;
/** up to so much. */
const JOINED_BYTES_MAX = 16 * 1024;
/** How many microtasks a source may take to its next piece for the two to be joined; a chain of transforms takes a dozen. */
const MICROTASKS_APART_MAX = 32;

/** How it ended. */
export type OutboundEnd = 'done' | 'failed' | 'dropped' | 'large';

export class Outbound {
  readonly #call: number;
  readonly #stream: number;
  readonly #emit: Emit;
  readonly #source: ByteSource;
  readonly #bytesMax: number;
  #ahead = 0;
  #dropped = false;
  #onCredit: (() => void) | undefined;
  /** Small pieces that leave together; there is credit for them. Its memory is made with the first one. */
  #joined: Bytes | undefined;
  #joinedLength = 0;
  /** Microtasks until they leave. */
  #patience = 0;
  /** What the stream failed with, after `failed`. */
  reason: unknown;

  constructor(call: number, stream: number, emit: Emit, source: ByteSource, bytesMax: number) {
    this.#call = call;
    this.#stream = stream;
    this.#emit = emit;
    this.#source = source;
    this.#bytesMax = bytesMax;
  }

  /** The other side has taken so many chunks. */
  credit(chunks: number): void {
    this.#ahead -= chunks;
    this.#wake();
  }

  /** Nobody wants the rest. */
  drop(reason: unknown): void {
    if (this.#dropped) return;
    this.#dropped = true;
    this.#source.cancel(reason);
    this.#wake();
  }

  /**
   * Sends all there is. Settles, and never rejects, when that is done or has become pointless.
   *
   * @param onFailure hears what the stream fails with before the other side does
   */
  async run(onFailure?: (reason: unknown) => void): Promise<OutboundEnd> {
    let sent = 0;
    try {
      for (;;) {
        const piece = await this.#source.take();
        if (this.#dropped) return 'dropped';
        if (piece === undefined) break;
        const { bytes } = piece;
        sent += typedArrayByteLength(bytes);
        if (sent > this.#bytesMax) {
          this.#source.cancel(new TypeError(`The body is over its limit of ${this.#bytesMax} bytes`));
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

  /** @returns false where nobody wants it */
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

  /** Waits for credit. @returns false where nobody wants it */
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

  /** @returns false where nobody wants it */
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

  /** Sends what has been joined once its source has nothing to add at once. */
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

/** Bytes over a buffer of their size, because it is the buffer that leaves: one byte of megabytes is counted as one. */
const exactBytes = (bytes: Bytes): Bytes =>
  arrayBufferByteLength(typedArrayBuffer(bytes)) === typedArrayByteLength(bytes) ? bytes : copyBytes(bytes);
