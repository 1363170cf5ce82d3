/**
 * The bridge: everything that can cross between a cell and an isolate in it. Types only: the
 * isolate's half is `sandbox/entry.ts`, the cell's half `src/cell/`.
 *
 * Only strings, numbers, booleans and plain `ArrayBuffer`s cross. No object of a tenant ever does,
 * because reading one runs the tenant's code (getters, proxies) on the wrong side. Emissions are
 * hostile all the same: a tenant that found a way into the prelude's closure could emit anything,
 * so the cell checks every argument.
 */
import type { IsolateLimits, LogLevel, SoftLimit } from './wire.ts';

/** A `StreamMessage` of the wire, in either direction. An empty error stands for a regular end. */
export type StreamPart<Body> =
  | [kind: 'chunk', call: number, stream: number, bytes: Body]
  | [kind: 'close', call: number, stream: number, error: string]
  | [kind: 'credit', call: number, stream: number, chunks: number]
  | [kind: 'drop', call: number, stream: number];

/**
 * A message into the isolate. Each entry belongs to one call: its synchronous part and the
 * microtasks that it queues run before the next entry begins, so that CPU, logs and errors can be
 * charged to the right call.
 */
export type Entry<Body = ArrayBuffer> =
  /**
   * Run the tenant's script. `factory` is the script's value; `call` is the script's own account;
   * `settings` is `PreludeSettings` as JSON: they come with the script, because a blank isolate is
   * made before its tenant is known.
   */
  | [kind: 'load', call: number, factory: unknown, settings: string]
  /**
   * An envelope: `texts` are the pieces of the event, `eventPieces` of them, and then those of the
   * environment. With `more`, its body follows as stream 0.
   */
  | [
      kind: 'call',
      call: number,
      url: string,
      body: Body | undefined,
      more: boolean,
      eventPieces: number,
      ...texts: string[],
    ]
  | StreamPart<Body>
  /**
   * The answer to a fetch; `headers` as in `respond`. With `more`, its body follows as a stream.
   */
  | [
      kind: 'fetched',
      call: number,
      stream: number,
      status: number,
      statusText: string,
      url: string,
      redirected: boolean,
      headers: string,
      body: Body | undefined,
      more: boolean,
    ]
  /** A fetch failed. */
  | [kind: 'fetch-failed', call: number, stream: number, message: string]
  /** The answer to an operation of storage, JSON, and the value that was read. */
  | [kind: 'stored', call: number, operation: number, answer: string, value: Body | undefined]
  /** A timer is due. */
  | [kind: 'timer', call: number, timer: number]
  /**
   * Jobs are done: for each its number, the answer as JSON, which describes the bytes, and the
   * bytes.
   */
  | [kind: 'done', call: number, ...answers: (number | string | Body | undefined)[]]
  /** The call is over, whatever its code still does. */
  | [kind: 'cancel', call: number]
  /** Collect garbage: nothing runs in the isolate for now. */
  | [kind: 'collect', call: number];

/** The one function through which entries come into the isolate. */
/**
 * Message of the `AbortError` that ends the work of a call that has ended by itself. The prelude
 * logs what was dropped, so the cell logs no rejection with it.
 */
export type CallEnded = 'The call has ended; work that outlives the answer must be given to waitUntil';

export type Enter = (...entry: Entry) => void;

/** A message out of the isolate. */
export type Emission =
  /** The script has run; component and event names are separated by line feeds. */
  | [kind: 'loaded', call: number, fetch: boolean, sdk: boolean, components: string, events: string]
  /** The script threw while it loaded; the text is for the author. */
  | [kind: 'failed', call: number, text: string]
  /**
   * The answer. `headers` is `name LF value LF name LF value …`. With `last`, the call is over too;
   * with `more`, the body follows as stream 0. Where `wholeLength` is not 0, the body is complete
   * already, and follows in pieces. `statusText` is the reason phrase, where there is one.
   */
  | [
      kind: 'respond',
      call: number,
      status: number,
      headers: string,
      body: string | ArrayBuffer | undefined,
      last: boolean,
      threw: boolean,
      more: boolean,
      wholeLength: number,
      statusText: string | undefined,
    ]
  /** A part of a stream. A chunk is a string where it is a piece of a complete body. */
  | StreamPart<string | ArrayBuffer>
  /**
   * A `FetchMessage` of the wire; `headers` and `more` as in `respond`. With `whole`, the body is
   * complete already.
   */
  | [
      kind: 'fetch',
      call: number,
      stream: number,
      method: string,
      url: string,
      redirect: string,
      headers: string,
      body: string | ArrayBuffer | undefined,
      more: boolean,
      whole: boolean,
    ]
  /** An operation of storage: a `StoreMessage` of the wire, and the value to store. */
  | [kind: 'store', call: number, operation: number, request: string, value: string | ArrayBuffer | undefined]
  /** The call is over: its response has more bytes than its limit. */
  | [kind: 'large', call: number, length: number]
  /** The call is over. Without an earlier `respond`, it threw before it could answer. */
  | [kind: 'end', call: number, threw: boolean, detail: string]
  | [kind: 'log', call: number, level: LogLevel, text: string]
  /** The isolate had no memory for a buffer of this call, which continues. Once a call. */
  | [kind: 'exhausted', call: number]
  /** The call has met a limit, and continues. Once for each limit of a call. */
  | [kind: 'met', call: number, limit: SoftLimit]
  | [kind: 'timer', call: number, timer: number, delayMs: number]
  | [kind: 'clear-timer', call: number, timer: number]
  /** Requests one operation of Web Crypto; `request` is JSON, which describes the bytes. */
  | [kind: 'job', call: number, job: number, request: string, bytes: ArrayBuffer];

/** The one function through which emissions leave the isolate: fire and forget. */
export type Emit = (...emission: Emission) => void;

/** The limits that the prelude enforces, because what is beyond them must not begin at all. */
export type PreludeSettings = IsolateLimits;

/** Value of the prelude script: called once for each isolate, before any tenant code. */
export type StartPrelude = (
  emit: Emit,
  /** WHATWG "domain to ASCII"; returns an empty string for a failure. Synchronous. */
  domainToAscii: (domain: string) => string,
  /**
   * `count` random bytes, each a character up to U+00FF; empty where the count is out of bounds.
   * Synchronous.
   */
  randomBytes: (count: number) => string,
  /** Sources of the parts, in the order of `sandbox/parts/names.ts`. */
  ...parts: string[]
) => Enter;
