/** Counts the bytes that pass through a stream, and ends it if they are too many. */
import { Transform, type TransformCallback } from 'node:stream';

/**
 * Bytes that a stage of a body buffers before its sender waits. A large chunk still passes at once.
 *
 * Attack: a server that sends chunks of one byte. Each costs a hundred, so Node's usual 64 KiB
 * would be 12 MB of objects.
 */
export const HELD_BYTES = 1_024;

export class ByteLimit extends Transform {
  readonly #bytesMax: number;
  readonly #tooMany: () => Error;
  readonly #explain: (cause: Error) => Error;
  #bytes = 0;

  /** @param explain maps the error of a stream that breaks off to that of its reader */
  constructor(bytesMax: number, tooMany: () => Error, explain: (cause: Error) => Error = (cause) => cause) {
    super({ highWaterMark: HELD_BYTES });
    this.#bytesMax = bytesMax;
    this.#tooMany = tooMany;
    this.#explain = explain;
    // Errors reach the reader. Before there is one, an error must not end the process.
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
