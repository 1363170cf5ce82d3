/**
 * The layout of a frame on the pipe, and nothing about what frames mean.
 *
 *   u32 head length | u32 body length | head, JSON in UTF-8 | body, raw bytes        (little endian)
 *
 * Writing batches: all frames of one turn of the event loop leave in one system call. Reading never copies a body that
 * arrived in one piece and bounds what it is willing to hold, because the peer may be hostile.
 */
import type { Duplex } from 'node:stream';

const PREFIX_BYTES = 8;
/** Bodies up to this size are copied behind their head: cheaper than a write of their own. */
const JOIN_BYTES_MAX = 16 * 1024;
/** Pieces of a frame that are kept one by one before they are joined. */
const LOOSE_PIECES_MAX = 256;

/** Most a reader accepts in one frame. */
export interface FrameBounds {
  readonly headBytes: number;
  readonly bodyBytes: number;
}

/** Sends frames down a stream, batched. */
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

  /** Sends what is queued now, and not at the end of the turn. @returns false where the stream cannot take all of it yet */
  flush(): boolean {
    this.#uncork();
    return this.#stream.writableLength === 0;
  }

  /** Queues one frame: `head` must be JSON-safe; the parts of `body` follow each other, large ones uncopied. */
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

  /** @param onFrame is called once a frame, in order; `head` is whatever JSON the peer sent. */
  constructor(bounds: FrameBounds, onFrame: (head: unknown, body: Buffer) => void) {
    this.#bounds = bounds;
    this.#onFrame = onFrame;
  }

  /**
   * Takes the next chunk.
   *
   * @returns false once the peer broke the layout (a length over its bound, a head that is not JSON), and ever after. The
   *   stream has lost its frame boundaries then, and the caller must give the peer up.
   */
  push(chunk: Buffer): boolean {
    // What is still in the pipe while the peer is being ended is neither kept nor read, nor what came before it once more.
    if (this.#broken) return false;
    this.#pieces.push(chunk);
    this.#held += chunk.length;
    if (this.#held < this.#wanted) {
      this.#loose += 1;
      if (this.#loose === LOOSE_PIECES_MAX) this.#joinLoose();
      return true;
    }
    let data = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces, this.#held);
    for (;;) {
      if (data.length < PREFIX_BYTES) {
        this.#wanted = PREFIX_BYTES;
        break;
      }
      const headBytes = data.readUInt32LE(0);
      const bodyBytes = data.readUInt32LE(4);
      // A forged length would make the reader hold, or wait for, gigabytes.
      if (headBytes > this.#bounds.headBytes || bodyBytes > this.#bounds.bodyBytes) return this.#giveUp();
      const bodyStart = PREFIX_BYTES + headBytes;
      this.#wanted = bodyStart + bodyBytes;
      if (data.length < this.#wanted) break;
      let head: unknown;
      try {
        head = JSON.parse(data.toString('utf8', PREFIX_BYTES, bodyStart));
      } catch {
        return this.#giveUp();
      }
      const body = data.subarray(bodyStart, this.#wanted);
      data = data.subarray(this.#wanted);
      this.#onFrame(head, body);
    }
    this.#pieces = data.length > 0 ? [data] : [];
    this.#loose = 0;
    this.#held = data.length;
    return true;
  }

  /** A body in pieces of one byte would cost a hundred times what is counted. */
  #joinLoose(): void {
    this.#pieces.push(Buffer.concat(this.#pieces.splice(-this.#loose)));
    this.#loose = 0;
  }

  #giveUp(): false {
    this.#broken = true;
    this.#pieces = [];
    return false;
  }
}
