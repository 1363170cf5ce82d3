/**
 * One installation's isolate: loads its script, runs its calls, and ends all of them when the
 * isolate is lost.
 *
 * It belongs to one version of one installation for its whole life. It reads nothing that the
 * tenant emits (`emission-reader.ts`) and checks no limits (`cpu-and-wall-limits.ts`).
 */
import type ivm from 'isolated-vm';
import type { CallEnded, Entry } from '../../protocol/bridge.ts';
import {
  type CallEnd,
  type IsolateLimits,
  type Outcome,
  ownerOf,
  type ScriptExports,
  scriptUrl,
} from '../../protocol/wire.ts';
import type { CallListener } from '../calls/call-listener.ts';
import { CellCall, type EndReason, innocentReason, type StreamEntry } from '../calls/cell-call.ts';
import { boundedText, type EmissionOf, readExports } from '../calls/emission-check.ts';
import { EmissionReader } from '../calls/emission-reader.ts';
import { IsolateCalls, LOADER_ID } from '../calls/isolate-calls.ts';
import { OutgoingAnswers } from '../calls/outgoing-answers.ts';
import { CryptoJobs } from '../crypto/crypto-jobs.ts';
import type { InspectedIsolate } from '../inspection/inspected-isolate.ts';
import type { BlankIsolate } from './blank-isolates.ts';
import type { CellDeps } from './cell-deps.ts';
import type { CompiledScript } from './compiled-script.ts';
import { CpuAndWallLimits } from './cpu-and-wall-limits.ts';
import { EntryQueue } from './entry-queue.ts';
import type { Watched } from './watchdog.ts';

/** Receives the events of an isolate and of its calls. */
export interface IsolateListener extends CallListener {
  loaded(isolate: TenantIsolate, exports: ScriptExports): void;
  /**
   * The isolate has been disposed of; the tenant has seen nothing of these calls, and they may run
   * elsewhere.
   */
  disposed(isolate: TenantIsolate, unseen: CellCall[]): void;
  /** The isolate has been disposed of and still holds a thread, or has broken the engine. */
  stuck(isolate: TenantIsolate): void;
}

export interface TenantIsolateDeps {
  /** Owner and version, as the host names them. */
  readonly key: string;
  /** Key of the script: one published version. */
  readonly script: string;
  readonly cell: CellDeps;
  readonly limits: IsolateLimits;
  readonly listener: IsolateListener;
}

/** An isolate is idle when its last call began so long ago, and all are over. */
const QUIET_MS = 2_000;

const CALL_ENDED: CallEnded = 'The call has ended; work that outlives the answer must be given to waitUntil';
/**
 * Whether a rejection only says that its call has ended: the prelude has logged what was dropped.
 */
const isDroppedWork = (failure: string): boolean => failure.startsWith(`AbortError: ${CALL_ENDED}`);

export class TenantIsolate {
  readonly key: string;
  readonly script: string;
  readonly limits: IsolateLimits;
  readonly calls = new IsolateCalls();
  readonly #cell: CellDeps;
  readonly #listener: IsolateListener;
  readonly #emissions: EmissionReader;
  readonly #checks: CpuAndWallLimits;
  /** Absent in production. */
  readonly #inspected: InspectedIsolate | undefined;
  /** What the watchdog checks: the limits, with clocks that a debugger can stop. */
  readonly #watched: Watched;
  readonly #jobs: CryptoJobs;
  readonly #answers: OutgoingAnswers;
  #isolate: ivm.Isolate | undefined;
  #blank: BlankIsolate | undefined;
  /** Undefined until a blank isolate has been taken; until then calls wait in `calls` alone. */
  #entries: EntryQueue | undefined;
  #state: 'loading' | 'ready' | 'disposed' = 'loading';
  #retired = false;
  /** It has refused memory to a call. */
  #exhausted = false;
  /** Nothing has run in it since its garbage was collected. */
  #isCollected = false;
  /** When last measured. */
  heapBytes = 0;

  constructor({ key, script, cell, limits, listener }: TenantIsolateDeps) {
    this.key = key;
    this.script = script;
    this.limits = limits;
    this.#cell = cell;
    this.#listener = listener;
    this.#answers = new OutgoingAnswers(limits.isolateHeapMib);
    this.#jobs = new CryptoJobs(cell.cryptoThreads, cell.mainThread.open(), {
      done: (call, answers) => this.enter(call, ['done', call.id, ...answers]),
      // In the middle of an entry, the next check of the watchdog finds it.
      overdrawn: (call) => this.#entries?.running !== call && this.#checks.overdrawn(call),
    });
    this.#checks = new CpuAndWallLimits(this, cell.watchdog);
    this.#inspected = cell.inspector?.isolate({ calls: this.calls, checks: this.#checks });
    this.#watched = this.#inspected ?? this.#checks;
    this.#emissions = new EmissionReader({
      owner: this,
      calls: this.calls,
      limits,
      listener,
      jobs: this.#jobs,
      answers: this.#answers,
    });
  }

  get entries(): EntryQueue | undefined {
    return this.#entries;
  }

  get disposed(): boolean {
    return this.#state === 'disposed';
  }

  get loading(): boolean {
    return this.#state === 'loading';
  }

  /**
   * Its heap is full of what its code keeps, and it has no call: with calls, each new isolate would
   * be one more full heap.
   */
  get full(): boolean {
    return this.#exhausted && this.calls.size === 0;
  }

  /** Takes a call; it enters as soon as the script is ready and a slot is free. */
  begin(call: CellCall): void {
    this.calls.add(call);
    this.#isCollected = false;
    this.#cell.watchdog.watch(this.#watched);
    if (this.#state === 'ready') this.#enterCall(call);
    else if (!call.background) this.#entries?.promote();
  }

  /**
   * Puts the script into a blank isolate. Loading has the limits of a call, and is charged to no
   * call.
   */
  async load(blank: BlankIsolate, source: CompiledScript): Promise<void> {
    const { isolate, context, listener } = blank;
    this.#isolate = isolate;
    this.#blank = blank;
    listener.listen = (emission) => this.#emissions.read(emission);
    listener.worked = (workedMs) => this.#entries?.chargeMainThread(workedMs);
    listener.broken = () => this.#listener.stuck(this);
    this.#inspected?.open(blank, this);
    const journalEntry = this.#cell.journal.of(ownerOf(this.key));
    journalEntry.set();
    try {
      const script = await source.compile(isolate, scriptUrl(this.script));
      const factory: ivm.Reference = await script.run(context, { reference: true });
      script.release();
      journalEntry.unset();
      if (this.disposed) return;
      const { engine, slots, watchdog, recentCpu } = this.#cell;
      const [first] = this.calls.values();
      this.#entries = new EntryQueue({
        engine,
        blank,
        slots,
        holder: first?.holder ?? this.key,
        watchdog,
        use: recentCpu.of(this.key),
        mainThread: this.#jobs.mainThread,
        journalEntry,
        listener: {
          entryEnded: (call, failure) => this.#entryEnded(call, failure),
          idle: () => this.#unwatchIfIdle(),
          isBackground: () => this.calls.background,
          stuck: () => this.#listener.stuck(this),
          mayBegin: (alone) => this.#answers.mayBegin(alone),
        },
      });
      if (first) this.#startLoading(first, factory);
      else this.#listener.disposed(this, this.#dispose());
    } catch (cause) {
      journalEntry.unset();
      const why = boundedText(cause instanceof Error ? cause.message : String(cause));
      this.unloadable(`The script could not be compiled: ${why}`);
    }
  }

  #startLoading({ cpuMs, wallMs, firstByteMs }: CellCall, factory: ivm.Reference): void {
    const loader = new CellCall({ id: LOADER_ID, cpuMs, wallMs, firstByteMs });
    this.calls.loader = loader;
    const settings = JSON.stringify(this.limits);
    this.enter(loader, ['load', LOADER_ID, factory.derefInto({ release: true }), settings]);
  }

  /** Passes on to a call a part of a stream, or the answer to a fetch. */
  receive(entry: StreamEntry): void {
    const call = this.calls.get(entry[1]);
    if (call?.held) call.held.push(entry);
    // A call that is about to end gets nothing more: a dropped stream would end it first, and its
    // signal would never abort.
    else if (call && !call.pendingEnd) this.#entries?.push(call, entry);
  }

  /**
   * Ends one call because its caller went away. An entry that runs is charged to it to the end,
   * with its logs and errors.
   */
  cancel(id: number): void {
    const call = this.calls.get(id);
    if (call !== undefined && this.#entries?.running === call) call.pendingEnd ??= { outcome: 'canceled' };
    else if (call !== undefined) this.abandon(call, 'canceled');
  }

  /** Ends the call of a probe, once the entry that loaded the script has been charged to it. */
  finish(call: CellCall): void {
    this.calls.finish(call, false, '');
  }

  /** Takes no further calls, finishes those it has, then is disposed of. */
  retire(): void {
    this.#retired = true;
    this.#unwatchIfIdle();
  }

  /**
   * Measures the heap, on the isolate's own thread: measuring may collect garbage, which may run
   * finalizers.
   */
  async measure(): Promise<void> {
    if (this.#state !== 'ready' || !this.#entries?.idle) return;
    const heap = await this.#isolate?.getHeapStatistics().catch(() => undefined);
    if (heap) this.heapBytes = heap.used_heap_size + heap.externally_allocated_size;
  }

  /**
   * Collects once what its calls have left, when it is idle: V8 collects where a heap grows, which
   * one without calls does not. The CPU counts as recent CPU of the installation.
   *
   * @returns whether there was something to collect
   */
  collect(now: number): boolean {
    if (this.#state !== 'ready' || this.#isCollected || !this.#entries?.idle) return false;
    if (this.calls.size > 0 || now - this.calls.lastAt < QUIET_MS) return false;
    this.#isCollected = true;
    const own = { cpuMs: Number.POSITIVE_INFINITY, wallMs: Number.POSITIVE_INFINITY };
    this.enter(new CellCall({ id: LOADER_ID, ...own }), ['collect', LOADER_ID]);
    return true;
  }

  /** Queues an entry; does nothing before the isolate is there. */
  enter(call: CellCall, entry: Entry<Uint8Array>): void {
    this.#entries?.push(call, entry);
  }

  #enterCall(call: CellCall, { entry } = call): void {
    if (entry) this.#entries?.push(call, entry);
  }

  /** The tenant has seen the call: what came for it before that can follow. */
  #releaseHeld(call: CellCall): void {
    const { held } = call;
    call.held = undefined;
    for (const entry of held ?? []) this.receive(entry);
  }

  #entryEnded(call: CellCall, failure: string | undefined): void {
    if (this.#isolate?.isDisposed) return this.end('exceededMemory', { limit: { name: 'isolateHeapMib' } });
    const first = call.held !== undefined;
    if (first) this.#releaseHeld(call);
    // A rejection that was not handled. The prelude cannot count these.
    if (failure !== undefined && !isDroppedWork(failure) && call.countRejection())
      this.#emissions.log(call, 'error', `Unhandled promise rejection: ${failure}`);
    // Also where the call has ended by itself, because of the dropped stream: its signal has to
    // abort all the same.
    if (call.pendingEnd && this.calls.has(call.id))
      this.abandon(call, call.pendingEnd.outcome, call.pendingEnd.reason);
    this.#closeFinished();
    if (first && !call.isReported && this.calls.has(call.id)) this.#listener.begun(call);
    // The watchdog checks the entry that runs; CPU of entries that fit between two of its checks is
    // compared here.
    if (call.cpuLeftNs < 0) this.#checks.overdrawn(call);
  }

  /** The isolate has refused memory to a call. */
  exhausted(): void {
    this.#exhausted = true;
  }

  /** The script cannot be used: each call that waits for it gets the reason in its log. */
  unloadable(why: string): void {
    for (const call of this.calls.values()) this.#listener.log(call, 'error', why);
    if (this.#exhausted) this.end('exceededMemory', { limit: { name: 'isolateHeapMib' } });
    else this.end('exception', { detail: why });
  }

  /** The script has run: the calls that wait for it enter. */
  loaded(emission: EmissionOf<'loaded'>): void {
    if (this.#state !== 'loading') return;
    this.#state = 'ready';
    this.calls.loader?.clearTimers();
    this.#listener.loaded(this, readExports(emission));
    for (const call of this.calls.values()) this.#enterCall(call);
  }

  /** Closes the calls whose last entry has been charged. */
  #closeFinished(outcome?: Outcome, reason?: EndReason): void {
    for (const { call, outcome: own, detail } of this.calls.takeFinished()) {
      if (this.calls.has(call.id)) this.#close(call, call.end(outcome ?? own, reason ?? { detail }));
    }
  }

  /** Ends one call; the isolate lives on. */
  abandon(call: CellCall, outcome: Outcome, reason?: EndReason): void {
    this.#entries?.drop(call);
    this.#close(call, call.end(outcome, reason));
    call.limitAfterEnd();
    if (this.#state === 'ready') this.#entries?.push(call, ['cancel', call.id]);
  }

  #close(call: CellCall, end: CallEnd): void {
    this.calls.delete(call.id);
    call.clearTimers();
    this.#jobs.drop(call);
    this.#answers.delete(call);
    if (call.answer) this.#listener.answered(call, call.answer, end);
    else this.#listener.ended(call, end);
  }

  /**
   * Ends the isolate and each call that the tenant has seen; hands the others back, to run in
   * another isolate.
   *
   * @param culprit the call that is the reason
   */
  end(outcome: Outcome, reason: EndReason, culprit?: CellCall): void {
    if (this.disposed) return;
    this.#closeFinished(outcome, reason);
    // Code that the script left running when it loaded would do the same in the next isolate, and
    // so on without end.
    const { loader } = this.calls;
    const endsWithItsScript = loader !== undefined && this.#entries?.running === loader;
    const unseen = this.#dispose();
    const handedBack = endsWithItsScript ? [] : unseen.filter((call) => this.calls.delete(call.id));
    for (const call of [...this.calls.values()]) {
      const own = culprit === undefined || call === culprit ? reason : innocentReason(reason);
      this.#close(call, call.end(outcome, own));
    }
    this.#listener.disposed(this, handedBack);
  }

  #unwatchIfIdle(): void {
    // A script that is loading is watched, whether or not a call waits for it.
    if (this.calls.size > 0 || (this.#entries !== undefined && this.#state === 'loading')) return;
    // So is code that a call has left running when it ended: retired and unwatched, a loop would
    // run for ever.
    if (this.#entries?.idle === false) return;
    this.#cell.watchdog.unwatch(this.#watched);
    if (this.#retired && !this.disposed && this.#entries) this.#listener.disposed(this, this.#dispose());
  }

  /** @returns the calls of which the tenant has seen nothing */
  #dispose(): CellCall[] {
    this.#state = 'disposed';
    this.calls.loader?.clearTimers();
    this.#jobs.close();
    this.#cell.watchdog.unwatch(this.#watched);
    this.#cell.memory.forget(this.key);
    this.#inspected?.close();
    if (this.#entries) return this.#entries.close();
    this.#blank?.dispose();
    return [];
  }
}
