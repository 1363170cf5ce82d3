/** The interfaces of events as one module, evaluated when a script touches the first of them. */
import './error-dispatch.ts';
import { EventTarget } from './event-target.ts';

export { CustomEvent } from './custom-event.ts';
export { ErrorEvent } from './error-event.ts';
export { Event } from './event.ts';
export { getHandler, setHandler } from './event-handler.ts';
export { EventTarget };

/** As globals they are the methods themselves: without a receiver they mean the global scope. */
export const { addEventListener, dispatchEvent, removeEventListener } = EventTarget.prototype;
