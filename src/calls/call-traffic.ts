/**
 * Everything that comes and goes while a call runs, beside its beginning and its end: the upload, the streamed answer, and
 * the fetches. Made for each call and free of cost until one of them is there.
 */
import type { Readable } from 'node:stream';
import type { LimitName } from '../limits.ts';
import type { FetchMessage, Outcome, StreamMessage } from '../protocol/wire.ts';
import { type CallFetchParts, PendingFetches } from './call-fetches.ts';
import { CallStreams } from './call-streams.ts';

/** The call's own streams: its upload one way, its answer the other. */
const OWN_STREAM = 0;

/** What its fetches need, but for the streams, which are made here. */
export type CallTrafficParts = Omit<CallFetchParts, 'streams'>;

export class CallTraffic {
  readonly #parts: CallTrafficParts;
  #streams: CallStreams | undefined;
  #fetches: PendingFetches | undefined;

  constructor(parts: CallTrafficParts) {
    this.#parts = parts;
  }

  /** Hands an upload to the isolate as it comes. */
  upload(source: Readable): void {
    this.#open().send(OWN_STREAM, source, () => 'The client went away before its body was there.');
  }

  /** The answer's body as it comes. */
  answer(): Readable {
    return this.#open().receive(OWN_STREAM, this.#parts.limits.responseBodyBytes);
  }

  /** The answer's body, once all of it is there. */
  collectAnswer(done: (body: Buffer) => void): void {
    const { collecting, owner, limits } = this.#parts;
    this.#open().collect(OWN_STREAM, limits.responseBodyBytes, { collecting, owner, done });
  }

  /** @returns false where the cell broke the rules */
  stream(message: StreamMessage, bytes: Buffer): boolean {
    if (message.t === 'drop') this.#fetches?.drop(message.stream);
    // The body of a request has failed, and its fetch with it: in the isolate the next one has its place already.
    else if (message.t === 'close' && message.error !== undefined) this.#fetches?.leave(message.stream);
    return this.#streams?.hear(message, bytes) ?? message.t === 'drop';
  }

  /** @returns false where the cell broke the rules */
  fetch(message: FetchMessage, body: Buffer): boolean {
    this.#fetches ??= new PendingFetches({ ...this.#parts, streams: this.#open() });
    return this.#fetches.begin(message, body);
  }

  /** Limits that its fetches have met. */
  get met(): ReadonlySet<LimitName> | undefined {
    return this.#fetches?.met;
  }

  /** The call is over: nothing of it goes on. */
  end(outcome: Outcome): void {
    this.#fetches?.end();
    this.#streams?.end(outcome);
  }

  #open(): CallStreams {
    this.#streams ??= new CallStreams(this.#parts.id, this.#parts.tell);
    return this.#streams;
  }
}
