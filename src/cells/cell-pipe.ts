/**
 * The host's end of the pipe to one cell: writes frames, pings, and parses the frames that arrive.
 *
 * Whatever a cell sends is hostile input: a frame or a message of wrong shape is a breach, for
 * which the cell is ended.
 */
import type { Duplex, Readable } from 'node:stream';
import { countRead } from '../model/read-buffers.ts';
import { FrameReader, FrameWriter } from '../protocol/frames.ts';
import { parseCellMessage } from '../protocol/parse-cell-message.ts';
import { type CellMessage, type HostMessage, WIRE_BOUNDS } from '../protocol/wire.ts';
import type { CellHeartbeat } from './cell-heartbeat.ts';

/** Node reads pieces of 64 KiB at most; a piece of half that size means that more is waiting. */
const FULL_BYTES = 32 * 1024;

export interface CellPipeParts {
  readonly breach: (words: string) => void;
  readonly heartbeat: CellHeartbeat;
  /** Takes a message about inspection, and is false for any other. Absent in production. */
  readonly inspected?: ((head: unknown, body: Buffer) => boolean) | undefined;
}

export class CellPipe extends FrameWriter {
  readonly #heartbeat: CellHeartbeat;

  /** @param parts `breach` ends the cell; it receives what the cell did, for the operator */
  constructor(pipe: Duplex, received: (message: CellMessage, body: Buffer) => void, parts: CellPipeParts) {
    super(pipe);
    const { breach, inspected } = parts;
    this.#heartbeat = parts.heartbeat;
    const bounds = { headBytes: WIRE_BOUNDS.headBytes, bodyBytes: WIRE_BOUNDS.bodyBytes };
    const reader = new FrameReader(bounds, (head, body) => {
      const message = parseCellMessage(head);
      if (message !== undefined) received(message, body);
      else if (inspected?.(head, body) !== true) breach('sent a malformed message');
    });
    readInTurns(pipe, (piece) => {
      // A cell that is busy writing is not silent; one that never ends a frame holds its calls past
      // their time.
      this.#heartbeat.heard();
      countRead(piece);
      if (!reader.push(piece)) breach('sent a broken frame');
    });
    // A broken pipe ends with the exit of the process, which is where it is handled.
    pipe.on('error', () => undefined);
  }

  /** To be called every `PING_EVERY_MS`. */
  ping(): void {
    this.#heartbeat.pinged();
    this.send({ t: 'ping' } satisfies HostMessage);
  }
}

/**
 * Reads a pipe, one full piece in a turn of the host's event loop.
 *
 * Attack: a cell that floods. Node reads from one pipe as long as there is data, up to two
 * megabytes at a time: tens of thousands of small messages, and a tenth of a second in which the
 * host serves nothing else. So after a full piece, behind which more is waiting, the event loop
 * turns first. Smaller pieces, which is all that an ordinary cell sends, cost nothing.
 */
export function readInTurns(pipe: Readable, take: (piece: Buffer) => void): void {
  pipe.on('data', (piece: Buffer) => {
    take(piece);
    if (piece.byteLength < FULL_BYTES) return;
    pipe.pause();
    setImmediate(() => pipe.resume());
  });
}
