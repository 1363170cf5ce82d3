/**
 * A byte source over bytes in memory: for the stream of a Blob, or of a body made from a Blob, a
 * string, bytes or a form.
 */
import { type Bytes, copyBytes, subBytes } from '../encoding/bytes.ts';
import { utf8Encode } from '../encoding/utf8.ts';
import { isView, min, typedArrayByteLength } from '../primordials.ts';
import { Box } from '../promise-box.ts';
import { ByteSource } from '../streams/byte-source.ts';

/** Bytes of one piece. Each is a copy, because streams transfer the buffers of their chunks. */
const PIECE_BYTES = 64 * 1024;

export class WholeSource extends ByteSource {
  #load: (() => string | Bytes | Promise<Box>) | undefined;
  #bytes: Bytes | undefined;
  #at = 0;

  /** @param load called once, by the first `take`; its bytes are only read */
  constructor(load: () => string | Bytes | Promise<Box>) {
    super();
    this.#load = load;
  }

  async take(): Promise<Box | undefined> {
    const load = this.#load;
    if (load !== undefined) {
      this.#load = undefined;
      const all = load();
      if (typeof all === 'string') this.#bytes = utf8Encode(all);
      else this.#bytes = isView(all) ? all : (await all).bytes;
    }
    const bytes = this.#bytes;
    if (bytes === undefined) return undefined;
    const length = typedArrayByteLength(bytes);
    if (this.#at >= length) {
      this.#bytes = undefined;
      return undefined;
    }
    const end = min(this.#at + PIECE_BYTES, length);
    const piece = copyBytes(subBytes(bytes, this.#at, end));
    this.#at = end;
    return new Box(piece);
  }

  cancel(): void {
    this.#load = undefined;
    this.#bytes = undefined;
  }
}
