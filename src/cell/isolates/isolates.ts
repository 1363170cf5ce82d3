/**
 * The isolates of one cell: created at first use, kept within bounds on count and heap, retired
 * when they are evicted, when their version changes or when they pass a limit.
 *
 * The least recently used are evicted first; an isolate in the middle of a call finishes it.
 * Scripts come from the host when they are first needed and are kept, within a bound, for the next
 * isolate.
 */
import { LRUCache } from 'lru-cache';
import {
  type CellLimits,
  type IsolateLimits,
  PROBED_SCRIPT,
  probe,
  type ScriptExports,
} from '../../protocol/wire.ts';
import type { CellCall, StreamEntry } from '../calls/cell-call.ts';
import type { BlankIsolates } from './blank-isolates.ts';
import type { CellDeps } from './cell-deps.ts';
import { CompileQueue } from './compile-queue.ts';
import { CompiledScript } from './compiled-script.ts';
import { type IsolateListener, TenantIsolate } from './tenant-isolate.ts';

const SCRIPTS_BYTES_MAX = 128 * 1024 * 1024;
/** Bytes of a script and its code cache, for each character of it. */
const BYTES_PER_CHAR = 4;
const MEASURE_EVERY_MS = 1_000;
/**
 * Isolates whose garbage is collected in that time: a percent or two of a core. Attack: a thousand
 * installations of full heaps, each called now and then.
 */
const COLLECTED_AT_ONCE = 8;
/** Isolates that are made at once for background calls. */
const BACKGROUND_OPENINGS = 2;
/**
 * How long after a foreground call an isolate is not evicted, as long as the other isolates have
 * half of the places.
 */
const KEPT_MS = 30_000;

export interface IsolatesDeps {
  readonly cell: CellDeps;
  readonly blanks: BlankIsolates;
  readonly limits: CellLimits;
  readonly listener: IsolateListener;
  /** Asks the host for the source of a script. */
  readonly need: (script: string) => void;
}

export class Isolates {
  readonly #cell: CellDeps;
  readonly #blanks: BlankIsolates;
  readonly #listener: IsolateListener;
  readonly #need: (script: string) => void;
  readonly #heapBytesMax: number;
  readonly #resident: LRUCache<string, TenantIsolate>;
  /** Every isolate that is alive, including retired ones and those of probes. */
  readonly #alive = new Set<TenantIsolate>();
  readonly #callIsolate = new Map<number, TenantIsolate>();
  readonly #scripts = new LRUCache<string, CompiledScript>({
    maxSize: SCRIPTS_BYTES_MAX,
    sizeCalculation: (script) => script.length * BYTES_PER_CHAR + 1,
  });
  readonly #compiling = new CompileQueue();
  readonly #openings = new IsolateOpenings<TenantIsolate>(BACKGROUND_OPENINGS);
  #trimming = false;
  readonly #awaited = new Map<string, ((script: CompiledScript) => void)[]>();

  constructor({ cell, blanks, limits, listener, need }: IsolatesDeps) {
    this.#cell = cell;
    this.#blanks = blanks;
    this.#need = need;
    this.#heapBytesMax = limits.cellHeapMib * 1024 * 1024;
    this.#resident = new LRUCache({
      max: limits.isolatesPerCell,
      // After, not during: an idle isolate is disposed of at once and looks itself up here.
      disposeAfter: (isolate) => isolate.retire(),
    });
    this.#listener = {
      ...listener,
      answered: (call, answer, end) => {
        if (end) this.#callIsolate.delete(call.id);
        listener.answered(call, answer, end);
      },
      ended: (call, end) => {
        this.#callIsolate.delete(call.id);
        listener.ended(call, end);
      },
      disposed: (isolate, unseen) => {
        this.#forget(isolate);
        for (const call of unseen) this.begin(isolate.key, isolate.script, call, isolate.limits);
      },
    };
    setInterval(() => void this.#trim(), MEASURE_EVERY_MS).unref();
  }

  /** Isolates alive, whether or not they still take calls. */
  get count(): number {
    return this.#alive.size;
  }

  /** Heaps of all of them when last measured, MiB. */
  get heapMib(): number {
    let bytes = 0;
    for (const isolate of this.#alive) bytes += isolate.heapBytes;
    return Math.round(bytes / (1024 * 1024));
  }

  /**
   * @param limits of the isolate: a key always has the same ones, because the host changes the key
   * with them
   */
  begin(key: string, script: string, call: CellCall, limits?: IsolateLimits): void {
    let isolate = this.#resident.get(key);
    if (isolate === undefined || isolate.full) {
      if (isolate === undefined) this.#makeRoom(performance.now());
      // Setting the successor retires a full one.
      isolate = this.#open(key, script, call.background, limits);
      this.#resident.set(key, isolate);
    } else if (!call.background) this.#openings.promote(isolate);
    this.#callIsolate.set(call.id, isolate);
    isolate.begin(call);
  }

  /** Runs a script once, in an isolate of its own that takes no call, and reports its exports. */
  probe(source: string, call: CellCall, onExports: (exports: ScriptExports) => void): void {
    const isolate = new TenantIsolate({
      key: probe(call.id),
      script: PROBED_SCRIPT,
      cell: this.#cell,
      limits: this.#cell.limits,
      listener: {
        ...this.#listener,
        loaded: (probed, exports) => {
          onExports(exports);
          probed.finish(call);
          probed.retire();
        },
        disposed: (probed) => this.#forget(probed),
      },
    });
    this.#alive.add(isolate);
    this.#callIsolate.set(call.id, isolate);
    isolate.begin(call);
    void this.#load(isolate, Promise.resolve(new CompiledScript(source, this.#compiling)));
  }

  /** The caller of a call has left. Does nothing for an unknown id, as of a call that has ended. */
  cancel(id: number): void {
    this.#callIsolate.get(id)?.cancel(id);
  }

  /** Passes on to a call a part of a stream, or the answer to a fetch. */
  receive(entry: StreamEntry): void {
    this.#callIsolate.get(entry[1])?.receive(entry);
  }

  /**
   * Takes no further calls in the isolate of this key; it is disposed of once its calls have ended.
   */
  retire(key: string): void {
    this.#resident.delete(key);
  }

  /** Heap of the isolate of a key, when last measured. */
  heapOf(key: string): number {
    return this.#resident.peek(key)?.heapBytes ?? 0;
  }

  /** Measures the heap now. Resolves also where there is no isolate of this key. */
  async measure(key: string): Promise<void> {
    await this.#resident.peek(key)?.measure();
  }

  /** Whether no isolate of this key has a call. */
  isIdle(key: string): boolean {
    for (const isolate of this.#alive) if (isolate.key === key && isolate.calls.size > 0) return false;
    return true;
  }

  /** Ends an isolate with its calls: it holds the most memory of a cell that runs short of it. */
  endForMemory(key: string): void {
    for (const isolate of this.#alive)
      if (isolate.key === key) isolate.end('exceededMemory', { limit: { name: 'cellRssMib' } });
  }

  /** A script the host sends, in answer to `need`. */
  script(key: string, source: string): void {
    const script = new CompiledScript(source, this.#compiling);
    this.#scripts.set(key, script);
    for (const resolve of this.#awaited.get(key) ?? []) resolve(script);
    this.#awaited.delete(key);
  }

  /**
   * Evicts an isolate that no foreground call has used lately. Attack: a backlog of more
   * installations than a cell has places for evicts the isolates of all other installations between
   * two of their calls.
   */
  #makeRoom(now: number): void {
    if (this.#resident.size < this.#resident.max) return;
    const candidates: TenantIsolate[] = [];
    // The least recently used first.
    for (const isolate of this.#resident.rvalues())
      if (isolate !== undefined && now - isolate.calls.foregroundAt >= KEPT_MS) candidates.push(isolate);
    if (candidates.length * 2 < this.#resident.max) return;
    const [oldest] = candidates;
    const isStale = oldest !== undefined && now - oldest.calls.lastAt >= KEPT_MS;
    // Installations of a backlog take turns: the isolate that was used last is needed last.
    const evicted = isStale ? oldest : (candidates.findLast(({ calls }) => calls.size === 0) ?? oldest);
    if (evicted !== undefined) this.#resident.delete(evicted.key);
  }

  #open(key: string, script: string, isBackground: boolean, limits = this.#cell.limits): TenantIsolate {
    const isolate = new TenantIsolate({ key, script, cell: this.#cell, limits, listener: this.#listener });
    this.#alive.add(isolate);
    void this.#load(isolate, this.#source(script), isBackground);
    return isolate;
  }

  async #load(isolate: TenantIsolate, awaited: Promise<CompiledScript>, isBackground = false): Promise<void> {
    let opening: Opening | undefined;
    try {
      const script = await awaited;
      // A foreground call may have come meanwhile.
      const wanted = isBackground && isolate.calls.background ? 'background' : 'foreground';
      opening = await this.#openings.enter(isolate, wanted);
      if (isolate.disposed) return;
      const blank = await this.#blanks.take(isolate.limits.isolateHeapMib, opening === 'background');
      const endTurn = await script.turn();
      try {
        if (isolate.disposed) blank.dispose();
        else await isolate.load(blank, script);
      } finally {
        endTurn?.();
      }
    } catch (cause) {
      isolate.end('internalError', { detail: `The isolate could not be made: ${String(cause)}` });
    } finally {
      if (opening !== undefined) this.#openings.leave(opening);
    }
  }

  #source(script: string): Promise<CompiledScript> {
    const known = this.#scripts.get(script);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => {
      const waiting = this.#awaited.get(script);
      if (waiting) {
        waiting.push(resolve);
      } else {
        this.#awaited.set(script, [resolve]);
        this.#need(script);
      }
    });
  }

  #forget(isolate: TenantIsolate): void {
    this.#alive.delete(isolate);
    if (this.#resident.peek(isolate.key) === isolate) this.#resident.delete(isolate.key);
  }

  /**
   * Retires the least recently used isolates until the heaps are within their bound, and collects
   * the garbage of idle ones.
   */
  async #trim(): Promise<void> {
    // An isolate that does not release its thread does not answer, either: the last pass may still
    // wait for it.
    if (this.#trimming) return;
    this.#trimming = true;
    await Promise.all([...this.#alive].map((isolate) => isolate.measure()));
    let bytes = 0;
    for (const isolate of this.#alive) bytes += isolate.heapBytes;
    while (bytes > this.#heapBytesMax && this.#resident.size > 1) {
      const evicted = this.#resident.pop();
      bytes -= evicted?.heapBytes ?? 0;
    }
    this.#collectIdle(performance.now());
    this.#trimming = false;
  }

  #collectIdle(now: number): void {
    let collected = 0;
    // The least recently used first.
    for (const isolate of this.#resident.rvalues()) {
      if (collected === COLLECTED_AT_ONCE) return;
      if (isolate?.collect(now)) collected += 1;
    }
  }
}

/**
 * An isolate for background calls begins after so many for foreground calls, however many of these
 * are being made.
 */
const FOREGROUND_IN_A_ROW = 8;

export type Opening = 'foreground' | 'background';

/**
 * Decides which isolates are made now. They are made on threads of isolated-vm beside the slots, so
 * slots do not bound them.
 *
 * Attack: deliveries of a hundred organizations pile up, and a hundred isolates are made at once;
 * an isolate that a foreground call needs then has a hundredth of a core. So isolates for
 * background calls are made a few at a time, in the order of the requests, and none begins while
 * one for a foreground call is made. Those for foreground calls are made at once. After a number of
 * foreground openings a background one begins all the same, so that none waits for ever.
 */
export class IsolateOpenings<Isolate> {
  readonly #backgroundMax: number;
  readonly #waiting = new Map<Isolate, (opening: Opening) => void>();
  readonly #made = { foreground: 0, background: 0 };
  /** Foreground openings since the last background one, counted while background ones wait. */
  #overtaken = 0;

  /** @param backgroundMax isolates for background calls that are made at once */
  constructor(backgroundMax: number) {
    this.#backgroundMax = backgroundMax;
  }

  /** Waits until the isolate may be made. @returns its kind, for `leave` */
  enter(isolate: Isolate, opening: Opening): Promise<Opening> {
    if (opening === 'foreground') return Promise.resolve(this.#beginForeground());
    return new Promise((resolve) => {
      this.#waiting.set(isolate, resolve);
      this.#grant();
    });
  }

  /** A foreground call needs the isolate: its making waits no longer. */
  promote(isolate: Isolate): void {
    const begin = this.#waiting.get(isolate);
    if (begin === undefined) return;
    this.#waiting.delete(isolate);
    begin(this.#beginForeground());
  }

  /** The isolate is made, or could not be. */
  leave(opening: Opening): void {
    this.#made[opening] -= 1;
    this.#grant();
  }

  #beginForeground(): Opening {
    this.#made.foreground += 1;
    if (this.#waiting.size > 0) this.#overtaken += 1;
    this.#grant();
    return 'foreground';
  }

  #grant(): void {
    for (const [isolate, begin] of this.#waiting) {
      const mustWait = this.#made.foreground > 0 && this.#overtaken < FOREGROUND_IN_A_ROW;
      if (mustWait || this.#made.background >= this.#backgroundMax) return;
      this.#overtaken = 0;
      this.#made.background += 1;
      this.#waiting.delete(isolate);
      begin('background');
    }
  }
}
