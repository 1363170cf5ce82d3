/**
 * Performance Timeline and User Timing (https://w3c.github.io/performance-timeline/,
 * https://w3c.github.io/user-timing/): marks and measures that a script makes and reads itself.
 * Times have whole milliseconds, like those of `performance.now`.
 *
 * The buffer belongs to one call (`../current-call.ts`), and is bounded: the newest entry replaces
 * the oldest. So are the fetches of a call (https://w3c.github.io/resource-timing/).
 */

import { DOMException } from '../dom-exception.ts';
import { structuredClone } from '../lazy.ts';
import { List, push, toArray, truncate } from '../list.ts';
import { defineProperty, getOwnPropertyDescriptor, objectKeys, slice } from '../primordials.ts';
import {
  defineInterface,
  isObject,
  requireArguments,
  toDictionary,
  toDOMString,
  toUSVString,
} from '../web-idl.ts';
import { sinceOrigin } from './clock.ts';

/** Entries that are kept. */
export const ENTRIES_MAX = 1_000;

export const KINDS = ['mark', 'measure', 'resource'] as const;
type Kind = (typeof KINDS)[number];

/** Told of each new entry. */
export type EntrySink = (entry: PerformanceEntry) => void;

/** Marks a constructor call of the prelude. */
const INSIDE = Symbol();

/** Private state of an entry. */
interface Timing {
  readonly kind: Kind;
  readonly name: string;
  readonly startTime: number;
  readonly duration: number;
  readonly detail: unknown;
}

let timingOf: (entry: PerformanceEntry) => Timing;
export const kindOf = (entry: PerformanceEntry): Kind => timingOf(entry).kind;

export class PerformanceEntry {
  readonly #timing: Timing;

  static {
    timingOf = (entry) => entry.#timing;
  }

  constructor(token: unknown = undefined, timing: unknown = undefined) {
    if (token !== INSIDE) throw new TypeError('Illegal constructor');
    this.#timing = timing as Timing;
  }

  get name(): string {
    return this.#timing.name;
  }

  get entryType(): string {
    return this.#timing.kind;
  }

  get startTime(): number {
    return this.#timing.startTime;
  }

  get duration(): number {
    return this.#timing.duration;
  }

  toJSON(): object {
    const { name, kind, startTime, duration, detail } = this.#timing;
    return { name, entryType: kind, startTime, duration, detail };
  }
}
defineInterface(PerformanceEntry, 'PerformanceEntry');

export class PerformanceMark extends PerformanceEntry {
  readonly #detail: unknown;

  constructor(markName: unknown, markOptions: unknown = undefined) {
    requireArguments(arguments.length, 1, 'PerformanceMark');
    const timing = markTiming(toDOMString(markName), markOptions);
    super(INSIDE, timing);
    this.#detail = timing.detail;
  }

  get detail(): unknown {
    return this.#detail;
  }
}
defineInterface(PerformanceMark, 'PerformanceMark');

export class PerformanceMeasure extends PerformanceEntry {
  readonly #detail: unknown;

  constructor(token: unknown = undefined, timing: unknown = undefined) {
    super(token, timing);
    this.#detail = (timing as Timing).detail;
  }

  get detail(): unknown {
    return this.#detail;
  }
}
defineInterface(PerformanceMeasure, 'PerformanceMeasure');

/** What the fetch of another origin shows without `Timing-Allow-Origin`. */
const HIDDEN: Readonly<Record<string, number | string>> = {
  nextHopProtocol: '',
  ...{ workerStart: 0, redirectStart: 0, redirectEnd: 0, domainLookupStart: 0, domainLookupEnd: 0 },
  ...{ connectStart: 0, connectEnd: 0, secureConnectionStart: 0, requestStart: 0 },
  ...{ transferSize: 0, encodedBodySize: 0, decodedBodySize: 0 },
};

/** A fetch, from its call to the head of its answer; nothing is known of the connection. */
export class PerformanceResourceTiming extends PerformanceEntry {
  readonly #status: number;

  constructor(token: unknown = undefined, timing: unknown = undefined, status: unknown = undefined) {
    super(token, timing);
    this.#status = status as number;
  }

  get initiatorType(): string {
    void this.#status;
    return 'fetch';
  }

  get fetchStart(): number {
    return timingOf(this).startTime;
  }

  get responseStart(): number {
    const { startTime, duration } = timingOf(this);
    return startTime + duration;
  }

  get responseEnd(): number {
    const { startTime, duration } = timingOf(this);
    return startTime + duration;
  }

  get responseStatus(): number {
    return this.#status;
  }

  static {
    for (const name of objectKeys(HIDDEN)) {
      const attribute = {
        get [name](): unknown {
          void (this as unknown as PerformanceResourceTiming).#status;
          return HIDDEN[name];
        },
      };
      defineProperty(
        PerformanceResourceTiming.prototype,
        name,
        getOwnPropertyDescriptor(attribute, name) as PropertyDescriptor,
      );
    }
  }

  override toJSON(): object {
    const { name, kind, startTime, duration } = timingOf(this);
    const [initiatorType, responseStart] = ['fetch', startTime + duration];
    const times = { fetchStart: startTime, responseStart, responseEnd: responseStart };
    return {
      name,
      entryType: kind,
      startTime,
      duration,
      initiatorType,
      ...times,
      ...HIDDEN,
      responseStatus: this.#status,
    };
  }
}
defineInterface(PerformanceResourceTiming, 'PerformanceResourceTiming');

/** "The PerformanceMark constructor". */
function markTiming(name: string, markOptions: unknown): Timing {
  const { detail, startTime } = toDictionary(markOptions, 'PerformanceMark: parameter 2');
  const start = startTime === undefined ? sinceOrigin() : toTime(startTime, 'startTime');
  if (start < 0) throw new TypeError('PerformanceMark: "startTime" is negative');
  return { kind: 'mark', name, startTime: start, duration: 0, detail: copyOf(detail) };
}

/** A structured clone, as in the standard; null if absent. */
const copyOf = (detail: unknown): unknown =>
  detail === undefined || detail === null ? null : structuredClone().structuredClone(detail);

/** Web IDL `double`. @throws TypeError unless the value is a finite number */
function toTime(value: unknown, what: string): number {
  const time = +(value as number);
  if (time - time !== 0) throw new TypeError(`"${what}" is not a finite number`);
  return time;
}

/** The entries that are not cleared, oldest first. */
export class PerformanceTimeline {
  readonly #entries = new List<PerformanceEntry>();
  #observers = new List<EntrySink>();

  mark(name: unknown, options: unknown): PerformanceMark {
    const mark = new PerformanceMark(name, options);
    this.#keep(mark);
    return mark;
  }

  /** "measure", with the name of the first mark or the options in the second place. */
  measure(measureName: unknown, startOrOptions: unknown, endMark: unknown): PerformanceMeasure {
    const name = toDOMString(measureName);
    const options = isObject(startOrOptions) ? startOrOptions : undefined;
    const { detail, duration, end, start } = toDictionary(options, 'performance.measure: parameter 2');
    const given = start !== undefined || end !== undefined || duration !== undefined || detail !== undefined;
    if (given && endMark !== undefined)
      throw new TypeError('performance.measure: options and an end mark exclude each other');
    if (given && start === undefined && end === undefined)
      throw new TypeError('performance.measure: the options have neither a start nor an end');
    if (start !== undefined && end !== undefined && duration !== undefined)
      throw new TypeError('performance.measure: the options have a start, an end and a duration');
    const length = duration === undefined ? undefined : toTime(duration, 'duration');
    let to = sinceOrigin();
    if (endMark !== undefined) to = this.#timeOf(endMark);
    else if (end !== undefined) to = this.#timeOf(end);
    else if (start !== undefined && length !== undefined) to = this.#timeOf(start) + length;
    let from = 0;
    if (start !== undefined) from = this.#timeOf(start);
    else if (length !== undefined) from = to - length;
    else if (options === undefined && startOrOptions !== undefined && startOrOptions !== null)
      from = this.#timeOf(startOrOptions);
    const timing = { kind: 'measure', name, startTime: from, duration: to - from, detail: copyOf(detail) };
    const measure = new PerformanceMeasure(INSIDE, timing);
    this.#keep(measure);
    return measure;
  }

  /** Drops the entries of a kind, or those of one name. */
  clear(kind: Kind, name: unknown): void {
    const only = name === undefined ? undefined : toDOMString(name);
    const entries = this.#entries;
    let kept = 0;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as PerformanceEntry;
      const timing = timingOf(entry);
      if (timing.kind === kind && (only === undefined || timing.name === only)) continue;
      entries[kept++] = entry;
    }
    truncate(entries, kept);
  }

  /** Entries by optional name and type, in the order of their start. */
  entries(name: unknown, type: unknown): PerformanceEntry[] {
    return entriesIn(this.#entries, name, type);
  }

  /** A fetch whose answer has come. */
  fetched(url: string, startTime: number, status: number): void {
    const timing = { name: url, startTime, duration: sinceOrigin() - startTime, detail: undefined };
    this.#keep(new PerformanceResourceTiming(INSIDE, { kind: 'resource', ...timing }, status));
  }

  addObserver(observer: EntrySink): void {
    this.removeObserver(observer);
    push(this.#observers, observer);
  }

  removeObserver(observer: EntrySink): void {
    const others = new List<EntrySink>();
    for (let i = 0; i < this.#observers.length; i++)
      if (this.#observers[i] !== observer) push(others, this.#observers[i] as EntrySink);
    this.#observers = others;
  }

  /** Hands on the entries of a kind. */
  replay(kind: string, take: EntrySink): void {
    for (let i = 0; i < this.#entries.length; i++)
      if (kindOf(this.#entries[i] as PerformanceEntry) === kind) take(this.#entries[i] as PerformanceEntry);
  }

  #keep(entry: PerformanceEntry): void {
    const entries = this.#entries;
    push(entries, entry);
    for (let i = 0; i < this.#observers.length; i++) (this.#observers[i] as EntrySink)(entry);
    if (entries.length <= ENTRIES_MAX) return;
    for (let i = 1; i < entries.length; i++) entries[i - 1] = entries[i] as PerformanceEntry;
    truncate(entries, ENTRIES_MAX);
  }

  /** "Convert a mark to a timestamp". */
  #timeOf(mark: unknown): number {
    if (typeof mark === 'number') {
      const time = toTime(mark, 'mark');
      if (time < 0) throw new TypeError('performance.measure: a time is negative');
      return time;
    }
    const name = toDOMString(mark);
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const timing = timingOf(this.#entries[i] as PerformanceEntry);
      if (timing.kind === 'mark' && timing.name === name) return timing.startTime;
    }
    throw new DOMException(
      `performance.measure: there is no mark "${slice(toUSVString(name), 0, 64)}"`,
      'SyntaxError',
    );
  }
}

/** Entries of a list by optional name and type, in the order of their start. */
export function entriesIn(list: List<PerformanceEntry>, name: unknown, type: unknown): PerformanceEntry[] {
  const onlyName = name === undefined ? undefined : toDOMString(name);
  const onlyType = type === undefined ? undefined : toDOMString(type);
  const found = new List<PerformanceEntry>();
  for (let i = 0; i < list.length; i++) {
    const entry = list[i] as PerformanceEntry;
    const timing = timingOf(entry);
    if (onlyName !== undefined && timing.name !== onlyName) continue;
    if (onlyType !== undefined && timing.kind !== onlyType) continue;
    insert(found, entry, timing.startTime);
  }
  return toArray(found);
}

/** Inserts an entry after those that start no later; nearly always at the end. */
function insert(list: List<PerformanceEntry>, entry: PerformanceEntry, startTime: number): void {
  let at = list.length;
  push(list, entry);
  for (; at > 0 && timingOf(list[at - 1] as PerformanceEntry).startTime > startTime; at--)
    list[at] = list[at - 1] as PerformanceEntry;
  list[at] = entry;
}
