/**
 * An in-process connection: two streams, each of which reads what the other writes.
 *
 * Node's HTTP server accepts any stream as a connection, and so does undici's client. A request
 * between them passes the same parsers and routes as one from the network. A writer waits until its
 * bytes have been read, as with TCP. This file knows nothing of HTTP.
 */
import { Duplex } from 'node:stream';

export interface ConnectionPair {
  /** The client's end. Destroying it destroys the other end: no client is left to answer. */
  readonly client: Duplex;
  /**
   * The server's end. When it is destroyed, the client reads what is still buffered, then the end.
   */
  readonly server: Duplex;
}

export function connectionPair(): ConnectionPair {
  const client: End = new End({ peer: () => server, onClosed: () => server.destroy() });
  const server: End = new End({ peer: () => client, onClosed: () => client.finish() });
  return { client, server };
}

class End extends Duplex {
  readonly #peer: () => End;
  readonly #onClosed: () => void;
  /** Completes the other end's last write; set while its bytes wait to be read. */
  #onDrained: (() => void) | undefined;
  #finished = false;
  #readBytes = 0;

  constructor({ peer, onClosed }: { peer: () => End; onClosed: () => void }) {
    super();
    this.#peer = peer;
    this.#onClosed = onClosed;
  }

  /** As on a socket: includes bytes that still wait. */
  get bytesWritten(): number {
    return this.#readBytes + this.writableLength;
  }

  /** Ends the readable side: the other end writes no more. */
  finish(): void {
    if (this.#finished || this.destroyed) return;
    this.#finished = true;
    this.push(null);
  }

  /**
   * As on a socket: ends after pending writes. Node's server and the listeners close connections
   * with it.
   */
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy()).end();
  }

  override _read(): void {
    this.#drained();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#peer().#receive(chunk, () => {
      this.#readBytes += chunk.byteLength;
      done();
    });
  }

  override _final(done: () => void): void {
    this.#peer().finish();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#drained();
    // On the next tick: a parser may be in the middle of its work.
    process.nextTick(this.#onClosed);
    done(error);
  }

  #receive(chunk: Buffer, done: () => void): void {
    // This end is closed, so the bytes are dropped; the writer notices by the end of the
    // connection.
    if (this.destroyed || this.#finished || this.push(chunk)) return done();
    this.#onDrained = done;
  }

  #drained(): void {
    const onDrained = this.#onDrained;
    this.#onDrained = undefined;
    onDrained?.();
  }
}
