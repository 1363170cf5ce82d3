/**
 * One call, from a target and an envelope to an answer: admission, version, limits, cell, outcome.
 *
 * Every call that enters here ends in exactly one outcome, which is told to the caller, the installation's log and the
 * metrics in the same word. It knows no HTTP: doors turn what they hear into envelopes and answers into responses.
 */
import { LRUCache } from 'lru-cache';
import type { CellProcess } from '../cells/cell-process.ts';
import type { Egress } from '../egress/egress.ts';
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Target } from '../model/target.ts';
import type { CallEnd } from '../protocol/wire.ts';
import { Admission, type Refusal, Waiting } from './admission.ts';
import type { Caller, CallObserver, CallResult, Envelope } from './call.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import type { CpuLoad } from './cpu-load.ts';
import { Collecting } from './incoming-body.ts';
import { RefusalPace } from './refusal-pace.ts';
import { RunningCall, type RunningCallParts } from './running-call.ts';
import { SHED, shedError } from './shed-error.ts';

/** How many installations' current isolates are remembered, to retire the old one when its version or its cell changes. */
const ISOLATES_REMEMBERED = 50_000;
const MS_PER_S = 1_000;

/** The isolate that had an installation's last call. */
interface LastIsolate {
  readonly cell: CellProcess;
  readonly isolate: string;
}

export interface DispatchParts {
  readonly limits: Limits;
  readonly observer: CallObserver;
  readonly egress: Pick<Egress, 'fetch'>;
  readonly load: Pick<CpuLoad, 'add'>;
  /** The cell an installation lives in; an error where there is none for it. */
  cellFor(
    installationId: string,
    target: Pick<Target, 'organization' | 'integration'>,
  ): CellProcess | AnnexError;
  /** Why no call of it may begin now, where its cells are the reason. */
  refusal?(installationId: string): AnnexError | undefined;
}

export class Dispatch {
  readonly #parts: DispatchParts;
  readonly #admission: Admission;
  readonly #coolDown: CircuitBreaker;
  readonly #running: RunningCallParts;
  readonly #lastIsolate = new LRUCache<string, LastIsolate>({ max: ISOLATES_REMEMBERED });
  #nextId = 1;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;

  constructor(parts: DispatchParts) {
    this.#parts = parts;
    this.#admission = new Admission(parts.limits);
    this.#coolDown = new CircuitBreaker(parts.limits);
    this.#running = {
      egress: parts.egress,
      observer: parts.observer,
      collecting: new Collecting(),
      refusals: new RefusalPace(),
      placed: (call, cell) => this.#retireOlder(call, cell),
      ended: (call, end) => this.#ended(call, end),
    };
  }

  /** Calls that wait for a place. */
  get waiting(): number {
    return this.#admission.waiting;
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
    if (caller.gone) return this.#canceled(target, requestId);
    const cooling = this.#cooling(target.installationId);
    if (cooling) return this.#turnAway(cooling);
    const { uploader } = caller;
    const entered = this.#admission.enter(target.installationId, target.limits, uploader);
    if (entered !== 'admitted') {
      const instead = await this.#wait(entered, target, requestId, caller);
      if (instead) return instead;
    } else if (uploader !== undefined) this.#followUpload(target, uploader, caller);
    return new Promise((resolve) => this.#start(target, envelope, requestId, resolve, caller));
  }

  /** Lets no new call begin and settles when those in flight have ended. */
  async drain(): Promise<void> {
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
    const cell = this.#parts.cellFor(target.installationId, target);
    if (cell instanceof AnnexError) {
      this.#leave(target.installationId, caller);
      return resolve(this.#turnAway(cell));
    }
    const id = this.#nextId++;
    this.#inFlight += 1;
    this.#coolDown.began(target.installationId, performance.now());
    new RunningCall(id, target, requestId, caller, cell, this.#running, resolve).begin(envelope);
  }

  #ended(call: RunningCall, end: CallEnd): void {
    const { target, requestId, owner, startedAt } = call;
    const { observer, load } = this.#parts;
    const now = performance.now();
    this.#inFlight -= 1;
    // Attack: strangers who send or read so slowly that calls run out of time, to have an honest installation shut or its log
    // filled with that.
    const isClients = end.outcome === 'exceededWallTime' && call.clientPaced;
    observer.ended(target, requestId, end, now - startedAt, isClients ? 'slowClient' : undefined);
    load.add(owner, end.cpuMs);
    const begun = this.#coolDown.ended(owner, isClients ? 'canceled' : end.outcome, startedAt, now);
    if (begun) observer.cooling(target, requestId, begun);
    // Last: whoever has the place next finds all this done.
    this.#leave(owner, call.caller);
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  /** Gives back a place that the caller's call has had. */
  #leave(installationId: string, caller: Caller): void {
    caller.onUploaded = undefined;
    this.#admission.leave(installationId, caller.uploader);
  }

  /** With a place in hand that counts as an upload's, until the body is there. */
  #followUpload({ installationId }: Target, uploader: string, caller: Caller): void {
    const uploaded = () => this.#admission.uploaded(installationId, uploader);
    if (caller.uploader === undefined) uploaded();
    else caller.onUploaded = uploaded;
  }

  /** An isolate belongs to one version, one set of limits and one cell: the first call of the next one retires it. */
  #retireOlder({ owner: installationId, target: { isolate } }: RunningCall, cell: CellProcess): void {
    const last = this.#lastIsolate.get(installationId);
    if (last?.isolate === isolate && last.cell === cell) return;
    last?.cell.tell({ t: 'retire', isolate: last.isolate });
    this.#lastIsolate.set(installationId, { cell, isolate });
  }

  /**
   * Waits for a place, no longer than a call may take to its response.
   *
   * @returns how the call ends instead; undefined with a place in hand
   */
  async #wait(
    entered: Waiting | Refusal,
    target: Target,
    requestId: string,
    caller: Caller,
  ): Promise<CallResult | undefined> {
    if (!(entered instanceof Waiting)) return this.#shed(target, requestId, entered);
    const { uploader } = entered;
    this.#parts.observer.waits(entered.behind);
    const timer = setTimeout(() => entered.leave(), target.limits.firstByteMs);
    caller.onGone = () => entered.leave();
    const how = await entered.settled;
    clearTimeout(timer);
    caller.onGone = undefined;
    if (how !== 'admitted') {
      return caller.gone ? this.#canceled(target, requestId) : this.#shed(target, requestId, how);
    }
    if (uploader !== undefined) this.#followUpload(target, uploader, caller);
    // Much may have happened while it waited.
    const cooling = caller.gone ? undefined : this.#cooling(target.installationId);
    if (!caller.gone && cooling === undefined) return undefined;
    this.#leave(target.installationId, caller);
    return cooling ? this.#turnAway(cooling) : this.#canceled(target, requestId);
  }

  #canceled(target: Target, requestId: string): CallResult {
    this.#parts.observer.ended(target, requestId, { outcome: 'canceled', cpuMs: 0 }, 0);
    return { outcome: 'canceled' };
  }

  #shed(target: Target, requestId: string, why: Refusal): CallResult {
    const refusal = shedError(why, target.limits);
    this.#parts.observer.shed(target, requestId, refusal);
    return { outcome: 'loadShed', refusal };
  }

  #cooling(installationId: string): AnnexError | undefined {
    const againMs = this.#coolDown.refuses(installationId, performance.now());
    if (againMs === undefined) return this.#parts.refusal?.(installationId);
    return new AnnexError(
      'INSTALLATION_COOLING',
      'The installation has passed its limits again and again, and is left alone for a while; its log says why.',
      { retryAfterS: Math.ceil(againMs / MS_PER_S), extra: SHED },
    );
  }

  /** Only the metrics hear of it: a line for each call that is refused would be a burden of its own. */
  #turnAway(refusal: AnnexError): CallResult {
    this.#parts.observer.turnedAway();
    return { outcome: 'loadShed', refusal };
  }
}
