/**
 * A body that is there as a whole, on its way out of the isolate piece by piece: a large answer, or the body of a fetch.
 *
 * The other side collects the pieces and gives credit for what it has taken, so a large body waits here, in the isolate's
 * heap. Attack: answers of ten megabytes, each handed over at once, filled the pipe that pulses and all others' answers
 * share. A text leaves as text: the cell encodes it faster than the isolate could.
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

/** Bodies up to so many bytes, or characters, leave in one message with their head. */
export const WHOLE_LENGTH_MAX = 64 * 1024;
/** `STREAM_CHUNKS_IN_FLIGHT` of the wire. */
const CHUNKS_IN_FLIGHT = 8;
/** Of these, so many leave before the other side has given any credit: as many bodies may begin at once as calls. */
const CHUNKS_AT_FIRST = 2;
/** `STREAM_CHUNK_BYTES_MAX` of the wire. */
const PIECE_BYTES = 64 * 1024;
/** A character is three bytes at most. */
const PIECE_CHARS = 21 * 1024;

export class OutboundWhole {
  readonly #call: number;
  readonly #stream: number;
  readonly #emit: Emit;
  /** Undefined once it is out, or nobody wants the rest. */
  #body: string | Bytes | undefined;
  #at = 0;
  #ahead = CHUNKS_IN_FLIGHT - CHUNKS_AT_FIRST;
  readonly #onDone: () => void;

  /** @param onDone called once all of it is out */
  constructor(
    call: number,
    stream: number,
    emit: Emit,
    body: string | ArrayBuffer,
    onDone: () => void = () => undefined,
  ) {
    this.#call = call;
    this.#stream = stream;
    this.#emit = emit;
    this.#body = typeof body === 'string' ? body : new Uint8ArrayIntrinsic(body);
    this.#onDone = onDone;
  }

  /** The other side has taken so many pieces. */
  credit(chunks: number): void {
    this.#ahead -= chunks;
    this.send();
  }

  /** Nobody wants the rest. */
  drop(): void {
    this.#body = undefined;
  }

  /** Sends as much as there is credit for. */
  send(): void {
    while (this.#body !== undefined && this.#ahead < CHUNKS_IN_FLIGHT) {
      const piece = typeof this.#body === 'string' ? this.#text(this.#body) : this.#bytes(this.#body);
      if (piece === undefined) {
        this.#body = undefined;
        this.#emit('close', this.#call, this.#stream, '');
        this.#onDone();
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
    // A pair that is torn apart would become two replacement characters.
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
