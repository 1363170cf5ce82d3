/**
 * The isolates of one cell: created on first use, kept while there is room, retired when evicted, when their version
 * changes or when they misbehave.
 *
 * Room is bounded by count and by heap; the least recently used go first, and one that is in the middle of a call
 * finishes it. Scripts come from the host when they are first needed and are kept, bounded, for the next isolate.
 */
import { LRUCache } from 'lru-cache';
import {
  type CellLimits,
  type IsolateLimits,
  PROBED_SCRIPT,
  probe,
  type ScriptExports,
} from '../../protocol/wire.ts';
import type { CallListener } from '../calls/call-listener.ts';
import type { CellCall, StreamEntry } from '../calls/cell-call.ts';
import type { BlankIsolates } from './blank-isolates.ts';
import type { CellParts } from './cell-parts.ts';
import { CellScript } from './cell-script.ts';
import { CompileQueue } from './compile-queue.ts';
import { type Opening, Openings } from './openings.ts';
import { TenantIsolate } from './tenant-isolate.ts';

const SCRIPTS_BYTES_MAX = 128 * 1024 * 1024;
/** What a script and its code cache take, for each character of it. */
const BYTES_PER_CHAR = 4;
const MEASURE_EVERY_MS = 1_000;
/** Isolates that are made at once for background calls. */
const BACKGROUND_OPENINGS = 2;
/** For how long after a foreground call an isolate is not evicted, as long as the other isolates have half of the places. */
const KEPT_MS = 30_000;

export class Isolates {
  readonly #home: CellParts;
  readonly #blanks: BlankIsolates;
  readonly #listener: CallListener;
  readonly #need: (script: string) => void;
  readonly #heapBytesMax: number;
  readonly #resident: LRUCache<string, TenantIsolate>;
  /** Every isolate that is alive, the retired and the throwaway ones too. */
  readonly #alive = new Set<TenantIsolate>();
  readonly #callIsolate = new Map<number, TenantIsolate>();
  readonly #scripts = new LRUCache<string, CellScript>({
    maxSize: SCRIPTS_BYTES_MAX,
    sizeCalculation: (script) => script.length * BYTES_PER_CHAR + 1,
  });
  readonly #compiling = new CompileQueue();
  readonly #openings = new Openings<TenantIsolate>(BACKGROUND_OPENINGS);
  #trimming = false;
  readonly #awaited = new Map<string, ((script: CellScript) => void)[]>();

  constructor(
    home: CellParts,
    blanks: BlankIsolates,
    limits: CellLimits,
    listener: CallListener,
    need: (script: string) => void,
  ) {
    this.#home = home;
    this.#blanks = blanks;
    this.#need = need;
    this.#heapBytesMax = limits.cellHeapMib * 1024 * 1024;
    this.#resident = new LRUCache({
      max: limits.isolatesPerCell,
      // After, not during: an idle isolate goes at once and looks itself up here.
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
      gone: (isolate, unstarted) => {
        this.#forget(isolate);
        for (const call of unstarted) this.begin(isolate.key, isolate.script, call, isolate.limits);
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

  /** @param limits what an isolate of this key keeps: the host changes the key with them */
  begin(key: string, script: string, call: CellCall, limits?: IsolateLimits): void {
    let isolate = this.#resident.get(key);
    if (isolate === undefined || isolate.spent) {
      if (isolate === undefined) this.#makeRoom(performance.now());
      // Setting its successor retires it.
      isolate = this.#open(key, script, call.background, limits);
      this.#resident.set(key, isolate);
    } else if (!call.background) this.#openings.lift(isolate);
    this.#callIsolate.set(call.id, isolate);
    isolate.begin(call);
  }

  /** Runs a script once, in an isolate of its own that takes no call. */
  probe(source: string, call: CellCall, told: (exports: ScriptExports) => void): void {
    const isolate = new TenantIsolate(probe(call.id), PROBED_SCRIPT, this.#home, this.#home.limits, {
      ...this.#listener,
      loaded: (probed, exports) => {
        told(exports);
        probed.finish(call);
        probed.retire();
      },
      gone: (probed) => this.#forget(probed),
    });
    this.#alive.add(isolate);
    this.#callIsolate.set(call.id, isolate);
    isolate.begin(call);
    void this.#load(isolate, Promise.resolve(new CellScript(source, this.#compiling)));
  }

  cancel(id: number): void {
    this.#callIsolate.get(id)?.cancel(id);
  }

  /** Hands on what came for a call: a part of a stream, the answer to a fetch. */
  hear(entry: StreamEntry): void {
    this.#callIsolate.get(entry[1])?.hear(entry);
  }

  retire(key: string): void {
    this.#resident.delete(key);
  }

  /** Heap of the isolate of a key, when last measured. */
  heapOf(key: string): number {
    return this.#resident.peek(key)?.heapBytes ?? 0;
  }

  /** Measures it now. Resolves, too, where it is gone. */
  async measure(key: string): Promise<void> {
    await this.#resident.peek(key)?.measure();
  }

  /** Whether no isolate of this key has a call. */
  isIdle(key: string): boolean {
    for (const isolate of this.#alive) if (isolate.key === key && isolate.calls.size > 0) return false;
    return true;
  }

  /** Ends an isolate whatever runs in it: it has taken the most memory of a cell that runs short of it. */
  giveUp(key: string): void {
    for (const isolate of this.#alive)
      if (isolate.key === key) isolate.fail('exceededMemory', { limit: { name: 'cellRssMib' } });
  }

  /** A script the host sends, in answer to `need`. */
  script(key: string, source: string): void {
    const script = new CellScript(source, this.#compiling);
    this.#scripts.set(key, script);
    for (const resolve of this.#awaited.get(key) ?? []) resolve(script);
    this.#awaited.delete(key);
  }

  /**
   * Evicts an isolate that no foreground call has used lately. Attack: a backlog of more installations than a cell has places
   * for would evict every isolate of the others between two of their calls.
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
    // The installations of a backlog have their turns one after the other: the isolate that was used last is needed last.
    const evicted = isStale ? oldest : (candidates.findLast(({ calls }) => calls.size === 0) ?? oldest);
    if (evicted !== undefined) this.#resident.delete(evicted.key);
  }

  #open(key: string, script: string, isBackground: boolean, limits = this.#home.limits): TenantIsolate {
    const isolate = new TenantIsolate(key, script, this.#home, limits, this.#listener);
    this.#alive.add(isolate);
    void this.#load(isolate, this.#source(script), isBackground);
    return isolate;
  }

  async #load(isolate: TenantIsolate, awaited: Promise<CellScript>, isBackground = false): Promise<void> {
    let opening: Opening | undefined;
    try {
      const script = await awaited;
      // A foreground call may have come meanwhile.
      const wanted = isBackground && isolate.calls.background ? 'background' : 'foreground';
      opening = await this.#openings.enter(isolate, wanted);
      if (isolate.gone) return;
      const blank = await this.#blanks.take(isolate.limits.isolateHeapMib, opening === 'background');
      const endTurn = await script.turn();
      try {
        if (isolate.gone) blank.isolate.dispose();
        else await isolate.load(blank, script);
      } finally {
        endTurn?.();
      }
    } catch (cause) {
      isolate.fail('internalError', { detail: `The isolate could not be made: ${String(cause)}` });
    } finally {
      if (opening !== undefined) this.#openings.leave(opening);
    }
  }

  #source(script: string): Promise<CellScript> {
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

  /** Retires the least recently used until the heaps fit. */
  async #trim(): Promise<void> {
    // One that does not let go of its thread does not answer, either.
    if (this.#trimming) return;
    this.#trimming = true;
    await Promise.all([...this.#alive].map((isolate) => isolate.measure()));
    let bytes = 0;
    for (const isolate of this.#alive) bytes += isolate.heapBytes;
    while (bytes > this.#heapBytesMax && this.#resident.size > 1) {
      const evicted = this.#resident.pop();
      bytes -= evicted?.heapBytes ?? 0;
    }
    this.#trimming = false;
  }
}
