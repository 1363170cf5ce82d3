/**
 * A source of bytes for the body of a Request or Response: a stream from the host, or a tenant's
 * stream. Not a ReadableStream, because most bodies are read whole and need none.
 */
import { type Bytes, joinBytes } from '../encoding/bytes.ts';
import { List, push } from '../list.ts';
import { PromiseIntrinsic } from '../primordials.ts';
import { Box } from '../promise-box.ts';
import { isObject } from '../web-idl.ts';
import { chunkBytes, newByteStream, notBytes, type StreamReader } from './stream.ts';

/** Brand of the sources: a tenant cannot make one, because it reaches none of their classes. */
export abstract class ByteSource {
  readonly #genuine = true;

  static is(value: unknown): value is ByteSource {
    return isObject(value) && #genuine in value && value.#genuine;
  }

  /**
   * The next bytes, which belong to the caller; undefined at the end. May be called again once it
   * has settled. Attack: a `then` on `Object.prototype` that answers other bytes, or an end; a box
   * has no prototype.
   */
  abstract take(): Promise<Box | undefined>;

  /** The reader does not want the rest. */
  abstract cancel(reason: unknown): void;
}

export const isByteSource = (value: unknown): value is ByteSource => ByteSource.is(value);

/** Reads the source to its end. */
export async function collectBytes(source: ByteSource): Promise<Box> {
  const pieces = new List<Bytes>();
  for (let piece = await source.take(); piece !== undefined; piece = await source.take())
    push(pieces, piece.bytes);
  return new Box(pieces.length === 1 ? (pieces[0] as Bytes) : joinBytes(pieces));
}

/** A stream over a source. */
export const streamOver = (source: ByteSource): ReadableStream =>
  newByteStream({
    async pull(controller) {
      const piece = await source.take();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece.bytes);
    },
    cancel(reason) {
      source.cancel(reason);
      return undefined;
    },
  });

/** Source over a reader of a tenant's stream. A chunk that is not a Uint8Array ends it. */
export class ReaderSource extends ByteSource {
  readonly #reader: StreamReader;

  constructor(reader: StreamReader) {
    super();
    this.#reader = reader;
  }

  take(): Promise<Box | undefined> {
    return new PromiseIntrinsic((resolve, reject) => {
      this.#reader.read({
        chunk: (value) => {
          const bytes = chunkBytes(value);
          if (bytes !== undefined) {
            resolve(new Box(bytes));
            return;
          }
          const error = notBytes('body', value);
          this.cancel(error);
          reject(error);
        },
        close: () => resolve(undefined),
        error: reject,
      });
    });
  }

  cancel(reason: unknown): void {
    // The error of a cancelled stream is of no use.
    void settle(this.#reader.cancel(reason));
  }
}

async function settle(promise: Promise<unknown>): Promise<void> {
  try {
    await promise;
  } catch {}
}
