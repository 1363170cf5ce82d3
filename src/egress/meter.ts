/** Counts the bytes that pass through a stream, and ends it where they are too many. */
import { Transform, type TransformCallback } from 'node:stream';

/**
 * What a stage of a body holds before its sender has to wait. Small, because it counts bytes while each piece costs a hundred:
 * a server that sends chunks of one byte fills 64 KiB, Node's usual measure, with 12 MB of objects. A large piece still
 * passes in one.
 */
export const HELD_BYTES = 1_024;

export class Meter extends Transform {
  readonly #bytesMax: number;
  readonly #tooMany: () => Error;
  readonly #explain: (cause: Error) => Error;
  #bytes = 0;

  /** @param explain what to tell the reader where the stream breaks */
  constructor(bytesMax: number, tooMany: () => Error, explain: (cause: Error) => Error = (cause) => cause) {
    super({ highWaterMark: HELD_BYTES });
    this.#bytesMax = bytesMax;
    this.#tooMany = tooMany;
    this.#explain = explain;
    // Who reads it hears of errors; one that nobody reads yet must not end the process.
    this.on('error', () => undefined);
  }

  override _transform(chunk: Uint8Array, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#bytesMax) callback(this.#tooMany());
    else callback(null, chunk);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    callback(error && this.#explain(error));
  }
}
