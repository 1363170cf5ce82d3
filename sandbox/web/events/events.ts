/** The event interfaces as one lazy module. */
import './error-dispatch.ts';
import { EventTarget } from './event-target.ts';

export { CustomEvent } from './custom-event.ts';
export { ErrorEvent } from './error-event.ts';
export { Event } from './event.ts';
export { getHandler, setHandler } from './event-handler.ts';
export { EventTarget };

/** The globals are the methods themselves: without a receiver they act on the global scope. */
export const { addEventListener, dispatchEvent, removeEventListener } = EventTarget.prototype;
