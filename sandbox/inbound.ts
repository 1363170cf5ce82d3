/**
 * A stream of bytes into the isolate: an upload, or the body of a fetch's answer.
 *
 * It holds no more chunks than the credit that it has given. Most bodies are read whole; a
 * ReadableStream over this is made only if code reads `body`. No other code holds its buffers.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import type { Bytes } from './web/encoding/bytes.ts';
import { List, push } from './web/list.ts';
import { PromiseIntrinsic, Uint8ArrayIntrinsic } from './web/primordials.ts';
import { Box } from './web/promise-box.ts';
import { ByteSource } from './web/streams/byte-source.ts';

/** Credit is given in lots, because each lot is a message to the cell and the host. */
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
  /** The body of server-sent events. */
  isSubscription = false;
  /** Called once, when the stream has ended or failed. */
  onOver: (() => void) | undefined;

  constructor(call: number, stream: number, emit: Emit) {
    super();
    this.#call = call;
    this.#stream = stream;
    this.#emit = emit;
  }

  /** Whether a reader waits for the next chunk. */
  get isAwaited(): boolean {
    return this.#waiting !== undefined;
  }

  /** Receives a chunk. */
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

  /** The stream is complete. */
  end(): void {
    if (this.#ended) return;
    this.#over();
    this.#waiting?.resolve(undefined);
    this.#waiting = undefined;
  }

  /** The stream has failed before its end. */
  fail(reason: unknown): void {
    if (this.#ended) return;
    this.#over();
    this.#failed = true;
    this.#reason = reason;
    this.#chunks = new List();
    this.#waiting?.reject(reason);
    this.#waiting = undefined;
  }

  /** The next chunk; undefined at the end. May be called again once the promise has settled. */
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

  /** The reader does not want the rest. */
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
