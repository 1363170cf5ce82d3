/**
 * ErrorEvent (https://html.spec.whatwg.org/#errorevent): an uncaught exception and its position in
 * the script.
 */

import { defineInterface, isObject, requireArguments, toDOMString, toUSVString } from '../web-idl.ts';
import { Event } from './event.ts';
import { asIs, initReader } from './event-init.ts';

/** `unsigned long` */
const toUnsignedLong = (value: unknown): number => +(value as number) >>> 0;

const readInit = initReader(
  {
    colno: [0, toUnsignedLong],
    error: [undefined, asIs],
    filename: ['', toUSVString],
    lineno: [0, toUnsignedLong],
    message: ['', toDOMString],
  },
  'ErrorEvent: parameter 2',
);

/** A genuine ErrorEvent. */
export let isErrorEvent: (value: unknown) => value is ErrorEvent;

export class ErrorEvent extends Event {
  readonly #colno: number;
  readonly #error: unknown;
  readonly #filename: string;
  readonly #lineno: number;
  readonly #message: string;

  static {
    isErrorEvent = (value): value is ErrorEvent => isObject(value) && #message in value;
  }

  constructor(type: unknown, eventInitDict: unknown = undefined) {
    requireArguments(arguments.length, 1, 'ErrorEvent');
    super(type, eventInitDict);
    const { colno, error, filename, lineno, message } = readInit(eventInitDict);
    this.#colno = colno;
    this.#error = error;
    this.#filename = filename;
    this.#lineno = lineno;
    this.#message = message;
  }

  get message(): string {
    return this.#message;
  }

  get filename(): string {
    return this.#filename;
  }

  get lineno(): number {
    return this.#lineno;
  }

  get colno(): number {
    return this.#colno;
  }

  get error(): unknown {
    return this.#error;
  }
}
defineInterface(ErrorEvent, 'ErrorEvent');
