/**
 * Everything that can cross between a cell and an isolate inside it. Types only: the isolate's half is
 * `sandbox/entry.ts`, the cell's half `src/cell/`.
 *
 * Only strings, numbers, booleans and plain `ArrayBuffer`s cross. No object of a tenant ever does, because reading one
 * runs the tenant's code (getters, proxies) on the wrong side. What comes out of an isolate is hostile all the same: a
 * tenant that found a way into the prelude's closure could emit anything, so the cell checks every argument.
 */
import type { IsolateLimits, LogLevel, SoftLimit } from './wire.ts';

/** `StreamMessage` of the wire, from the host or for it. An empty error stands for a regular end. */
export type StreamPart<Body> =
  | [kind: 'chunk', call: number, stream: number, bytes: Body]
  | [kind: 'close', call: number, stream: number, error: string]
  | [kind: 'credit', call: number, stream: number, chunks: number]
  | [kind: 'drop', call: number, stream: number];

/**
 * Into the isolate. Each entry belongs to one call: its synchronous part and the microtasks it leaves run before the
 * next entry begins, which is what lets CPU, logs and errors be charged to the right call.
 */
export type Entry<Body = ArrayBuffer> =
  /**
   * Run the tenant's script. `factory` is the script's value; `call` is the call that made it necessary; `settings` is
   * `PreludeSettings` as JSON. A blank isolate has none: whose it will be is not known when it is made.
   */
  | [kind: 'load', call: number, factory: unknown, settings: string]
  /**
   * Hand over an envelope: `texts` are the pieces of the event, so many of them, and then those of the environment. With
   * `more`, its body follows as stream 0.
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
  /** The answer to a fetch; `headers` as in `respond`. With `more`, its body follows as a stream. */
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
  /** A fetch came to nothing. */
  | [kind: 'fetch-failed', call: number, stream: number, message: string]
  /** A timer is due. */
  | [kind: 'timer', call: number, timer: number]
  /** Jobs are done: of each its number, an answer as JSON, which says what the bytes are, and its bytes. */
  | [kind: 'done', call: number, ...answers: (number | string | Body | undefined)[]]
  /** The call is over, whatever it still does. */
  | [kind: 'cancel', call: number]
  /** Give memory back: nothing runs here for now. `call` is 0, as for no call. */
  | [kind: 'collect', call: number];

/** The isolate's one way in. */
export type Enter = (...entry: Entry) => void;

/** Out of the isolate. */
export type Emission =
  /** The script has run; component and event names are separated by line feeds. */
  | [kind: 'loaded', call: number, fetch: boolean, sdk: boolean, components: string, events: string]
  /** The script threw; the text is for the author. */
  | [kind: 'failed', call: number, text: string]
  /**
   * `headers` is `name LF value LF name LF value …`. With `last`, the call is over too; with `more`, the body follows as
   * stream 0. It is there as a whole where `wholeLength` is not 0, and follows in pieces.
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
    ]
  /** A text is a piece of a body that is there as a whole. */
  | StreamPart<string | ArrayBuffer>
  /** `FetchMessage` of the wire; `headers` and `more` as in `respond`. With `whole`, the body is there as a whole. */
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
  /** The call is over: its response has more bytes than may leave. */
  | [kind: 'large', call: number, length: number]
  /** The call is over. Without an earlier `respond`, it threw before it could answer. */
  | [kind: 'end', call: number, threw: boolean, detail: string]
  | [kind: 'log', call: number, level: LogLevel, text: string]
  /** The isolate had no memory left for a buffer of this call, which goes on. Told once a call. */
  | [kind: 'exhausted', call: number]
  /** The call has met a limit, and goes on. Told once a call. */
  | [kind: 'met', call: number, limit: SoftLimit]
  | [kind: 'timer', call: number, timer: number, delayMs: number]
  | [kind: 'clear-timer', call: number, timer: number]
  /** Asks for one operation of Web Crypto; `request` is JSON, and says what the bytes are. */
  | [kind: 'job', call: number, job: number, request: string, bytes: ArrayBuffer];

/** The isolate's one way out: fire and forget. */
export type Emit = (...emission: Emission) => void;

/** The limits that the prelude keeps, because what is beyond them must not even cross. */
export type PreludeSettings = Omit<IsolateLimits, 'isolateHeapMib'>;

/** Value of the prelude script: called once per isolate, before any tenant code. */
export type StartPrelude = (
  emit: Emit,
  /** WHATWG "domain to ASCII"; answers an empty string for failure. Synchronous. */
  domainToAscii: (domain: string) => string,
  /** So many random bytes, each a character up to U+00FF; empty where the number is out of bounds. Synchronous. */
  randomBytes: (count: number) => string,
  /** Sources of the parts, in the order of `sandbox/parts/names.ts`. */
  ...parts: string[]
) => Enter;
