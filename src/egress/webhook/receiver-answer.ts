/**
 * What a receiver makes of one post: undici's handler for it, and the result once there is one.
 *
 * A receiver decides with the head of its answer whether it has the event. What follows is only kept for whoever looks into
 * it, so a body that stalls, breaks off or does not end makes an answer `truncated` and no failure. There is one result,
 * whatever comes afterwards, and a connection whose answer was not read to its end is never used again.
 */
import type { Dispatcher } from 'undici';
import type { Limits } from '../../limits.ts';
import { overLimit } from '../egress-error.ts';
import { INTERIM_ANSWERS_MAX } from '../interim-answers.ts';
import { type PostFailure, postFailure } from './post-failure.ts';

export type PostResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** The beginning of the body as text, without U+0000, which PostgreSQL cannot hold. */
      readonly response: string;
      /** Whether the body had more than what is kept of it, or did not come to its end. */
      readonly truncated: boolean;
    }
  | PostFailure;

export type AnswerLimits = Pick<
  Limits,
  'fetchHeaderBytes' | 'webhookMs' | 'webhookConnectMs' | 'webhookResponseBytes' | 'webhookResponseKeptBytes'
>;

const STATUS_MAX = 599;
/** Attack: an answer in chunks of one byte, each of which costs the host a callback and an object. */
const CHUNKS_MAX = 1_024;
/** undici wants a reason to end a connection; nobody is told. */
const ENOUGH = new Error('Enough was read of the answer.');

export class ReceiverAnswer implements Dispatcher.DispatchHandler {
  readonly #limits: AnswerLimits;
  readonly #where: string;
  readonly #settle: (result: PostResult) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #over = false;
  #interim = 0;
  /** 0 until the head is there. */
  #status = 0;
  #readBytes = 0;
  #chunkCount = 0;

  /** @param where the receiver's origin: no path, no query @param settle called once */
  constructor(limits: AnswerLimits, where: string, settle: (result: PostResult) => void) {
    this.#limits = limits;
    this.#where = where;
    this.#settle = settle;
  }

  /** The time is over. */
  cut(): void {
    const { webhookMs: max } = this.#limits;
    this.#end(() => this.#failure(overLimit({ name: 'webhookMs', max }, 'timeout')));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The connection came too late: what was given up on is not sent.
    if (this.#over) controller.abort(ENOUGH);
    else this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > INTERIM_ANSWERS_MAX) this.#end(() => this.#broken('The answer does not begin.'));
    } else if (status > STATUS_MAX)
      this.#end(() => this.#broken(`The answer has the status ${status}, which HTTP does not know.`));
    else this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { webhookResponseBytes, webhookResponseKeptBytes } = this.#limits;
    const room = webhookResponseKeptBytes - this.#readBytes;
    this.#readBytes += chunk.byteLength;
    this.#chunkCount += 1;
    if (room > 0) this.#chunks.push(chunk.byteLength > room ? chunk.subarray(0, room) : chunk);
    const isTooMuch = this.#readBytes > webhookResponseBytes || this.#chunkCount > CHUNKS_MAX;
    if (isTooMuch) this.#end(() => this.#answered(true));
  }

  onResponseEnd(): void {
    this.#finish(this.#answered(this.#readBytes > this.#limits.webhookResponseKeptBytes));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.#over) this.#finish(this.#status === 0 ? this.#failure(error) : this.#answered(true));
  }

  /** Ends the connection, too. */
  #end(result: () => PostResult): void {
    if (this.#over) return;
    this.#finish(this.#status === 0 ? result() : this.#answered(true));
    this.#controller?.abort(ENOUGH);
  }

  #finish(result: PostResult): void {
    if (this.#over) return;
    this.#over = true;
    this.#settle(result);
  }

  #answered(truncated: boolean): PostResult {
    const { text, isCut } = keptText(this.#chunks, this.#limits.webhookResponseKeptBytes);
    return { kind: 'answered', status: this.#status, response: text, truncated: truncated || isCut };
  }

  #failure = (cause: unknown): PostFailure => postFailure(cause, this.#where, this.#limits);

  #broken = (sentence: string): PostFailure => ({
    kind: 'failed',
    reason: 'protocol',
    detail: `${this.#where}: ${sentence}`,
  });
}

/** Stands for what is no text; three bytes of UTF-8. */
const NO_TEXT = '\uFFFD';

interface KeptText {
  readonly text: string;
  /** Whether the text itself had to be made shorter. */
  readonly isCut: boolean;
}

/** What is kept of a body: lossy, never parsed, and in UTF-8 no longer than `bytesMax` again. */
function keptText(chunks: readonly Buffer[], bytesMax: number): KeptText {
  if (chunks.length === 0) return { text: '', isCut: false };
  const text = decoded(Buffer.concat(chunks));
  // Each byte that is no text has become three.
  const bytes = text.includes(NO_TEXT) ? Buffer.from(text) : undefined;
  return bytes === undefined || bytes.byteLength <= bytesMax
    ? { text, isCut: false }
    : { text: decoded(bytes.subarray(0, bytesMax)), isCut: true };
}

/** As a stream that goes on: a character that was cut in two at the end is left out. */
const decoded = (bytes: Uint8Array): string =>
  new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', NO_TEXT);
