/**
 * Iterators of interfaces that iterate over pairs (Web IDL, "iterable declarations"): Headers,
 * FormData.
 *
 * An iterator holds a position and reads the pairs again at each step, so that it sees changes.
 */
import { defineProperty, IteratorPrototype, setPrototypeOf } from './primordials.ts';
import { checkThis, coded, isObject } from './web-idl.ts';

export type Pair<K, V> = readonly [K, V];
export type PairKind = 'entries' | 'keys' | 'values';

/** Makes the iterator class of one interface and returns the function that starts an iteration. */
export function pairIteratorOf<T, K, V>(
  interfaceName: string,
  pairsOf: (target: T) => ArrayLike<Pair<K, V>>,
): <R>(target: T, kind: PairKind) => IterableIterator<R> {
  class PairIterator {
    readonly #target: T;
    readonly #kind: PairKind;
    #next = 0;

    constructor(target: T, kind: PairKind) {
      this.#target = target;
      this.#kind = kind;
    }

    next(): IteratorResult<unknown, undefined> {
      checkThis(isObject(this) && #target in this, `${interfaceName}Iterator`);
      const pair = pairsOf(this.#target)[this.#next];
      if (pair === undefined) return { value: undefined, done: true };
      this.#next++;
      if (this.#kind === 'keys') return { value: pair[0], done: false };
      return { value: this.#kind === 'values' ? pair[1] : [pair[0], pair[1]], done: false };
    }
  }
  const { prototype } = PairIterator;
  setPrototypeOf(prototype, IteratorPrototype);
  delete (prototype as { constructor?: unknown }).constructor;
  defineProperty(prototype, 'next', { enumerable: true });
  defineProperty(prototype, Symbol.toStringTag, {
    value: `${interfaceName} Iterator`,
    configurable: true,
  });
  return (target, kind) => new PairIterator(target, kind) as never;
}

/** `forEach` of such an interface. */
export function forEachPair<T, K, V>(
  target: T,
  pairsOf: (target: T) => ArrayLike<Pair<K, V>>,
  callback: unknown,
  thisArg: unknown,
): void {
  if (typeof callback !== 'function')
    throw coded(new TypeError('forEach: parameter 1 is not a function'), 'ERR_INVALID_ARG_TYPE');
  for (let i = 0; i < pairsOf(target).length; i++) {
    const [key, value] = pairsOf(target)[i] as Pair<K, V>;
    Reflect.apply(callback, thisArg, [value, key, target]);
  }
}
