/**
 * One installation's isolate: takes calls, hears what the tenant's code has to say about them, and ends everything in
 * it at once when a limit is passed.
 *
 * An isolate belongs to one version of one installation for its whole life. It never reads an object of the tenant; what
 * it hears from inside are strings, numbers and plain buffers, each checked here before it counts.
 */
import type ivm from 'isolated-vm';
import type { Emission } from '../bridge.ts';
import {
  type CallEnd,
  type FetchMessage,
  LOG_LEVELS,
  type LogLevel,
  type Outcome,
  type ScriptExports,
  type StreamMessage,
  scriptUrl,
} from '../wire.ts';
import type { BlankIsolate } from './blank-isolates.ts';
import { type Answer, CellCall, type StreamEntry } from './cell-call.ts';
import type { CellScript } from './cell-script.ts';
import { CryptoJobs } from './crypto-jobs.ts';
import { EntryQueue } from './entry-queue.ts';
import type { IsolateHome } from './isolate-home.ts';
import { boundedText, names, type Outgoing, readAnswer, readFetch, readStream } from './read-emission.ts';
import type { Watched } from './watchdog.ts';

/** The loading script's id among the calls of its isolate; the host counts its own from 1. */
const LOADER_ID = 0;
/** Unhandled rejections of one call that are logged. */
const REJECTIONS_LOGGED = 16;

/** Who hears how calls fare. */
export interface CallListener {
  log(call: CellCall, level: LogLevel, text: string): void;
  /** With `end`, the call is over too. */
  answered(call: CellCall, answer: Answer, end?: CallEnd): void;
  ended(call: CellCall, end: CallEnd): void;
  /** A fetch, or a part of a stream. */
  said(message: FetchMessage | StreamMessage, bytes: Buffer): void;
  loaded(isolate: TenantIsolate, exports: ScriptExports): void;
  /** The isolate is gone; the tenant has seen nothing of these calls, and they may run elsewhere. */
  gone(isolate: TenantIsolate, unseen: CellCall[]): void;
  /** The isolate is gone, and still holds a thread. */
  stuck(): void;
}

/** A call that is over as soon as its entry has been charged. */
interface Finishing {
  readonly call: CellCall;
  readonly outcome: Outcome;
  readonly detail: string;
}

type EmissionOf<Kind> = Extract<Emission, [kind: Kind, ...rest: unknown[]]>;

export class TenantIsolate implements Watched {
  readonly key: string;
  readonly script: string;
  readonly #home: IsolateHome;
  readonly #listener: CallListener;
  readonly #calls = new Map<number, CellCall>();
  readonly #jobs: CryptoJobs;
  #finishing: Finishing[] = [];
  #isolate: ivm.Isolate | undefined;
  /** The script's own account while it loads: its timers and CPU outlive the call that made it necessary. */
  #loader: CellCall | undefined;
  /** There once the isolate is; until then calls wait in `#calls` alone. */
  #entries: EntryQueue | undefined;
  #state: 'loading' | 'ready' | 'gone' = 'loading';
  #retired = false;
  /** Heap in use when last measured. */
  heapBytes = 0;

  constructor(key: string, script: string, home: IsolateHome, listener: CallListener) {
    this.key = key;
    this.script = script;
    this.#home = home;
    this.#listener = listener;
    this.#jobs = new CryptoJobs(home.cryptoThreads, {
      done: (call, job, answer, bytes) => this.#entries?.push(call, ['done', call.id, job, answer, bytes]),
      overdrawn: (call) => this.#overdrawn(call),
    });
  }

  get running(): boolean {
    return this.#entries?.running !== undefined;
  }

  get gone(): boolean {
    return this.#state === 'gone';
  }

  /** Takes a call; it enters as soon as the script is ready and a slot is free. */
  begin(call: CellCall): void {
    this.#calls.set(call.id, call);
    this.#home.watchdog.watch(this);
    if (this.#state === 'ready') this.#hand(call);
  }

  /** Puts the script into a blank isolate. Loading may use what a call may, and is charged to no call. */
  async load(blank: BlankIsolate, source: CellScript): Promise<void> {
    const { isolate, context, line } = blank;
    this.#isolate = isolate;
    line.listen = (emission) => this.#heard(emission);
    try {
      const script = await source.compile(isolate, scriptUrl(this.script));
      const factory: ivm.Reference = await script.run(context, { reference: true });
      script.release();
      if (this.gone) return;
      this.#entries = new EntryQueue(this.#home.engine, blank, this.#home.slots, {
        entryEnded: (call, failure) => this.#entryEnded(call, failure),
        rested: () => this.#rest(),
        stuck: () => this.#listener.stuck(),
      });
      const [first] = this.#calls.values();
      // Everybody who wanted it has gone away meanwhile.
      if (first === undefined) this.#go();
      else this.#startLoading(first, factory);
    } catch (cause) {
      const why = boundedText(cause instanceof Error ? cause.message : String(cause));
      this.#unloadable(`The script could not be compiled: ${why}`);
    }
  }

  #startLoading({ cpuMs, wallMs }: CellCall, factory: ivm.Reference): void {
    this.#loader = new CellCall({ id: LOADER_ID, cpuMs, wallMs });
    this.#entries?.push(this.#loader, ['load', LOADER_ID, factory.derefInto({ release: true })]);
  }

  /** Hands on what came for a call: a part of a stream, the answer to a fetch. */
  hear(entry: StreamEntry): void {
    const call = this.#calls.get(entry[1]);
    if (call?.held) call.held.push(entry);
    else if (call) this.#entries?.push(call, entry);
  }

  /** Ends one call from outside: its caller went away. */
  cancel(id: number): void {
    const call = this.#calls.get(id);
    if (call !== undefined) this.#abandon(call, 'canceled');
  }

  /** Ends the call of a probe, once the entry that loaded the script has been charged to it. */
  finish(call: CellCall): void {
    this.#finishing.push({ call, outcome: 'ok', detail: '' });
  }

  /** Ends every call in it: the isolate could not be made. */
  fail(detail: string): void {
    this.#end('internalError', detail);
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
    if (!this.gone && this.#entries?.outOfCpu(now, share)) this.#overdrawn(this.#entries.running as CellCall);
  }

  /** The call has used up its CPU. In the middle of an entry, or of loading, only the end of the isolate helps. */
  #overdrawn(call: CellCall): void {
    const detail = `The call used more than its ${call.cpuMs} ms of CPU.`;
    const stuck = call === this.#loader && this.#state === 'loading';
    if (stuck || this.#entries?.running === call) this.#end('exceededCpu', detail);
    else if (this.#calls.has(call.id)) this.#abandon(call, 'exceededCpu', detail);
  }

  checkWall(now: number): void {
    const late = this.#state === 'loading' ? this.#loader?.overdue(now) : undefined;
    if (late !== undefined) this.#end('exceededWallTime', late);
    for (const call of this.#calls.values()) {
      const detail = call.overdue(now);
      if (this.gone || detail === undefined) continue;
      // In the middle of an entry, or of loading, only the end of the isolate helps; otherwise the others go on.
      const stuck = this.#entries !== undefined && this.#state === 'loading';
      if (stuck || this.#entries?.running === call) this.#end('exceededWallTime', detail);
      else this.#abandon(call, 'exceededWallTime', detail);
    }
  }

  #hand(call: CellCall): void {
    const { id, input } = call;
    if (input === undefined) return;
    this.#entries?.push(call, [
      'call',
      id,
      input.url,
      input.event,
      input.environment,
      input.body,
      input.more,
    ]);
  }

  /** The tenant has seen the call: what came for it meanwhile can follow. */
  #release(call: CellCall): void {
    const { held } = call;
    call.held = undefined;
    for (const entry of held ?? []) this.hear(entry);
  }

  #entryEnded(call: CellCall, failure: string | undefined): void {
    if (this.#isolate?.isDisposed) {
      this.#end('exceededMemory', `The isolate grew beyond its ${this.#home.heapMib} MiB of memory.`);
      return;
    }
    if (call.held) this.#release(call);
    if (failure !== undefined) this.#rejected(call, failure);
    this.#flush();
  }

  /** A promise was rejected and nobody looked. The prelude cannot count these, so they are counted here. */
  #rejected(call: CellCall, failure: string): void {
    call.rejections += 1;
    if (call.rejections <= REJECTIONS_LOGGED)
      this.#log(call, 'error', `Unhandled promise rejection: ${failure}`);
  }

  /** What the script says while it loads is told to whoever waits for it. */
  #log(call: CellCall, level: LogLevel, text: string): void {
    const heard = call === this.#loader ? this.#calls.values().next().value : this.#calls.get(call.id);
    if (heard) this.#listener.log(heard, level, text);
  }

  #heard(emission: Emission): void {
    if (emission[0] === 'loaded') return this.#loaded(emission);
    if (emission[0] === 'failed')
      return this.#unloadable(`The script failed to load: ${boundedText(emission[2])}`);
    const call = emission[1] === LOADER_ID ? this.#loader : this.#calls.get(emission[1]);
    // Any other word of a call that is over is too late.
    if (call === undefined) return undefined;
    switch (emission[0]) {
      case 'respond':
        return this.#responded(call, emission);
      case 'large':
        return this.#tooLarge(call, emission[2]);
      case 'chunk':
      case 'close':
      case 'credit':
      case 'drop':
        // The body of a fetch that was refused: to the host, a stream from nowhere is a breach that costs all their cell.
        return call.isRefused(emission[2]) ? undefined : this.#said(readStream(call.id, emission));
      case 'fetch':
        return this.#fetched(call, emission);
      case 'end': {
        const [, , threw, detail] = emission;
        this.#finishing.push({ call, outcome: threw ? 'exception' : 'ok', detail: boundedText(detail) });
        return undefined;
      }
      case 'log': {
        const [, , level, text] = emission;
        if (LOG_LEVELS.includes(level)) this.#log(call, level, boundedText(text));
        return undefined;
      }
      case 'timer': {
        const [, id, timer, delayMs] = emission;
        if (!(timer >= 1 && delayMs >= 1)) return undefined;
        const due = () => this.#entries?.push(call, ['timer', id, timer]);
        return call.setTimer(timer, delayMs, due, this.#home.timersPerCall);
      }
      case 'untimer':
        return call.clearTimer(emission[2]);
      case 'job':
        return this.#jobs.ask(call, emission[2], emission[3], emission[4]);
    }
  }

  /** The script is no good: everybody who waits for it is told why. */
  #unloadable(why: string): void {
    for (const call of this.#calls.values()) this.#listener.log(call, 'error', why);
    this.#end('exception', why);
  }

  #loaded([, , fetch, sdk, components, events]: EmissionOf<'loaded'>): void {
    if (this.#state !== 'loading') return;
    this.#state = 'ready';
    this.#loader?.clearTimers();
    this.#listener.loaded(this, {
      fetch: fetch === true,
      sdk: sdk === true,
      components: names(components),
      events: names(events),
    });
    for (const call of this.#calls.values()) this.#hand(call);
  }

  #said(outgoing: Outgoing<FetchMessage | StreamMessage> | undefined): void {
    if (outgoing) this.#listener.said(outgoing.message, outgoing.bytes);
  }

  #fetched(call: CellCall, emission: EmissionOf<'fetch'>): void {
    // A script that loads has no call of the host's, which would end the cell for speaking of one.
    const outgoing = call === this.#loader ? undefined : readFetch(call.id, emission);
    if (outgoing) return this.#said(outgoing);
    call.refuse(emission[2]);
    const why = 'The request has headers, or a URL, that are too many or too long to be sent.';
    return this.#entries?.push(call, ['unfetched', call.id, emission[2], why]);
  }

  #responded(call: CellCall, [, , status, headers, body, last, threw, more]: EmissionOf<'respond'>): void {
    if (call.responded || call.answer) return;
    const answer = readAnswer(status, headers, body, more === true);
    const { responseBytesMax } = this.#home;
    if (answer === undefined) {
      const detail = 'The response has headers that are too many or too long to be sent.';
      this.#log(call, 'error', detail);
      this.#abandon(call, 'exception', detail);
    } else if (answer.body.byteLength > responseBytesMax) {
      this.#tooLarge(call, answer.body.byteLength);
    } else if (last) {
      call.answer = answer;
      this.#finishing.push({ call, outcome: threw ? 'exception' : 'ok', detail: '' });
    } else {
      call.responded = true;
      this.#listener.answered(call, answer);
    }
  }

  #tooLarge(call: CellCall, bytes: number): void {
    const detail = `The response of ${bytes} bytes is over the limit of ${this.#home.responseBytesMax}.`;
    this.#abandon(call, 'responseTooLarge', detail);
  }

  /** Tells the ends of calls whose last entry has been charged. */
  #flush(outcome?: Outcome): void {
    if (this.#finishing.length === 0) return;
    const finishing = this.#finishing;
    this.#finishing = [];
    for (const { call, outcome: own, detail } of finishing) {
      if (this.#calls.has(call.id)) this.#close(call, call.end(outcome ?? own, detail));
    }
  }

  /** Ends one call whose isolate lives on. */
  #abandon(call: CellCall, outcome: Outcome, detail?: string): void {
    this.#entries?.drop(call);
    this.#close(call, call.end(outcome, detail));
    if (this.#state === 'ready') this.#entries?.push(call, ['cancel', call.id]);
  }

  #close(call: CellCall, end: CallEnd): void {
    this.#calls.delete(call.id);
    call.clearTimers();
    this.#jobs.drop(call);
    if (call.answer) this.#listener.answered(call, call.answer, end);
    else this.#listener.ended(call, end);
  }

  /** Ends the isolate and every call that the tenant has seen; the others are handed back. */
  #end(outcome: Outcome, detail: string): void {
    if (this.gone) return;
    this.#flush(outcome);
    // In what its script left behind when it loaded: it would do the same in the next isolate, and so on without end.
    const hopeless = this.#loader !== undefined && this.#entries?.running === this.#loader;
    const unseen = this.#dispose();
    const again = hopeless ? [] : unseen.filter((call) => this.#calls.delete(call.id));
    for (const call of [...this.#calls.values()]) this.#close(call, call.end(outcome, detail));
    this.#listener.gone(this, again);
  }

  #rest(): void {
    // A script that is still loading is watched, whether or not anybody waits for it.
    if (this.#calls.size > 0 || (this.#entries !== undefined && this.#state === 'loading')) return;
    this.#home.watchdog.unwatch(this);
    if (this.#retired && !this.gone && this.#entries?.resting) this.#go();
  }

  #go(): void {
    this.#listener.gone(this, this.#dispose());
  }

  /** @returns the calls the tenant has seen nothing of */
  #dispose(): CellCall[] {
    this.#state = 'gone';
    this.#loader?.clearTimers();
    this.#jobs.close();
    this.#home.watchdog.unwatch(this);
    if (this.#entries) return this.#entries.close();
    this.#isolate?.dispose();
    return [];
  }
}
