/**
 * AbortController and AbortSignal (https://dom.spec.whatwg.org/#aborting-ongoing-activities).
 *
 * Attack: a replaced `AbortSignal.prototype.aborted`. The exported functions are for the prelude
 * and use only private state of a signal and captured built-ins, so a script changes what it sees,
 * and not what a fetch does.
 */
import { DOMException } from '../dom-exception.ts';
import './error-dispatch.ts';
import { List, push, truncate } from '../list.ts';
import { MapIntrinsic, mapDelete, mapSet, WeakRefIntrinsic, weakRefDeref } from '../primordials.ts';
import { later } from '../time/timer-source.ts';
import { defineInterface, isObject, requireArguments } from '../web-idl.ts';
import { getHandler, setHandler } from './event-handler.ts';
import { EventTarget, fire, hasListener, listenersOf, setSignals } from './event-target.ts';
import { reportException } from './uncaught.ts';

/** Longest delay of a timer: 32 signed bits, as in browsers. */
const DELAY_MS_MAX = 2 ** 31 - 1;
const INSIDE = Symbol();

interface Algorithm {
  readonly run: () => void;
  removed: boolean;
}

/** A genuine AbortSignal, whatever its prototype says. */
export let isAbortSignal: (value: unknown) => value is AbortSignal;
/** Whether a signal is aborted. */
export let isAborted: (signal: AbortSignal) => boolean;
/** The abort reason; undefined before. */
export let abortReason: (signal: AbortSignal) => unknown;
/** "Signal abort". @param reason undefined stands for an AbortError */
export let signalAbort: (signal: AbortSignal, reason?: unknown) => void;
/**
 * Runs the algorithm when the signal aborts, before its event; never if the signal is aborted
 * already.
 *
 * @returns a function that removes the algorithm
 */
export let onAbort: (signal: AbortSignal, algorithm: () => void) => () => void;
/** "Create a dependent abort signal": aborts as soon as one of these does. */
export let dependentSignal: (signals: ArrayLike<AbortSignal>) => AbortSignal;

/** A signal that only `signalAbort` can abort. */
export const createAbortSignal = (): AbortSignal => new AbortSignal(INSIDE);

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason: unknown = undefined;
  #algorithms: List<Algorithm> | undefined = undefined;
  /** Source signals of a dependent signal; none of them is dependent. */
  #sources: List<AbortSignal> | undefined = undefined;
  #dependents: Dependents | undefined = undefined;
  /** Whether its sources hold it strongly. */
  #kept = false;

  static {
    isAbortSignal = (value): value is AbortSignal => isObject(value) && #aborted in value;
    isAborted = (signal) => signal.#aborted;
    abortReason = (signal) => signal.#reason;
    signalAbort = (signal, reason) => signal.#signal(reason);
    onAbort = (signal, algorithm) => signal.#add(algorithm);
    dependentSignal = (signals) => {
      const signal = createAbortSignal();
      signal.#follow(signals);
      return signal;
    };
  }

  constructor(token: unknown = undefined) {
    if (token !== INSIDE) throw new TypeError('Illegal constructor');
    super();
  }

  static abort(reason: unknown = undefined): AbortSignal {
    const signal = createAbortSignal();
    signalAbort(signal, reason);
    return signal;
  }

  static any(signals: unknown): AbortSignal {
    requireArguments(arguments.length, 1, 'AbortSignal.any');
    if (!isObject(signals)) throw new TypeError('AbortSignal.any: parameter 1 is not a sequence');
    const list = new List<AbortSignal>();
    for (const signal of signals as Iterable<unknown>) {
      if (!isAbortSignal(signal)) throw new TypeError('AbortSignal.any: a member is not an AbortSignal');
      push(list, signal);
    }
    return dependentSignal(list);
  }

  /** The timer belongs to the running call: if the call ends before, the signal never aborts. */
  static timeout(milliseconds: unknown): AbortSignal {
    requireArguments(arguments.length, 1, 'AbortSignal.timeout');
    const delayMs = enforceRange(milliseconds);
    const signal = createAbortSignal();
    const abort = (): void => signalAbort(signal, new DOMException('The time is up', 'TimeoutError'));
    later(abort, delayMs < DELAY_MS_MAX ? delayMs : DELAY_MS_MAX);
    return signal;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  get onabort(): object | null {
    void this.#aborted;
    return getHandler(this, 'abort');
  }

  set onabort(handler: unknown) {
    void this.#aborted;
    setHandler(this, 'abort', handler);
  }

  #signal(reason: unknown): void {
    if (this.#aborted) return;
    this.#abort(reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason);
    const signals = new List<AbortSignal>();
    push(signals, this);
    const dependents = this.#dependents?.signals;
    this.#dependents = undefined;
    // All dependents have their reason before the first algorithm or listener runs.
    for (let i = 0; dependents !== undefined && i < dependents.length; i++) {
      const signal = weakRefDeref(dependents[i] as WeakRef<AbortSignal>);
      if (signal === undefined || signal.#aborted) continue;
      signal.#abort(this.#reason);
      push(signals, signal);
    }
    for (let i = 0; i < signals.length; i++) (signals[i] as AbortSignal).#run();
  }

  #abort(reason: unknown): void {
    this.#aborted = true;
    this.#reason = reason;
    this.#keep();
  }

  /** "Run the abort steps". */
  #run(): void {
    const algorithms = this.#algorithms;
    for (let i = 0; algorithms !== undefined && i < algorithms.length; i++) {
      const algorithm = algorithms[i] as Algorithm;
      if (algorithm.removed) continue;
      try {
        algorithm.run();
      } catch (thrown) {
        reportException(thrown);
      }
    }
    this.#algorithms = undefined;
    if (this.#sources !== undefined) truncate(this.#sources, 0);
    fire(this, 'abort');
  }

  #add(run: () => void): () => void {
    if (this.#aborted) return () => {};
    const algorithm: Algorithm = { run, removed: false };
    this.#algorithms ??= new List();
    const algorithms = this.#algorithms;
    push(algorithms, algorithm);
    this.#keep();
    return () => {
      if (algorithm.removed) return;
      algorithm.removed = true;
      // The list does not change while they run.
      if (!this.#aborted) drop(algorithms, algorithm);
      this.#keep();
    };
  }

  #follow(signals: ArrayLike<AbortSignal>): void {
    for (let i = 0; i < signals.length; i++) {
      const signal = signals[i] as AbortSignal;
      if (!signal.#aborted) continue;
      this.#aborted = true;
      this.#reason = signal.#reason;
      return;
    }
    this.#sources = new List();
    for (let i = 0; i < signals.length; i++) {
      const signal = signals[i] as AbortSignal;
      if (signal.#sources === undefined) this.#dependOn(signal);
      else for (let j = 0; j < signal.#sources.length; j++) this.#dependOn(signal.#sources[j] as AbortSignal);
    }
    listenersOf(this).onChange = () => this.#keep();
  }

  #dependOn(source: AbortSignal): void {
    const sources = this.#sources as List<AbortSignal>;
    for (let i = 0; i < sources.length; i++) if (sources[i] === source) return;
    push(sources, source);
    source.#dependents ??= new Dependents();
    source.#dependents.add(this);
  }

  /**
   * A source holds its dependents weakly; otherwise one that lives as long as the isolate would
   * accumulate those of every call. A dependent signal with listeners is held strongly, so that it
   * stays alive as long as its sources.
   */
  #keep(): void {
    const sources = this.#sources;
    if (sources === undefined) return;
    const needed = !this.#aborted && ((this.#algorithms?.length ?? 0) > 0 || hasListener(this, 'abort'));
    if (needed === this.#kept) return;
    this.#kept = needed;
    for (let i = 0; i < sources.length; i++) {
      const kept = (sources[i] as AbortSignal).#dependents?.kept;
      if (kept === undefined) continue;
      if (needed) mapSet(kept, this, true);
      else mapDelete(kept, this);
    }
  }
}
defineInterface(AbortSignal, 'AbortSignal');
setSignals({ isAbortSignal, isAborted, onAbort });

/** The "dependent signals" of a signal, oldest first. */
class Dependents {
  signals = new List<WeakRef<AbortSignal>>();
  readonly kept: Map<AbortSignal, true> = new MapIntrinsic();
  #sweepAt = 16;

  add(signal: AbortSignal): void {
    if (this.signals.length >= this.#sweepAt) this.#sweep();
    push(this.signals, new WeakRefIntrinsic(signal));
  }

  /** Drops collected signals. Runs when their number has doubled, so its cost is amortized. */
  #sweep(): void {
    const alive = new List<WeakRef<AbortSignal>>();
    for (let i = 0; i < this.signals.length; i++) {
      const reference = this.signals[i] as WeakRef<AbortSignal>;
      const signal = weakRefDeref(reference);
      if (signal !== undefined && !isAborted(signal)) push(alive, reference);
    }
    this.signals = alive;
    this.#sweepAt = alive.length < 8 ? 16 : alive.length * 2;
  }
}

export class AbortController {
  readonly #signal = createAbortSignal();

  get signal(): AbortSignal {
    return this.#signal;
  }

  abort(reason: unknown = undefined): void {
    signalAbort(this.#signal, reason);
  }
}
defineInterface(AbortController, 'AbortController');

function drop(list: List<Algorithm>, algorithm: Algorithm): void {
  let kept = 0;
  for (let i = 0; i < list.length; i++) if (list[i] !== algorithm) list[kept++] = list[i] as Algorithm;
  truncate(list, kept);
}

/** `[EnforceRange] unsigned long long`. */
function enforceRange(value: unknown): number {
  const number = Math.trunc(+(value as number));
  if (!(number >= 0 && number <= Number.MAX_SAFE_INTEGER)) {
    throw new TypeError('AbortSignal.timeout: parameter 1 is out of range');
  }
  return number;
}
