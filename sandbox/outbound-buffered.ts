/**
 * A body in memory that leaves the isolate in pieces: a large answer, or the body of a fetch.
 *
 * The host joins the pieces and gives credit for those it has taken, so a large body waits in the
 * isolate's heap. Attack: answers of ten megabytes sent at once, which fill the pipe that
 * heartbeats and other calls' answers share. Text leaves as text: the cell encodes it faster than
 * the isolate.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import { type Bytes, copyBytes, subBytes } from './web/encoding/bytes.ts';
import {
  charCodeAt,
  min,
  slice,
  typedArrayBuffer,
  typedArrayByteLength,
  Uint8ArrayIntrinsic,
} from './web/primordials.ts';

/** Bodies of up to this many bytes or characters leave in one message with their head. */
export const WHOLE_LENGTH_MAX = 64 * 1024;
/** `STREAM_CHUNKS_IN_FLIGHT` of the wire. */
const CHUNKS_IN_FLIGHT = 8;
/**
 * Pieces that leave before the host gives credit. Few, because every call may begin a body at once.
 */
const CHUNKS_AT_FIRST = 2;
/** `STREAM_CHUNK_BYTES_MAX` of the wire. */
const PIECE_BYTES = 64 * 1024;
/** A character is at most three bytes of UTF-8. */
const PIECE_CHARS = 21 * 1024;

export class OutboundBuffered {
  readonly #call: number;
  readonly #stream: number;
  readonly #emit: Emit;
  /** Undefined once it is sent or dropped. */
  #body: string | Bytes | undefined;
  #at = 0;
  #ahead = CHUNKS_IN_FLIGHT - CHUNKS_AT_FIRST;
  /** Called once the whole body is sent. */
  onDone: (() => void) | undefined;

  constructor(call: number, stream: number, emit: Emit, body: string | ArrayBuffer) {
    this.#call = call;
    this.#stream = stream;
    this.#emit = emit;
    this.#body = typeof body === 'string' ? body : new Uint8ArrayIntrinsic(body);
  }

  /** The host has taken this many pieces. */
  credit(chunks: number): void {
    this.#ahead -= chunks;
    this.send();
  }

  /** The host does not want the rest. */
  drop(): void {
    this.#body = undefined;
  }

  /** Sends as much as credit allows. */
  send(): void {
    while (this.#body !== undefined && this.#ahead < CHUNKS_IN_FLIGHT) {
      const piece = typeof this.#body === 'string' ? this.#text(this.#body) : this.#bytes(this.#body);
      if (piece === undefined) {
        this.#body = undefined;
        this.#emit('close', this.#call, this.#stream, '');
        this.onDone?.();
        return;
      }
      this.#ahead += 1;
      this.#emit('chunk', this.#call, this.#stream, piece);
    }
  }

  #text(text: string): string | undefined {
    const start = this.#at;
    if (start >= text.length) return undefined;
    let end = min(start + PIECE_CHARS, text.length);
    // A surrogate pair stays in one piece: halves would become two replacement characters.
    const last = charCodeAt(text, end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    this.#at = end;
    return slice(text, start, end);
  }

  #bytes(bytes: Bytes): ArrayBuffer | undefined {
    const start = this.#at;
    const length = typedArrayByteLength(bytes);
    if (start >= length) return undefined;
    this.#at = min(start + PIECE_BYTES, length);
    return typedArrayBuffer(copyBytes(subBytes(bytes, start, this.#at)));
  }
}
