/** The event interfaces as one lazy module. */
import './error-dispatch.ts';
import { defineInterface, requireArguments, toDictionary, toDOMString } from '../web-idl.ts';
import { Event, eventState, initialize } from './event.ts';
import { EventTarget } from './event-target.ts';

export { ErrorEvent } from './error-event.ts';
export { Event } from './event.ts';
export { getHandler, setHandler } from './event-handler.ts';
export { EventTarget };

/** The globals are the methods themselves: without a receiver they act on the global scope. */
export const { addEventListener, dispatchEvent, removeEventListener } = EventTarget.prototype;

/**
 * CustomEvent (https://dom.spec.whatwg.org/#interface-customevent): an event that carries a value
 * of the script's.
 */
export class CustomEvent extends Event {
  #detail: unknown;

  constructor(type: unknown, eventInitDict: unknown = undefined) {
    requireArguments(arguments.length, 1, 'CustomEvent');
    super(type, eventInitDict);
    const { detail = null } = toDictionary(eventInitDict, 'CustomEvent: parameter 2');
    this.#detail = detail;
  }

  get detail(): unknown {
    return this.#detail;
  }

  initCustomEvent(
    type: unknown,
    bubbles: unknown = false,
    cancelable: unknown = false,
    detail: unknown = null,
  ): void {
    void this.#detail;
    requireArguments(arguments.length, 1, 'initCustomEvent');
    const state = eventState(this);
    if (initialize(state, toDOMString(type), Boolean(bubbles), Boolean(cancelable))) this.#detail = detail;
  }
}
defineInterface(CustomEvent, 'CustomEvent');
