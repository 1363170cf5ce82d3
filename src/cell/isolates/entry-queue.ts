/**
 * The entries of one isolate: gives them to V8 one at a time, in order and with a slot in hand, and charges CPU to the
 * call that used it.
 *
 * A quick isolate has some entries handed over ahead, because its thread would otherwise idle while the main thread
 * learns that the last one has ended; V8 still runs them one after the other. Which calls exist, and what an entry's end
 * means for them, is for the isolate's owner to know.
 */
import type ivm from 'isolated-vm';
import type { Entry } from '../../protocol/bridge.ts';
import type { CellCall } from '../calls/cell-call.ts';
import type { Engine } from '../engine.ts';
import type { JournalEntry } from '../execution-journal.ts';
import type { BlankIsolate } from './blank-isolates.ts';
import type { CpuUse } from './cpu-use.ts';
import type { MainThreadUse } from './main-thread.ts';
import { type Runnable, SLICE_MS, type Slots } from './slots.ts';
import { processCpuMs } from './watchdog.ts';

/** Entries V8 may have at once. */
const PIPELINE = 16;
/** An isolate whose last entry took longer gets its entries singly, so that each is charged exactly. */
const QUICK_ENTRY_NS = 1e6;
/** CPU that a disposed isolate may use before it lets go of its thread, and how long it may take over that. */
const DISPOSE_GRACE_MS = 500;
const DISPOSE_WALL_MS = 2_500;
const FAILURE_CHARS = 2_000;
/** What it costs the main thread to take over one character of what a rejected promise says, message and stack together. */
const FAILURE_MS_PER_CHAR = 4e-6;
const NS_PER_MS = 1e6;

export interface EntryListener {
  /** An entry has ended and its CPU is charged. `failure` is isolated-vm's word: a rejection nobody handled, or the end. */
  entryEnded(call: CellCall, failure: string | undefined): void;
  /** Nothing runs and nothing waits. */
  rested(): void;
  /** Whether a further call may begin. @param alone V8 has no other entry of the isolate */
  mayBegin(alone: boolean): boolean;
  /** Whether all its calls are background calls. */
  isBackground(): boolean;
  /** The isolate was disposed of and still holds its thread. */
  stuck(): void;
}

interface Queued {
  readonly call: CellCall;
  readonly entry: Entry<Uint8Array>;
}

export class EntryQueue implements Runnable {
  readonly #engine: Engine;
  readonly #isolate: ivm.Isolate;
  readonly #enter: ivm.Reference;
  readonly #slots: Slots;
  readonly #use: CpuUse;
  readonly #mainThread: MainThreadUse;
  readonly #mark: JournalEntry;
  readonly #listener: EntryListener;
  #waiting: Queued[] = [];
  /** Credit goes first: an answer that is leaving makes room in the heap before the next call takes some. */
  #credits: Queued[] = [];
  /** What V8 has: the first one runs, the others have not begun. */
  readonly #given: Queued[] = [];
  #closed = false;
  #enteredAt = 0;
  #seenNs = 0;
  #chargedNs: number;
  #entryNs = 0;
  #lastEntryNs = 0;
  /** Runs while the isolate has to wait for its part of the main thread. */
  #pause: NodeJS.Timeout | undefined;
  /** Of an entry's time, how much was CPU: an estimate until the watchdog has looked at it. */
  #share = 1;

  constructor(
    engine: Engine,
    { isolate, enter }: BlankIsolate,
    slots: Slots,
    use: CpuUse,
    mainThread: MainThreadUse,
    mark: JournalEntry,
    listener: EntryListener,
  ) {
    this.#engine = engine;
    this.#isolate = isolate;
    this.#enter = enter;
    this.#slots = slots;
    this.#use = use;
    this.#mainThread = mainThread;
    this.#mark = mark;
    this.#listener = listener;
    this.#chargedNs = this.#cpuNs();
  }

  /** The call whose entry V8 is running. */
  get running(): CellCall | undefined {
    return this.#given[0]?.call;
  }

  /** New work of an installation that is burning CPU goes behind that of others. */
  get heavy(): boolean {
    return this.#use.isHeavy(performance.now());
  }

  /** Work of a backlog goes behind that of others. */
  get background(): boolean {
    return this.#listener.isBackground();
  }

  get resting(): boolean {
    return this.#given.length === 0 && !this.#waits;
  }

  /** Whether there is something to be given. */
  get #waits(): boolean {
    return this.#waiting.length > 0 || this.#credits.length > 0;
  }

  push(call: CellCall, entry: Entry<Uint8Array>): void {
    if (this.#closed) return;
    (entry[0] === 'credit' ? this.#credits : this.#waiting).push({ call, entry });
    if (this.#given.length > 0) this.run();
    else this.#slots.request(this);
  }

  /** A foreground call has come: what waits here no longer goes behind the work of others. */
  lift(): void {
    if (this.#waits && this.#given.length === 0 && !this.#closed) this.#slots.request(this);
  }

  /** Forgets what a call that is over still had waiting. The script is loaded all the same: others wait for it. */
  drop(call: CellCall): void {
    this.#waiting = this.#waiting.filter((queued) => queued.call !== call || queued.entry[0] === 'load');
    this.#credits = this.#credits.filter((queued) => queued.call !== call);
  }

  /** Called with a slot in hand. */
  run(): void {
    if (this.#mustPause()) return;
    const depth = this.#lastEntryNs < QUICK_ENTRY_NS ? PIPELINE : 1;
    while (this.#given.length < depth) {
      const next = this.#next();
      if (next === undefined) break;
      this.#give(next);
    }
    if (this.#given.length === 0) this.#slots.release(this);
  }

  #next(): Queued | undefined {
    const credit = this.#credits.shift();
    if (credit !== undefined || this.#listener.mayBegin(this.#given.length === 0))
      return credit ?? this.#waiting.shift();
    const at = this.#waiting.findIndex(({ entry }) => entry[0] !== 'call');
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  /** Whether the main thread has worked too much for this isolate to be entered now: it then waits without a slot. */
  #mustPause(): boolean {
    const waitMs = this.#mainThread.waitMs(performance.now());
    if (waitMs === 0) return false;
    if (this.#given.length > 0) return true;
    this.#slots.release(this);
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      if (this.#waits && !this.#closed) this.#slots.request(this);
    }, waitMs);
    return true;
  }

  /** The main thread has worked for the entry that runs, whose own clock stood still meanwhile: its call pays. */
  serve(workedMs: number): void {
    const now = performance.now();
    this.#mainThread.add(workedMs, now);
    // On a busy machine the main thread has waited for a core, too.
    const workedNs = workedMs * NS_PER_MS * this.#slots.share;
    this.#use.add(workedNs, now);
    this.#entryNs += workedNs;
    const call = this.running;
    if (call !== undefined) call.cpuNs += workedNs;
  }

  /**
   * Looks at the entry that runs: past its slice, it no longer counts as quick.
   *
   * @param share of its time since the last look that it really had a core
   * @returns whether its call is out of CPU
   */
  outOfCpu(now: number, share: number): boolean {
    const call = this.running;
    if (call === undefined) return false;
    if (now - this.#enteredAt >= SLICE_MS) this.#slots.overrun(this);
    this.#share = share;
    this.#charge(call, now);
    return call.cpuLeftNs < 0;
  }

  /** Puts the time since the last look on the account of a call. */
  #charge(call: CellCall, now: number): void {
    const cpuNs = this.#cpuNs();
    const used = (cpuNs - this.#chargedNs) * this.#share;
    this.#chargedNs = cpuNs;
    this.#use.add(used, now);
    this.#entryNs += used;
    call.cpuNs += used;
  }

  /**
   * Disposes of the isolate, whatever it is doing.
   *
   * @returns the calls of which the tenant has not seen anything: they may run elsewhere
   */
  close(): CellCall[] {
    this.#closed = true;
    clearTimeout(this.#pause);
    this.#mainThread.close();
    const unseen = [...this.#given.slice(1), ...this.#waiting].filter(({ entry }) => entry[0] === 'call');
    this.#waiting = [];
    this.#credits = [];
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
    if (this.#given.length === 0) this.#slots.release(this);
    // Some built-ins, and isolated-vm's reading of some rejections, cannot be interrupted: only the cell's end helps.
    else this.#awaitRelease(performance.now(), processCpuMs());
    return unseen.map(({ call }) => call);
  }

  /** Counts what the thread can have used, not the clock alone: on a busy machine it may not have had a core yet. */
  #awaitRelease(since: number, usedMs: number): void {
    setTimeout(() => {
      if (this.#given.length === 0) return;
      const cpuMs = (processCpuMs() - usedMs) / this.#slots.running;
      const late = performance.now() - since >= DISPOSE_WALL_MS;
      if (late || cpuMs >= DISPOSE_GRACE_MS) this.#listener.stuck();
      else this.#awaitRelease(since, usedMs);
    }, DISPOSE_GRACE_MS);
  }

  #give(item: Queued): void {
    if (this.#given.length === 0) {
      this.#enteredAt = performance.now();
      this.#mark.set();
    }
    this.#given.push(item);
    void this.#applied(item.entry).then((failure) => this.#settled(item, failure));
  }

  /** @returns what went wrong, bounded; isolated-vm copies an error's texts out, and nothing else of it is read */
  async #applied(entry: Entry<Uint8Array>): Promise<string | undefined> {
    try {
      await this.#enter.apply(undefined, this.#transferable(entry));
      return undefined;
    } catch (thrown) {
      // Not the stack: it goes on below the boundary, with paths of the host.
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      // Attack: rejections with messages of megabytes, each of which has been copied here by now.
      this.serve(message.length * FAILURE_MS_PER_CHAR);
      return message.slice(0, FAILURE_CHARS);
    }
  }

  /** Bytes are copied here, once and not before: what was handed over and never begun must still be there to hand over again. */
  #transferable(entry: Entry<Uint8Array>): unknown[] {
    if (!entry.some((value) => value instanceof Uint8Array)) return entry;
    return entry.map((value) => {
      if (!(value instanceof Uint8Array)) return value;
      const copy = new this.#engine.ExternalCopy(new Uint8Array(value).buffer, { transferOut: true });
      return copy.copyInto({ release: true, transferIn: true });
    });
  }

  #settled({ call, entry }: Queued, failure: string | undefined): void {
    const now = performance.now();
    if (!this.#closed) {
      this.#charge(call, now);
      this.#listener.entryEnded(call, failure);
    }
    this.#given.shift();
    if (this.#given.length === 0) this.#mark.unset();
    this.#enteredAt = now;
    // What a script takes to load tells nothing of its calls: the first of them is looked at alone.
    this.#lastEntryNs = entry[0] === 'load' ? QUICK_ENTRY_NS : this.#entryNs;
    this.#entryNs = 0;
    this.#share = this.#slots.share;
    if (this.#closed) {
      if (this.#given.length === 0) this.#slots.release(this);
      return;
    }
    this.#goOn();
  }

  /** The next entry, or the others' turn. */
  #goOn(): void {
    if (this.#waits && !this.#slots.contended) {
      this.run();
    } else if (this.#given.length === 0) {
      this.#slots.release(this);
      if (this.#waits) this.#slots.request(this);
      else this.#listener.rested();
    }
  }

  /** All CPU of the isolate so far. Where the isolate has just gone, what was seen last. */
  #cpuNs(): number {
    try {
      this.#seenNs = Number(this.#isolate.cpuTime);
    } catch {
      // Disposed of by the engine, on a thread of its own: there is no asking first.
    }
    return this.#seenNs;
  }
}
