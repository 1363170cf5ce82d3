/**
 * Event handler attributes, `onabort` and `onerror`
 * (https://html.spec.whatwg.org/#event-handler-attributes): a listener of a target that an
 * assignment replaces without changing its order.
 */

import { apply, objectCreate } from '../primordials.ts';
import { isObject } from '../web-idl.ts';
import { isErrorEvent } from './error-event.ts';
import { cancel, type Event, eventState } from './event.ts';
import { addListener, listenersOf, removeListener } from './event-target.ts';

/** The value of the attribute. */
export const getHandler = (target: object, type: string): object | null =>
  listenersOf(target).handlers?.[type]?.value ?? null;

/** Assigns it. A value that is not an object counts as null (`[LegacyTreatNonObjectAsNull]`). */
export function setHandler(target: object, type: string, value: unknown): void {
  const listeners = listenersOf(target);
  listeners.handlers ??= objectCreate(null) as NonNullable<typeof listeners.handlers>;
  const { handlers } = listeners;
  const handler = handlers[type];
  if (!isObject(value)) {
    if (handler !== undefined) removeListener(listeners, handler.listener);
    delete handlers[type];
  } else if (handler !== undefined) {
    handler.value = value;
  } else {
    const callback = (event: Event): void => run(handlers[type]?.value, target, event);
    const flags = { capture: false, once: false, passive: false, removed: false, unwatch: undefined };
    handlers[type] = { value, listener: addListener(listeners, { type, callback, ...flags }) };
  }
}

/** "The event handler processing algorithm". */
function run(handler: object | undefined, target: object, event: Event): void {
  if (typeof handler !== 'function') return;
  const state = eventState(event);
  if (target === globalThis && state.type === 'error' && isErrorEvent(event)) {
    const { message, filename, lineno, colno, error } = event;
    if (apply(handler, target, [message, filename, lineno, colno, error]) === true) cancel(state);
  } else if (apply(handler, target, [event]) === false) {
    cancel(state);
  }
}
