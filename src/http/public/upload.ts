/**
 * The body of a request as it comes, for an integration that reads it as a stream: no more of it is read from the socket
 * than has been asked for, so a slow integration holds its client back.
 *
 * The limit on a body holds here too. One that turns out to be over it ends the call, and the client hears 413 where the
 * integration has not answered already.
 */
import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import { tooLarge } from './request-body.ts';

export class Upload extends Transform {
  readonly #bytesMax: number;
  readonly #request: IncomingMessage;
  #bytes = 0;
  /** Told once, when the limit is passed. */
  onTooLarge: (() => void) | undefined;

  constructor(request: IncomingMessage, bytesMax: number) {
    super();
    this.#request = request;
    this.#bytesMax = bytesMax;
    this.on('error', () => undefined);
    // A client that goes away never ends its body. The request's own `close` does not do: once its answer is out, Node
    // closes the connection behind it without a word to the request.
    request.socket.once('close', this.#onClose);
    request.pipe(this);
    if (request.socket.destroyed) this.#onClose();
  }

  /**
   * The call is over, and had no answer. What is still on its way is dropped as it comes.
   *
   * @throws AnnexError REQUEST_TOO_LARGE where that is why
   */
  finish(): void {
    this.destroy();
    if (this.#bytes > this.#bytesMax) throw tooLarge(this.#bytesMax);
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes <= this.#bytesMax) return done(null, chunk);
    this.onTooLarge?.();
    return done(tooLarge(this.#bytesMax));
  }

  readonly #onClose = (): void => {
    if (!this.#request.complete) this.destroy(new Error('The client went away.'));
  };

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // What is still on its way is dropped as it comes.
    this.#request.socket.off('close', this.#onClose);
    this.#request.unpipe(this);
    this.#request.resume();
    done(error);
  }
}
