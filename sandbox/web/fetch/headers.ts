/**
 * Headers (https://fetch.spec.whatwg.org/#headers-class).
 *
 * Guards: only "immutable" exists. The forbidden header names of the standard protect a browser's
 * user from a page. They have no meaning for a server, which sets `Cookie` and reads `Set-Cookie`.
 */

import { forEachPair, pairIteratorOf } from '../pair-iterator.ts';
import { apply, isEnumerable, ownKeys } from '../primordials.ts';
import { defineInterface, isObject, requireArguments, toByteString } from '../web-idl.ts';
import {
  appendHeader,
  appendRawName,
  appendRawValue,
  deleteHeader,
  getHeader,
  HeaderList,
  type HeaderPair,
  hasHeader,
  isHeaderList,
  normalizeHeaders,
  normalizeName,
  rawName,
  setHeader,
  sortedPairs,
} from './header-list.ts';

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
    if (isHeaderList(init)) {
      this.#list = init;
      return;
    }
    this.#list = new HeaderList();
    if (init !== undefined) fillHeaders(this.#list, init);
  }

  append(name: unknown, value: unknown): void {
    requireArguments(arguments.length, 2, 'Headers.append');
    appendHeader(this.#list, rawName(name), value);
  }

  delete(name: unknown): void {
    requireArguments(arguments.length, 1, 'Headers.delete');
    deleteHeader(this.#list, rawName(name));
  }

  get(name: unknown): string | null {
    requireArguments(arguments.length, 1, 'Headers.get');
    return getHeader(this.#list, normalizeName(rawName(name)));
  }

  getSetCookie(): string[] {
    const { flat } = this.#list;
    const values: string[] = [];
    for (let i = 0; i < flat.length; i += 2) if (flat[i] === 'set-cookie') values.push(flat[i + 1] as string);
    return values;
  }

  has(name: unknown): boolean {
    requireArguments(arguments.length, 1, 'Headers.has');
    return hasHeader(this.#list, normalizeName(rawName(name)));
  }

  set(name: unknown, value: unknown): void {
    requireArguments(arguments.length, 2, 'Headers.set');
    setHeader(this.#list, rawName(name), value);
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

  forEach(callback: unknown, thisArg: unknown = undefined): void {
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

/** Fills an empty list from a HeadersInit. */
export function fillHeaders(list: HeaderList, init: unknown): void {
  convertHeaders(list, init);
  normalizeHeaders(list);
}

/**
 * The Web IDL half of `fillHeaders`: Headers, a sequence of pairs, or a record (in that order)
 * becomes pairs of byte strings. `normalizeHeaders` is the other half, "fill", which checks them as
 * headers.
 */
export function convertHeaders(list: HeaderList, init: unknown): void {
  if (!isObject(init)) throw new TypeError('Headers are neither a sequence of pairs nor an object');
  const iterator = (init as Partial<Iterable<unknown>>)[Symbol.iterator];
  if (iterator === undefined || iterator === null) {
    convertRecord(list, init);
  } else if (isHeaders(init) && iterator === entries) {
    // Attack: a replaced iterator of arrays that yields unchecked values. Read by index.
    const pairs = pairsOf(init);
    for (let i = 0; i < pairs.length; i++) {
      const pair = pairs[i] as HeaderPair;
      appendRawName(list, pair[0]);
      appendRawValue(list, pair[1]);
    }
  } else {
    convertSequence(list, init, iterator);
  }
}

function convertRecord(list: HeaderList, record: object): void {
  const keys = ownKeys(record);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    if (!isEnumerable(record, key)) continue;
    appendRawName(list, key);
    appendRawValue(list, (record as Record<string, unknown>)[key]);
  }
}

/** The iterators are the tenant's; only checked strings get into the list. */
function convertSequence(list: HeaderList, init: object, iterator: unknown): void {
  // Read once, as in Web IDL: a getter can observe it.
  const sequence = { [Symbol.iterator]: () => apply(iterator as () => Iterator<unknown>, init, []) };
  for (const pair of sequence) {
    if (!isObject(pair)) throw new TypeError('A header in a sequence is not a pair of name and value');
    let count = 0;
    for (const item of pair as Iterable<unknown>) {
      count++;
      if (count === 1) appendRawName(list, item);
      else if (count === 2) appendRawValue(list, item);
      else toByteString(item, 'A header value');
    }
    if (count !== 2) throw new TypeError('A header in a sequence is not a pair of name and value');
  }
}

/** @throws TypeError if a method of Headers is called on another object */
function brand(headers: Headers): Headers {
  headerListOf(headers);
  return headers;
}
