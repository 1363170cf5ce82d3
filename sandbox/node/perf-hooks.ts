/**
 * `node:perf_hooks`: the clock and the entries of the web platform, with the observers, timed
 * functions and histograms of Node.js. An isolate has no event loop and shows no garbage
 * collection, so neither is measured.
 *
 * As in Node.js, `performance` is the one of the platform, with more members.
 */
import { absentMembers } from './absent.ts';
import { invalidArgType, missingArgs, nodeError, validateFunction, validateObject } from './errors.ts';
import { createHistogram, monitorEventLoopDelay, RecordableHistogram } from './histogram.ts';

export const performance = globalThis.performance;
const platform = globalThis as unknown as Record<string, { readonly prototype: object }>;
export const { Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure } = platform;
export const { PerformanceResourceTiming } = platform;
const Platform = platform['PerformanceObserver'] as unknown as PlatformObserverClass;

interface Entry {
  readonly name: string;
  readonly entryType: string;
  readonly startTime: number;
  readonly duration: number;
}
interface PlatformObserverClass {
  readonly supportedEntryTypes: readonly string[];
  new (
    heard: (list: { getEntries(): Entry[] }) => void,
  ): {
    observe(options: object): void;
    disconnect(): void;
    takeRecords(): Entry[];
  };
}
type Heard = (list: PerformanceObserverEntryList, observer: PerformanceObserver) => void;

/** Records that an observer keeps until it is told of them. */
const RECORDS_MAX = 1_000;
/** Those that observe timed functions. */
const observers = new Set<PerformanceObserver>();

export class PerformanceObserverEntryList {
  readonly #entries: readonly Entry[];

  constructor(entries: readonly Entry[]) {
    this.#entries = [...entries].sort((one, other) => one.startTime - other.startTime);
  }

  getEntries(): Entry[] {
    return [...this.#entries];
  }

  getEntriesByType(type: string): Entry[] {
    return this.#entries.filter(({ entryType }) => entryType === type);
  }

  getEntriesByName(name: string, type?: string): Entry[] {
    return this.#entries.filter(
      (entry) => entry.name === name && (type === undefined || entry.entryType === type),
    );
  }
}

/** Tells observers of an entry. */
let enqueue: (entry: Entry) => void;

export class PerformanceObserver {
  static get supportedEntryTypes(): readonly string[] {
    return Object.freeze(['function', ...Platform.supportedEntryTypes]);
  }

  static {
    enqueue = (entry) => {
      for (const observer of observers) observer.#take(entry);
    };
  }

  readonly #heard: Heard;
  /** Hears of all but timed functions, which the platform does not know. */
  readonly #platform = new Platform((list) => this.#tell(list.getEntries()));
  #records: Entry[] = [];

  constructor(heard: Heard) {
    validateFunction(heard, 'callback');
    this.#heard = heard;
  }

  observe(
    options: { readonly entryTypes?: unknown; readonly type?: string; readonly buffered?: boolean } = {},
  ): void {
    validateObject(options, 'options');
    const { entryTypes, type, buffered } = options;
    if (entryTypes === undefined && type === undefined) {
      throw missingArgs('options.entryTypes', 'options.type');
    }
    if (entryTypes !== undefined && type !== undefined) {
      const message = 'options.entryTypes can not set with options.type together';
      throw nodeError(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'options' ${message}`);
    }
    if (entryTypes !== undefined && !Array.isArray(entryTypes)) {
      throw invalidArgType('options.entryTypes', 'string[]', entryTypes);
    }
    const types: readonly unknown[] = entryTypes ?? [type];
    const others = types.filter((one) => one !== 'function');
    if (others.length < types.length) observers.add(this);
    if (others.length === 0) return;
    this.#platform.observe(entryTypes === undefined ? { type, buffered } : { entryTypes: others });
  }

  disconnect(): void {
    observers.delete(this);
    this.#platform.disconnect();
    this.#records = [];
  }

  takeRecords(): Entry[] {
    const records = [...this.#records, ...this.#platform.takeRecords()];
    this.#records = [];
    return records;
  }

  #tell(entries: readonly Entry[]): void {
    this.#heard.call(this, new PerformanceObserverEntryList(entries), this);
  }

  #take(entry: Entry): void {
    if (this.#records.length >= RECORDS_MAX) return;
    this.#records.push(entry);
    // The first one asks for the turn; it tells of those that follow until then.
    if (this.#records.length > 1) return;
    queueMicrotask(() => {
      const records = this.#records;
      this.#records = [];
      if (records.length > 0) this.#tell(records);
    });
  }
}

interface TimerifyOptions {
  readonly histogram?: RecordableHistogram;
}

/** A function that is the same, and tells observers how long it took. */
export function timerify<F extends Function>(fn: F, options: TimerifyOptions = {}): F {
  validateFunction(fn, 'fn');
  validateObject(options, 'options');
  const { histogram } = options;
  if (histogram !== undefined && !(histogram instanceof RecordableHistogram)) {
    throw invalidArgType('options.histogram', 'RecordableHistogram', histogram);
  }
  const timed = function (this: unknown, ...passed: unknown[]): unknown {
    const start = performance.now();
    const done = (): void => finish(fn, start, passed, histogram);
    const made = new.target ? Reflect.construct(fn, passed, fn) : Reflect.apply(fn, this, passed);
    if (typeof made?.finally === 'function') return made.finally(done);
    done();
    return made;
  };
  Object.defineProperties(timed, {
    length: { configurable: true, value: fn.length },
    name: { configurable: true, value: `timerified ${fn.name}` },
  });
  return timed as unknown as F;
}

function finish(fn: Function, startTime: number, passed: unknown[], histogram?: RecordableHistogram): void {
  const duration = performance.now() - startTime;
  histogram?.record(Math.max(1, Math.ceil(duration * 1_000_000)));
  const members = { ...passed, name: fn.name, entryType: 'function', startTime, duration, detail: passed };
  const entry = Object.create(PerformanceEntry?.prototype ?? null, Object.getOwnPropertyDescriptors(members));
  enqueue(entry as Entry);
}

/** As before the first turn of an event loop. */
export const eventLoopUtilization = (): object => ({ idle: 0, active: 0, utilization: 0 });

function withNames(name: 'getEntriesByName' | 'getEntriesByType', needed: string): Function {
  const method = performance[name] as (...passed: unknown[]) => Entry[];
  return {
    [name](...passed: unknown[]): Entry[] {
      if (passed.length === 0) throw missingArgs(needed);
      return method.apply(performance, passed);
    },
  }[name] as Function;
}

const added = {
  getEntriesByName: withNames('getEntriesByName', 'name'),
  getEntriesByType: withNames('getEntriesByType', 'type'),
  timerify,
  eventLoopUtilization,
};
for (const [name, value] of Object.entries(added)) {
  Object.defineProperty(performance, name, { value, writable: true, configurable: true });
}

export const constants = Object.freeze({
  NODE_PERFORMANCE_GC_MAJOR: 4,
  NODE_PERFORMANCE_GC_MINOR: 1,
  NODE_PERFORMANCE_GC_INCREMENTAL: 8,
  NODE_PERFORMANCE_GC_WEAKCB: 16,
  NODE_PERFORMANCE_GC_FLAGS_NO: 0,
  NODE_PERFORMANCE_GC_FLAGS_CONSTRUCT_RETAINED: 2,
  NODE_PERFORMANCE_GC_FLAGS_FORCED: 4,
  NODE_PERFORMANCE_GC_FLAGS_SYNCHRONOUS_PHANTOM_PROCESSING: 8,
  NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE: 16,
  NODE_PERFORMANCE_GC_FLAGS_ALL_EXTERNAL_MEMORY: 32,
  NODE_PERFORMANCE_GC_FLAGS_SCHEDULE_IDLE: 64,
});

const absent = absentMembers('perf_hooks', ['createSlidingWindowHistogram', 'importHistogram']);
export const { createSlidingWindowHistogram, importHistogram } = absent;

export { createHistogram, monitorEventLoopDelay };
export default {
  ...absent,
  Performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceObserver,
  PerformanceObserverEntryList,
  PerformanceResourceTiming,
  constants,
  createHistogram,
  eventLoopUtilization,
  monitorEventLoopDelay,
  performance,
  timerify,
};
