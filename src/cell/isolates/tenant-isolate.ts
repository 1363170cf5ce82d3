/**
 * One installation's isolate: runs its calls, reads the emissions of its code, and ends all of them when a limit is passed.
 * It belongs to one version of one installation for its whole life. It reads no object of the tenant: emissions are strings,
 * numbers and buffers, each checked before it counts.
 */
import type ivm from 'isolated-vm';
import type { Emission } from '../../protocol/bridge.ts';
import {
  type CallEnd,
  type FetchMessage,
  type IsolateLimits,
  LOG_LEVELS,
  type LogLevel,
  type Outcome,
  ownerOf,
  type StreamMessage,
  scriptUrl,
} from '../../protocol/wire.ts';
import type { CallListener } from '../calls/call-listener.ts';
import {
  answerTooLarge,
  CellCall,
  type EndReason,
  innocentReason,
  type StreamEntry,
} from '../calls/cell-call.ts';
import { IsolateCalls } from '../calls/isolate-calls.ts';
import { judgeAnswer } from '../calls/judge-answer.ts';
import { LeavingAnswers } from '../calls/leaving-answers.ts';
import {
  boundedText,
  type EmissionOf,
  type Outgoing,
  readExports,
  readFetch,
  readStream,
  UNSENDABLE,
} from '../calls/read-emission.ts';
import { CryptoJobs } from '../crypto/crypto-jobs.ts';
import type { BlankIsolate } from './blank-isolates.ts';
import type { CellParts } from './cell-parts.ts';
import type { CellScript } from './cell-script.ts';
import { EntryQueue } from './entry-queue.ts';
import { preludeSettings } from './prelude-settings.ts';
import type { Watched } from './watchdog.ts';

/** The loading script's id among the calls of its isolate; the host counts from 1. */
const LOADER_ID = 0;

export class TenantIsolate implements Watched {
  readonly key: string;
  readonly script: string;
  readonly limits: IsolateLimits;
  readonly calls = new IsolateCalls();
  readonly #home: CellParts;
  readonly #listener: CallListener;
  readonly #jobs: CryptoJobs;
  readonly #answers: LeavingAnswers;
  #isolate: ivm.Isolate | undefined;
  /** The script's own account while it loads: its timers and CPU outlive the call that made it necessary. */
  #loader: CellCall | undefined;
  /** There once the isolate is; until then calls wait in `calls` alone. */
  #entries: EntryQueue | undefined;
  #state: 'loading' | 'ready' | 'gone' = 'loading';
  #retired = false;
  #exhausted = false; // It has refused memory to a call.
  heapBytes = 0; // When last measured.

  constructor(key: string, script: string, home: CellParts, limits: IsolateLimits, listener: CallListener) {
    this.key = key;
    this.script = script;
    this.limits = limits;
    this.#home = home;
    this.#listener = listener;
    this.#answers = new LeavingAnswers(limits.isolateHeapMib);
    this.#jobs = new CryptoJobs(home.cryptoThreads, home.mainThread.open(), {
      done: (call, answers) => this.#entries?.push(call, ['done', call.id, ...answers]),
      // In the middle of an entry, the next look of the watchdog finds it.
      overdrawn: (call) => this.#entries?.running !== call && this.#overdrawn(call),
    });
  }

  get running(): boolean {
    return this.#entries?.running !== undefined;
  }

  get gone(): boolean {
    return this.#state === 'gone';
  }

  /** Full of what it keeps, and without a call: with those that still run, each new one would be one more full heap. */
  get spent(): boolean {
    return this.#exhausted && this.calls.size === 0;
  }

  /** Takes a call; it enters as soon as the script is ready and a slot is free. */
  begin(call: CellCall): void {
    this.calls.add(call);
    this.#home.watchdog.watch(this);
    if (this.#state === 'ready') this.#hand(call);
    else if (!call.background) this.#entries?.lift();
  }

  /** Puts the script into a blank isolate. Loading may use what a call may, and is charged to no call. */
  async load(blank: BlankIsolate, source: CellScript): Promise<void> {
    const { isolate, context, line } = blank;
    this.#isolate = isolate;
    line.listen = (emission) => this.#heard(emission);
    line.worked = (workedMs) => this.#entries?.serve(workedMs);
    line.broken = () => this.#listener.stuck(this);
    const mark = this.#home.marks.of(ownerOf(this.key));
    mark.set();
    try {
      const script = await source.compile(isolate, scriptUrl(this.script));
      const factory: ivm.Reference = await script.run(context, { reference: true });
      script.release();
      mark.unset();
      if (this.gone) return;
      const { engine, slots, cpuUses } = this.#home;
      const { mainThread } = this.#jobs;
      this.#entries = new EntryQueue(engine, blank, slots, cpuUses.of(this.key), mainThread, mark, {
        entryEnded: (call, failure) => this.#entryEnded(call, failure),
        rested: () => this.#rest(),
        isBackground: () => this.calls.background,
        stuck: () => this.#listener.stuck(this),
        mayBegin: (alone) => this.#answers.mayBegin(alone),
      });
      const [first] = this.calls.values();
      if (first) this.#startLoading(first, factory);
      else this.#listener.gone(this, this.#dispose());
    } catch (cause) {
      mark.unset();
      const why = boundedText(cause instanceof Error ? cause.message : String(cause));
      this.#unloadable(`The script could not be compiled: ${why}`);
    }
  }

  #startLoading({ cpuMs, wallMs, firstByteMs }: CellCall, factory: ivm.Reference): void {
    this.#loader = new CellCall({ id: LOADER_ID, cpuMs, wallMs, firstByteMs });
    const settings = preludeSettings(this.limits);
    this.#entries?.push(this.#loader, ['load', LOADER_ID, factory.derefInto({ release: true }), settings]);
  }

  /** Hands on what came for a call: a part of a stream, the answer to a fetch. */
  hear(entry: StreamEntry): void {
    const call = this.calls.get(entry[1]);
    if (call?.held) call.held.push(entry);
    // Who leaves is about to be broken off. By its dropped stream alone it would end first, and its signal never abort.
    else if (call && !call.leaving) this.#entries?.push(call, entry);
  }

  /** Ends one call from outside: its caller went away. An entry that runs is charged to it to the end, with all that it says. */
  cancel(id: number): void {
    const call = this.calls.get(id);
    if (call !== undefined && this.#entries?.running === call) call.leaving ??= { outcome: 'canceled' };
    else if (call !== undefined) this.#abandon(call, 'canceled');
  }

  /** Ends the call of a probe, once the entry that loaded the script has been charged to it. */
  finish(call: CellCall): void {
    this.calls.finish(call, false, '');
  }

  /** Ends it with every call in it: it could not be made, or its cell is short of memory. */
  fail(outcome: Outcome, reason: EndReason): void {
    this.#end(outcome, reason);
  }

  /** Takes no further calls, finishes those it has, then goes. */
  retire(): void {
    this.#retired = true;
    this.#rest();
  }

  /** Measures the heap, on the isolate's own thread: asking may collect garbage, and whatever that sets off. */
  async measure(): Promise<void> {
    if (this.#state !== 'ready' || !this.#entries?.resting) return;
    const heap = await this.#isolate?.getHeapStatistics().catch(() => undefined);
    if (heap) this.heapBytes = heap.used_heap_size + heap.externally_allocated_size;
  }

  checkCpu(now: number, share: number): void {
    const call = this.#entries?.running;
    if (this.gone || call === undefined || !this.#entries?.outOfCpu(now, share)) return;
    this.#breakOff(call, 'exceededCpu', call.overdrawn);
  }

  checkWall(now: number): void {
    for (const call of this.calls.values()) {
      const reason = call.overdue(now);
      if (this.gone || reason === undefined) continue;
      if (this.#entries?.running === call) this.#breakOff(call, 'exceededWallTime', reason);
      else this.#abandon(call, 'exceededWallTime', reason);
    }
    // A load has as long as a call, whenever the calls that wait for it began: one that is late ends alone, above.
    const late = this.#state === 'loading' ? this.#loader?.overdue(now) : undefined;
    if (late !== undefined) this.#end('exceededWallTime', late, this.#loader);
  }

  /**
   * Ends a call that has passed a limit in the middle of an entry. Only the end of the isolate stops an entry, and it loses the
   * calls of all others in it. So an entry has time until the next look: where it ends by itself, its call ends alone.
   */
  #breakOff(call: CellCall, outcome: Outcome, reason: EndReason): void {
    if (call === this.#loader) this.#end(outcome, reason);
    else if (call.leaving?.outcome === outcome) this.#end(outcome, reason, call);
    else call.leaving = { outcome, reason };
  }

  /** The call has used up its CPU, and no entry of it runs. A script that loads has nothing else to end. */
  #overdrawn(call: CellCall): void {
    if (call === this.#loader && this.#state === 'loading') this.#end('exceededCpu', call.overdrawn);
    else if (this.calls.has(call.id)) this.#abandon(call, 'exceededCpu', call.overdrawn);
  }

  #hand(call: CellCall, { entry } = call): void {
    if (entry) this.#entries?.push(call, entry);
  }

  /** The tenant has seen the call: what came for it meanwhile can follow. */
  #release(call: CellCall): void {
    const { held } = call;
    call.held = undefined;
    for (const entry of held ?? []) this.hear(entry);
  }

  #entryEnded(call: CellCall, failure: string | undefined): void {
    if (this.#isolate?.isDisposed) return this.#end('exceededMemory', { limit: { name: 'isolateHeapMib' } });
    const first = call.held !== undefined;
    if (first) this.#release(call);
    // A rejection that was not handled. The prelude cannot count these.
    if (failure !== undefined && call.rejected())
      this.#log(call, 'error', `Unhandled promise rejection: ${failure}`);
    // Also where it has come to its end by itself, of the stream that nobody reads: its signal has to abort all the same.
    if (call.leaving && this.calls.has(call.id))
      this.#abandon(call, call.leaving.outcome, call.leaving.reason);
    this.#flush();
    if (first && !call.spokenOf && this.calls.has(call.id)) this.#listener.begun(call);
    // The watchdog looks at what runs; entries that fit between two of its looks are counted here.
    if (call.cpuLeftNs < 0) this.#overdrawn(call);
  }

  /** What the script says while it loads is told to whoever waits for it. */
  #log(call: CellCall, level: LogLevel, text: string): void {
    const heard = call === this.#loader ? this.calls.values().next().value : this.calls.get(call.id);
    if (heard === undefined) return;
    heard.spokenOf = true;
    this.#listener.log(heard, level, text);
  }

  #heard(emission: Emission): void {
    if (emission[0] === 'loaded') return this.#loaded(emission);
    if (emission[0] === 'failed')
      return this.#unloadable(`The script failed to load: ${boundedText(emission[2])}`);
    const call = emission[1] === LOADER_ID ? this.#loader : this.calls.get(emission[1]);
    // Any other word of a call that is over is too late.
    if (call === undefined) return undefined;
    switch (emission[0]) {
      case 'respond':
        return this.#responded(call, emission);
      case 'large':
        return this.#abandon(call, 'responseTooLarge', answerTooLarge(emission[2]));
      case 'chunk':
      case 'close':
      case 'credit':
      case 'drop':
        // The body of a fetch that was refused: to the host, a stream from nowhere is a breach that costs all their cell.
        return call.isRefused(emission[2]) ? undefined : this.#said(call, readStream(call.id, emission));
      case 'fetch':
        return this.#fetched(call, emission);
      case 'end':
        return this.calls.finish(call, emission[2], boundedText(emission[3]));
      case 'log':
        if (LOG_LEVELS.includes(emission[2])) this.#log(call, emission[2], boundedText(emission[3]));
        return undefined;
      case 'timer': {
        const [, id, timer, delayMs] = emission;
        if (!(timer >= 1 && delayMs >= 0)) return undefined;
        const due = () => this.#entries?.push(call, ['timer', id, timer]);
        return call.setTimer(timer, delayMs, due, this.limits.timersPerCall);
      }
      case 'clear-timer':
        return call.clearTimer(emission[2]);
      case 'met':
        return call.meet(emission[2]);
      case 'exhausted':
        this.#exhausted = call.exhausted = true;
        return undefined;
      case 'job':
        return this.#jobs.ask(call, emission[2], emission[3], emission[4]);
    }
  }

  /** The script is no good: everybody who waits for it is told why. */
  #unloadable(why: string): void {
    for (const call of this.calls.values()) this.#listener.log(call, 'error', why);
    if (this.#exhausted) this.#end('exceededMemory', { limit: { name: 'isolateHeapMib' } });
    else this.#end('exception', { detail: why });
  }

  #loaded(emission: EmissionOf<'loaded'>): void {
    if (this.#state !== 'loading') return;
    this.#state = 'ready';
    this.#loader?.clearTimers();
    this.#listener.loaded(this, readExports(emission));
    for (const call of this.calls.values()) this.#hand(call);
  }

  #said(call: CellCall, outgoing: Outgoing<FetchMessage | StreamMessage> | undefined): void {
    if (outgoing === undefined) return;
    call.spokenOf = true;
    this.#listener.said(outgoing.message, outgoing.bytes);
  }

  #fetched(call: CellCall, emission: EmissionOf<'fetch'>): void {
    // A script that loads has no call of the host's, which would end the cell for speaking of one.
    const outgoing = call === this.#loader ? undefined : readFetch(call.id, emission);
    if (outgoing) return this.#said(call, outgoing);
    call.refuse(emission[2]);
    return this.#entries?.push(call, ['fetch-failed', call.id, emission[2], UNSENDABLE]);
  }

  #responded(call: CellCall, emission: EmissionOf<'respond'>): void {
    if (call.responded || call.answer) return;
    const { answer, outcome, reason } = judgeAnswer(emission, this.limits.responseBodyBytes);
    if (answer === undefined) {
      if (reason?.detail) this.#log(call, 'error', reason.detail);
      this.#abandon(call, outcome, reason);
    } else if (emission[5]) {
      call.answer = answer;
      this.calls.finish(call, emission[6], '');
    } else {
      call.responded = true;
      call.spokenOf = true;
      this.#answers.add(call, emission[8]);
      this.#listener.answered(call, answer);
    }
  }

  /** Tells the ends of calls whose last entry has been charged. */
  #flush(outcome?: Outcome, reason?: EndReason): void {
    for (const { call, outcome: own, detail } of this.calls.takeFinished()) {
      if (this.calls.has(call.id)) this.#close(call, call.end(outcome ?? own, reason ?? { detail }));
    }
  }

  /** Ends one call whose isolate lives on. */
  #abandon(call: CellCall, outcome: Outcome, reason?: EndReason): void {
    this.#entries?.drop(call);
    this.#close(call, call.end(outcome, reason));
    call.allowLastWords();
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

  /** Ends the isolate and each call that the tenant has seen; hands the others back. @param culprit the call that is the reason */
  #end(outcome: Outcome, reason: EndReason, culprit?: CellCall): void {
    if (this.gone) return;
    this.#flush(outcome, reason);
    // In what its script left behind when it loaded: it would do the same in the next isolate, and so on without end.
    const hopeless = this.#loader !== undefined && this.#entries?.running === this.#loader;
    const unseen = this.#dispose();
    const again = hopeless ? [] : unseen.filter((call) => this.calls.delete(call.id));
    for (const call of [...this.calls.values()]) {
      const own = culprit === undefined || call === culprit ? reason : innocentReason(reason);
      this.#close(call, call.end(outcome, own));
    }
    this.#listener.gone(this, again);
  }

  #rest(): void {
    // A script that is still loading is watched, whether or not anybody waits for it.
    if (this.calls.size > 0 || (this.#entries !== undefined && this.#state === 'loading')) return;
    // So is code that a call has left running when it ended: retired and unwatched, a loop would go on for ever.
    if (this.#entries?.resting === false) return;
    this.#home.watchdog.unwatch(this);
    if (this.#retired && !this.gone && this.#entries) this.#listener.gone(this, this.#dispose());
  }

  /** @returns the calls the tenant has seen nothing of */
  #dispose(): CellCall[] {
    this.#state = 'gone';
    this.#loader?.clearTimers();
    this.#jobs.close();
    this.#home.watchdog.unwatch(this);
    this.#home.memory.forget(this.key);
    if (this.#entries) return this.#entries.close();
    this.#isolate?.dispose();
    return [];
  }
}
