/**
 * The calls an isolate is answering, as the isolate sees them: which one is running, what it has logged, what it still
 * waits for. A call is finished when its response is out and its `waitUntil` promises have settled (REFERENCE D2).
 *
 * Holds no tenant object longer than the call lives, and enforces only what must be bounded inside, before anything
 * crosses the bridge (log lines: a flood of queued emissions would otherwise pile up outside the isolate's heap).
 */
import type { Emit, PreludeSettings } from '../src/protocol/bridge.ts';
import type { LogLevel, SoftLimit } from '../src/protocol/wire.ts';
import type { PendingFetches } from './fetch.ts';
import type { Outbound } from './outbound.ts';
import { WHOLE_LENGTH_MAX } from './outbound-whole.ts';
import { OWN_STREAM, Traffic } from './traffic.ts';
import { formatError } from './web/console/format-error.ts';
import type { CallJobs } from './web/crypto/job-port.ts';
import { DOMException } from './web/dom-exception.ts';
import { utf8Length } from './web/encoding/utf8.ts';
import { arrayBufferByteLength, MapIntrinsic, mapDelete, mapGet, mapSet, slice } from './web/primordials.ts';
import type { ByteSource } from './web/streams/byte-source.ts';

/**
 * Messages that one entry may cause at the bridge, beside log lines. A loop that sets and clears a timer would otherwise
 * queue emissions until the cell's main thread, and with it the watchdog, has no turn left.
 */
const OPERATIONS_PER_ENTRY = 2_000;
/**
 * What one entry may ask the cell in synchronous questions, each weighed by its length. Attack: the cell's main thread works
 * for the one that asks, whose own clock stands still, and nobody else has a turn.
 */
const QUESTIONS_PER_ENTRY = 2_000;
/** Exceptions of one call that are logged even when its lines are used up: the reason of a failure must not be lost. */
const EXCEPTIONS_KEPT = 8;

/** What holds until the script comes, and its limits with it: there is no call to whom it could matter. */
const NOTHING_ALLOWED: PreludeSettings = {
  responseBodyBytes: 0,
  fetchesPerCall: 0,
  fetchesInFlightPerCall: 0,
  fetchRequestBodyBytes: 0,
  timersPerCall: 0,
  logLinesPerCall: 0,
  logBytesPerCall: 0,
};

/** The call of a script that loads: it is on no caller's account, and the host knows nothing of it. */
export const LOADER_ID = 0;

/** One call in progress. */
export interface Call {
  readonly id: number;
  /** `waitUntil` promises that have not settled. */
  pending: number;
  responded: boolean;
  /** An exception was reported, though an answer may have been given all the same. */
  threw: boolean;
  exceptions: number;
  logLines: number;
  logBytes: number;
  logDropped: number;
  /** What was lost was lost to the limit on bytes. */
  logCut: boolean;
  /** Limits it has met; made with the first one. */
  met: Map<SoftLimit, true> | undefined;
  /** Memory was refused to it. */
  exhausted: boolean;
  /** Timers that are set, by id; made with the first one. */
  timers: Map<number, Timer> | undefined;
  /** Its jobs; made with the first one. */
  jobs: CallJobs | undefined;
  /** Its streams; made with the first one. */
  traffic: Traffic | undefined;
  /** Its fetches; made with the first one. */
  fetches: PendingFetches | undefined;
  /** Runs when the call is over, whatever it still does: `request.signal`, once somebody has asked for it. */
  onOver: ((reason: unknown) => void) | undefined;
}

/** One pending timer. */
export interface Timer {
  readonly callback: Function;
  readonly parameters: readonly unknown[];
  /** What an interval was set with, undefined for a timeout. */
  readonly everyMs: number | undefined;
  /** How many timers, each set by the one before, led to this one. */
  nesting: number;
  /** Set by the script, which may clear it. */
  readonly clearable: boolean;
}

export class Calls {
  /** The call whose entry is running: what code does now is on its account. */
  #current = 0;
  #operations = 0;
  #questions = 0;
  readonly #emit: Emit;
  #settings = NOTHING_ALLOWED;
  readonly #calls = new Map<number, Call>();
  /** What the script said while it loaded: told to the first call, and therefore on its account. */
  #loaded: Call | undefined;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  /** The limits of this isolate's calls. */
  get settings(): PreludeSettings {
    return this.#settings;
  }

  /** Told with the script, before any of it runs. */
  configure(settings: PreludeSettings): void {
    this.#settings = settings;
  }

  /** A new entry begins, for this call. */
  enter(id: number): void {
    this.#current = id;
    this.#operations = 0;
    this.#questions = 0;
  }

  /** Asks to send something across the bridge. @returns false where this entry has done so too often */
  operate(cost = 1): boolean {
    this.#operations += cost;
    return this.#operations <= OPERATIONS_PER_ENTRY;
  }

  /** Asks to ask the cell a synchronous question. @returns false where this entry has asked too much */
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
      traffic: undefined,
      fetches: undefined,
      onOver: undefined,
    };
    mapSet(this.#calls, id, call);
    return call;
  }

  /** The call with this id, unless it is over. */
  get(id: number): Call | undefined {
    return mapGet(this.#calls, id);
  }

  /** The call that is running. Undefined in code that a call left behind when it ended. */
  running(): Call | undefined {
    return this.get(this.#current);
  }

  /** The call is over, as the cell says: its caller went away, or it took too long. */
  cancel(id: number): void {
    const call = this.get(id);
    mapDelete(this.#calls, id);
    if (call !== undefined) breakOff(call, 'The call was cancelled', true);
  }

  /** The script has loaded, or has failed to. */
  forget(id: number): void {
    this.#loaded = this.get(id);
    mapDelete(this.#calls, id);
  }

  /** The isolate has refused memory to what runs now: its call is told of as out of memory, whatever it makes of that. */
  exhausted(): void {
    const call = this.get(this.#current);
    if (call === undefined || call.exhausted) return;
    call.exhausted = true;
    this.#emit('exhausted', call.id);
  }

  /** Notes that a call has met a limit that does not end it. */
  meet(call: Call, limit: SoftLimit): void {
    call.met ??= new MapIntrinsic();
    if (mapGet(call.met, limit) === true || this.get(call.id) !== call) return;
    mapSet(call.met, limit, true);
    this.#emit('met', call.id, limit);
  }

  /** The streams of a call. */
  traffic(call: Call): Traffic {
    call.traffic ??= new Traffic(call.id, this.#emit);
    return call.traffic;
  }

  /** Sends the answer out, and ends the call with it where nothing else is awaited. */
  respond(call: Call, status: number, headers: string, body: string | ArrayBuffer | undefined): void {
    if (this.get(call.id) !== call) return;
    const length = bodyLength(body, this.#settings.responseBodyBytes);
    // Before it crosses: half a gigabyte of string would first be copied, and only then refused.
    if (length > this.#settings.responseBodyBytes) {
      this.#finish(call);
      this.#emit('large', call.id, length);
      return;
    }
    call.responded = true;
    if (body !== undefined && length > WHOLE_LENGTH_MAX) {
      call.pending += 1;
      this.#emit('respond', call.id, status, headers, undefined, false, call.threw, true, length);
      this.traffic(call)
        .sendWhole(OWN_STREAM, body, () => this.#release(call))
        .send();
      return;
    }
    const last = call.pending === 0;
    if (last) this.#finish(call);
    this.#emit('respond', call.id, status, headers, body, last, call.threw, false, 0);
  }

  /** Sends the head of the answer out, and its body as the tenant makes it. */
  respondStream(call: Call, status: number, headers: string, source: ByteSource): void {
    if (this.get(call.id) !== call) {
      source.cancel(new DOMException('The call has ended', 'AbortError'));
      return;
    }
    call.responded = true;
    call.pending += 1;
    this.#emit('respond', call.id, status, headers, undefined, false, call.threw, true, 0);
    const { responseBodyBytes } = this.#settings;
    void this.#stream(call, this.traffic(call).send(OWN_STREAM, source, responseBodyBytes));
  }

  async #stream(call: Call, outbound: Outbound): Promise<void> {
    // Into the log first: the other side may end the call as soon as it hears that its answer breaks off.
    const end = await outbound.run((reason) => {
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

  /** One thing less that the call waits for. */
  #release(call: Call): void {
    call.pending -= 1;
    if (call.pending === 0 && call.responded && this.get(call.id) === call) {
      this.#finish(call);
      this.#emit('end', call.id, call.threw, '');
    }
  }

  /** What nobody caught (`web/events/uncaught.ts`): logged, and the call's outcome tells. */
  reportException(thrown: unknown): void {
    const call = this.running();
    if (call !== undefined) this.#exception(call, thrown);
  }

  /** One line into the log of the installation, on the account of the running call. */
  log(level: LogLevel, text: string): void {
    const call = this.running();
    if (call !== undefined) this.#write(call, level, text);
  }

  #exception(call: Call, thrown: unknown): string {
    call.threw = true;
    call.exceptions += 1;
    const text = formatError(thrown);
    if (call.exceptions <= EXCEPTIONS_KEPT) this.#emit('log', call.id, 'error', text);
    else this.#write(call, 'error', text);
    return text;
  }

  #write(call: Call, level: LogLevel, text: string): void {
    const { logLinesPerCall, logBytesPerCall } = this.#settings;
    const room = logBytesPerCall - call.logBytes;
    if (call.logLines >= logLinesPerCall || room <= 0) {
      call.logDropped += 1;
      if (room <= 0) call.logCut = true;
      this.meet(call, room <= 0 ? 'logBytesPerCall' : 'logLinesPerCall');
      return;
    }
    call.logLines += 1;
    // UTF-16 units stand in for bytes: exact for ASCII, and a bound either way.
    const kept = text.length > room ? slice(text, 0, room) : text;
    if (kept !== text) {
      call.logCut = true;
      this.meet(call, 'logBytesPerCall');
    }
    call.logBytes += kept.length;
    this.#emit('log', call.id, level, kept);
  }

  #finish(call: Call): void {
    if (call.logDropped > 0 || call.logCut) this.#emit('log', call.id, 'warn', this.#lostLines(call));
    mapDelete(this.#calls, call.id);
    breakOff(call, 'The call has ended; what is to outlive its answer must be handed to waitUntil', false);
  }

  #lostLines({ logCut, logDropped }: Call): string {
    const { logLinesPerCall, logBytesPerCall } = this.#settings;
    const lines = logDropped === 1 ? '1 more log line was' : `${logDropped} more log lines were`;
    const what = logDropped > 0 ? `${lines} dropped` : 'The line before was cut';
    const limit = logCut
      ? `${logBytesPerCall} bytes (logBytesPerCall)`
      : `${logLinesPerCall} lines (logLinesPerCall)`;
    return `${what}; the limit is ${limit}.`;
  }
}

/** Bytes of a body. A text within the limit whatever its characters is not measured: they are counted as bytes. */
function bodyLength(body: string | ArrayBuffer | undefined, bytesMax: number): number {
  if (body === undefined) return 0;
  if (typeof body !== 'string') return arrayBufferByteLength(body);
  return body.length > bytesMax || body.length * 3 <= bytesMax ? body.length : utf8Length(body);
}

/**
 * Nothing of a call outlives it: its streams and fetches break off.
 *
 * @param cancelled whoever waits for its signal is told
 */
function breakOff(call: Call, message: string, cancelled: boolean): void {
  if (call.traffic === undefined && call.fetches === undefined && call.onOver === undefined) return;
  const reason = new DOMException(message, 'AbortError');
  call.traffic?.end(reason);
  call.fetches?.end(reason);
  if (cancelled) call.onOver?.(reason);
}
