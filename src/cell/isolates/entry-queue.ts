/**
 * The entries of one isolate: gives them to V8 one at a time, in order and with a slot in hand, and
 * charges CPU to the call that used it.
 *
 * A quick isolate has some entries submitted ahead, because its thread would otherwise idle until
 * the main thread has handled the end of the last one; V8 still runs them one after the other. It
 * does not know which calls exist, nor what the end of an entry means for them: its owner does.
 */
import type ivm from 'isolated-vm';
import type { Entry } from '../../protocol/bridge.ts';
import type { CellCall } from '../calls/cell-call.ts';
import type { Engine } from '../engine.ts';
import type { JournalEntry } from '../execution-journal.ts';
import type { BlankIsolate } from './blank-isolates.ts';
import type { MainThreadUse } from './main-thread.ts';
import type { RecentCpu } from './recent-cpu.ts';
import { type Runnable, SLICE_MS, type Slots } from './slots.ts';
import { otherThreadsCpuMs, type Watchdog } from './watchdog.ts';

/** Entries V8 may have at once. */
const PIPELINE = 16;
/**
 * An isolate whose last entry took longer gets its entries one at a time, so that each is charged
 * exactly.
 */
const QUICK_ENTRY_NS = 1e6;
/**
 * CPU that a disposed isolate may use before it lets go of its thread, and how long it may take
 * over that.
 */
const DISPOSE_GRACE_MS = 500;
const DISPOSE_WALL_MS = 10_000;
const FAILURE_CHARS = 2_000;
/** Time of the main thread for one character of a rejection's text, message and stack together. */
const FAILURE_MS_PER_CHAR = 4e-6;
const NS_PER_MS = 1e6;
/** An entry that takes longer is rare: its CPU is looked up at its end. */
const LONG_ENTRY_MS = 20;

export interface EntryListener {
  /**
   * An entry has ended and its CPU is charged.
   *
   * @param failure as isolated-vm words it: an unhandled rejection, or the disposal of the isolate
   */
  entryEnded(call: CellCall, failure: string | undefined): void;
  /** Nothing runs and nothing waits. */
  idle(): void;
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

export interface EntryQueueDeps {
  readonly engine: Engine;
  readonly blank: BlankIsolate;
  readonly slots: Slots;
  /** Who shares the slots with others. */
  readonly holder: string;
  readonly watchdog: Pick<Watchdog, 'usedMs'>;
  /** Recent CPU of the installation. */
  readonly use: RecentCpu;
  readonly mainThread: MainThreadUse;
  readonly journalEntry: JournalEntry;
  readonly listener: EntryListener;
}

/** Where the stack of an error leaves the isolate: below it are paths of the host. */
const BOUNDARY = '\n    at (<isolated-vm boundary>)';
/** What isolated-vm says of an object without `message` and `stack`. */
const NO_ERROR = 'An object was thrown from supplied code within isolated-vm';

/** What a failed entry leaves: its texts are copies of those in the isolate. */
function failureText(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { name, message, stack = '' } = thrown;
  if (message.startsWith(NO_ERROR)) return 'an object that is no Error, and has no stack.';
  const end = stack.indexOf(BOUNDARY);
  return end < 0 ? `${name}: ${message}` : stack.slice(0, end);
}

export class EntryQueue implements Runnable {
  readonly holder: string;
  readonly #engine: Engine;
  readonly #isolate: ivm.Isolate;
  readonly #dispose: () => void;
  readonly #enter: ivm.Reference;
  readonly #slots: Slots;
  readonly #watchdog: Pick<Watchdog, 'usedMs'>;
  readonly #use: RecentCpu;
  readonly #mainThread: MainThreadUse;
  readonly #journalEntry: JournalEntry;
  readonly #listener: EntryListener;
  #waiting: Queued[] = [];
  /** Credit goes first: an answer that leaves frees heap before the next call takes some. */
  #credits: Queued[] = [];
  /** Entries that V8 has: the first one runs, the others have not begun. */
  readonly #submitted: Queued[] = [];
  #closed = false;
  #enteredAt = 0;
  #seenNs = 0;
  #chargedNs: number;
  #entryNs = 0;
  #lastEntryNs = 0;
  /** Runs while the isolate has to wait for its share of the main thread. */
  #pause: NodeJS.Timeout | undefined;
  /** Share of an entry's time that was CPU: an estimate until the watchdog has checked it. */
  #share = 1;

  constructor(deps: EntryQueueDeps) {
    const { engine, blank, slots, holder, watchdog, use, mainThread, journalEntry, listener } = deps;
    this.holder = holder;
    this.#engine = engine;
    this.#isolate = blank.isolate;
    this.#dispose = () => blank.dispose();
    this.#enter = blank.enter;
    this.#slots = slots;
    this.#watchdog = watchdog;
    this.#use = use;
    this.#mainThread = mainThread;
    this.#journalEntry = journalEntry;
    this.#listener = listener;
    this.#chargedNs = this.#cpuNs();
  }

  /** The call whose entry V8 is running. */
  get running(): CellCall | undefined {
    return this.#submitted[0]?.call;
  }

  /** New work of an installation with high recent CPU goes behind that of others. */
  get heavy(): boolean {
    return this.#use.isHeavy(performance.now());
  }

  /** Work of a backlog goes behind that of others. */
  get background(): boolean {
    return this.#listener.isBackground();
  }

  /** Whether nothing runs and nothing waits. */
  get idle(): boolean {
    return this.#submitted.length === 0 && !this.#hasWaiting;
  }

  /** Whether there is an entry to submit. */
  get #hasWaiting(): boolean {
    return this.#waiting.length > 0 || this.#credits.length > 0;
  }

  /** Queues an entry of a call; dropped once the isolate has been disposed of. */
  push(call: CellCall, entry: Entry<Uint8Array>): void {
    if (this.#closed) return;
    (entry[0] === 'credit' ? this.#credits : this.#waiting).push({ call, entry });
    if (this.#submitted.length > 0) this.run();
    else this.#slots.request(this);
  }

  /** A foreground call has come: the entries no longer wait behind the work of others. */
  promote(): void {
    if (this.#hasWaiting && this.#submitted.length === 0 && !this.#closed) this.#slots.request(this);
  }

  /**
   * Removes the waiting entries of a call that is over. The script is loaded all the same: other
   * calls wait for it.
   */
  drop(call: CellCall): void {
    this.#waiting = this.#waiting.filter((queued) => queued.call !== call || queued.entry[0] === 'load');
    this.#credits = this.#credits.filter((queued) => queued.call !== call);
  }

  /** Called with a slot in hand. */
  run(): void {
    if (this.#mustPause()) return;
    const depth = this.#lastEntryNs < QUICK_ENTRY_NS ? PIPELINE : 1;
    while (this.#submitted.length < depth) {
      const next = this.#next();
      if (next === undefined) break;
      this.#submit(next);
    }
    if (this.#submitted.length === 0) this.#slots.release(this);
  }

  #next(): Queued | undefined {
    const credit = this.#credits.shift();
    if (credit !== undefined || this.#listener.mayBegin(this.#submitted.length === 0))
      return credit ?? this.#waiting.shift();
    const at = this.#waiting.findIndex(({ entry }) => entry[0] !== 'call');
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  /**
   * Whether the main thread has worked too much for this isolate to enter it now: it then waits
   * without a slot.
   */
  #mustPause(): boolean {
    const waitMs = this.#mainThread.waitMs(performance.now());
    if (waitMs === 0) return false;
    if (this.#submitted.length > 0) return true;
    this.#slots.release(this);
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      if (this.#hasWaiting && !this.#closed) this.#slots.request(this);
    }, waitMs);
    return true;
  }

  /**
   * Charges work of the main thread to the entry that runs, whose own CPU clock does not count it.
   */
  chargeMainThread(workedMs: number): void {
    const now = performance.now();
    this.#mainThread.add(workedMs, now);
    // On a busy machine part of that time was waiting for a core.
    const workedNs = workedMs * NS_PER_MS * this.#slots.share;
    this.#use.add(workedNs, now);
    this.#entryNs += workedNs;
    const call = this.running;
    if (call !== undefined) call.cpuNs += workedNs;
  }

  /**
   * Charges the entry that runs, and counts it as long-running once it is past its slice.
   *
   * @param share of the time since the last check that it really had a core
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

  /** Charges the CPU since the last check to a call. @param mostNs what it can have used */
  #charge(call: CellCall, now: number, mostNs = Number.POSITIVE_INFINITY): void {
    const cpuNs = this.#cpuNs();
    const used = Math.min((cpuNs - this.#chargedNs) * this.#share, mostNs);
    this.#chargedNs = cpuNs;
    this.#use.add(used, now);
    this.#entryNs += used;
    call.cpuNs += used;
  }

  /**
   * The most that an entry which has ended can have used. The share of a short one is an estimate;
   * one that took long between two checks, on a machine that is busy with other work, may have
   * waited all the time.
   */
  #mostNs(now: number): number {
    const isShort = now - this.#enteredAt < LONG_ENTRY_MS;
    return isShort ? Number.POSITIVE_INFINITY : this.#watchdog.usedMs * NS_PER_MS;
  }

  /**
   * Disposes of the isolate, whatever it is doing.
   *
   * @returns the calls of which the tenant has seen nothing: they may run elsewhere
   */
  close(): CellCall[] {
    this.#closed = true;
    clearTimeout(this.#pause);
    this.#mainThread.close();
    const unseen = [...this.#submitted.slice(1), ...this.#waiting].filter(({ entry }) => entry[0] === 'call');
    this.#waiting = [];
    this.#credits = [];
    this.#dispose();
    if (this.#submitted.length === 0) this.#slots.release(this);
    // Some built-ins, and isolated-vm's reading of some rejections, cannot be interrupted: only the
    // end of the cell stops them.
    else this.#awaitRelease(performance.now(), otherThreadsCpuMs());
    return unseen.map(({ call }) => call);
  }

  /**
   * Counts the CPU that the thread can have used, not the clock alone: on a busy machine it may
   * have had no core yet.
   */
  #awaitRelease(since: number, usedMs: number): void {
    setTimeout(() => {
      if (this.#submitted.length === 0) return;
      const cpuMs = (otherThreadsCpuMs() - usedMs) / this.#slots.running;
      const late = performance.now() - since >= DISPOSE_WALL_MS;
      if (late || cpuMs >= DISPOSE_GRACE_MS) this.#listener.stuck();
      else this.#awaitRelease(since, usedMs);
    }, DISPOSE_GRACE_MS);
  }

  #submit(item: Queued): void {
    if (this.#submitted.length === 0) {
      this.#enteredAt = performance.now();
      this.#journalEntry.set();
    }
    this.#submitted.push(item);
    void this.#applied(item.entry).then((failure) => this.#settled(item, failure));
  }

  /**
   * @returns name, message and stack of the error, bounded; isolated-vm copies these texts out, and
   * nothing else of it is read
   */
  async #applied(entry: Entry<Uint8Array>): Promise<string | undefined> {
    try {
      // isolated-vm records the stack of whoever enters (7.0.1, `isolate/three_phase_task.h`), and
      // pays for each frame of it: a continuation has one.
      await undefined;
      await this.#enter.apply(undefined, this.#transferable(entry));
      return undefined;
    } catch (thrown) {
      const text = failureText(thrown);
      // Attack: rejections with messages of megabytes. This one has already been copied, so its
      // call pays for it.
      this.chargeMainThread(text.length * FAILURE_MS_PER_CHAR);
      return text.slice(0, FAILURE_CHARS);
    }
  }

  /**
   * Bytes are copied here, once and not before: an entry that was submitted and never begun may be
   * submitted again.
   */
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
      this.#charge(call, now, this.#mostNs(now));
      this.#listener.entryEnded(call, failure);
    }
    this.#submitted.shift();
    if (this.#submitted.length === 0) this.#journalEntry.unset();
    this.#enteredAt = now;
    // The time of the load says nothing of the calls: the first call is submitted alone.
    this.#lastEntryNs = entry[0] === 'load' ? QUICK_ENTRY_NS : this.#entryNs;
    this.#entryNs = 0;
    this.#share = this.#slots.share;
    if (this.#closed) {
      if (this.#submitted.length === 0) this.#slots.release(this);
      return;
    }
    this.#continue();
  }

  /** Submits the next entry, or gives the slot to the isolates that wait. */
  #continue(): void {
    if (this.#hasWaiting && !this.#slots.contended) {
      this.run();
    } else if (this.#submitted.length === 0) {
      this.#slots.release(this);
      if (this.#hasWaiting) this.#slots.request(this);
      else this.#listener.idle();
    }
  }

  /**
   * All CPU of the isolate so far. Of an isolate that has just been disposed of, the last known
   * figure.
   */
  #cpuNs(): number {
    try {
      this.#seenNs = Number(this.#isolate.cpuTime);
    } catch {
      // The engine may dispose of it at any time, on a thread of its own: a check beforehand would
      // race.
    }
    return this.#seenNs;
  }
}
