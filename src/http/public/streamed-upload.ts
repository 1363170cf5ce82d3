/**
 * The body of a request as it comes, for an integration that reads it as a stream: no more of it is read from the socket
 * than has been asked for, so a slow integration holds its client back.
 *
 * The limit on a body holds here too, and so does its pace. One that turns out to be over the limit, or comes too slowly,
 * ends the call, and the client hears why where the integration has not answered already.
 */
import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import type { AnnexError } from '../../errors.ts';
import type { Sender, SlowSenders, WatchedSender } from '../slow-senders.ts';
import { tooLarge, tooSlow } from './request-body.ts';

export class StreamedUpload extends Transform implements Sender {
  readonly #bytesMax: number;
  readonly #request: IncomingMessage;
  readonly #senders: SlowSenders;
  readonly #watched: WatchedSender;
  #bytes = 0;
  #refusal: AnnexError | undefined;
  #begin: (() => void) | undefined;
  /** Told once, when the client has sent too much, or too slowly. */
  onRefused: (() => void) | undefined;
  /** Told once, when the client has sent all of it. */
  onArrived: (() => void) | undefined;
  /**
   * Settles with the first bytes, or when there will be none. A call holds one of the installation's places: a hundred
   * clients that announce a body and send nothing would hold them all.
   */
  readonly begun = new Promise<void>((resolve) => {
    this.#begin = resolve;
  });

  constructor(request: IncomingMessage, bytesMax: number, senders: SlowSenders) {
    super();
    this.#request = request;
    this.#bytesMax = bytesMax;
    this.#senders = senders;
    this.on('error', () => undefined);
    // A client that goes away never ends its body. The request's own `close` does not do: once its answer is out, Node
    // closes the connection behind it without a word to the request.
    request.socket.once('close', this.#onClose);
    request.pipe(this);
    this.#watched = senders.watch(this);
    if (request.socket.destroyed) this.#onClose();
  }

  get sentBytes(): number {
    return this.#bytes;
  }

  /** A tenant that does not read must not make its client look slow. */
  get isAwaited(): boolean {
    return !this.writableNeedDrain;
  }

  tooSlow(): void {
    this.#refuse(tooSlow());
  }

  /**
   * The call is over, and had no answer. What is still on its way is dropped as it comes.
   *
   * @throws AnnexError REQUEST_TOO_LARGE or REQUEST_TOO_SLOW where that is why
   */
  finish(): void {
    this.destroy();
    if (this.#refusal) throw this.#refusal;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#begin?.();
    this.#bytes += chunk.byteLength;
    if (this.#bytes <= this.#bytesMax) done(null, chunk);
    else this.#refuse(tooLarge(this.#bytesMax));
  }

  /** Whether the client has still to send some of it. */
  get isComing(): boolean {
    return !this.#request.complete;
  }

  override _flush(done: TransformCallback): void {
    this.#begin?.();
    this.onArrived?.();
    this.#senders.forget(this.#watched);
    done();
  }

  readonly #onClose = (): void => {
    if (!this.#request.complete) this.destroy(new Error('The client went away.'));
  };

  #refuse(refusal: AnnexError): void {
    this.#refusal = refusal;
    this.onRefused?.();
    this.destroy(refusal);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#begin?.();
    this.#senders.forget(this.#watched);
    // What is still on its way is dropped as it comes.
    this.#request.socket.off('close', this.#onClose);
    this.#request.unpipe(this);
    this.#request.resume();
    done(error);
  }
}
