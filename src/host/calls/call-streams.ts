/**
 * The streams of one call, by number, on the side of the host: checks each message of the cell
 * about a stream, and hands it to that stream (`StreamMessage` of the wire;
 * docs/decisions/stream-credit.md).
 *
 * The cell may be hostile: a chunk of a stream that was never opened, a chunk without credit, and
 * credit for chunks that were not sent are breaches, for which the cell is ended. Numbers are never
 * used twice in a call.
 */
import type { Readable } from 'node:stream';
import type { Outcome, StreamMessage } from '../../protocol/wire.ts';
import type { CellProcess } from '../cells/cell-process.ts';
import { type IncomingBodies, IncomingBody } from './incoming-body.ts';
import { IncomingStream } from './incoming-stream.ts';
import { OutgoingStream } from './outgoing-stream.ts';

/** Sends a message of this call to its cell. */
export type SendToCell = CellProcess['send'];

export class CallStreams {
  readonly #id: number;
  readonly #send: SendToCell;
  readonly #incoming = new Map<number, IncomingStream | IncomingBody>();
  readonly #outgoing = new Map<number, OutgoingStream>();

  constructor(id: number, send: SendToCell) {
    this.#id = id;
    this.#send = send;
  }

  /** Opens a stream from the isolate. */
  open(stream: number, bytesMax: number): IncomingStream {
    const id = this.#id;
    const incoming = new IncomingStream(bytesMax, {
      credit: (chunks) => this.#send({ t: 'credit', id, stream, chunks }),
      // A client that disconnects destroys its answer and cancels the call, in either order. The
      // cancellation has to arrive first: the call would take the drop for its end, and its signal
      // would never be aborted.
      drop: () => setImmediate(() => this.#send({ t: 'drop', id, stream })),
    });
    this.#incoming.set(stream, incoming);
    return incoming;
  }

  /**
   * Opens a stream from the isolate that is collected: `done` gets the whole body. @returns the
   * body, to drop it earlier
   */
  collect(
    stream: number,
    bytesMax: number,
    { collecting, owner, done }: { collecting: IncomingBodies; owner: string; done(body: Buffer): void },
  ): Pick<IncomingBody, 'drop'> {
    const id = this.#id;
    const credit = (chunks: number) => this.#send({ t: 'credit', id, stream, chunks });
    const body = new IncomingBody(bytesMax, collecting, owner, { credit, done });
    this.#incoming.set(stream, body);
    return body;
  }

  /** Opens a stream to the isolate. @param describe words for the tenant where the source fails */
  send(stream: number, source: Readable, describe: (cause: Error) => string): void {
    const id = this.#id;
    const outgoing = new OutgoingStream(
      source,
      {
        chunk: (bytes) => this.#send({ t: 'chunk', id, stream }, bytes),
        close: (error) => this.#send({ t: 'close', id, stream, ...(error !== undefined && { error }) }),
      },
      describe,
    );
    this.#outgoing.set(stream, outgoing);
  }

  /**
   * Handles a message of the cell. @returns false where the cell broke a rule
   *
   * @param brokenOff the outcome of a stream that the code breaks off
   */
  receive(message: StreamMessage, bytes: Buffer, brokenOff: Outcome = 'exception'): boolean {
    switch (message.t) {
      case 'chunk':
        return this.#incoming.get(message.stream)?.receive(bytes) ?? false;
      case 'close': {
        const { stream, error } = message;
        const incoming = this.#incoming.get(stream);
        return (error === undefined ? incoming?.close() : incoming?.breakOff(error, brokenOff)) ?? false;
      }
      case 'credit':
        return this.#outgoing.get(message.stream)?.credit(message.chunks) ?? false;
      case 'drop': {
        this.#outgoing.get(message.stream)?.drop();
        return true;
      }
    }
  }

  /** The call is over: breaks off every stream. */
  end(outcome: Outcome): void {
    for (const outgoing of this.#outgoing.values()) outgoing.drop();
    for (const incoming of this.#incoming.values()) incoming.breakOff('The call has ended.', outcome);
  }
}
