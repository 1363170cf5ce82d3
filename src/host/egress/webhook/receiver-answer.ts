/**
 * The answer of a receiver to one post: undici's handler, and the result.
 *
 * The status decides whether the receiver has the event. The body is only kept for people to read,
 * so a body that stalls, breaks off or does not end makes an answer `truncated`, not failed. There
 * is one result, and a connection whose answer was not read to its end is not used again.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Limits } from '../../../limits.ts';
import { overLimit } from '../egress-error.ts';
import { statusOfUnreadable } from '../http-pool.ts';
import { INTERIM_ANSWERS_MAX } from '../interim-answers.ts';
import { type PostFailure, postFailure } from './post-failure.ts';

export type PostResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** The beginning of the body as text, without U+0000, which PostgreSQL cannot store. */
      readonly response: string;
      /** Whether the body was longer than what is kept, or did not end. */
      readonly truncated: boolean;
      /** `Retry-After` as the receiver has sent it. */
      readonly retryAfter?: string;
    }
  | PostFailure;

export type AnswerLimits = Pick<
  Limits,
  'fetchHeaderBytes' | 'webhookMs' | 'webhookConnectMs' | 'webhookResponseBytes' | 'webhookResponseKeptBytes'
>;

const STATUS_MAX = 599;
/** @returns 0 for a status that decides nothing */
const finalStatus = (status: number): number => (status >= 200 && status <= STATUS_MAX ? status : 0);
/**
 * Attack: an answer in chunks of one byte, each of which costs the host a callback and an object.
 */
const CHUNKS_MAX = 1_024;
/** undici needs a reason to end a connection; it is not reported. */
const ENOUGH = new Error('Enough was read of the answer.');

export class ReceiverAnswer implements Dispatcher.DispatchHandler {
  readonly #limits: AnswerLimits;
  readonly #where: string;
  readonly #settle: (result: PostResult) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #over = false;
  #interim = 0;
  /** 0 before the head has arrived. */
  #status = 0;
  #retryAfter: string | undefined;
  #readBytes = 0;
  #chunkCount = 0;

  /** @param where the origin of the receiver, without path and query @param settle called once */
  constructor(limits: AnswerLimits, where: string, settle: (result: PostResult) => void) {
    this.#limits = limits;
    this.#where = where;
    this.#settle = settle;
  }

  /** Ends the post: its time is over. */
  expire(): void {
    const { webhookMs: max } = this.#limits;
    this.#end(() => this.#failure(overLimit({ name: 'webhookMs', max }, 'timeout')));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The connection was made after the end of the time: the request is not sent.
    if (this.#over) controller.abort(ENOUGH);
    else this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders = {},
  ): void {
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > INTERIM_ANSWERS_MAX)
        this.#end(() => this.#broken('The server sent too many interim responses.'));
    } else if (status > STATUS_MAX)
      this.#end(() => this.#broken(`The answer has the status ${status}, which HTTP does not know.`));
    else {
      this.#status = status;
      this.#retryAfter = headers['retry-after'];
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { webhookResponseBytes, webhookResponseKeptBytes } = this.#limits;
    const left = webhookResponseKeptBytes - this.#readBytes;
    this.#readBytes += chunk.byteLength;
    this.#chunkCount += 1;
    if (left > 0) this.#chunks.push(chunk.byteLength > left ? chunk.subarray(0, left) : chunk);
    const isTooMuch = this.#readBytes > webhookResponseBytes || this.#chunkCount > CHUNKS_MAX;
    if (isTooMuch) this.#end(() => this.#answered(true));
  }

  onResponseEnd(): void {
    this.#finish(this.#answered(this.#readBytes > this.#limits.webhookResponseKeptBytes));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return;
    // A head that cannot be read is still behind the status of the receiver.
    this.#status ||= finalStatus(statusOfUnreadable(error));
    this.#finish(this.#status === 0 ? this.#failure(error) : this.#answered(true));
  }

  /** Finishes, and ends the connection. */
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
    return {
      kind: 'answered',
      status: this.#status,
      response: text,
      truncated: truncated || isCut,
      ...(this.#retryAfter !== undefined && { retryAfter: this.#retryAfter }),
    };
  }

  #failure = (cause: unknown): PostFailure => postFailure(cause, this.#where, this.#limits);

  #broken = (sentence: string): PostFailure => ({
    kind: 'failed',
    reason: 'protocol',
    detail: `${this.#where}: ${sentence}`,
  });
}

/** Replaces bytes that are not text; three bytes in UTF-8. */
const REPLACEMENT = '\uFFFD';

interface KeptText {
  readonly text: string;
  /** Whether the text was shortened. */
  readonly isCut: boolean;
}

/** The kept text of a body: lossy, never parsed, and in UTF-8 no longer than `bytesMax`. */
function keptText(chunks: readonly Buffer[], bytesMax: number): KeptText {
  if (chunks.length === 0) return { text: '', isCut: false };
  const text = decoded(Buffer.concat(chunks));
  // Each byte that is not text has become three.
  const bytes = text.includes(REPLACEMENT) ? Buffer.from(text) : undefined;
  return bytes === undefined || bytes.byteLength <= bytesMax
    ? { text, isCut: false }
    : { text: decoded(bytes.subarray(0, bytesMax)), isCut: true };
}

/** Decodes as a stream: a character that is cut in two at the end is left out. */
const decoded = (bytes: Uint8Array): string =>
  new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', REPLACEMENT);
