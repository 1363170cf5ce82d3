/**
 * The streams and fetches of one call: its upload, its streamed answer, its outbound requests. Made
 * when the first of them begins.
 */
import type { Readable } from 'node:stream';
import type { ErrorCode } from '../errors.ts';
import type { LimitName } from '../limits.ts';
import type { FetchMessage, Outcome, StreamMessage } from '../protocol/wire.ts';
import { type CallFetchParts, PendingFetches } from './call-fetches.ts';
import { CallStreams } from './call-streams.ts';

/** The call's own streams: its upload one way, its answer the other. */
const OWN_STREAM = 0;

/** What its fetches need, except the streams, which are made here. */
export type CallTrafficParts = Omit<CallFetchParts, 'streams'>;

export class CallTraffic {
  readonly #parts: CallTrafficParts;
  #streams: CallStreams | undefined;
  #fetches: PendingFetches | undefined;

  constructor(parts: CallTrafficParts) {
    this.#parts = parts;
  }

  /** Streams an upload to the isolate. */
  upload(source: Readable): void {
    this.#open().send(OWN_STREAM, source, () => 'The client disconnected before its body was complete.');
  }

  /** The body of the answer, as a stream. */
  answer(): Readable {
    return this.#open().open(OWN_STREAM, this.#parts.limits.responseBodyBytes);
  }

  /** Collects the body of the answer: `done` gets all of it. */
  collectAnswer(done: (body: Buffer) => void): void {
    const { collecting, owner, limits } = this.#parts;
    this.#open().collect(OWN_STREAM, limits.responseBodyBytes, { collecting, owner, done });
  }

  /** Handles a message about a stream. @returns false where the cell broke a rule */
  stream(message: StreamMessage, bytes: Buffer): boolean {
    if (message.t === 'drop') this.#fetches?.drop(message.stream);
    // The body of a request has failed, and its fetch with it: in the isolate its place is free
    // already.
    else if (message.t === 'close' && message.error !== undefined) this.#fetches?.leave(message.stream);
    const brokenOff = this.faultCode === undefined ? 'exception' : 'internalError';
    return this.#streams?.receive(message, bytes, brokenOff) ?? message.t === 'drop';
  }

  /** Begins a fetch. @returns false where the cell broke a rule */
  fetch(message: FetchMessage, body: Buffer): boolean {
    this.#fetches ??= new PendingFetches({ ...this.#parts, streams: this.#open() });
    return this.#fetches.begin(message, body);
  }

  /** Limits that its fetches have met. */
  get met(): ReadonlySet<LimitName> | undefined {
    return this.#fetches?.met;
  }

  /** The error with which one of its fetches has failed for a reason of the platform. */
  get faultCode(): ErrorCode | undefined {
    return this.#fetches?.faultCode;
  }

  /** Its fetches that have no answer yet, in words. */
  waiting(): string[] {
    return this.#fetches?.waiting() ?? [];
  }

  /** The call is over: ends its fetches and streams. */
  end(outcome: Outcome): void {
    this.#fetches?.end();
    this.#streams?.end(outcome);
  }

  #open(): CallStreams {
    this.#streams ??= new CallStreams(this.#parts.id, this.#parts.send);
    return this.#streams;
  }
}
