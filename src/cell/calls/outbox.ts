/**
 * What a cell has to say, in the order in which it matters, on its way into the one pipe to the host.
 *
 * Attack: large answers fill the pipe, and pulses and everybody else's answers wait behind them until the host takes the
 * cell for silent. So pieces of bodies wait here while the pipe is full, by call, and calls take turns; everything else goes
 * ahead of them. Within a call the order stays: what follows a piece that waits, waits behind it. What waits is bounded by
 * the credit that the host has given (`STREAM_CHUNKS_IN_FLIGHT`).
 */
import type { Duplex } from 'node:stream';
import { FrameWriter } from '../../protocol/frames.ts';
import type { CellMessage } from '../../protocol/wire.ts';

/** Bytes that the pipe may have waiting before pieces of bodies have to. */
const PIPE_BYTES_MAX = 256 * 1024;

type Said = readonly [message: CellMessage, ...body: Uint8Array[]];

export class Outbox {
  readonly #pipe: Duplex;
  readonly #writer: FrameWriter;
  /** What waits, by call, in the order of their turns. */
  readonly #waiting = new Map<number, Said[]>();

  constructor(pipe: Duplex) {
    this.#pipe = pipe;
    this.#writer = new FrameWriter(pipe);
    pipe.on('drain', () => this.#pump());
  }

  send(message: CellMessage, ...body: Uint8Array[]): void {
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

  /** Puts all that need not wait into the pipe. @returns false where some of what was said is not in it yet */
  flush(): boolean {
    return this.#writer.flush() && this.#waiting.size === 0;
  }

  get #full(): boolean {
    return this.#pipe.writableLength >= PIPE_BYTES_MAX;
  }

  /** One piece of each call in turn, until the pipe is full again. */
  #pump(): void {
    for (const [call, waiting] of this.#waiting) {
      if (this.#full) return;
      this.#waiting.delete(call);
      this.#sendPiece(waiting);
      // Behind all others: a map is walked in the order of insertion, and this one comes up again.
      if (waiting.length > 0) this.#waiting.set(call, waiting);
    }
  }

  /** A piece, and what follows it up to the next. */
  #sendPiece(waiting: Said[]): void {
    do {
      const [message, ...body] = waiting.shift() as Said;
      this.#writer.send(message, ...body);
    } while (waiting.length > 0 && waiting[0]?.[0].t !== 'chunk');
  }
}
