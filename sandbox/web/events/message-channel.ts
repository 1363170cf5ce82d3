/**
 * MessageChannel (https://html.spec.whatwg.org/#message-channels), and its interfaces as one lazy
 * module.
 */

import { defineInterface } from '../web-idl.ts';
import { createPorts, type MessagePort } from './message-port.ts';

export { MessageEvent } from './message-event.ts';
export { MessagePort } from './message-port.ts';

export class MessageChannel {
  readonly #ports = createPorts();

  get port1(): MessagePort {
    return this.#ports.first;
  }

  get port2(): MessagePort {
    return this.#ports.second;
  }
}
defineInterface(MessageChannel, 'MessageChannel');
