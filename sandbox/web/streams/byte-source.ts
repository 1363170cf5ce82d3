/**
 * A run of bytes that is still coming, as the body of a Request or Response holds it: what the host sends, or what a
 * tenant's stream gives. It is not yet a ReadableStream, because most bodies are read whole and need none.
 */
import { Box } from '../box.ts';
import { type Bytes, joinBytes } from '../encoding/bytes.ts';
import { List, push } from '../list.ts';
import { PromiseIntrinsic } from '../primordials.ts';
import { isObject } from '../web-idl.ts';
import { chunkBytes, newByteStream, notBytes, type StreamReader } from './stream.ts';

/** Brands the sources: a tenant has none of its own making, because no class of these is reachable. */
export abstract class ByteSource {
  readonly #genuine = true;

  static is(value: unknown): value is ByteSource {
    return isObject(value) && #genuine in value && value.#genuine;
  }

  /**
   * The next bytes, which belong to the caller, or undefined at the end. To be called again when it has settled. Attack: a
   * `then` on `Object.prototype` answers other bytes, or an end; a box has no such member.
   */
  abstract take(): Promise<Box | undefined>;

  /** Nobody wants the rest. */
  abstract cancel(reason: unknown): void;
}

export const isByteSource = (value: unknown): value is ByteSource => ByteSource.is(value);

/** All that is still to come, as one. */
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

/** What a reader of a tenant's stream gives: anything but a Uint8Array ends it. */
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
    // A source that fails to be cancelled has nothing left to tell.
    void settle(this.#reader.cancel(reason));
  }
}

async function settle(promise: Promise<unknown>): Promise<void> {
  try {
    await promise;
  } catch {}
}
