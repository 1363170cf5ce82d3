/**
 * CustomEvent (https://dom.spec.whatwg.org/#interface-customevent): an event that carries a value
 * of the script's.
 */

import { defineInterface, requireArguments, toDictionary, toDOMString } from '../web-idl.ts';
import { Event, eventState, initialize } from './event.ts';

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
