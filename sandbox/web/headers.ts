/**
 * Headers (https://fetch.spec.whatwg.org/#headers-class).
 *
 * Guards: only "immutable" exists. The lists of forbidden header names protect a browser's user from a page and mean
 * nothing in a server, which sets `Cookie` and reads `Set-Cookie` as its daily work.
 */
import {
  appendHeader,
  appendNormalized,
  deleteHeader,
  getHeader,
  HeaderList,
  hasHeader,
  normalizeName,
  setHeader,
  sortedPairs,
} from './header-list.ts';
import { forEachPair, pairIteratorOf } from './pair-iterator.ts';
import { isEnumerable, ownKeys } from './primordials.ts';
import { defineInterface, isObject, requireArguments, toByteString, toDOMString } from './web-idl.ts';

/** The list behind a Headers object. */
export let headerListOf: (headers: Headers) => HeaderList;
let isHeaders: (value: object) => value is Headers;

export class Headers {
  #list: HeaderList;

  static {
    headerListOf = (headers) => headers.#list;
    isHeaders = (value): value is Headers => #list in value;
  }

  constructor(init: unknown = undefined) {
    if (init instanceof HeaderList) {
      this.#list = init;
      return;
    }
    this.#list = new HeaderList();
    if (init !== undefined) fillHeaders(this.#list, init);
  }

  append(name: unknown, value: unknown): void {
    requireArguments(arguments.length, 2, 'Headers.append');
    appendHeader(this.#list, toByteString(name, 'A header name'), toByteString(value, 'A header value'));
  }

  delete(name: unknown): void {
    requireArguments(arguments.length, 1, 'Headers.delete');
    deleteHeader(this.#list, toByteString(name, 'A header name'));
  }

  get(name: unknown): string | null {
    requireArguments(arguments.length, 1, 'Headers.get');
    return getHeader(this.#list, normalizeName(toByteString(name, 'A header name')));
  }

  getSetCookie(): string[] {
    const values: string[] = [];
    for (const [name, value] of sortedPairs(this.#list)) if (name === 'set-cookie') values.push(value);
    return values;
  }

  has(name: unknown): boolean {
    requireArguments(arguments.length, 1, 'Headers.has');
    return hasHeader(this.#list, normalizeName(toByteString(name, 'A header name')));
  }

  set(name: unknown, value: unknown): void {
    requireArguments(arguments.length, 2, 'Headers.set');
    setHeader(this.#list, toByteString(name, 'A header name'), toByteString(value, 'A header value'));
  }

  entries(): IterableIterator<[string, string]> {
    return iterate(brand(this), 'entries');
  }

  keys(): IterableIterator<string> {
    return iterate(brand(this), 'keys');
  }

  values(): IterableIterator<string> {
    return iterate(brand(this), 'values');
  }

  forEach(callback: unknown, thisArg?: unknown): void {
    requireArguments(arguments.length, 1, 'Headers.forEach');
    forEachPair(brand(this), pairsOf, callback, thisArg);
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, string]>;
}
defineInterface(Headers, 'Headers');
const entries = Headers.prototype.entries;
Object.defineProperty(Headers.prototype, Symbol.iterator, {
  value: entries,
  writable: true,
  configurable: true,
});

const pairsOf = (headers: Headers) => sortedPairs(headerListOf(headers));
const iterate = pairIteratorOf('Headers', pairsOf);

/** Wraps a list in a Headers object that shares it. */
export const headersOver = (list: HeaderList): Headers => new Headers(list);

/** Fills an empty list from a HeadersInit: Headers, a sequence of pairs, or a record (Web IDL union, in that order). */
export function fillHeaders(list: HeaderList, init: unknown): void {
  if (!isObject(init)) throw new TypeError('Headers are neither a sequence of pairs nor an object');
  const iterator = (init as Partial<Iterable<unknown>>)[Symbol.iterator];
  if (iterator === undefined || iterator === null) {
    fillFromRecord(list, init);
  } else if (isHeaders(init) && iterator === entries) {
    // By index: the array's iterator may by now be the tenant's, and yield what never passed the checks.
    const pairs = pairsOf(init);
    for (let i = 0; i < pairs.length; i++) {
      const pair = pairs[i];
      if (pair !== undefined) appendHeader(list, pair[0], pair[1]);
    }
  } else {
    fillFromSequence(list, init as Iterable<unknown>);
  }
}

function fillFromRecord(list: HeaderList, record: object): void {
  const keys = ownKeys(record);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    if (!isEnumerable(record, key)) continue;
    const name = normalizeName(typeof key === 'string' ? key : toByteString(key, 'A header name'));
    appendNormalized(list, name, toDOMString((record as Record<string, unknown>)[key]));
  }
}

function fillFromSequence(list: HeaderList, sequence: Iterable<unknown>): void {
  const pairs: [string, string][] = [];
  for (const pair of sequence) {
    if (!isObject(pair)) throw new TypeError('A header in a sequence is not a pair of name and value');
    const [name, value, ...rest] = [...(pair as Iterable<unknown>)].map((item) =>
      toByteString(item, 'A header'),
    );
    if (name === undefined || value === undefined || rest.length > 0) {
      throw new TypeError('A header in a sequence is not a pair of name and value');
    }
    pairs.push([name, value]);
  }
  for (const [name, value] of pairs) appendHeader(list, name, value);
}

/** Throws where a method was taken from Headers and called on something else. */
function brand(headers: Headers): Headers {
  headerListOf(headers);
  return headers;
}
