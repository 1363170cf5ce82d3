/** ErrorEvent (https://html.spec.whatwg.org/#errorevent): an exception that nobody caught, and where it was thrown. */

import {
  defineInterface,
  isObject,
  requireArguments,
  toDictionary,
  toDOMString,
  toUSVString,
} from '../web-idl.ts';
import { Event } from './event.ts';

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
    const init = toDictionary(eventInitDict, 'ErrorEvent: parameter 2');
    // Each member is read and converted before the next, in the order of their names (Web IDL, dictionaries).
    const { colno = 0 } = init;
    this.#colno = +(colno as number) >>> 0;
    const { error } = init;
    this.#error = error;
    const { filename = '' } = init;
    this.#filename = toUSVString(filename);
    const { lineno = 0 } = init;
    this.#lineno = +(lineno as number) >>> 0;
    const { message = '' } = init;
    this.#message = toDOMString(message);
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
