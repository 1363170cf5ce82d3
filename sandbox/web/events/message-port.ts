/**
 * MessagePort (https://html.spec.whatwg.org/#message-ports): two ports of one isolate, and the
 * messages between them.
 *
 * Each message is a task of the call that posted it, like a timer that is due at once, and ends
 * with that call; a port outlives calls. Messages count as timers of their call. Those of a port
 * that is not started wait in the port, up to a bound. Only the timer crosses the bridge.
 */
import { DOMException } from '../dom-exception.ts';
import './error-dispatch.ts';
import { registerTransferable } from '../clone/structured-clone-registry.ts';
import { structuredClone } from '../lazy.ts';
import { List, push, toArray } from '../list.ts';
import { isArray } from '../primordials.ts';
import { later } from '../time/timer-source.ts';
import { defineInterface, isObject, requireArguments, toDictionary } from '../web-idl.ts';
import { eventState } from './event.ts';
import { getHandler, setHandler } from './event-handler.ts';
import { dispatch, EventTarget, fire, hasListener } from './event-target.ts';
import { MessageEvent } from './message-event.ts';

/** Messages that wait in one port. */
const MESSAGES_MAX = 1_000;

/** Marks a call of the constructor from inside. */
const INSIDE = Symbol();

interface Message {
  readonly data: unknown;
  readonly ports: readonly MessagePort[];
  next: Message | undefined;
  /** Dispatched, or dropped because its call had ended. */
  gone: boolean;
}

/** One end of a channel. It moves to another MessagePort when the port is transferred. */
class End {
  port: MessagePort | undefined;
  other: End | undefined;
  started = false;
  first: Message | undefined;
  last: Message | undefined;
  waiting = 0;

  /** @throws RangeError or DOMException if too many messages wait */
  add(message: Message): void {
    if (this.waiting >= MESSAGES_MAX)
      throw new DOMException(`At most ${MESSAGES_MAX} messages wait in a port`, 'QuotaExceededError');
    if (this.started) this.announce(message);
    if (this.last === undefined) this.first = message;
    else this.last.next = message;
    this.last = message;
    this.waiting += 1;
  }

  /** Makes the message a task of the running call. */
  announce(message: Message): void {
    later(() => this.#deliver(message), 0);
  }

  #deliver(message: Message): void {
    if (message.gone || !this.started || this.port === undefined) return;
    // Tasks run in the order of messages, so earlier messages belonged to calls that have ended.
    while (this.first !== message) this.#shift();
    this.#shift();
    const event = new MessageEvent('message', { __proto__: null, data: message.data, ports: message.ports });
    eventState(event).trusted = true;
    dispatch(this.port, event);
  }

  #shift(): void {
    const message = this.first as Message;
    message.gone = true;
    this.first = message.next;
    if (this.first === undefined) this.last = undefined;
    this.waiting -= 1;
  }
}

/** A genuine MessagePort, whatever its prototype says. */
export let isMessagePort: (value: unknown) => value is MessagePort;
/** "Entangle" of two new ports. */
export let createPorts: () => { readonly first: MessagePort; readonly second: MessagePort };
let endOf: (port: object) => End | undefined;
let moveEnd: (port: object) => MessagePort;

export class MessagePort extends EventTarget {
  /** Undefined once the port was transferred. */
  #end: End | undefined;

  static {
    isMessagePort = (value): value is MessagePort => isObject(value) && #end in value;
    endOf = (port) => (port as MessagePort).#end;
    moveEnd = (port) => {
      const end = (port as MessagePort).#end;
      (port as MessagePort).#end = undefined;
      return portOver(end as End);
    };
    const portOver = (end: End): MessagePort => {
      const port = new MessagePort(INSIDE);
      port.#end = end;
      end.port = port;
      end.started = false;
      return port;
    };
    createPorts = () => {
      const first = new End();
      const second = new End();
      first.other = second;
      second.other = first;
      return { first: portOver(first), second: portOver(second) };
    };
  }

  constructor(token: unknown = undefined) {
    if (token !== INSIDE) throw new TypeError('Illegal constructor');
    super();
  }

  postMessage(message: unknown, options: unknown = undefined): void {
    const end = this.#end;
    requireArguments(arguments.length, 1, 'MessagePort.postMessage');
    const list = toTransfer(options);
    const target = end?.other;
    let lost = target === undefined;
    for (let i = 0; i < list.length; i++) {
      if (list[i] === this) throw new DOMException('A port cannot be sent through itself', 'DataCloneError');
      // "Doomed": the message transfers its own receiver, so no port is left to receive it.
      if (list[i] === target?.port) lost = true;
    }
    const { data, moved } = structuredClone().cloneMessage(message, list);
    if (lost) return;
    const ports = new List<MessagePort>();
    for (let i = 0; i < moved.length; i++) if (isMessagePort(moved[i])) push(ports, moved[i] as MessagePort);
    target?.add({ data, ports: toArray(ports), next: undefined, gone: false });
  }

  start(): void {
    this.#start();
  }

  close(): void {
    const end = this.#end;
    const other = end?.other;
    if (end === undefined || other === undefined) return;
    end.other = undefined;
    other.other = undefined;
    const { port } = other;
    if (port !== undefined && hasListener(port, 'close')) later(() => fire(port, 'close'), 0);
  }

  get onmessage(): unknown {
    void this.#end;
    return getHandler(this, 'message');
  }

  /** Starts the port, as in the standard. */
  set onmessage(handler: unknown) {
    void this.#end;
    setHandler(this, 'message', handler);
    this.#start();
  }

  get onmessageerror(): unknown {
    void this.#end;
    return getHandler(this, 'messageerror');
  }

  set onmessageerror(handler: unknown) {
    void this.#end;
    setHandler(this, 'messageerror', handler);
  }

  get onclose(): unknown {
    void this.#end;
    return getHandler(this, 'close');
  }

  set onclose(handler: unknown) {
    void this.#end;
    setHandler(this, 'close', handler);
  }

  #start(): void {
    const end = this.#end;
    if (end === undefined || end.started) return;
    end.started = true;
    for (let message = end.first; message !== undefined; message = message.next) end.announce(message);
  }
}
defineInterface(MessagePort, 'MessagePort');

registerTransferable({
  is: isMessagePort,
  isDetached: (port) => endOf(port) === undefined,
  move: moveEnd,
});

/** The transfer list: the second parameter itself, or a member of it. */
function toTransfer(options: unknown): List<object> {
  const { toTransferList } = structuredClone();
  if (options === undefined || options === null) return new List();
  if (isArray(options) || typeof (options as Partial<Iterable<unknown>>)[Symbol.iterator] === 'function')
    return toTransferList(options);
  const { transfer } = toDictionary(options, 'MessagePort.postMessage: parameter 2');
  return transfer === undefined ? new List() : toTransferList(transfer);
}
