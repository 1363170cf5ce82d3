/**
 * A connection without a socket: two streams in one process, of which each reads what the other writes.
 *
 * Node's HTTP server takes any stream for a connection, and undici's client does too, so a request between them goes
 * through the same parsers and doors as one from the network. A writer waits until what it wrote has been read, as TCP
 * would make it. It knows nothing of HTTP.
 */
import { Duplex } from 'node:stream';

export interface ConnectionPair {
  /** Whoever asks. Once it is destroyed, so is the other end: nobody is left to answer. */
  readonly asking: Duplex;
  /** Whoever answers. Once it is destroyed, the other end reads what is still there, and then the end. */
  readonly answering: Duplex;
}

export function connectionPair(): ConnectionPair {
  const asking: End = new End({ peer: () => answering, onClosed: () => answering.destroy() });
  const answering: End = new End({ peer: () => asking, onClosed: () => asking.finish() });
  return { asking, answering };
}

class End extends Duplex {
  readonly #peer: () => End;
  readonly #onClosed: () => void;
  /** Lets the other end write on: set while what it wrote last waits to be read. */
  #taken: (() => void) | undefined;
  #finished = false;
  #takenBytes = 0;

  constructor({ peer, onClosed }: { peer: () => End; onClosed: () => void }) {
    super();
    this.#peer = peer;
    this.#onClosed = onClosed;
  }

  /** As a socket has it: with what waits. */
  get bytesWritten(): number {
    return this.#takenBytes + this.writableLength;
  }

  /** The other end writes no more. */
  finish(): void {
    if (this.#finished || this.destroyed) return;
    this.#finished = true;
    this.push(null);
  }

  /** As a socket has it: what was written still leaves. Node's server and the doors close connections with it. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy()).end();
  }

  override _read(): void {
    this.#letGo();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#peer().#take(chunk, () => {
      this.#takenBytes += chunk.byteLength;
      done();
    });
  }

  override _final(done: () => void): void {
    this.#peer().finish();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#letGo();
    // Not at once: a parser may be in the middle of what it does.
    process.nextTick(this.#onClosed);
    done(error);
  }

  #take(chunk: Buffer, done: () => void): void {
    // Nobody reads it any more; who writes hears of it by the end of the connection.
    if (this.destroyed || this.#finished || this.push(chunk)) return done();
    this.#taken = done;
  }

  #letGo(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }
}
