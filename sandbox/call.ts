/**
 * The calls in progress in an isolate: which one runs, what it has logged, what it still waits for.
 * A call is finished when its response is out and its `waitUntil` promises have settled
 * (docs/contract/calls.md#waituntil).
 *
 * Holds no tenant object longer than the call lives. Enforces only the limits that must hold before
 * anything crosses the bridge: a flood of log lines, for example, would pile up outside the
 * isolate's heap.
 */
import type { CallEnded, Emit, PreludeSettings } from '../src/protocol/bridge.ts';
import type { LogLevel, SoftLimit } from '../src/protocol/wire.ts';
import { IsolateStreams, OWN_STREAM } from './isolate-streams.ts';
import type { Outbound } from './outbound.ts';
import { WHOLE_LENGTH_MAX } from './outbound-buffered.ts';
import type { PendingFetches, Stored } from './pending-fetches.ts';
import { type CallSite, framesOf, isErrorLike, placeBehind } from './web/console/error-stack.ts';
import { formatError } from './web/console/format-error.ts';
import type { CallJobs } from './web/crypto/job-port.ts';
import { DOMException } from './web/dom-exception.ts';
import { utf8Length } from './web/encoding/utf8.ts';
import type { TakenResponse } from './web/fetch/response.ts';
import {
  arrayBufferByteLength,
  MapIntrinsic,
  mapDelete,
  mapForEach,
  mapGet,
  mapSet,
  mapSize,
  slice,
} from './web/primordials.ts';
import type { ByteSource } from './web/streams/byte-source.ts';

/**
 * Emissions of one entry, log lines aside. Attack: a loop that sets and clears a timer, and queues
 * emissions until the cell's main thread, and with it the watchdog, never runs.
 */
const OPERATIONS_PER_ENTRY = 2_000;
/**
 * Cost of the synchronous questions of one entry, each weighed by its length. Attack: keeping the
 * cell's main thread busy with answers while the CPU clock of the asking call stands still.
 */
const QUESTIONS_PER_ENTRY = 2_000;
/**
 * Exceptions of one call that are logged even beyond its log limit, so that the reason of a failure
 * is kept.
 */
const EXCEPTIONS_KEPT = 8;

/**
 * Places that are recorded at the start of an isolate, and again after each line about dropped
 * work: one takes some microseconds, which code that drops nothing does not pay for long.
 */
const PLACES_RECORDED = 32;

const CALL_ENDED: CallEnded = 'The call has ended; work that outlives the answer must be given to waitUntil';

/** Behind what was thrown, where it says nothing about its place. */
const NO_STACK =
  '\nOnly an Error has a stack: write `throw new Error(…)`, and the log shows the line that throws.';

/** Limits until the script comes with its own. No call exists before. */
const NOTHING_ALLOWED: PreludeSettings = {
  isolateHeapMib: 0,
  wasmModuleBytes: 0,
  responseBodyBytes: 0,
  fetchesPerCall: 0,
  fetchesInFlightPerCall: 0,
  fetchRequestBodyBytes: 0,
  storageOperationsPerCall: 0,
  storageValueBytes: 0,
  timersPerCall: 0,
  logLinesPerCall: 0,
  logBytesPerCall: 0,
};

/** Call id of a script that loads. The host does not know this call, and no caller pays for it. */
export const LOADER_ID = 0;

/** One call in progress. */
export interface Call {
  readonly id: number;
  /** `waitUntil` promises that have not settled. */
  pending: number;
  responded: boolean;
  /** An exception was reported. The call may have answered all the same. */
  threw: boolean;
  exceptions: number;
  logLines: number;
  logBytes: number;
  logDropped: number;
  /** Log text was lost to the limit on bytes. */
  logCut: boolean;
  /** Limits that the call has met; made with the first one. */
  met: Map<SoftLimit, true> | undefined;
  /** The engine refused memory to the call. */
  exhausted: boolean;
  /** Pending timers by id; made with the first one. */
  timers: Map<number, Timer> | undefined;
  /** Jobs of Web Crypto; made with the first one. */
  jobs: CallJobs | undefined;
  /** Streams; made with the first one. */
  streams: IsolateStreams | undefined;
  /** Fetches; made with the first one. */
  fetches: PendingFetches | undefined;
  /** Operations of storage; made with the first one. */
  storage: PendingFetches<Stored> | undefined;
  /** Aborts `request.signal` when the call is cancelled; set when code reads `signal`. */
  onOver: ((reason: unknown) => void) | undefined;
}

/** One pending timer. */
export interface Timer {
  readonly callback: Function;
  readonly parameters: readonly unknown[];
  /** The asynchronous context in which it was set (`web/current-call.ts`). */
  readonly context: unknown;
  /** Delay of an interval; undefined for a timeout. */
  readonly everyMs: number | undefined;
  /** Timer nesting level: how many timers, each set by the one before, led to this one. */
  nesting: number;
  /** Whether the script has set it, and may clear it. */
  readonly clearable: boolean;
  /** Whether it counts as work that is dropped if the call ends before. */
  readonly isWork: boolean;
  /** Where the script has set it, if that was recorded. */
  readonly place: CallSite | undefined;
}

export class Calls {
  /**
   * The call whose entry runs: logs, errors and emissions of the code that runs now are charged to
   * it.
   */
  #current = 0;
  #operations = 0;
  #questions = 0;
  readonly #emit: Emit;
  #settings = NOTHING_ALLOWED;
  /** Places that may still be recorded. */
  #placesLeft = PLACES_RECORDED;
  /** Whether a line about timers alone was written. */
  #timersNamed = false;
  readonly #calls = new Map<number, Call>();
  /** Log counts of the script while it loaded. The first call starts with them. */
  #loaded: Call | undefined;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  /** Limits of this isolate's calls. */
  get settings(): PreludeSettings {
    return this.#settings;
  }

  /** Sets the limits. Called before the script runs. */
  configure(settings: PreludeSettings): void {
    this.#settings = settings;
  }

  /** Begins an entry of a call. */
  enter(id: number): void {
    this.#current = id;
    this.#operations = 0;
    this.#questions = 0;
  }

  /** Counts an emission. @returns false if this entry has used up its emissions */
  operate(cost = 1): boolean {
    this.#operations += cost;
    return this.#operations <= OPERATIONS_PER_ENTRY;
  }

  /** Counts a synchronous question. @returns false if this entry has used up its questions */
  question(cost: number): boolean {
    this.#questions += cost;
    return this.#questions <= QUESTIONS_PER_ENTRY;
  }

  begin(id: number): Call {
    const loaded = this.#loaded;
    this.#loaded = undefined;
    const call: Call = {
      id,
      pending: 0,
      responded: false,
      threw: false,
      exceptions: loaded?.exceptions ?? 0,
      logLines: loaded?.logLines ?? 0,
      logBytes: loaded?.logBytes ?? 0,
      logDropped: loaded?.logDropped ?? 0,
      logCut: loaded?.logCut ?? false,
      met: undefined,
      exhausted: false,
      timers: undefined,
      jobs: undefined,
      streams: undefined,
      fetches: undefined,
      storage: undefined,
      onOver: undefined,
    };
    mapSet(this.#calls, id, call);
    return call;
  }

  /** The call with this id; undefined if it has ended. */
  get(id: number): Call | undefined {
    return mapGet(this.#calls, id);
  }

  /** The call that runs; undefined in code that outlives its call. */
  running(): Call | undefined {
    return this.get(this.#current);
  }

  /** The cell has ended the call: its caller disconnected, or it took too long. */
  cancel(id: number): void {
    const call = this.get(id);
    mapDelete(this.#calls, id);
    if (call !== undefined) abortWork(call, 'The call was cancelled', true);
  }

  /** Removes the call of a script that has loaded or failed. */
  forget(id: number): void {
    this.#loaded = this.get(id);
    mapDelete(this.#calls, id);
  }

  /**
   * The engine refused memory to the running call: reports it, whether or not the tenant catches
   * the error.
   */
  exhausted(): void {
    const call = this.get(this.#current);
    if (call === undefined || call.exhausted) return;
    call.exhausted = true;
    this.#emit('exhausted', call.id);
  }

  /** Reports once that a call has met a limit that does not end it. */
  meet(call: Call, limit: SoftLimit): void {
    call.met ??= new MapIntrinsic();
    if (mapGet(call.met, limit) === true || this.get(call.id) !== call) return;
    mapSet(call.met, limit, true);
    this.#emit('met', call.id, limit);
  }

  /** The place that called this function, as long as places are recorded. */
  placeBehind(called: Function): CallSite | undefined {
    if (this.#placesLeft === 0) return undefined;
    this.#placesLeft -= 1;
    return placeBehind(called);
  }

  /** The streams of a call. */
  streams(call: Call): IsolateStreams {
    call.streams ??= new IsolateStreams(call.id, this.#emit);
    return call.streams;
  }

  /** Sends the answer, and ends the call with it if no promise is pending. */
  respond(call: Call, head: TakenResponse, body: string | ArrayBuffer | undefined): void {
    if (this.get(call.id) !== call) return;
    const { status, statusText, headers } = head;
    const length = bodyLength(body, this.#settings.responseBodyBytes);
    // Attack: an answer of half a gigabyte. It is refused before it is copied across the bridge.
    if (length > this.#settings.responseBodyBytes) {
      this.#finish(call);
      this.#emit('large', call.id, length);
      return;
    }
    call.responded = true;
    if (body !== undefined && length > WHOLE_LENGTH_MAX) {
      call.pending += 1;
      this.#emit('respond', call.id, status, headers, undefined, false, call.threw, true, length, statusText);
      const outbound = this.streams(call).sendWhole(OWN_STREAM, body);
      outbound.onDone = () => this.#release(call);
      outbound.send();
      return;
    }
    const last = call.pending === 0;
    if (last) this.#finish(call);
    this.#emit('respond', call.id, status, headers, body, last, call.threw, false, 0, statusText);
  }

  /** Sends the head of the answer, and then its body as the tenant produces it. */
  respondStream(call: Call, head: TakenResponse, source: ByteSource): void {
    if (this.get(call.id) !== call) {
      source.cancel(new DOMException('The call has ended', 'AbortError'));
      return;
    }
    const { status, statusText, headers } = head;
    call.responded = true;
    call.pending += 1;
    this.#emit('respond', call.id, status, headers, undefined, false, call.threw, true, 0, statusText);
    void this.#stream(call, this.streams(call).send(OWN_STREAM, source));
  }

  async #stream(call: Call, outbound: Outbound): Promise<void> {
    // The error is logged first: the host may end the call as soon as it learns that the stream
    // failed.
    const end = await outbound.run(this.#settings.responseBodyBytes, (reason) => {
      if (this.get(call.id) === call) this.#exception(call, reason);
    });
    if (this.get(call.id) !== call) return;
    if (end === 'large') {
      this.#finish(call);
      this.#emit('large', call.id, this.#settings.responseBodyBytes + 1);
      return;
    }
    this.#release(call);
  }

  /** Ends a call that could not answer. */
  fail(call: Call, thrown: unknown): void {
    if (this.get(call.id) !== call) return;
    const text = this.#exception(call, thrown);
    this.#finish(call);
    this.#emit('end', call.id, true, text);
  }

  /** `context.waitUntil`: keeps the call open until the promise settles. */
  waitUntil(call: Call, promise: unknown): void {
    if (this.get(call.id) !== call) {
      throw new TypeError('waitUntil was called after the call had ended.');
    }
    call.pending += 1;
    void this.#settle(call, promise);
  }

  async #settle(call: Call, promise: unknown): Promise<void> {
    try {
      await promise;
    } catch (thrown) {
      this.#exception(call, thrown);
    }
    this.#release(call);
  }

  /** One pending promise or stream of the call has ended. */
  #release(call: Call): void {
    call.pending -= 1;
    if (call.pending === 0 && call.responded && this.get(call.id) === call) {
      this.#finish(call);
      this.#emit('end', call.id, call.threw, '');
    }
  }

  /**
   * Logs an uncaught exception (`web/events/uncaught.ts`), and marks the running call as failed.
   */
  reportException(thrown: unknown): void {
    const call = this.running();
    if (call !== undefined) this.#exception(call, thrown);
  }

  /** Writes a line of the running call to the log of the installation. */
  log(level: LogLevel, text: string): void {
    const call = this.running();
    if (call !== undefined) this.#write(call, level, text);
  }

  #exception(call: Call, thrown: unknown): string {
    call.threw = true;
    call.exceptions += 1;
    const text = formatError(thrown) + (isErrorLike(thrown) ? '' : NO_STACK);
    if (call.exceptions <= EXCEPTIONS_KEPT) this.#emit('log', call.id, 'error', text);
    else this.#write(call, 'error', text);
    return text;
  }

  #write(call: Call, level: LogLevel, text: string): void {
    const { logLinesPerCall, logBytesPerCall } = this.#settings;
    const bytesLeft = logBytesPerCall - call.logBytes;
    if (call.logLines >= logLinesPerCall || bytesLeft <= 0) {
      call.logDropped += 1;
      if (bytesLeft <= 0) call.logCut = true;
      this.meet(call, bytesLeft <= 0 ? 'logBytesPerCall' : 'logLinesPerCall');
      return;
    }
    call.logLines += 1;
    // Counts UTF-16 units instead of bytes: exact for ASCII, and a bound for any text.
    const kept = text.length > bytesLeft ? slice(text, 0, bytesLeft) : text;
    if (kept !== text) {
      call.logCut = true;
      this.meet(call, 'logBytesPerCall');
    }
    call.logBytes += kept.length;
    this.#emit('log', call.id, level, kept);
  }

  #finish(call: Call): void {
    const dropped = this.#droppedWork(call);
    if (dropped !== '') this.#emit('log', call.id, 'warn', dropped);
    if (call.logDropped > 0 || call.logCut) this.#emit('log', call.id, 'warn', this.#lostLines(call));
    mapDelete(this.#calls, call.id);
    abortWork(call, CALL_ENDED, false);
  }

  /**
   * Names the work that a call drops because nothing awaited it; empty if there is none. Timers
   * alone are named once for an isolate: schedulers of some libraries leave one behind in each
   * call.
   */
  #droppedWork({ threw, fetches, storage, streams, jobs, timers }: Call): string {
    // Beside an exception, the rest of a `Promise.all` is left too.
    if (threw) return '';
    const { count: fetchCount, place } = fetches?.unanswered() ?? NONE;
    const storageCount = storage?.unanswered().count ?? 0;
    const bodyCount = streams?.awaited() ?? 0;
    const jobCount = jobs === undefined ? 0 : mapSize(jobs.given);
    const { count: timerCount, place: timerPlace } = timers === undefined ? NONE : unfinishedTimers(timers);
    const awaitable = fetchCount + storageCount + bodyCount + jobCount;
    if (awaitable === 0 && (timerCount === 0 || this.#timersNamed)) return '';
    if (awaitable === 0) this.#timersNamed = true;
    this.#placesLeft = PLACES_RECORDED;
    const count = awaitable + timerCount;
    const [were, they] = count === 1 ? ['was', 'it was'] : ['were', 'they were'];
    const work =
      counted(fetchCount, 'fetch', 'fetches') +
      counted(storageCount, 'operation of storage', 'operations of storage') +
      counted(bodyCount, 'body', 'bodies') +
      counted(jobCount, 'operation of Web Crypto', 'operations of Web Crypto') +
      counted(timerCount, 'timer', 'timers');
    const at = fetchCount > 0 ? place : awaitable === 0 ? timerPlace : undefined;
    return (
      `The call ended while ${slice(work, 2)} ${were} pending; ${they} dropped. ` +
      `Await what the handler needs, and pass other promises to context.waitUntil.${at ? framesOf(at) : ''}`
    );
  }

  #lostLines({ logCut, logDropped }: Call): string {
    const { logLinesPerCall, logBytesPerCall } = this.#settings;
    const lines = logDropped === 1 ? '1 more log line was' : `${logDropped} more log lines were`;
    const loss = logDropped > 0 ? `${lines} dropped` : 'The line before was cut';
    const limit = logCut
      ? `${logBytesPerCall} bytes (logBytesPerCall)`
      : `${logLinesPerCall} lines (logLinesPerCall)`;
    return `${loss}; the limit is ${limit}.`;
  }
}

interface Counted {
  readonly count: number;
  /** Of the first. */
  readonly place: CallSite | undefined;
}

const NONE: Counted = { count: 0, place: undefined };

/** Timers that count as work, with the place of the first. */
function unfinishedTimers(timers: Map<number, Timer>): Counted {
  const found = { count: 0, place: undefined as CallSite | undefined };
  mapForEach(timers, (timer) => {
    if (!timer.isWork) return;
    if (found.count === 0) found.place = timer.place;
    found.count += 1;
  });
  return found;
}

/** `, 2 timers`; empty for none. */
const counted = (count: number, one: string, several: string): string =>
  count === 0 ? '' : `, ${count} ${count === 1 ? one : several}`;

/**
 * Bytes of a body. The characters of a text that is surely within the limit are counted as bytes.
 */
function bodyLength(body: string | ArrayBuffer | undefined, bytesMax: number): number {
  if (body === undefined) return 0;
  if (typeof body !== 'string') return arrayBufferByteLength(body);
  return body.length > bytesMax || body.length * 3 <= bytesMax ? body.length : utf8Length(body);
}

/**
 * Aborts the streams and fetches of a call that has ended.
 *
 * @param cancelled whether `request.signal` aborts too
 */
function abortWork(call: Call, message: string, cancelled: boolean): void {
  const { streams, fetches, storage, onOver } = call;
  if (streams === undefined && fetches === undefined && storage === undefined && onOver === undefined) return;
  const reason = new DOMException(message, 'AbortError');
  streams?.end(reason);
  fetches?.end(reason);
  storage?.end(reason);
  if (cancelled) call.onOver?.(reason);
}
