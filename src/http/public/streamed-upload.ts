/**
 * A request body as a stream, for an integration that reads it as it arrives. No more of it is read
 * from the socket than the integration asks for, so a slow integration holds its client back.
 *
 * The limits on size and pace apply. A body that exceeds one ends its call, and the client gets the
 * error if the integration has not answered yet.
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
  /** Called once, when the body exceeds its size or is too slow. */
  onRefused: (() => void) | undefined;
  /** Called once, when the whole body has arrived. */
  onArrived: (() => void) | undefined;
  /**
   * Settles with the first bytes, or when there will be none. Attack: clients that announce a body
   * and send nothing. A call holds a place of the installation, and a hundred such clients would
   * hold them all.
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
    // A disconnected client never ends its body. The request's own `close` is not enough: after the
    // answer, Node closes the connection without an event of the request.
    request.socket.once('close', this.#onClose);
    request.pipe(this);
    this.#watched = senders.watch(this);
    if (request.socket.destroyed) this.#onClose();
  }

  get sentBytes(): number {
    return this.#bytes;
  }

  /** A client must not look slow because the tenant does not read. */
  get isAwaited(): boolean {
    return !this.writableNeedDrain;
  }

  tooSlow(): void {
    this.#refuse(tooSlow());
  }

  /**
   * Ends the body after a call without an answer. What still arrives is dropped.
   *
   * @throws AnnexError REQUEST_TOO_LARGE or REQUEST_TOO_SLOW if that ended the call
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

  /** Whether the client has not sent all of it yet. */
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
    if (!this.#request.complete) this.destroy(new Error('The client disconnected.'));
  };

  #refuse(refusal: AnnexError): void {
    this.#refusal = refusal;
    this.onRefused?.();
    this.destroy(refusal);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#begin?.();
    this.#senders.forget(this.#watched);
    // What still arrives is dropped.
    this.#request.socket.off('close', this.#onClose);
    this.#request.unpipe(this);
    this.#request.resume();
    done(error);
  }
}
