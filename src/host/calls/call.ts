/**
 * The types of a call: its envelope, its result, the caller that waits for it, the observer of its
 * end.
 */
import type { Readable } from 'node:stream';
import type { AnnexError } from '../../errors.ts';
import type { LimitMet, LimitName } from '../../limits.ts';
import type { Target } from '../../model/target.ts';
import type { CallEnd, LogLevel, Outcome } from '../../protocol/wire.ts';
import type { CircuitOpened } from './circuit-breaker.ts';

/** What a target is handed (docs/contract/calls.md#envelope). */
export interface Envelope {
  /** JSON text of the event. */
  readonly event: Uint8Array;
  /**
   * JSON text of the environment: built by the host, never by the sender
   * (docs/contract/environment.md#source).
   */
  readonly environment: Uint8Array;
  /**
   * `fetch-body`, byte for byte; absent where the request had none. A stream is read at the pace of
   * the integration.
   */
  readonly body?: Uint8Array | Readable;
}

/** The result of a call. */
export interface CallResult {
  /** The outcome so far; a call with `waitUntil` work continues after its answer. */
  readonly outcome: Outcome;
  /** The answer of the integration. Absent where the call ended without one. */
  readonly response?: CallResponse;
  /** One sentence for the log. */
  readonly detail?: string;
  /** The limit that ended it. */
  readonly limit?: LimitMet;
  /** The error for its caller where it was not admitted; the outcome alone would not say why. */
  readonly refusal?: AnnexError;
}

export interface CallResponse {
  readonly status: number;
  /** The reason phrase, where the code gave one. */
  readonly statusText?: string;
  readonly headers: [string, string][];
  /**
   * A stream fails with `BrokenOff` where the integration breaks it off, or the call ends before it
   * does.
   */
  readonly body: Buffer | Readable;
}

/** A stream from an isolate that ended before it was complete. */
export class BrokenOff extends Error {
  /** The outcome of the call; where the isolate broke the stream off, `exception`. */
  readonly outcome: Outcome;

  constructor(message: string, outcome: Outcome) {
    super(message);
    this.outcome = outcome;
  }
}

/** A fetch of a call that has the head of its answer, or that has failed. */
export interface SeenFetch {
  readonly method: string;
  /** Origin and path: no credentials, and nothing of the query. */
  readonly url: string;
  /** 0 where there was no answer. */
  readonly status: number;
  readonly durationMs: number;
  /** Why there was no answer: what refused it, or what broke. */
  readonly failure?: string;
}

/** Records what happens to calls: `CallLog`, or a test. */
export interface CallObserver {
  /** A fetch of the call was answered, or has failed. Absent unless a session watches. */
  readonly fetched?: ((target: Target, requestId: string, fetch: SeenFetch) => void) | undefined;
  /** A call has ended. */
  ended(target: Target, requestId: string, end: CallEnd, wallMs: number): void;
  /** A call has run out of time because its client sent or read too slowly. */
  endedByClient(target: Target, requestId: string, end: CallEnd, wallMs: number): void;
  /** The call wrote a line. */
  log(target: Target, requestId: string, level: LogLevel, text: string): void;
  /** A call has to wait for a place. */
  waits(behind: LimitName): void;
  /** A call was not begun: too many were waiting, or it had waited too long. */
  shed(target: Target, requestId: string, refusal: AnnexError): void;
  /** The circuit of an installation has opened; `requestId` is that of the call that opened it. */
  cooling(target: Target, requestId: string, opened: CircuitOpened): void;
  /** A call was refused: the circuit breaker is open, or the installation is in quarantine. */
  turnedAway(): void;
}

/**
 * The side that waits for the answer of a call, and may leave. Plain fields: an AbortController
 * with its events costs more than the rest of a dispatch.
 */
export class Caller {
  left = false;
  /** The call belongs to a backlog: in its cell, foreground calls go first. */
  background = false;
  /** How many calls this one is inside of: 0 where it comes from outside. */
  readonly depth: number;
  /**
   * How many tasks, each of which queued the next one, are behind the call; 0 if it comes from
   * outside. Attack: a task that queues its like by another call. Carried by the host alone.
   */
  readonly generation: number;
  /** Set by the dispatcher while the call runs. */
  onLeft: (() => void) | undefined;
  /**
   * Key of the address that sends the body; undefined once the body is complete, or where there is
   * none.
   */
  uploader: string | undefined;
  /** Set by the dispatcher while the call runs. */
  onUploaded: (() => void) | undefined;

  constructor(depth = 0, generation = 0) {
    this.depth = depth;
    this.generation = generation;
  }

  /** The body is complete. */
  uploaded(): void {
    if (this.uploader === undefined) return;
    this.uploader = undefined;
    this.onUploaded?.();
  }

  /** The caller no longer waits: the call is canceled. */
  leave(): void {
    this.left = true;
    this.onLeft?.();
  }
}
