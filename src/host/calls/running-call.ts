/**
 * One call while a cell runs it: sends it, handles the messages of the cell about it, and resolves
 * its result.
 *
 * On the hot path: one is made for each call, and its streams and fetches only when there are any.
 */

import type { Readable } from 'node:stream';
import type { AnnexError, ErrorCode } from '../../errors.ts';
import type { LimitName, Limits } from '../../limits.ts';
import { scriptKey, type Target } from '../../model/target.ts';
import type {
  CallEnd,
  FetchMessage,
  LogLevel,
  Outcome,
  ResponseHead,
  StoreMessage,
  StreamMessage,
} from '../../protocol/wire.ts';
import type { CellProcess } from '../cells/cell-process.ts';
import type { CellTask, OtherMessage } from '../cells/in-flight-task.ts';
import type { Egress } from '../egress/egress.ts';
import type { Caller, CallObserver, CallResponse, CallResult, Envelope } from './call.ts';
import { type CallFetchDeps, PendingFetches } from './call-fetches.ts';
import { CallStorage, type CallStorageDeps } from './call-storage.ts';
import { CallStreams } from './call-streams.ts';
import type { IncomingBodies } from './incoming-body.ts';
import { limitMet, platformFault } from './outcome.ts';
import type { RefusalPace } from './refusal-pace.ts';
import { shedError } from './shed-error.ts';

/** Ends of code that something else has failed, or that waited for it. */
const FAILURES: ReadonlySet<Outcome> = new Set(['exception', 'exceededWallTime']);
const SERVER_ERROR = 500;
const PLATFORM: Outcome = 'internalError';

/** What a call needs while it runs. */
export interface RunningCallDeps {
  readonly egress: Pick<Egress, 'fetch'>;
  readonly observer: Pick<CallObserver, 'log' | 'fetched'>;
  readonly storage: CallStorageDeps['storage'];
  /** Bodies of all calls that arrive in pieces. */
  readonly collecting: IncomingBodies;
  /** The rate of refused fetches. */
  readonly refusals: RefusalPace;
  /** This cell has the call now. */
  placed(call: RunningCall, cell: CellProcess): void;
  /** The call has ended. Called before its result resolves, unless it has answered before. */
  ended(call: RunningCall, end: CallEnd): void;
}

export class RunningCall implements CellTask {
  readonly target: Target;
  /** Set by `begin`. */
  requestId = '';
  readonly owner: string;
  readonly script: string;
  readonly wallMs: number;
  readonly startedAt = performance.now();
  readonly #deps: RunningCallDeps;
  readonly caller: Caller;
  #id = 0;
  #resolve!: (result: CallResult) => void;
  #cell: CellProcess;
  #traffic: CallTraffic | undefined;
  #answered = false;
  /** Its answer arrives in pieces. */
  #collecting = false;
  /**
   * Its client sends the body, or reads the answer, while it runs: the client decides how long it
   * takes.
   */
  clientPaced = false;
  #refused: AnnexError | undefined;

  constructor(deps: RunningCallDeps, target: Target, cell: CellProcess, caller: Caller) {
    this.target = target;
    this.owner = target.tenant;
    this.script = scriptKey(target.integration, target.version);
    this.wallMs = target.limits.callWallMs;
    this.caller = caller;
    this.#cell = cell;
    this.#deps = deps;
  }

  /**
   * Submits the call to its cell; to be called once.
   *
   * @param id unique among the tasks of all cells
   */
  begin(id: number, requestId: string, envelope: Envelope): Promise<CallResult> {
    this.#id = id;
    this.requestId = requestId;
    const result = new Promise<CallResult>((resolve) => {
      this.#resolve = resolve;
    });
    this.#submit(id, envelope);
    return result;
  }

  #submit(id: number, { event, environment, body }: Envelope): void {
    const { target, script } = this;
    const { callCpuMs: cpuMs, callWallMs: wallMs, firstByteMs } = target.limits;
    const whole = body instanceof Uint8Array ? body : undefined;
    this.caller.onLeft = () => this.#send({ t: 'cancel', id });
    this.#cell.submit(
      {
        t: 'call',
        id,
        isolate: target.isolate,
        holder: target.organization,
        script,
        url: target.envelopeUrl,
        cpuMs,
        wallMs,
        firstByteMs,
        eventBytes: event.byteLength,
        environmentBytes: environment.byteLength,
        ...(whole && { bodyBytes: whole.byteLength }),
        ...(body && !whole && { more: true }),
        ...(this.caller.background && { background: true }),
        ...(target.isolateLimits && { limits: target.isolateLimits }),
      },
      this,
      event,
      environment,
      ...(whole ? [whole] : []),
    );
    if (body === undefined || body instanceof Uint8Array) return;
    this.clientPaced = true;
    this.#open().upload(body);
  }

  log(level: LogLevel, text: string): void {
    this.#deps.observer.log(this.target, this.requestId, level, text);
  }

  placed(cell: CellProcess): void {
    this.#cell = cell;
    this.#deps.placed(this, cell);
  }

  response({ status, statusText, headers, more }: ResponseHead, bytes: Buffer): boolean {
    // Attack: a cell that was taken over replaces an answer, or opens the stream of the first one
    // again.
    if (this.#answered || this.#collecting) return false;
    const head = statusText === undefined ? { status, headers } : { status, statusText, headers };
    if (more === 'whole') {
      this.#collecting = true;
      this.#open().collectAnswer((body) => {
        this.#answered = true;
        this.#resolve(this.#resultOf({ ...head, body }));
      });
      return true;
    }
    this.#answered = true;
    this.clientPaced ||= more === true;
    const body = more ? this.#open().answer() : bytes;
    this.#resolve(this.#resultOf({ ...head, body }));
    return true;
  }

  refuse(refusal: AnnexError): void {
    this.#refused = refusal;
    this.end({ outcome: 'loadShed', cpuMs: 0, detail: refusal.message });
  }

  stream(message: StreamMessage, bytes: Buffer): boolean {
    return this.#open().stream(message, bytes);
  }

  fetch(message: FetchMessage, body: Buffer): boolean {
    return this.#open().fetch(message, body);
  }

  store(message: StoreMessage, value: Buffer): boolean {
    return this.#open().store(message, value);
  }

  end(end: CallEnd): void {
    this.caller.onLeft = undefined;
    if (end.outcome === 'exceededWallTime') this.#logWaiting();
    if (isUnloaded(end)) return this.refuse(shedError('left', this.target.limits));
    const faultCode = this.#traffic?.faultCode;
    if (faultCode !== undefined && !this.#answered && FAILURES.has(end.outcome))
      this.#refused = platformFault(faultCode);
    const complete = withMet(this.#endOf(end), this.#traffic?.met);
    this.#traffic?.end(complete.outcome);
    this.#deps.ended(this, complete);
    if (this.#answered) return;
    const refusal = this.#refused;
    this.#resolve(
      refusal ? { outcome: complete.outcome, refusal } : unanswered(complete, this.target.limits),
    );
  }

  /**
   * The result of an answer. A failure behind a request that failed for a reason of the platform,
   * as while the database is away, is not one of the code: no event is lost by it.
   */
  #resultOf(response: CallResponse): CallResult {
    const faultCode = response.status >= SERVER_ERROR ? this.#traffic?.faultCode : undefined;
    if (faultCode === undefined) return { outcome: 'ok', response };
    if (!Buffer.isBuffer(response.body)) response.body.destroy();
    const refusal = platformFault(faultCode);
    this.#refused = refusal;
    return { outcome: PLATFORM, refusal };
  }

  /** The end as it counts. */
  #endOf(end: CallEnd): CallEnd {
    if (this.#refused === undefined || end.outcome === 'loadShed') return end;
    return { outcome: PLATFORM, cpuMs: end.cpuMs, detail: this.#refused.message };
  }

  /** Says for what a call that took too long was waiting. */
  #logWaiting(): void {
    const waiting = this.#traffic?.waiting() ?? [];
    if (waiting.length > 0)
      this.log('warn', `At that time the call waited for the answers of fetches: ${waiting.join(', ')}.`);
  }

  #send(message: OtherMessage, ...bytes: Uint8Array[]): void {
    this.#cell.send(message, ...bytes);
  }

  #open(): CallTraffic {
    const { fetched } = this.#deps.observer;
    this.#traffic ??= new CallTraffic({
      id: this.#id,
      egress: this.#deps.egress,
      collecting: this.#deps.collecting,
      refusals: this.#deps.refusals,
      owner: this.owner,
      organization: this.target.organization,
      ...(this.target.egress && { hosts: this.target.egress }),
      depth: this.caller.depth,
      generation: this.caller.generation,
      limits: this.target.limits,
      send: (message, ...bytes) => this.#send(message, ...bytes),
      storage: this.#deps.storage,
      target: this.target,
      log: (level, text) => this.log(level, text),
      ...(fetched && { fetched: (fetch) => fetched(this.target, this.requestId, fetch) }),
    });
    return this.#traffic;
  }
}

/** Whether the machine was too busy to load the script in the time of the call. */
const isUnloaded = ({ outcome, limit }: CallEnd): boolean =>
  outcome === 'internalError' && limit !== undefined;

/** The end of a call with the limits that it has met on the host. */
const withMet = (end: CallEnd, met: ReadonlySet<LimitName> | undefined): CallEnd =>
  met && met.size > 0 ? { ...end, met: [...(end.met ?? []), ...met] } : end;

/** The result of a call that has ended without an answer. */
function unanswered(end: CallEnd, limits: Limits): CallResult {
  const limit = limitMet(end, limits);
  return { outcome: end.outcome, ...(end.detail && { detail: end.detail }), ...(limit && { limit }) };
}

/** The call's own streams: its upload one way, its answer the other. */
const OWN_STREAM = 0;

/** What its fetches and its storage need, except the streams, which are made here. */
type CallTrafficDeps = Omit<CallFetchDeps, 'streams'> & CallStorageDeps;

/**
 * The streams, fetches and operations of storage of one call: its upload, its streamed answer, its
 * outbound requests. Made when the first of them begins.
 */
export class CallTraffic {
  readonly #deps: CallTrafficDeps;
  #streams: CallStreams | undefined;
  #fetches: PendingFetches | undefined;
  #storage: CallStorage | undefined;

  constructor(deps: CallTrafficDeps) {
    this.#deps = deps;
  }

  /** Streams an upload to the isolate. */
  upload(source: Readable): void {
    this.#open().send(OWN_STREAM, source, () => 'The client disconnected before its body was complete.');
  }

  /** The body of the answer, as a stream. */
  answer(): Readable {
    return this.#open().open(OWN_STREAM, this.#deps.limits.responseBodyBytes);
  }

  /** Collects the body of the answer: `done` gets all of it. */
  collectAnswer(done: (body: Buffer) => void): void {
    const { collecting, owner, limits } = this.#deps;
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
    this.#fetches ??= new PendingFetches({ ...this.#deps, streams: this.#open() });
    return this.#fetches.begin(message, body);
  }

  /** Begins an operation of storage. @returns false where the cell broke a rule */
  store(message: StoreMessage, value: Buffer): boolean {
    this.#storage ??= new CallStorage(this.#deps);
    return this.#storage.begin(message, value);
  }

  /** Limits that its fetches and its storage have met. */
  get met(): ReadonlySet<LimitName> | undefined {
    const [one, other] = [this.#fetches?.met, this.#storage?.met];
    return one && other ? one.union(other) : (one ?? other);
  }

  /** The error with which one of them has failed for a reason of the platform. */
  get faultCode(): ErrorCode | undefined {
    return this.#fetches?.faultCode ?? this.#storage?.faultCode;
  }

  /** Its fetches that have no answer yet, in words. */
  waiting(): string[] {
    return this.#fetches?.waiting() ?? [];
  }

  /** The call is over: ends its fetches and streams. */
  end(outcome: Outcome): void {
    this.#fetches?.end();
    this.#storage?.end();
    this.#streams?.end(outcome);
  }

  #open(): CallStreams {
    this.#streams ??= new CallStreams(this.#deps.id, this.#deps.send);
    return this.#streams;
  }
}
