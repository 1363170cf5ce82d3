/**
 * Events, messages, aborting and marks of time among the globals of an isolate, for the type
 * checker: a part of `globals.d.ts`.
 */

interface EventInit {
  bubbles?: boolean;
  cancelable?: boolean;
  composed?: boolean;
}

/** The path of an event is its target only: there is no tree of targets. */
declare class Event {
  constructor(type: string, init?: EventInit);
  static readonly NONE: 0;
  static readonly CAPTURING_PHASE: 1;
  static readonly AT_TARGET: 2;
  static readonly BUBBLING_PHASE: 3;
  readonly bubbles: boolean;
  cancelBubble: boolean;
  readonly cancelable: boolean;
  readonly composed: boolean;
  readonly currentTarget: EventTarget | null;
  readonly defaultPrevented: boolean;
  readonly eventPhase: number;
  readonly isTrusted: boolean;
  returnValue: boolean;
  readonly srcElement: EventTarget | null;
  readonly target: EventTarget | null;
  /** Whole milliseconds since `performance.timeOrigin`. */
  readonly timeStamp: number;
  readonly type: string;
  composedPath(): EventTarget[];
  initEvent(type: string, bubbles?: boolean, cancelable?: boolean): void;
  preventDefault(): void;
  stopImmediatePropagation(): void;
  stopPropagation(): void;
}

declare class CustomEvent<T = unknown> extends Event {
  constructor(type: string, init?: EventInit & { detail?: T });
  readonly detail: T;
  initCustomEvent(type: string, bubbles?: boolean, cancelable?: boolean, detail?: T): void;
}

/** An uncaught exception; `preventDefault()` keeps it out of the log. */
declare class ErrorEvent extends Event {
  constructor(
    type: string,
    init?: EventInit & {
      colno?: number;
      error?: unknown;
      filename?: string;
      lineno?: number;
      message?: string;
    },
  );
  readonly colno: number;
  readonly error: unknown;
  readonly filename: string;
  readonly lineno: number;
  readonly message: string;
}

type EventListener<E extends Event = Event> = ((event: E) => void) | { handleEvent(event: E): void };

interface AddEventListenerOptions {
  capture?: boolean;
  once?: boolean;
  passive?: boolean;
  /** Removes the listener when it aborts. */
  signal?: AbortSignal;
}

declare class EventTarget {
  addEventListener(
    type: string,
    listener: EventListener | null,
    options?: AddEventListenerOptions | boolean,
  ): void;
  dispatchEvent(event: Event): boolean;
  removeEventListener(
    type: string,
    listener: EventListener | null,
    options?: { capture?: boolean } | boolean,
  ): void;
}

declare class MessageEvent<T = unknown> extends Event {
  constructor(
    type: string,
    init?: EventInit & {
      data?: T;
      lastEventId?: string;
      origin?: string;
      ports?: Iterable<MessagePort>;
      source?: MessagePort | null;
    },
  );
  readonly data: T;
  readonly lastEventId: string;
  readonly origin: string;
  readonly ports: readonly MessagePort[];
  readonly source: MessagePort | null;
  initMessageEvent(
    type: string,
    bubbles?: boolean,
    cancelable?: boolean,
    data?: T,
    origin?: string,
    lastEventId?: string,
    source?: MessagePort | null,
    ports?: Iterable<MessagePort>,
  ): void;
}

/** Server-sent events over `fetch`. Ends with the call that made it. */
declare class EventSource extends EventTarget {
  constructor(url: string | URL, init?: { withCredentials?: boolean });
  static readonly CONNECTING: 0;
  static readonly OPEN: 1;
  static readonly CLOSED: 2;
  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSED: 2;
  onerror: ((this: EventSource, event: Event) => void) | null;
  onmessage: ((this: EventSource, event: MessageEvent<string>) => void) | null;
  onopen: ((this: EventSource, event: Event) => void) | null;
  readonly readyState: 0 | 1 | 2;
  readonly url: string;
  readonly withCredentials: boolean;
  close(): void;
}

declare class MessageChannel {
  readonly port1: MessagePort;
  readonly port2: MessagePort;
}

/** A message belongs to the call that posted it, counts as one of its timers, and ends with it. */
declare class MessagePort extends EventTarget {
  private constructor();
  onclose: ((this: MessagePort, event: Event) => void) | null;
  /** Setting it starts the port. */
  onmessage: ((this: MessagePort, event: MessageEvent) => void) | null;
  onmessageerror: ((this: MessagePort, event: MessageEvent) => void) | null;
  close(): void;
  postMessage(message: unknown, transfer: Iterable<ArrayBuffer | MessagePort>): void;
  postMessage(message: unknown, options?: { transfer?: Iterable<ArrayBuffer | MessagePort> }): void;
  start(): void;
}

declare class PerformanceEntry {
  protected constructor();
  readonly duration: number;
  readonly entryType: string;
  readonly name: string;
  readonly startTime: number;
  toJSON(): object;
}

declare class PerformanceMark extends PerformanceEntry {
  constructor(name: string, options?: { detail?: unknown; startTime?: number });
  readonly detail: unknown;
}

declare class PerformanceMeasure extends PerformanceEntry {
  private constructor();
  readonly detail: unknown;
}

declare class PerformanceResourceTiming extends PerformanceEntry {
  private constructor();
  readonly initiatorType: string;
  readonly fetchStart: number;
  readonly responseStart: number;
  readonly responseEnd: number;
  readonly responseStatus: number;
}
declare class PerformanceObserverEntryList {
  private constructor();
  getEntries(): PerformanceEntry[];
  getEntriesByName(name: string, type?: string): PerformanceEntry[];
  getEntriesByType(type: string): PerformanceEntry[];
}
/** Tells of the marks, measures and fetches of a call. */
declare class PerformanceObserver {
  static readonly supportedEntryTypes: readonly string[];
  constructor(callback: (list: PerformanceObserverEntryList, observer: PerformanceObserver) => void);
  observe(options: { entryTypes: string[] } | { type: string; buffered?: boolean }): void;
  disconnect(): void;
  takeRecords(): PerformanceEntry[];
}
/** At least one of `start` and `end`, and not all three members. A text is the name of a mark. */
interface PerformanceMeasureOptions {
  detail?: unknown;
  duration?: number;
  end?: number | string;
  start?: number | string;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare class AbortSignal extends EventTarget {
  private constructor();
  static abort(reason?: unknown): AbortSignal;
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  /** Aborts with a TimeoutError after so many milliseconds; never if its call ends before. */
  static timeout(milliseconds: number): AbortSignal;
  readonly aborted: boolean;
  onabort: ((this: AbortSignal, event: Event) => void) | null;
  readonly reason: unknown;
  throwIfAborted(): void;
}
