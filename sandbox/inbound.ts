/**
 * A stream of bytes that comes to the isolate: an upload, or the body of a fetch's answer.
 *
 * It holds no more than the credit it has given. Most bodies are read whole and need no ReadableStream: one is made over
 * this by whoever asks for `body`. Chunks are buffers that nobody else holds.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import { Box } from './web/box.ts';
import type { Bytes } from './web/encoding/bytes.ts';
import { List, push } from './web/list.ts';
import { PromiseIntrinsic, Uint8ArrayIntrinsic } from './web/primordials.ts';
import { ByteSource } from './web/streams/byte-source.ts';

/** Credit is given in lots: each costs the cell and the host a message. */
const CREDIT_LOT = 4;

interface Waiting {
  resolve(piece: Box | undefined): void;
  reject(reason: unknown): void;
}

export class Inbound extends ByteSource {
  readonly #call: number;
  readonly #stream: number;
  readonly #emit: Emit;
  #chunks = new List<Bytes>();
  #first = 0;
  #taken = 0;
  #ended = false;
  #failed = false;
  #reason: unknown;
  #waiting: Waiting | undefined;
  /** Told once, when nothing more will come. */
  onOver: (() => void) | undefined;

  constructor(call: number, stream: number, emit: Emit) {
    super();
    this.#call = call;
    this.#stream = stream;
    this.#emit = emit;
  }

  /** A chunk has come. */
  chunk(buffer: ArrayBuffer): void {
    if (this.#ended) return;
    const bytes = new Uint8ArrayIntrinsic(buffer);
    const waiting = this.#waiting;
    if (waiting === undefined) {
      push(this.#chunks, bytes);
      return;
    }
    this.#waiting = undefined;
    this.#credit();
    waiting.resolve(new Box(bytes));
  }

  /** All has come. */
  end(): void {
    if (this.#ended) return;
    this.#over();
    this.#waiting?.resolve(undefined);
    this.#waiting = undefined;
  }

  /** No more will come, though that was not all. */
  fail(reason: unknown): void {
    if (this.#ended) return;
    this.#over();
    this.#failed = true;
    this.#reason = reason;
    this.#chunks = new List();
    this.#waiting?.reject(reason);
    this.#waiting = undefined;
  }

  /** The next chunk, or undefined at the end. To be called again when it has settled. */
  take(): Promise<Box | undefined> {
    return new PromiseIntrinsic((resolve, reject) => {
      const chunk = this.#shift();
      if (chunk !== undefined) {
        this.#credit();
        resolve(new Box(chunk));
      } else if (this.#failed) {
        reject(this.#reason);
      } else if (this.#ended) {
        resolve(undefined);
      } else {
        this.#waiting = { resolve, reject };
      }
    });
  }

  /** Nobody wants the rest. */
  cancel(): void {
    if (this.#ended) return;
    this.#over();
    this.#chunks = new List();
    this.#waiting?.resolve(undefined);
    this.#waiting = undefined;
    this.#emit('drop', this.#call, this.#stream);
  }

  #over(): void {
    this.#ended = true;
    this.onOver?.();
  }

  #shift(): Bytes | undefined {
    if (this.#first >= this.#chunks.length) return undefined;
    const chunk = this.#chunks[this.#first];
    this.#first += 1;
    if (this.#first === this.#chunks.length) {
      this.#chunks = new List();
      this.#first = 0;
    }
    return chunk;
  }

  #credit(): void {
    this.#taken += 1;
    if (this.#ended || this.#taken < CREDIT_LOT) return;
    this.#emit('credit', this.#call, this.#stream, this.#taken);
    this.#taken = 0;
  }
}
