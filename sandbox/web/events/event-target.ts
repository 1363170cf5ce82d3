/**
 * EventTarget (https://dom.spec.whatwg.org/#interface-eventtarget): listeners, and the dispatch of
 * events to them. The global scope is a target too, although it is not an instance.
 */

import { DOMException } from '../dom-exception.ts';
import { copyList, List, push, truncate } from '../list.ts';
import { apply } from '../primordials.ts';
import { defineInterface, isObject, requireArguments, toDOMString } from '../web-idl.ts';
import { AT_TARGET, Event, type EventState, eventState, isEvent, NONE } from './event.ts';
import { reportException } from './uncaught.ts';

/** An "event listener". */
export interface Listener {
  readonly type: string;
  /** A function, or an object with `handleEvent`. */
  readonly callback: object;
  readonly capture: boolean;
  readonly once: boolean;
  readonly passive: boolean;
  removed: boolean;
  /** Stops watching the signal that would remove it. */
  unwatch: (() => void) | undefined;
}

/** The listeners of one target. */
export class Listeners {
  readonly list = new List<Listener>();
  /** Called when a listener was added or removed. */
  onChange: (() => void) | undefined = undefined;
  /** The handlers of its attributes (`onabort`), by type of event. */
  handlers: Record<string, { value: object; readonly listener: Listener } | undefined> | undefined =
    undefined;
}

/** Functions of `abort.ts`, once it is evaluated. Before, no value is a signal. */
interface Signals {
  isAbortSignal(value: unknown): value is Signal;
  isAborted(signal: Signal): boolean;
  onAbort(signal: Signal, algorithm: () => void): () => void;
}
/** An AbortSignal, which is an EventTarget itself: this file cannot import its class. */
type Signal = EventTarget;
let signals: Signals | undefined;

export function setSignals(support: Signals): void {
  signals = support;
}

const scope: object = globalThis;
const scopeListeners = new Listeners();

/** The listeners of a genuine target. @throws TypeError for any other value */
export let listenersOf: (target: object) => Listeners;

export class EventTarget {
  readonly #listeners = new Listeners();

  static {
    listenersOf = (target) => (target === scope ? scopeListeners : (target as EventTarget).#listeners);
  }

  addEventListener(type: unknown, callback: unknown, options: unknown = undefined): void {
    const listeners = listenersOf(receiver(this));
    requireArguments(arguments.length, 2, 'addEventListener');
    const name = toDOMString(type);
    const listener = toCallback(callback, 'addEventListener');
    const { capture, once, passive, signal } = flattenMore(options);
    if (listener === null || (signal !== undefined && signals?.isAborted(signal))) return;
    if (find(listeners, name, listener, capture) !== undefined) return;
    const added = addListener(listeners, {
      type: name,
      callback: listener,
      capture,
      once,
      passive,
      removed: false,
      unwatch: undefined,
    });
    if (signal !== undefined)
      added.unwatch = signals?.onAbort(signal, () => removeListener(listeners, added));
  }

  removeEventListener(type: unknown, callback: unknown, options: unknown = undefined): void {
    const listeners = listenersOf(receiver(this));
    requireArguments(arguments.length, 2, 'removeEventListener');
    const name = toDOMString(type);
    const listener = toCallback(callback, 'removeEventListener');
    const capture = flatten(options);
    const found = listener === null ? undefined : find(listeners, name, listener, capture);
    if (found !== undefined) removeListener(listeners, found);
  }

  dispatchEvent(event: unknown): boolean {
    const target = receiver(this);
    void listenersOf(target);
    requireArguments(arguments.length, 1, 'dispatchEvent');
    if (!isEvent(event)) throw new TypeError('dispatchEvent: parameter 1 is not an Event');
    const state = eventState(event);
    if (state.dispatching) {
      throw new DOMException('dispatchEvent: the event is already being dispatched', 'InvalidStateError');
    }
    state.trusted = false;
    return dispatch(target, event);
  }
}
defineInterface(EventTarget, 'EventTarget');

/** A method that is called without a receiver is one of the global scope (Web IDL, operations). */
const receiver = (self: object | null | undefined): object => self ?? scope;

/** Fires a trusted event if the target has a listener for it. */
export function fire(target: object, type: string): void {
  if (!hasListener(target, type)) return;
  const event = new Event(type);
  eventState(event).trusted = true;
  dispatch(target, event);
}

/** "Dispatch" for a path of one target. @returns false if a listener prevented the default */
export function dispatch(target: object, event: Event): boolean {
  const state = eventState(event);
  const listeners = listenersOf(target);
  state.dispatching = true;
  state.target = target;
  state.currentTarget = target;
  state.phase = AT_TARGET;
  invoke(listeners, event, state, true);
  invoke(listeners, event, state, false);
  state.phase = NONE;
  state.currentTarget = null;
  state.dispatching = false;
  state.stopPropagation = false;
  state.stopImmediatePropagation = false;
  return !state.canceled;
}

/** "Inner invoke": the listeners at its beginning, except those removed since. */
function invoke(listeners: Listeners, event: Event, state: EventState, capture: boolean): void {
  if (state.stopPropagation || listeners.list.length === 0) return;
  const list = copyList(listeners.list);
  for (let i = 0; i < list.length && !state.stopImmediatePropagation; i++) {
    const listener = list[i] as Listener;
    if (listener.removed || listener.type !== state.type || listener.capture !== capture) continue;
    if (listener.once) removeListener(listeners, listener);
    state.inPassiveListener = listener.passive;
    try {
      call(listener.callback, event, state.currentTarget);
    } catch (thrown) {
      reportException(thrown);
    }
    state.inPassiveListener = false;
  }
}

/** "Call a user object's operation". */
function call(callback: object, event: Event, currentTarget: object | null): void {
  if (typeof callback === 'function') {
    apply(callback, currentTarget, [event]);
    return;
  }
  const { handleEvent } = callback as { handleEvent?: unknown };
  if (typeof handleEvent !== 'function') throw new TypeError('handleEvent of a listener is not a function');
  apply(handleEvent, callback, [event]);
}

/** Adds a listener that is not there yet. */
export function addListener(listeners: Listeners, listener: Listener): Listener {
  push(listeners.list, listener);
  listeners.onChange?.();
  return listener;
}

export function removeListener(listeners: Listeners, listener: Listener): void {
  if (listener.removed) return;
  listener.removed = true;
  const { list } = listeners;
  let kept = 0;
  for (let i = 0; i < list.length; i++) if (list[i] !== listener) list[kept++] = list[i] as Listener;
  truncate(list, kept);
  listener.unwatch?.();
  listeners.onChange?.();
}

/** Whether the target has a listener for this type of event. */
export function hasListener(target: object, type: string): boolean {
  const { list } = listenersOf(target);
  for (let i = 0; i < list.length; i++) if (list[i]?.type === type) return true;
  return false;
}

function find({ list }: Listeners, type: string, callback: object, capture: boolean): Listener | undefined {
  for (let i = 0; i < list.length; i++) {
    const { type: t, callback: c, capture: atCapture } = list[i] as Listener;
    if (t === type && c === callback && atCapture === capture) return list[i];
  }
  return undefined;
}

/** `EventListener?` */
function toCallback(value: unknown, what: string): object | null {
  if (value === null || value === undefined) return null;
  if (!isObject(value)) throw new TypeError(`${what}: parameter 2 is not an object`);
  return value;
}

/** "Flatten": the capture flag of options that are a dictionary or a boolean. */
const flatten = (options: unknown): boolean =>
  Boolean(isObject(options) ? (options as { capture?: unknown }).capture : options);

function flattenMore(options: unknown): {
  capture: boolean;
  once: boolean;
  passive: boolean;
  signal: Signal | undefined;
} {
  const capture = flatten(options);
  if (!isObject(options)) return { capture, once: false, passive: false, signal: undefined };
  const { once, passive, signal } = options as Record<string, unknown>;
  if (signal !== undefined && !signals?.isAbortSignal(signal)) {
    throw new TypeError('addEventListener: "signal" is not an AbortSignal');
  }
  return { capture, once: Boolean(once), passive: Boolean(passive), signal };
}
