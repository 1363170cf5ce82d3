/**
 * Outbox: the messages of a cell on their way into its one pipe to the host, by priority.
 *
 * Attack: large answers fill the pipe, and pulses and the answers of other calls wait behind them
 * until the host takes the cell for silent. So chunks of bodies wait here while the pipe is full,
 * by call, and calls take turns; all other messages go ahead of them. Within a call the order
 * stays: a message that follows a waiting chunk waits behind it. The number of waiting chunks is
 * bounded by the credit that the host has given (`STREAM_CHUNKS_IN_FLIGHT`).
 */
import type { Duplex } from 'node:stream';
import { FrameWriter } from '../../protocol/frames.ts';
import type { CellInspection } from '../../protocol/inspection.ts';
import type { CellMessage } from '../../protocol/wire.ts';

/** Bytes that may wait in the pipe before chunks wait in the outbox. */
const PIPE_BYTES_MAX = 256 * 1024;

type Message = CellMessage | CellInspection;
type Queued = readonly [message: Message, ...body: Uint8Array[]];

export class Outbox {
  readonly #pipe: Duplex;
  readonly #writer: FrameWriter;
  /** Waiting messages, by call, in the order of the calls' turns. */
  readonly #waiting = new Map<number, Queued[]>();

  constructor(pipe: Duplex) {
    this.#pipe = pipe;
    this.#writer = new FrameWriter(pipe);
    pipe.on('drain', () => this.#pump());
  }

  /**
   * Sends a message, or queues it behind the waiting chunks of its call. @param body its bytes, in
   * parts
   */
  send(message: Message, ...body: Uint8Array[]): void {
    const call = 'id' in message ? message.id : undefined;
    const before = call === undefined ? undefined : this.#waiting.get(call);
    if (before !== undefined) {
      before.push([message, ...body]);
    } else if (call !== undefined && message.t === 'chunk' && this.#full) {
      this.#waiting.set(call, [[message, ...body]]);
    } else {
      this.#writer.send(message, ...body);
    }
  }

  /**
   * Writes to the pipe all that need not wait. @returns false where some messages are not in it yet
   */
  flush(): boolean {
    return this.#writer.flush() && this.#waiting.size === 0;
  }

  get #full(): boolean {
    return this.#pipe.writableLength >= PIPE_BYTES_MAX;
  }

  /** Sends one chunk of each call in turn, until the pipe is full again. */
  #pump(): void {
    for (const [call, waiting] of this.#waiting) {
      if (this.#full) return;
      this.#waiting.delete(call);
      this.#sendChunk(waiting);
      // Behind all others: a map is iterated in the order of insertion, and this call comes up
      // again.
      if (waiting.length > 0) this.#waiting.set(call, waiting);
    }
  }

  /** Sends a chunk, and the messages that follow it up to the next chunk. */
  #sendChunk(waiting: Queued[]): void {
    do {
      const [message, ...body] = waiting.shift() as Queued;
      this.#writer.send(message, ...body);
    } while (waiting.length > 0 && waiting[0]?.[0].t !== 'chunk');
  }
}
