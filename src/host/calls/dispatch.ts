/**
 * Dispatches calls: from a target and an envelope, through admission, circuit breaker and cell, to
 * an answer.
 *
 * Every call ends in exactly one outcome, in the same word for the caller, the log of the
 * installation and the metrics (docs/decisions/one-outcome.md). No HTTP here: routes make envelopes
 * of requests, and responses of answers.
 */

import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { entryCache } from '../../model/entry-cache.ts';
import type { Target } from '../../model/target.ts';
import type { CallEnd } from '../../protocol/wire.ts';
import type { CellProcess } from '../cells/cell-process.ts';
import type { Egress } from '../egress/egress.ts';
import { Admission, type Refusal, Waiting } from './admission.ts';
import type { Caller, CallObserver, CallResult, Envelope } from './call.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import type { HeavyInstallations } from './heavy-installations.ts';
import { IncomingBodies } from './incoming-body.ts';
import { RefusalPace } from './refusal-pace.ts';
import { RunningCall, type RunningCallDeps } from './running-call.ts';
import { SHED, shedError } from './shed-error.ts';

/**
 * Installations whose current isolate is remembered, to retire it when their version or their cell
 * changes.
 */
const ISOLATES_REMEMBERED = 50_000;
/** Tenants whose removal is remembered, for calls that end after it. */
const REMOVALS_REMEMBERED = 10_000;
const MS_PER_S = 1_000;

/** The isolate that had the last call of an installation. */
interface LastIsolate {
  readonly cell: CellProcess;
  readonly isolate: string;
}

export interface DispatchDeps {
  readonly limits: Limits;
  readonly observer: CallObserver;
  readonly egress: Pick<Egress, 'fetch'>;
  readonly storage: RunningCallDeps['storage'];
  readonly load: Pick<HeavyInstallations, 'add'>;
  /** The cell that an installation runs in; an error where there is none for it. */
  cellFor(tenant: string, target: Pick<Target, 'organization' | 'integration'>): CellProcess | AnnexError;
  /** Why no call of an installation may begin now, where its crashes are the reason. */
  refusal?(tenant: string): AnnexError | undefined;
}

export class Dispatch {
  readonly #deps: DispatchDeps;
  readonly #admission: Admission;
  readonly #breaker: CircuitBreaker;
  readonly #running: RunningCallDeps;
  readonly #lastIsolate = entryCache<LastIsolate>(ISOLATES_REMEMBERED);
  readonly #removed = entryCache<true>(REMOVALS_REMEMBERED);
  #nextId = 1;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;

  constructor(deps: DispatchDeps) {
    this.#deps = deps;
    this.#admission = new Admission(deps.limits);
    this.#breaker = new CircuitBreaker(deps.limits);
    this.#running = {
      egress: deps.egress,
      storage: deps.storage,
      observer: deps.observer,
      collecting: new IncomingBodies(),
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
   * @returns the answer as soon as there is one: the call may continue after it
   */
  async call(target: Target, envelope: Envelope, requestId: string, caller: Caller): Promise<CallResult> {
    if (caller.left) return this.#canceled(target, requestId);
    const cooling = this.#cooling(target.tenant);
    if (cooling) return this.#turnAway(cooling);
    const { uploader } = caller;
    const entered = this.#admission.enter(target.tenant, target.limits, uploader, caller.depth > 0);
    if (entered !== 'admitted') {
      const refused = await this.#wait(entered, target, requestId, caller);
      if (refused) return refused;
    } else if (uploader !== undefined) this.#followUpload(target, uploader, caller);
    return this.#start(target, envelope, requestId, caller);
  }

  /** Admits only calls within calls in flight; settles when those in flight have ended. */
  async drain(): Promise<void> {
    this.#admission.close();
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  /**
   * Retires the isolates of tenants that were deleted: no call will use them. Each ends after the
   * calls that it has, and after the event of the removal.
   */
  removed(tenants: readonly string[]): void {
    for (const tenant of tenants) {
      this.#removed.set(tenant, true);
      this.#retire(tenant);
    }
  }

  #start(
    target: Target,
    envelope: Envelope,
    requestId: string,
    caller: Caller,
  ): Promise<CallResult> | CallResult {
    const cell = this.#deps.cellFor(target.tenant, target);
    if (cell instanceof AnnexError) {
      this.#leave(target.tenant, caller);
      return this.#turnAway(cell);
    }
    const id = this.#nextId++;
    this.#inFlight += 1;
    this.#breaker.began(target.tenant, performance.now());
    return new RunningCall(this.#running, target, cell, caller).begin(id, requestId, envelope);
  }

  #ended(call: RunningCall, end: CallEnd): void {
    const { target, requestId, owner, startedAt } = call;
    const { observer, load } = this.#deps;
    const now = performance.now();
    this.#inFlight -= 1;
    // Attack: strangers send or read so slowly that calls run out of time, to open the circuit of
    // an honest installation or to fill its log.
    const isClients = end.outcome === 'exceededWallTime' && call.clientPaced;
    if (isClients) observer.endedByClient(target, requestId, end, now - startedAt);
    else observer.ended(target, requestId, end, now - startedAt);
    load.add(owner, end.cpuMs);
    const opened = this.#breaker.ended(owner, isClients ? 'canceled' : end.outcome, startedAt, now);
    if (opened) observer.cooling(target, requestId, opened);
    if (target.isRemoved === true || this.#removed.has(owner)) this.#retire(owner);
    // Last: the next call to have the place depends on all of this.
    this.#leave(owner, call.caller);
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  /** Gives back the place of the caller's call. */
  #leave(tenant: string, caller: Caller): void {
    caller.onUploaded = undefined;
    this.#admission.leave(tenant, caller.uploader);
  }

  /** The call has a place, which counts as an upload's until the body is complete. */
  #followUpload({ tenant }: Target, uploader: string, caller: Caller): void {
    const uploaded = () => this.#admission.uploaded(tenant, uploader);
    if (caller.uploader === undefined) uploaded();
    else caller.onUploaded = uploaded;
  }

  /**
   * Retires the last isolate of an installation when a call goes to another: it had another
   * version, limits or cell.
   */
  #retireOlder({ owner: tenant, target: { isolate } }: RunningCall, cell: CellProcess): void {
    const last = this.#lastIsolate.get(tenant);
    if (last?.isolate === isolate && last.cell === cell) return;
    this.#retire(tenant);
    this.#lastIsolate.set(tenant, { cell, isolate });
  }

  #retire(tenant: string): void {
    const last = this.#lastIsolate.get(tenant);
    last?.cell.send({ t: 'retire', isolate: last.isolate });
    this.#lastIsolate.delete(tenant);
  }

  /**
   * Waits for a place, no longer than a call may take to its response.
   *
   * @returns the result of a call that gets no place; undefined where it has one
   */
  async #wait(
    entered: Waiting | Refusal,
    target: Target,
    requestId: string,
    caller: Caller,
  ): Promise<CallResult | undefined> {
    if (!(entered instanceof Waiting)) return this.#shed(target, requestId, entered);
    const { uploader } = entered;
    this.#deps.observer.waits(entered.behind);
    const timer = setTimeout(() => entered.leave(), target.limits.firstByteMs);
    caller.onLeft = () => entered.leave();
    const outcome = await entered.settled;
    clearTimeout(timer);
    caller.onLeft = undefined;
    if (outcome !== 'admitted') {
      return caller.left ? this.#canceled(target, requestId) : this.#shed(target, requestId, outcome);
    }
    if (uploader !== undefined) this.#followUpload(target, uploader, caller);
    // The caller may have left, or the circuit opened, while the call waited.
    const cooling = caller.left ? undefined : this.#cooling(target.tenant);
    if (!caller.left && cooling === undefined) return undefined;
    this.#leave(target.tenant, caller);
    return cooling ? this.#turnAway(cooling) : this.#canceled(target, requestId);
  }

  #canceled(target: Target, requestId: string): CallResult {
    this.#deps.observer.ended(target, requestId, { outcome: 'canceled', cpuMs: 0 }, 0);
    return { outcome: 'canceled' };
  }

  #shed(target: Target, requestId: string, why: Refusal): CallResult {
    const refusal = shedError(why, target.limits);
    this.#deps.observer.shed(target, requestId, refusal);
    return { outcome: 'loadShed', refusal };
  }

  #cooling(tenant: string): AnnexError | undefined {
    const retryMs = this.#breaker.refuses(tenant, performance.now());
    if (retryMs === undefined) return this.#deps.refusal?.(tenant);
    return new AnnexError(
      'INSTALLATION_COOLING',
      'The installation has passed its limits too often. Its calls are refused for a while; its log says why.',
      { retryAfterS: Math.ceil(retryMs / MS_PER_S), extra: SHED },
    );
  }

  /**
   * Counts in the metrics only: writing a line for each refused call would cost as much as a call.
   */
  #turnAway(refusal: AnnexError): CallResult {
    this.#deps.observer.turnedAway();
    return { outcome: 'loadShed', refusal };
  }
}
