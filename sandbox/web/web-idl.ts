/**
 * The parts of Web IDL that all interfaces share: conversions of arguments, and the shape of a
 * class as scripts see it (https://webidl.spec.whatwg.org/).
 *
 * No code is generated: each interface is an ordinary class that calls these.
 */
import {
  defineProperty,
  getOwnPropertyDescriptor,
  ownKeys,
  regExpExec,
  toWellFormed,
} from './primordials.ts';

const NOT_LATIN1 = /[\u0100-\uffff]/;

export const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

/** DOMString. A symbol throws, as in the standard. */
export const toDOMString = (value: unknown): string => (typeof value === 'string' ? value : `${value}`);

/** USVString: lone surrogates become U+FFFD. */
export const toUSVString = (value: unknown): string => toWellFormed(toDOMString(value));

/** ByteString: every character at most U+00FF. */
export function toByteString(value: unknown, what: string): string {
  const text = toDOMString(value);
  if (regExpExec(NOT_LATIN1, text) !== null) throw new TypeError(`${what} holds a character above U+00FF`);
  return text;
}

/** A dictionary argument: undefined and null stand for the empty one. */
export function toDictionary(value: unknown, what: string): Record<string, unknown> {
  if (value === undefined || value === null) return NO_MEMBERS;
  if (!isObject(value)) throw new TypeError(`${what} is not an object`);
  return value as Record<string, unknown>;
}
const NO_MEMBERS: Record<string, unknown> = Object.freeze(Object.create(null));

/** An error with the code that it has in Node.js: packages of npm look at it. */
export function coded<E extends Error & { code?: string }>(error: E, code: string): E {
  error.code = code;
  return error;
}

/** @param fits whether `this` is an object of the interface */
export function checkThis(fits: boolean, name: string): void {
  if (!fits) throw coded(new TypeError(`Value of "this" must be of type ${name}`), 'ERR_INVALID_THIS');
}

/** @throws TypeError, as in a browser, if an operation has fewer arguments than it requires */
export function requireArguments(given: number, required: number, what: string): void {
  if (given < required) {
    const missing = `${required} argument${required === 1 ? '' : 's'} required, but only ${given} present`;
    throw coded(new TypeError(`${what}: ${missing}`), 'ERR_MISSING_ARGS');
  }
}

/**
 * Gives a class the shape of an interface: enumerable members, and its name as `Symbol.toStringTag`
 * and `name`.
 */
export function defineInterface(interfaceObject: Function, name: string): void {
  for (const target of [interfaceObject.prototype as object, interfaceObject]) {
    for (const key of ownKeys(target)) {
      if (
        typeof key === 'symbol' ||
        key === 'constructor' ||
        // `name` may be an attribute, such as `file.name`.
        (target === interfaceObject && (key === 'prototype' || key === 'name' || key === 'length'))
      )
        continue;
      const descriptor = getOwnPropertyDescriptor(target, key);
      if (descriptor?.configurable) defineProperty(target, key, { ...descriptor, enumerable: true });
    }
  }
  // The bundle is minified: a class would be named `e` until it is exposed.
  defineProperty(interfaceObject, 'name', { value: name, configurable: true });
  defineProperty(interfaceObject.prototype, Symbol.toStringTag, { value: name, configurable: true });
}
