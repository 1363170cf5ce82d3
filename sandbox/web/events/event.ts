/**
 * Event (https://dom.spec.whatwg.org/#interface-event). There is no tree of targets: the path of an
 * event is its target only, so `bubbles` and `composed` have no effect.
 */

import { defineProperty, objectCreate } from '../primordials.ts';
import { sinceOrigin } from '../time/clock.ts';
import { defineInterface, isObject, requireArguments, toDictionary, toDOMString } from '../web-idl.ts';

export const NONE = 0;
export const AT_TARGET = 2;
const PHASES = { NONE, CAPTURING_PHASE: 1, AT_TARGET, BUBBLING_PHASE: 3 };

/** State of an event for its dispatch, besides its attributes. Never passed to a script. */
export class EventState {
  type: string;
  target: object | null = null;
  currentTarget: object | null = null;
  phase = NONE;
  bubbles = false;
  cancelable = false;
  composed = false;
  /** The "canceled flag". */
  canceled = false;
  stopPropagation = false;
  stopImmediatePropagation = false;
  inPassiveListener = false;
  dispatching = false;
  trusted = false;
  readonly timeStamp = sinceOrigin();

  constructor(type: string) {
    this.type = type;
  }
}

/** The state of a genuine event. */
export let eventState: (event: Event) => EventState;
/** A genuine Event, whatever its prototype says. */
export let isEvent: (value: unknown) => value is Event;

export class Event {
  readonly #state: EventState;

  static {
    eventState = (event) => event.#state;
    isEvent = (value): value is Event => isObject(value) && #state in value;
  }

  constructor(type: unknown, eventInitDict: unknown = undefined) {
    requireArguments(arguments.length, 1, 'Event');
    const state = new EventState(toDOMString(type));
    const { bubbles, cancelable, composed } = toDictionary(eventInitDict, 'Event: parameter 2');
    state.bubbles = Boolean(bubbles);
    state.cancelable = Boolean(cancelable);
    state.composed = Boolean(composed);
    this.#state = state;
    defineProperty(this, 'isTrusted', isTrusted);
  }

  get type(): string {
    return this.#state.type;
  }

  get target(): object | null {
    return this.#state.target;
  }

  get srcElement(): object | null {
    return this.#state.target;
  }

  get currentTarget(): object | null {
    return this.#state.currentTarget;
  }

  composedPath(): object[] {
    const { currentTarget } = this.#state;
    return currentTarget === null ? [] : [currentTarget];
  }

  get eventPhase(): number {
    return this.#state.phase;
  }

  stopPropagation(): void {
    this.#state.stopPropagation = true;
  }

  get cancelBubble(): boolean {
    return this.#state.stopPropagation;
  }

  set cancelBubble(value: unknown) {
    const state = this.#state;
    if (value) state.stopPropagation = true;
  }

  stopImmediatePropagation(): void {
    this.#state.stopPropagation = true;
    this.#state.stopImmediatePropagation = true;
  }

  get bubbles(): boolean {
    return this.#state.bubbles;
  }

  get cancelable(): boolean {
    return this.#state.cancelable;
  }

  get returnValue(): boolean {
    return !this.#state.canceled;
  }

  set returnValue(value: unknown) {
    const state = this.#state;
    if (!value) cancel(state);
  }

  preventDefault(): void {
    cancel(this.#state);
  }

  get defaultPrevented(): boolean {
    return this.#state.canceled;
  }

  get composed(): boolean {
    return this.#state.composed;
  }

  get timeStamp(): number {
    return this.#state.timeStamp;
  }

  initEvent(type: unknown, bubbles: unknown = false, cancelable: unknown = false): void {
    const state = this.#state;
    requireArguments(arguments.length, 1, 'initEvent');
    initialize(state, toDOMString(type), Boolean(bubbles), Boolean(cancelable));
  }
}
defineInterface(Event, 'Event');
for (const [name, value] of Object.entries(PHASES)) {
  defineProperty(Event, name, { value, enumerable: true });
  defineProperty(Event.prototype, name, { value, enumerable: true });
}

/**
 * `[LegacyUnforgeable]`: an own property of each event that no script can replace, with one getter
 * for all.
 */
const isTrusted: PropertyDescriptor = objectCreate(null) as object;
isTrusted.get = Object.getOwnPropertyDescriptor(
  {
    get isTrusted() {
      return eventState(this as unknown as Event).trusted;
    },
  },
  'isTrusted',
)?.get as () => boolean;
isTrusted.enumerable = true;
isTrusted.configurable = false;

/** "Set the canceled flag": `preventDefault`. */
export function cancel(state: EventState): void {
  if (state.cancelable && !state.inPassiveListener) state.canceled = true;
}

/** "Initialize" of the legacy `init…Event` methods. @returns false while the event is dispatched */
export function initialize(state: EventState, type: string, bubbles: boolean, cancelable: boolean): boolean {
  if (state.dispatching) return false;
  state.stopPropagation = false;
  state.stopImmediatePropagation = false;
  state.canceled = false;
  state.trusted = false;
  state.target = null;
  state.type = type;
  state.bubbles = bubbles;
  state.cancelable = cancelable;
  return true;
}
