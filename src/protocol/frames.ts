/**
 * The layout of a frame on the pipe between host and cell; what frames mean is in `wire.ts`.
 *
 *   u32 head length | u32 body length | head, JSON in UTF-8 | body, raw bytes   (little-endian)
 *
 * The writer batches: all frames of one turn of the event loop leave in one system call. The reader
 * does not copy a body that arrived in one piece, and bounds what it holds, because the other side
 * may be hostile.
 */
import type { Duplex } from 'node:stream';

const PREFIX_BYTES = 8;
/** Bodies up to this size are copied behind their head: cheaper than a write of their own. */
const JOIN_BYTES_MAX = 16 * 1024;
/** Pieces of a frame that are kept one by one before they are joined. */
const LOOSE_PIECES_MAX = 256;
const NO_BYTES = Buffer.alloc(0);

/** Most that a reader accepts in one frame. */
export interface FrameBounds {
  readonly headBytes: number;
  readonly bodyBytes: number;
}

/** Writes frames to a stream, batched. */
export class FrameWriter {
  readonly #stream: Duplex;
  #corked = false;
  readonly #uncork = (): void => {
    if (!this.#corked) return;
    this.#corked = false;
    this.#stream.uncork();
  };

  constructor(stream: Duplex) {
    this.#stream = stream;
  }

  /**
   * Writes what is queued now, and not at the end of the turn. @returns false where the stream
   * cannot take all of it yet
   */
  flush(): boolean {
    this.#uncork();
    return this.#stream.writableLength === 0;
  }

  /**
   * Queues one frame: `head` must be JSON-safe; the parts of `body` follow each other, large ones
   * uncopied.
   */
  send(head: object, ...body: Uint8Array[]): void {
    if (!this.#stream.writable) return;
    if (!this.#corked) {
      this.#corked = true;
      this.#stream.cork();
      setImmediate(this.#uncork);
    }
    const text = JSON.stringify(head);
    const headBytes = Buffer.byteLength(text);
    let bodyBytes = 0;
    for (const part of body) bodyBytes += part.byteLength;
    const joined = bodyBytes <= JOIN_BYTES_MAX;
    const start = Buffer.allocUnsafe(PREFIX_BYTES + headBytes + (joined ? bodyBytes : 0));
    start.writeUInt32LE(headBytes, 0);
    start.writeUInt32LE(bodyBytes, 4);
    let end = PREFIX_BYTES + start.write(text, PREFIX_BYTES);
    if (joined) {
      for (const part of body) {
        start.set(part, end);
        end += part.byteLength;
      }
      this.#stream.write(start);
    } else {
      this.#stream.write(start);
      for (const part of body) if (part.byteLength > 0) this.#stream.write(part);
    }
  }
}

/** Cuts a byte stream into frames. */
export class FrameReader {
  readonly #bounds: FrameBounds;
  readonly #onFrame: (head: unknown, body: Buffer) => void;
  #pieces: Buffer[] = [];
  #loose = 0;
  #held = 0;
  #wanted = PREFIX_BYTES;
  #broken = false;

  /**
   * @param onFrame called for each frame, in order; `head` is any JSON that was sent, not checked
   */
  constructor(bounds: FrameBounds, onFrame: (head: unknown, body: Buffer) => void) {
    this.#bounds = bounds;
    this.#onFrame = onFrame;
  }

  /**
   * Takes the next chunk.
   *
   * @returns false from the first frame on that breaks the layout (a length over its bound, a head
   *   that is not JSON). The frame boundaries are lost then: the caller must end the other side.
   */
  push(chunk: Buffer): boolean {
    // Chunks that come while the other side is being ended are neither kept nor read, and nothing
    // is read twice.
    if (this.#broken) return false;
    this.#pieces.push(chunk);
    this.#held += chunk.length;
    if (this.#held < this.#wanted) {
      this.#loose += 1;
      if (this.#loose === LOOSE_PIECES_MAX) this.#joinLoose();
      return true;
    }
    for (;;) {
      if (this.#held < PREFIX_BYTES) {
        this.#wanted = PREFIX_BYTES;
        break;
      }
      const prefix = this.#read(0, PREFIX_BYTES);
      const headBytes = prefix.readUInt32LE(0);
      const bodyBytes = prefix.readUInt32LE(4);
      // Attack: a forged length makes the reader hold, or wait for, gigabytes.
      if (headBytes > this.#bounds.headBytes || bodyBytes > this.#bounds.bodyBytes) return this.#fail();
      const bodyStart = PREFIX_BYTES + headBytes;
      this.#wanted = bodyStart + bodyBytes;
      if (this.#held < this.#wanted) break;
      let head: unknown;
      try {
        head = JSON.parse(this.#read(PREFIX_BYTES, bodyStart).toString('utf8'));
      } catch {
        return this.#fail();
      }
      const body = this.#read(bodyStart, this.#wanted);
      this.#drop(this.#wanted);
      this.#onFrame(head, body);
    }
    this.#loose = 0;
    return true;
  }

  /**
   * These bytes of what is held: uncopied where they are in one piece. Only they are copied where
   * they are not: a large body comes in two pieces, and the second one has the next frame, too.
   */
  #read(from: number, to: number): Buffer {
    const [only = NO_BYTES] = this.#pieces;
    if (to <= only.length) return only.subarray(from, to);
    const parts: Buffer[] = [];
    let at = 0;
    for (const piece of this.#pieces) {
      if (at >= to) break;
      const end = at + piece.length;
      if (end > from) parts.push(piece.subarray(Math.max(0, from - at), Math.min(piece.length, to - at)));
      at = end;
    }
    const [first = NO_BYTES] = parts;
    return parts.length > 1 ? Buffer.concat(parts, to - from) : first;
  }

  /** Drops the first bytes of what is held. */
  #drop(bytes: number): void {
    this.#held -= bytes;
    let left = bytes;
    let whole = 0;
    for (const { length } of this.#pieces) {
      if (length > left) break;
      left -= length;
      whole += 1;
    }
    if (whole > 0) this.#pieces.splice(0, whole);
    const [rest] = this.#pieces;
    if (left > 0 && rest !== undefined) this.#pieces[0] = rest.subarray(left);
  }

  /**
   * Attack: a body in pieces of one byte takes a hundred times the memory that is counted for it.
   */
  #joinLoose(): void {
    this.#pieces.push(Buffer.concat(this.#pieces.splice(-this.#loose)));
    this.#loose = 0;
  }

  #fail(): false {
    this.#broken = true;
    this.#pieces = [];
    return false;
  }
}
