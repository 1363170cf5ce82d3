/**
 * The calls an isolate is answering, as the isolate sees them: which one is running, what it has logged, what it still
 * waits for. A call is finished when its response is out and its `waitUntil` promises have settled (REFERENCE D2).
 *
 * Holds no tenant object longer than the call lives, and enforces only what must be bounded inside, before anything
 * crosses the bridge (log lines: a flood of queued emissions would otherwise pile up outside the isolate's heap).
 */
import type { Emit, PreludeSettings } from '../src/bridge.ts';
import type { LogLevel } from '../src/wire.ts';
import { formatError } from './web/format-error.ts';
import { mapDelete, mapGet, mapSet, slice } from './web/primordials.ts';

/** One call in progress. */
export interface Call {
  readonly id: number;
  /** `waitUntil` promises that have not settled. */
  pending: number;
  responded: boolean;
  /** An exception was reported, though an answer may have been given all the same. */
  threw: boolean;
  logLines: number;
  logBytes: number;
  logDropped: number;
  /** Timers that are set, by id; made with the first one. */
  timers: Map<number, Timer> | undefined;
}

/** One pending timer. */
export interface Timer {
  readonly callback: Function;
  readonly parameters: readonly unknown[];
  /** Milliseconds between two runs of an interval, undefined for a timeout. */
  readonly everyMs: number | undefined;
}

export class Calls {
  /** The call whose entry is running: what code does now is on its account. */
  current = 0;
  readonly #emit: Emit;
  readonly #settings: PreludeSettings;
  readonly #calls = new Map<number, Call>();

  constructor(emit: Emit, settings: PreludeSettings) {
    this.#emit = emit;
    this.#settings = settings;
  }

  begin(id: number): Call {
    const call: Call = {
      id,
      pending: 0,
      responded: false,
      threw: false,
      logLines: 0,
      logBytes: 0,
      logDropped: 0,
      timers: undefined,
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
    return this.get(this.current);
  }

  forget(id: number): void {
    mapDelete(this.#calls, id);
  }

  /** Sends the answer out, and ends the call with it where nothing else is awaited. */
  respond(call: Call, status: number, headers: string, body: string | ArrayBuffer | undefined): void {
    if (this.get(call.id) !== call) return;
    call.responded = true;
    const last = call.pending === 0;
    if (last) this.#finish(call);
    this.#emit('respond', call.id, status, headers, body, last, call.threw);
  }

  /** Ends a call that could not answer. */
  fail(call: Call, thrown: unknown): void {
    if (this.get(call.id) !== call) return;
    const text = formatError(thrown);
    this.#write(call, 'error', text);
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
      call.threw = true;
      this.#write(call, 'error', formatError(thrown));
    }
    call.pending -= 1;
    if (call.pending === 0 && call.responded && this.get(call.id) === call) {
      this.#finish(call);
      this.#emit('end', call.id, call.threw, '');
    }
  }

  /** `reportError` and uncaught exceptions of timers and microtasks: logged, and the call's outcome tells. */
  reportException(thrown: unknown): void {
    const call = this.running();
    if (call === undefined) return;
    call.threw = true;
    this.#write(call, 'error', formatError(thrown));
  }

  /** One line into the log of the installation, on the account of the running call. */
  log(level: LogLevel, text: string): void {
    const call = this.running();
    if (call !== undefined) this.#write(call, level, text);
  }

  #write(call: Call, level: LogLevel, text: string): void {
    const { logLinesPerCall, logBytesPerCall } = this.#settings;
    const room = logBytesPerCall - call.logBytes;
    if (call.logLines >= logLinesPerCall || room <= 0) {
      call.logDropped += 1;
      return;
    }
    call.logLines += 1;
    // UTF-16 units stand in for bytes: exact for ASCII, and a bound either way.
    const kept = text.length > room ? slice(text, 0, room) : text;
    call.logBytes += kept.length;
    this.#emit('log', call.id, level, kept);
  }

  #finish(call: Call): void {
    if (call.logDropped > 0) {
      this.#emit(
        'log',
        call.id,
        'warn',
        `${call.logDropped} log lines were dropped: over the limit of one call.`,
      );
    }
    mapDelete(this.#calls, call.id);
  }
}
