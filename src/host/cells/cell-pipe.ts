/**
 * The host's end of the pipe to one cell: writes frames, pings, and parses the frames that arrive.
 *
 * Whatever a cell sends is hostile input: a frame or a message of wrong shape is a breach, for
 * which the cell is ended.
 */
import type { Duplex, Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FrameReader, FrameWriter } from '../../protocol/frames.ts';
import { parseCellMessage } from '../../protocol/parse-cell-message.ts';
import { type CellMessage, type HostMessage, WIRE_BOUNDS } from '../../protocol/wire.ts';
import type { CellHeartbeat } from './cell-heartbeat.ts';

/** Node reads pieces of 64 KiB at most; a piece of half that size means that more is waiting. */
const FULL_BYTES = 32 * 1024;

export interface CellPipeDeps {
  readonly breach: (words: string) => void;
  readonly heartbeat: CellHeartbeat;
  /** Takes a message about inspection, and is false for any other. Absent in production. */
  readonly inspected?: ((head: unknown, body: Buffer) => boolean) | undefined;
}

export class CellPipe extends FrameWriter {
  readonly #heartbeat: CellHeartbeat;

  /** @param deps `breach` ends the cell; it receives what the cell did, for the operator */
  constructor(pipe: Duplex, received: (message: CellMessage, body: Buffer) => void, deps: CellPipeDeps) {
    super(pipe);
    const { breach, inspected } = deps;
    this.#heartbeat = deps.heartbeat;
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

/**
 * Bytes between two collections: with what is copied of them, below the engine's bound. Twice as
 * often, bodies that are still in use would be taken for old ones.
 */
const BYTES_BETWEEN = 12 * 1024 * 1024;

type Collect = (options: { readonly type: 'minor' }) => void;

let collect: Collect | undefined;
let bytes = 0;

/**
 * Frees the buffers of bodies that have passed through, before the engine collects the whole heap
 * because of them.
 *
 * The engine counts buffers, which are outside of its heap, and answers 32 MiB of them with a
 * collection of everything: an answer of 10 MiB took the main thread 40 to 80 ms, in which no other
 * request was served. Nearly all of these buffers are young and unused by then. So after every few
 * megabytes that were read, the young generation alone is collected, which takes one millisecond.
 *
 * Counts a buffer that was read and is soon done with.
 */
export function countRead({ byteLength }: Uint8Array): void {
  bytes += byteLength;
  if (bytes < BYTES_BETWEEN) return;
  bytes = 0;
  collect ??= exposed();
  collect({ type: 'minor' });
}

/** The engine's collector, of which no other code gets hold. */
function exposed(): Collect {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
