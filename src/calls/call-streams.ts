/**
 * The streams of one call, by number, on the host's side: what the cell says of them is checked, and handed to the one it
 * is for (`StreamMessage` of the wire).
 *
 * The cell may be hostile: a chunk of a stream that was never opened, one too many, a credit for what was not sent are
 * breaches, and its owner ends it for one. Numbers are never used twice in a call.
 */
import type { Readable } from 'node:stream';
import type { CellProcess } from '../cells/cell-process.ts';
import type { Outcome, StreamMessage } from '../protocol/wire.ts';
import { type Collecting, IncomingWhole } from './incoming-body.ts';
import { IncomingStream } from './incoming-stream.ts';
import { OutgoingStream } from './outgoing-stream.ts';

/** Sends a message of this call to its cell. */
export type TellCell = CellProcess['tell'];

export class CallStreams {
  readonly #id: number;
  readonly #tell: TellCell;
  readonly #incoming = new Map<number, IncomingStream | IncomingWhole>();
  readonly #outgoing = new Map<number, OutgoingStream>();

  constructor(id: number, tell: TellCell) {
    this.#id = id;
    this.#tell = tell;
  }

  /** Opens a stream from the isolate. */
  receive(stream: number, bytesMax: number): IncomingStream {
    const id = this.#id;
    const incoming = new IncomingStream(bytesMax, {
      credit: (chunks) => this.#tell({ t: 'credit', id, stream, chunks }),
      // A client that goes away destroys its answer and cancels the call, in whichever order. The call has to hear of the
      // latter first: it would take the former for its end, and its signal would never be aborted.
      drop: () => setImmediate(() => this.#tell({ t: 'drop', id, stream })),
    });
    this.#incoming.set(stream, incoming);
    return incoming;
  }

  /** Opens a stream from the isolate whose body is handed on as a whole. @returns what ends it before */
  collect(
    stream: number,
    bytesMax: number,
    { collecting, owner, done }: { collecting: Collecting; owner: string; done(body: Buffer): void },
  ): Pick<IncomingWhole, 'drop'> {
    const id = this.#id;
    const credit = (chunks: number) => this.#tell({ t: 'credit', id, stream, chunks });
    const whole = new IncomingWhole(bytesMax, collecting, owner, { credit, done });
    this.#incoming.set(stream, whole);
    return whole;
  }

  /** Opens a stream to the isolate. */
  send(stream: number, source: Readable, describe: (cause: Error) => string): void {
    const id = this.#id;
    const outgoing = new OutgoingStream(
      source,
      {
        chunk: (bytes) => this.#tell({ t: 'chunk', id, stream }, bytes),
        close: (error) => this.#tell({ t: 'close', id, stream, ...(error !== undefined && { error }) }),
      },
      describe,
    );
    this.#outgoing.set(stream, outgoing);
  }

  /** @returns false where the cell broke the rules */
  hear(message: StreamMessage, bytes: Buffer): boolean {
    switch (message.t) {
      case 'chunk':
        return this.#incoming.get(message.stream)?.hear(bytes) ?? false;
      case 'close': {
        const { stream, error } = message;
        const incoming = this.#incoming.get(stream);
        return (error === undefined ? incoming?.close() : incoming?.breakOff(error, 'exception')) ?? false;
      }
      case 'credit':
        return this.#outgoing.get(message.stream)?.credit(message.chunks) ?? false;
      case 'drop': {
        this.#outgoing.get(message.stream)?.drop();
        return true;
      }
    }
  }

  /** The call is over: what is still on its way goes nowhere. */
  end(outcome: Outcome): void {
    for (const outgoing of this.#outgoing.values()) outgoing.drop();
    for (const incoming of this.#incoming.values()) incoming.breakOff('The call has ended.', outcome);
  }
}
