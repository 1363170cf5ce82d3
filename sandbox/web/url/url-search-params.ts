/** URLSearchParams (https://url.spec.whatwg.org/#interface-urlsearchparams). */
import { forEachPair, pairIteratorOf } from '../pair-iterator.ts';
import { checkThis, coded, defineInterface, isObject, toUSVString } from '../web-idl.ts';
import { type NameValue, parseUrlencoded, serializeUrlencoded } from './urlencoded.ts';

export let isURLSearchParams: (value: unknown) => value is URLSearchParams;
/** The pairs behind the parameters. */
export let pairsOf: (params: URLSearchParams) => readonly NameValue[];
/** Makes the parameters of a URL; `update` receives the new query after each change. */
export let paramsOver: (query: string, update: (query: string | null) => void) => URLSearchParams;
/** Replaces the parameters of a URL after the URL has changed. */
export let resetParams: (params: URLSearchParams, query: string) => void;

export class URLSearchParams {
  #list: NameValue[] = [];
  #onUpdate: ((query: string | null) => void) | undefined;

  static {
    isURLSearchParams = (value): value is URLSearchParams => isObject(value) && #list in value;
    pairsOf = (params) => params.#list;
    paramsOver = (query, update) => {
      const params = new URLSearchParams();
      params.#list = parseUrlencoded(query);
      params.#onUpdate = update;
      return params;
    };
    resetParams = (params, query) => {
      params.#list = parseUrlencoded(query);
    };
  }

  constructor(init: unknown = '') {
    if (isObject(init)) {
      this.#list = toPairs(init);
    } else {
      const text = toUSVString(init);
      this.#list = parseUrlencoded(text.startsWith('?') ? text.slice(1) : text);
    }
  }

  get size(): number {
    return this.#list.length;
  }

  append(name: unknown, value: unknown): void {
    check(this, arguments.length, 'name', 'value');
    this.#list.push([toUSVString(name), toUSVString(value)]);
    this.#update();
  }

  delete(name: unknown, value: unknown = undefined): void {
    check(this, arguments.length, 'name');
    const matches = matcher(name, value);
    this.#list = this.#list.filter((pair) => !matches(pair));
    this.#update();
  }

  get(name: unknown): string | null {
    check(this, arguments.length, 'name');
    return this.#list.find(matcher(name, undefined))?.[1] ?? null;
  }

  getAll(name: unknown): string[] {
    check(this, arguments.length, 'name');
    return this.#list.filter(matcher(name, undefined)).map((pair) => pair[1]);
  }

  has(name: unknown, value: unknown = undefined): boolean {
    check(this, arguments.length, 'name');
    return this.#list.some(matcher(name, value));
  }

  /** Replaces the first pair of the name and drops the others, or appends. */
  set(name: unknown, value: unknown): void {
    check(this, arguments.length, 'name', 'value');
    const pair: NameValue = [toUSVString(name), toUSVString(value)];
    const at = this.#list.findIndex((other) => other[0] === pair[0]);
    if (at < 0) {
      this.#list.push(pair);
    } else {
      this.#list = this.#list.filter((other, index) => index <= at || other[0] !== pair[0]);
      this.#list[at] = pair;
    }
    this.#update();
  }

  /** By name, in code units; pairs of one name keep their order. */
  sort(): void {
    this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#update();
  }

  entries(): IterableIterator<[string, string]> {
    check(this);
    return iterate(this, 'entries');
  }

  keys(): IterableIterator<string> {
    check(this);
    return iterate(this, 'keys');
  }

  values(): IterableIterator<string> {
    check(this);
    return iterate(this, 'values');
  }

  forEach(callback: unknown, thisArg: unknown = undefined): void {
    check(this);
    forEachPair(this, pairsOf, callback, thisArg);
  }

  toString(): string {
    check(this);
    return serializeUrlencoded(this.#list);
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, string]>;

  #update(): void {
    this.#onUpdate?.(serializeUrlencoded(this.#list) || null);
  }
}
defineInterface(URLSearchParams, 'URLSearchParams');
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries,
  writable: true,
  configurable: true,
});

/** With the messages and codes of Node.js. @param names of the arguments that a method requires */
function check(params: URLSearchParams, given = 0, ...names: readonly string[]): void {
  checkThis(isURLSearchParams(params), 'URLSearchParams');
  if (given >= names.length) return;
  const missing = `"${names.join('" and "')}" argument${names.length > 1 ? 's' : ''}`;
  throw coded(new TypeError(`The ${missing} must be specified`), 'ERR_MISSING_ARGS');
}

const iterate = pairIteratorOf('URLSearchParams', pairsOf);

function matcher(name: unknown, value: unknown): (pair: NameValue) => boolean {
  const key = toUSVString(name);
  if (value === undefined) return (pair) => pair[0] === key;
  const text = toUSVString(value);
  return (pair) => pair[0] === key && pair[1] === text;
}

/** A sequence of pairs, or a record (Web IDL union, in that order). */
function toPairs(init: object): NameValue[] {
  const iterator = (init as Partial<Iterable<unknown>>)[Symbol.iterator];
  if (iterator === undefined || iterator === null) {
    const record = new Map<string, string>();
    for (const key of Reflect.ownKeys(init)) {
      if (!Object.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
      // Two keys may become one name when lone surrogates are replaced: the later value wins, at
      // the earlier position.
      record.set(toUSVString(key), toUSVString((init as Record<PropertyKey, unknown>)[key]));
    }
    return [...record];
  }
  const pairs: NameValue[] = [];
  // Read once, as in Web IDL.
  const sequence = { [Symbol.iterator]: () => Reflect.apply(iterator, init, []) as Iterator<unknown> };
  for (const pair of sequence) {
    const items = isObject(pair) ? [...(pair as Iterable<unknown>)].map(toUSVString) : [];
    const [name, value] = items;
    if (name === undefined || value === undefined || items.length !== 2) {
      throw new TypeError('URLSearchParams: an item of the sequence is not a pair of name and value');
    }
    pairs.push([name, value]);
  }
  return pairs;
}
