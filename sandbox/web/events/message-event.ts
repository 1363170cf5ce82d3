/**
 * MessageEvent (https://html.spec.whatwg.org/#messageevent): a message and its transferred ports.
 */

import { List, push, toArray } from '../list.ts';
import { apply } from '../primordials.ts';
import { defineInterface, isObject, requireArguments, toDOMString, toUSVString } from '../web-idl.ts';
import { Event, eventState, initialize } from './event.ts';
import { asIs, initReader } from './event-init.ts';
import { isMessagePort, type MessagePort } from './message-port.ts';

const { freeze } = Object;

const readInit = initReader(
  {
    data: [null, asIs],
    lastEventId: ['', toDOMString],
    origin: ['', toUSVString],
    ports: [undefined, toPorts],
    source: [null, toSource],
  },
  'MessageEvent: parameter 2',
);

export class MessageEvent extends Event {
  #data: unknown;
  #lastEventId: string;
  #origin: string;
  /** Frozen: every read returns the same array. */
  #ports: readonly MessagePort[];
  #source: MessagePort | null;

  constructor(type: unknown, eventInitDict: unknown = undefined) {
    requireArguments(arguments.length, 1, 'MessageEvent');
    super(type, eventInitDict);
    const { data, lastEventId, origin, ports, source } = readInit(eventInitDict);
    this.#data = data;
    this.#lastEventId = lastEventId;
    this.#origin = origin;
    this.#ports = ports;
    this.#source = source;
  }

  get data(): unknown {
    return this.#data;
  }

  get origin(): string {
    return this.#origin;
  }

  get lastEventId(): string {
    return this.#lastEventId;
  }

  get source(): MessagePort | null {
    return this.#source;
  }

  get ports(): readonly MessagePort[] {
    return this.#ports;
  }

  // biome-ignore lint/complexity/useMaxParams: the signature is that of the HTML standard.
  initMessageEvent(
    type: unknown,
    bubbles: unknown = false,
    cancelable: unknown = false,
    data: unknown = null,
    origin: unknown = '',
    lastEventId: unknown = '',
    source: unknown = null,
    ports: unknown = undefined,
  ): void {
    void this.#data;
    requireArguments(arguments.length, 1, 'initMessageEvent');
    const name = toDOMString(type);
    const converted = {
      origin: toUSVString(origin),
      lastEventId: toDOMString(lastEventId),
      source: toSource(source),
      ports: toPorts(ports),
    };
    if (!initialize(eventState(this), name, Boolean(bubbles), Boolean(cancelable))) return;
    this.#data = data;
    this.#origin = converted.origin;
    this.#lastEventId = converted.lastEventId;
    this.#source = converted.source;
    this.#ports = converted.ports;
  }
}
defineInterface(MessageEvent, 'MessageEvent');

/** `sequence<MessagePort>` */
function toPorts(value: unknown): readonly MessagePort[] {
  const ports = new List<MessagePort>();
  if (value === undefined) return freeze(toArray(ports));
  const method = isObject(value) ? (value as Partial<Iterable<unknown>>)[Symbol.iterator] : undefined;
  if (typeof method !== 'function') throw new TypeError('MessageEvent: "ports" is not a sequence');
  for (const port of { [Symbol.iterator]: () => apply(method, value, []) as Iterator<unknown> }) {
    if (!isMessagePort(port)) throw new TypeError('MessageEvent: an item of "ports" is not a MessagePort');
    push(ports, port);
  }
  return freeze(toArray(ports));
}

function toSource(value: unknown): MessagePort | null {
  if (value === null || value === undefined) return null;
  if (!isMessagePort(value)) throw new TypeError('MessageEvent: "source" is not a MessagePort');
  return value;
}
