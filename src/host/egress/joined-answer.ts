/**
 * Joins the small chunks of an answer, and holds the answer back for a while if an installation
 * receives too many of them (see `small-chunks.ts`).
 *
 * Attack: a server, which a tenant chooses, that sends chunks of one byte. This handler is placed
 * between undici's parser and the body of a fetch.
 */
import type { Dispatcher } from 'undici';
import { type SmallChunkRate, SmallChunks } from '../../model/small-chunks.ts';

type Controller = Dispatcher.DispatchController;
type Handler = Dispatcher.DispatchHandler;
type Args<Name extends keyof Handler> = Parameters<NonNullable<Handler[Name]>>;

/** @param owner the answers of one owner are counted together */
export const joinedAnswers =
  (rate: SmallChunkRate, owner: string): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) =>
    dispatch(options, new JoinedAnswer(handler, () => rate.chargeLot(owner)));

class JoinedAnswer implements Handler {
  readonly #handler: Handler;
  readonly #chunks: SmallChunks;
  #controller: HoldingController | undefined;

  constructor(handler: Handler, chargeLot: () => number) {
    this.#handler = handler;
    this.#chunks = new SmallChunks({
      chargeLot,
      push: (bytes) => {
        const controller = this.#controller;
        if (controller && !controller.aborted) handler.onResponseData?.(controller, bytes);
      },
      released: () => this.#controller?.release(),
    });
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#controller = new HoldingController(controller);
    this.#handler.onRequestStart?.(this.#controller, context);
  }

  onResponseStart(...[controller, ...rest]: Args<'onResponseStart'>): void {
    this.#handler.onResponseStart?.(this.#controller ?? controller, ...rest);
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    this.#chunks.add(chunk);
    if (this.#chunks.isHeld) this.#controller?.hold();
  }

  onResponseEnd(...[controller, trailers]: Args<'onResponseEnd'>): void {
    this.#chunks.end(() => this.#handler.onResponseEnd?.(this.#controller ?? controller, trailers));
  }

  onResponseError(...[controller, error]: Args<'onResponseError'>): void {
    this.#chunks.drop();
    this.#handler.onResponseError?.(this.#controller ?? controller, error);
  }
}

/** Wraps undici's controller, so that a reader cannot resume an answer that is held back. */
class HoldingController implements Controller {
  readonly #inner: Controller;
  #isHeld = false;
  #isPaused = false;

  constructor(inner: Controller) {
    this.#inner = inner;
  }

  get aborted(): boolean {
    return this.#inner.aborted;
  }

  get paused(): boolean {
    return this.#isHeld || this.#isPaused;
  }

  get reason(): Error | null {
    return this.#inner.reason;
  }

  get rawHeaders(): NonNullable<Controller['rawHeaders']> | null {
    return this.#inner.rawHeaders ?? null;
  }

  get rawTrailers(): NonNullable<Controller['rawTrailers']> | null {
    return this.#inner.rawTrailers ?? null;
  }

  abort(reason: Error): void {
    this.#inner.abort(reason);
  }

  pause(): void {
    this.#isPaused = true;
    this.#inner.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.#isHeld) this.#inner.resume();
  }

  hold(): void {
    this.#isHeld = true;
    this.#inner.pause();
  }

  release(): void {
    this.#isHeld = false;
    if (!this.#isPaused) this.#inner.resume();
  }
}
