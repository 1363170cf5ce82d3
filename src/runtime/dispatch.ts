/**
 * One call, from a target and an envelope to an answer: admission, version, limits, cell, outcome.
 *
 * Every call that enters here ends in exactly one outcome, which is told to the caller, the installation's log and the
 * metrics in the same word. It knows no HTTP: doors turn what they hear into envelopes and answers into responses.
 */
import type { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Egress } from '../egress/egress.ts';
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { scriptKey, type Target } from '../model/target.ts';
import { type CallEnd, type LogLevel, type Outcome, PROBED_SCRIPT, type ScriptExports } from '../wire.ts';
import { Admission } from './admission.ts';
import type { TellCell } from './call-streams.ts';
import { CallTraffic } from './call-traffic.ts';
import type { CellProcess, CellTask } from './cell-process.ts';

/** How many installations' current isolates are remembered, to retire the old one when a version changes. */
const ISOLATES_REMEMBERED = 50_000;

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
}

export interface CallResponse {
  readonly status: number;
  readonly headers: [string, string][];
  /** A stream breaks off, with an error, where the call ends before it does. */
  readonly body: Buffer | Readable;
}

/** What a probe found (REFERENCE D10). */
export interface ProbeResult {
  readonly end: CallEnd;
  readonly exports?: ScriptExports;
}

/** Who hears of finished calls. */
export interface CallObserver {
  ended(target: Target, requestId: string, end: CallEnd, wallMs: number): void;
  log(target: Target, requestId: string, level: LogLevel, text: string): void;
}

/**
 * Whoever waits for an answer, and may go away. Two plain fields, because an AbortController with its events costs more
 * than the rest of a dispatch.
 */
export class Caller {
  gone = false;
  /** Set by the dispatcher while the call runs. */
  onGone: (() => void) | undefined;

  leave(): void {
    this.gone = true;
    this.onGone?.();
  }
}

export interface DispatchParts {
  readonly limits: Limits;
  readonly observer: CallObserver;
  readonly egress: Pick<Egress, 'fetch'>;
  /** The cell an installation lives in. */
  cellFor(installationId: string): CellProcess;
}

export class Dispatch {
  readonly #parts: DispatchParts;
  readonly #admission: Admission;
  readonly #lastIsolate = new LRUCache<string, string>({ max: ISOLATES_REMEMBERED });
  #nextId = 1;
  #inFlight = 0;
  #stopping = false;
  #onIdle: (() => void) | undefined;

  constructor(parts: DispatchParts) {
    this.#parts = parts;
    const { callsInFlightPerInstallation, callsWaitingPerInstallation } = parts.limits;
    this.#admission = new Admission(callsInFlightPerInstallation, callsWaitingPerInstallation);
  }

  /** Calls that have begun and not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Runs one call.
   *
   * @param caller ends the call as `canceled` when it leaves
   * @returns when the answer is there, which may be before the call has ended.
   */
  async call(target: Target, envelope: Envelope, requestId: string, caller: Caller): Promise<CallResult> {
    const admitted = this.#admission.enter(target.installationId);
    if (!(admitted === true || (await admitted))) return this.#shed(target, requestId);
    if (caller.gone) {
      this.#admission.leave(target.installationId);
      this.#parts.observer.ended(target, requestId, { outcome: 'canceled', cpuMs: 0 }, 0);
      return { outcome: 'canceled' };
    }
    return new Promise((resolve) => this.#start(target, envelope, requestId, resolve, caller));
  }

  /** Runs a script once in a throwaway isolate and tells what it exports. */
  async probe(source: string): Promise<ProbeResult> {
    const result = await this.#probe(source);
    // The cell was ended with the service: that says nothing about the script.
    if (result.end.outcome === 'cellCrashed' && this.#stopping) {
      throw new AnnexError(
        'SERVICE_STOPPING',
        'The service is shutting down; publish again once it is back.',
      );
    }
    return result;
  }

  #probe(source: string): Promise<ProbeResult> {
    const { callCpuMs, callWallMs } = this.#parts.limits;
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#parts.cellFor(PROBED_SCRIPT).give(
        { t: 'probe', id, cpuMs: callCpuMs, wallMs: callWallMs },
        {
          script: PROBED_SCRIPT,
          wallMs: callWallMs,
          log: () => undefined,
          end: (end, exports) => resolve({ end, ...(exports && { exports }) }),
        },
        Buffer.from(source),
      );
    });
  }

  /** Lets no new call begin and settles when those in flight have ended. */
  async drain(): Promise<void> {
    this.#stopping = true;
    this.#admission.close();
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  #start(
    target: Target,
    envelope: Envelope,
    requestId: string,
    resolve: (result: CallResult) => void,
    caller: Caller,
  ): void {
    const { installationId } = target;
    const { callCpuMs, callWallMs, firstByteMs } = this.#parts.limits;
    const id = this.#nextId++;
    const startedAt = performance.now();
    const script = scriptKey(target.integration, target.version);
    const cell = this.#parts.cellFor(installationId);
    const { event, environment, body } = envelope;
    const whole = body instanceof Uint8Array ? body : undefined;
    const tell: TellCell = (message, ...bytes) => cell.tell(message, ...bytes);
    const log = (level: LogLevel, text: string) => this.#parts.observer.log(target, requestId, level, text);
    const traffic = new CallTraffic({
      id,
      egress: this.#parts.egress,
      owner: installationId,
      limits: this.#parts.limits,
      tell,
      log,
    });
    let answered = false;
    const task: CellTask = {
      script,
      wallMs: callWallMs,
      log,
      response: (status, headers, bytes, more) => {
        if (answered) return;
        answered = true;
        resolve({ outcome: 'ok', response: { status, headers, body: more ? traffic.answer() : bytes } });
      },
      stream: (message, bytes) => traffic.stream(message, bytes),
      fetch: (message, bytes) => traffic.fetch(message, bytes),
      end: (end) => {
        caller.onGone = undefined;
        traffic.end();
        this.#inFlight -= 1;
        this.#admission.leave(installationId);
        this.#parts.observer.ended(target, requestId, end, performance.now() - startedAt);
        if (!answered) resolve({ outcome: end.outcome, ...(end.detail && { detail: end.detail }) });
        if (this.#inFlight === 0) this.#onIdle?.();
      },
    };
    this.#inFlight += 1;
    caller.onGone = () => tell({ t: 'cancel', id });
    this.#retireOlder(cell, installationId, script);
    cell.give(
      {
        t: 'call',
        id,
        isolate: isolateKey(installationId, script),
        script,
        url: `${target.publicEndpoint}/v1`,
        cpuMs: callCpuMs,
        wallMs: callWallMs,
        firstByteMs,
        eventBytes: event.byteLength,
        environmentBytes: environment.byteLength,
        ...(whole && { bodyBytes: whole.byteLength }),
        ...(body && !whole && { more: true }),
      },
      task,
      event,
      environment,
      ...(whole ? [whole] : []),
    );
    if (body && !(body instanceof Uint8Array)) traffic.upload(body);
  }

  /** An isolate belongs to one version: the first call of the next one retires it. */
  #retireOlder(cell: CellProcess, installationId: string, script: string): void {
    const last = this.#lastIsolate.get(installationId);
    if (last === script) return;
    if (last !== undefined) cell.tell({ t: 'retire', isolate: isolateKey(installationId, last) });
    this.#lastIsolate.set(installationId, script);
  }

  #shed(target: Target, requestId: string): CallResult {
    this.#parts.observer.ended(target, requestId, { outcome: 'loadShed', cpuMs: 0 }, 0);
    return { outcome: 'loadShed' };
  }
}

const isolateKey = (installationId: string, script: string): string => `${installationId}/${script}`;
