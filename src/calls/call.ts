/**
 * A call in the words of those who make it and of those who hear of it: what a target is handed, what comes of it, who waits.
 */
import type { Readable } from 'node:stream';
import type { AnnexError } from '../errors.ts';
import type { LimitMet, LimitName } from '../limits.ts';
import type { Target } from '../model/target.ts';
import type { CallEnd, LogLevel, Outcome } from '../protocol/wire.ts';
import type { CircuitOpened } from './circuit-breaker.ts';

/** What a target is handed (SPEC "Request envelope"). */
export interface Envelope {
  /** JSON text of the event. */
  readonly event: Uint8Array;
  /** JSON text of the environment: the host's own, never the sender's (REFERENCE D6). */
  readonly environment: Uint8Array;
  /** `fetch-body`, byte for byte; absent where there was none. A stream is read as the integration reads it. */
  readonly body?: Uint8Array | Readable;
}

/** What came of a call. */
export interface CallResult {
  /** The outcome so far; a call with `waitUntil` work goes on after its answer. */
  readonly outcome: Outcome;
  /** The integration's answer. Absent where the call ended without one. */
  readonly response?: CallResponse;
  /** One sentence for the log. */
  readonly detail?: string;
  /** The limit that ended it. */
  readonly limit?: LimitMet;
  /** What its caller is told where it was not let in; the outcome alone would not say why. */
  readonly refusal?: AnnexError;
}

export interface CallResponse {
  readonly status: number;
  readonly headers: [string, string][];
  /** A stream ends with `BrokenOff` where its author's code tears it, or the call ends before it does. */
  readonly body: Buffer | Readable;
}

/** A stream from an isolate that ends before all of it is there. */
export class BrokenOff extends Error {
  /** How the call ended; where the isolate itself has torn the stream, `exception`. */
  readonly outcome: Outcome;

  constructor(message: string, outcome: Outcome) {
    super(message);
    this.outcome = outcome;
  }
}

/** Who hears of finished calls. */
export interface CallObserver {
  /** @param countedAs where its client has ended it: what it is counted as when the log has its share of lines about clients */
  ended(target: Target, requestId: string, end: CallEnd, wallMs: number, countedAs?: string): void;
  log(target: Target, requestId: string, level: LogLevel, text: string): void;
  /** A call has to wait for a place. */
  waits(behind: LimitName): void;
  /** A call was not begun: too many were waiting, or it has waited too long. */
  shed(target: Target, requestId: string, refusal: AnnexError): void;
  /** An installation begins to cool down; `requestId` is the call that was one too many. */
  cooling(target: Target, requestId: string, begun: CircuitOpened): void;
  /** A call was not let in because its installation cools down. */
  turnedAway(): void;
}

/**
 * Whoever waits for an answer, and may go away. Plain fields, because an AbortController with its events costs more
 * than the rest of a dispatch.
 */
export class Caller {
  gone = false;
  /** The call is one of a backlog: in its cell, the calls of others go first. */
  background = false;
  /** How many calls this one is inside of: 0 where it comes from outside. */
  readonly depth: number;
  /** Set by the dispatcher while the call runs. */
  onGone: (() => void) | undefined;
  /** Who sends the body of the call, by the key of the address; undefined once it is there, or where there is none. */
  uploader: string | undefined;
  /** Set by the dispatcher while the call runs. */
  onUploaded: (() => void) | undefined;

  constructor(depth = 0) {
    this.depth = depth;
  }

  /** The whole body is there. */
  uploaded(): void {
    if (this.uploader === undefined) return;
    this.uploader = undefined;
    this.onUploaded?.();
  }

  leave(): void {
    this.gone = true;
    this.onGone?.();
  }
}
