/**
 * PerformanceObserver (https://w3c.github.io/performance-timeline/): tells a script of the marks,
 * measures and fetches of its call. A part, because few scripts need it.
 *
 * An observer belongs to the call in which it observes, and is told in a microtask. What waits for
 * it is bounded like the entries of the call: the newest replace the oldest.
 */
import { List, push, truncate } from '../list.ts';
import { apply } from '../primordials.ts';
import { defineInterface, isObject, requireArguments, toDictionary, toDOMString } from '../web-idl.ts';
import type { ObserverNeeds } from './performance.ts';
import type { PerformanceEntry, PerformanceTimeline } from './performance-entries.ts';

declare const needs: ObserverNeeds;
const {
  DOMException,
  ENTRIES_MAX,
  KINDS,
  currentContext,
  entriesIn,
  kindOf,
  reportException,
  runInContext,
  timelineOfCall,
} = needs;

const INSIDE = Symbol();

export class PerformanceObserverEntryList {
  readonly #entries: List<PerformanceEntry>;

  constructor(token: unknown = undefined, entries: unknown = undefined) {
    if (token !== INSIDE) throw new TypeError('Illegal constructor');
    this.#entries = entries as List<PerformanceEntry>;
  }

  getEntries(): PerformanceEntry[] {
    return entriesIn(this.#entries, undefined, undefined);
  }

  getEntriesByType(type: unknown): PerformanceEntry[] {
    requireArguments(arguments.length, 1, 'getEntriesByType');
    return entriesIn(this.#entries, undefined, type);
  }

  getEntriesByName(name: unknown, type: unknown = undefined): PerformanceEntry[] {
    requireArguments(arguments.length, 1, 'getEntriesByName');
    return entriesIn(this.#entries, toDOMString(name), type);
  }
}
defineInterface(PerformanceObserverEntryList, 'PerformanceObserverEntryList');

const SUPPORTED = Object.freeze([...KINDS]);
const isKind = (name: string): boolean => name === 'mark' || name === 'measure' || name === 'resource';

export class PerformanceObserver {
  readonly #callback: Function;
  #timeline: PerformanceTimeline | undefined;
  /** Which member `observe` was given at first: they exclude each other. */
  #manner: 'type' | 'entryTypes' | undefined;
  #kinds = new List<string>();
  #waiting = new List<PerformanceEntry>();
  #isTelling = false;

  /** Takes the entries of the kinds that are observed. */
  readonly #sink = (entry: PerformanceEntry): void => {
    for (let i = 0; i < this.#kinds.length; i++)
      if (this.#kinds[i] === kindOf(entry)) return this.#tell(entry);
  };

  constructor(callback: unknown) {
    if (typeof callback !== 'function')
      throw new TypeError('PerformanceObserver: parameter 1 is not a function');
    this.#callback = callback;
  }

  static get supportedEntryTypes(): readonly string[] {
    return SUPPORTED;
  }

  observe(options: unknown = undefined): void {
    void this.#callback;
    const { buffered, entryTypes, type } = toDictionary(options, 'observe: parameter 1');
    if (entryTypes === undefined && type === undefined)
      throw new TypeError('observe: neither "type" nor "entryTypes" is given');
    if (entryTypes !== undefined && (type !== undefined || buffered !== undefined))
      throw new TypeError('observe: "entryTypes" and other members exclude each other');
    const manner = type === undefined ? 'entryTypes' : 'type';
    const kinds = new List<string>();
    if (type !== undefined) push(kinds, toDOMString(type));
    else for (const each of sequenceOf(entryTypes)) push(kinds, toDOMString(each));
    if (this.#manner !== undefined && this.#manner !== manner)
      throw new DOMException(
        'observe: "type" and "entryTypes" exclude each other',
        'InvalidModificationError',
      );
    this.#manner = manner;
    const known = new List<string>();
    for (let i = 0; i < kinds.length; i++) if (isKind(kinds[i] as string)) push(known, kinds[i] as string);
    if (known.length === 0) return;
    const timeline = timelineOfCall();
    this.#timeline ??= timeline;
    this.#timeline.addObserver(this.#sink);
    if (manner === 'entryTypes') {
      this.#kinds = known;
      return;
    }
    const kind = known[0] as string;
    push(this.#kinds, kind);
    if (buffered) this.#timeline.replay(kind, (entry) => this.#tell(entry));
  }

  disconnect(): void {
    this.#timeline?.removeObserver(this.#sink);
    this.#timeline = undefined;
    this.#manner = undefined;
    this.#kinds = new List();
    this.#waiting = new List();
  }

  takeRecords(): PerformanceEntry[] {
    const waiting = this.#waiting;
    this.#waiting = new List();
    return entriesIn(waiting, undefined, undefined);
  }

  #tell(entry: PerformanceEntry): void {
    const waiting = this.#waiting;
    push(waiting, entry);
    if (waiting.length > ENTRIES_MAX) {
      for (let i = 1; i < waiting.length; i++) waiting[i - 1] = waiting[i] as PerformanceEntry;
      truncate(waiting, ENTRIES_MAX);
    }
    if (this.#isTelling) return;
    this.#isTelling = true;
    void this.#deliver(currentContext());
  }

  async #deliver(context: unknown): Promise<void> {
    await undefined;
    this.#isTelling = false;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = new List();
    const list = new PerformanceObserverEntryList(INSIDE, waiting);
    try {
      runInContext(context, () => apply(this.#callback, this, [list, this, { droppedEntriesCount: 0 }]));
    } catch (thrown) {
      reportException(thrown);
    }
  }
}
defineInterface(PerformanceObserver, 'PerformanceObserver');

/** Web IDL `sequence`. */
function sequenceOf(value: unknown): Iterable<unknown> {
  if (!isObject(value) || typeof (value as Partial<Iterable<unknown>>)[Symbol.iterator] !== 'function')
    throw new TypeError('observe: "entryTypes" is not a sequence');
  return value as Iterable<unknown>;
}
