/**
 * `performance` (https://w3c.github.io/hr-time/), in whole milliseconds. Attack: a finer clock
 * measures other tenants. Marks and measures are in `performance-entries.ts`.
 */

import { currentContext, OfCall, runInContext } from '../current-call.ts';
import { DOMException } from '../dom-exception.ts';
import { EventTarget } from '../events/event-target.ts';
import { reportException } from '../events/uncaught.ts';
import { part } from '../parts.ts';
import { defineInterface, requireArguments, toDOMString } from '../web-idl.ts';
import { setFetchLog, sinceOrigin, timeOrigin } from './clock.ts';
import {
  ENTRIES_MAX,
  entriesIn,
  KINDS,
  kindOf,
  type PerformanceEntry,
  type PerformanceMark,
  type PerformanceMeasure,
  PerformanceTimeline,
} from './performance-entries.ts';

export {
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceResourceTiming,
} from './performance-entries.ts';

const INSIDE = Symbol();
let timelineOf: (owner: Performance) => PerformanceTimeline;

export class Performance extends EventTarget {
  readonly #timeOrigin = timeOrigin;
  readonly #timelines = new OfCall(() => new PerformanceTimeline());

  static {
    timelineOf = (owner) => owner.#timeline;
  }

  /** The entries of the call that runs. @throws TypeError for any other receiver */
  get #timeline(): PerformanceTimeline {
    return this.#timelines.get();
  }

  constructor(token: unknown = undefined) {
    if (token !== INSIDE) throw new TypeError('Illegal constructor');
    super();
  }

  now(): number {
    void this.#timeOrigin;
    return sinceOrigin();
  }

  get timeOrigin(): number {
    return this.#timeOrigin;
  }

  mark(markName: unknown, markOptions: unknown = undefined): PerformanceMark {
    const timeline = this.#timeline;
    requireArguments(arguments.length, 1, 'performance.mark');
    return timeline.mark(markName, markOptions);
  }

  measure(
    measureName: unknown,
    startOrMeasureOptions: unknown = undefined,
    endMark: unknown = undefined,
  ): PerformanceMeasure {
    const timeline = this.#timeline;
    requireArguments(arguments.length, 1, 'performance.measure');
    return timeline.measure(measureName, startOrMeasureOptions, endMark);
  }

  clearMarks(markName: unknown = undefined): void {
    this.#timeline.clear('mark', markName);
  }

  clearMeasures(measureName: unknown = undefined): void {
    this.#timeline.clear('measure', measureName);
  }

  clearResourceTimings(): void {
    this.#timeline.clear('resource', undefined);
  }

  /** The size is fixed. */
  setResourceTimingBufferSize(maxSize: unknown): void {
    void this.#timeline;
    requireArguments(arguments.length, 1, 'performance.setResourceTimingBufferSize');
    void +(maxSize as number);
  }

  getEntries(): PerformanceEntry[] {
    return this.#timeline.entries(undefined, undefined);
  }

  getEntriesByName(name: unknown, type: unknown = undefined): PerformanceEntry[] {
    const timeline = this.#timeline;
    requireArguments(arguments.length, 1, 'performance.getEntriesByName');
    return timeline.entries(toDOMString(name), type);
  }

  getEntriesByType(type: unknown): PerformanceEntry[] {
    const timeline = this.#timeline;
    requireArguments(arguments.length, 1, 'performance.getEntriesByType');
    return timeline.entries(undefined, toDOMString(type));
  }

  toJSON(): { timeOrigin: number } {
    return { timeOrigin: this.#timeOrigin };
  }
}
defineInterface(Performance, 'Performance');

export const performance: Performance = new Performance(INSIDE);

const observerNeeds = {
  ...{ DOMException, ENTRIES_MAX, KINDS, currentContext, entriesIn, kindOf, reportException, runInContext },
  timelineOfCall: (): PerformanceTimeline => timelineOf(performance),
};
export type ObserverNeeds = typeof observerNeeds;
/** PerformanceObserver and its list. */
export const observers = () => part('performance-observer', observerNeeds);

setFetchLog((url, startTime, status) => timelineOf(performance).fetched(url, startTime, status));
