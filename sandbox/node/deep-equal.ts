/**
 * Deep equality as `node:assert` and `util.isDeepStrictEqual` have it
 * (https://nodejs.org/api/assert.html#assertdeepstrictequalactual-expected-message).
 */
import {
  isAnyArrayBuffer,
  isArrayBufferView,
  isBoxedPrimitive,
  isDate,
  isMap,
  isNativeError,
  isPromise,
  isRegExp,
  isSet,
  isTypedArray,
  isWeakMap,
  isWeakSet,
} from './types.ts';

/**
 * `strict` compares by `Object.is` and by prototypes, `loose` by `==`; `partial` is strict, and the
 * second value may be a part of the first one.
 */
type Mode = 'strict' | 'loose' | 'partial';
type Members = Record<PropertyKey, unknown>;

export const isDeepStrictEqual = (one: unknown, other: unknown, options?: boolean | object): boolean => {
  const skip =
    options === true || (options as { skipPrototype?: boolean } | undefined)?.skipPrototype === true;
  return new Equality('strict', skip).equal(one, other);
};
export const isDeepEqual = (one: unknown, other: unknown): boolean => new Equality('loose').equal(one, other);
export const isPartOf = (whole: unknown, part: unknown): boolean =>
  new Equality('partial').equal(whole, part);

const isComplex = (value: unknown): value is object => typeof value === 'object' && value !== null;
const tagOf = (value: object): string => Object.prototype.toString.call(value);
const has = (value: object, name: PropertyKey): boolean =>
  Object.prototype.propertyIsEnumerable.call(value, name);
const isIndex = (name: PropertyKey): boolean => typeof name === 'string' && /^(?:0|[1-9]\d{0,9})$/.test(name);

class Equality {
  readonly #mode: Mode;
  readonly #prototypes: boolean;
  /** Objects that are being compared: two circles are equal where they close at the same place. */
  readonly #open = new Map<object, Set<object>>();

  constructor(mode: Mode, skipPrototypes = false) {
    this.#mode = mode;
    this.#prototypes = mode === 'strict' && !skipPrototypes;
  }

  equal(one: unknown, other: unknown): boolean {
    if (one === other) return one !== 0 || this.#mode === 'loose' || Object.is(one, other);
    if (!isComplex(one) || !isComplex(other)) return this.#primitives(one, other);
    if (this.#prototypes && Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
    if (tagOf(one) !== tagOf(other)) return false;
    const open = this.#open.get(one);
    if (open?.has(other)) return true;
    if (open === undefined) this.#open.set(one, new Set([other]));
    else open.add(other);
    const result = this.#objects(one, other);
    this.#open.get(one)?.delete(other);
    return result;
  }

  #primitives(one: unknown, other: unknown): boolean {
    if (this.#mode !== 'loose') return typeof one === 'number' && Number.isNaN(one) && Number.isNaN(other);
    if (isComplex(one) || isComplex(other)) return false;
    // biome-ignore lint/suspicious/noDoubleEquals: the loose comparison is this operator.
    return one == other || (Number.isNaN(one) && Number.isNaN(other));
  }

  #objects(one: object, other: object): boolean {
    if (Array.isArray(one) || Array.isArray(other)) {
      if (!Array.isArray(one) || !Array.isArray(other)) return false;
      if (this.#mode === 'partial') return this.#hasItems(one, other) && this.#members(one, other, true);
      return one.length === other.length && this.#members(one, other);
    }
    if (isDate(one) || isDate(other)) {
      if (!isDate(one) || !isDate(other)) return false;
      if (!Object.is(Date.prototype.getTime.call(one), Date.prototype.getTime.call(other))) return false;
    } else if (isRegExp(one) || isRegExp(other)) {
      if (!isRegExp(one) || !isRegExp(other) || !sameRegExp(one as RegExp, other as RegExp)) return false;
    } else if (isNativeError(one) || one instanceof Error || isNativeError(other)) {
      if (!(isNativeError(other) || other instanceof Error) || !this.#errors(one, other)) return false;
    } else if (isArrayBufferView(one) || isArrayBufferView(other)) {
      return isArrayBufferView(one) && isArrayBufferView(other) && this.#views(one, other);
    } else if (isSet(one) || isSet(other)) {
      return (
        isSet(one) &&
        isSet(other) &&
        this.#sets(one as Set<unknown>, other as Set<unknown>) &&
        this.#members(one, other)
      );
    } else if (isMap(one) || isMap(other)) {
      type Any = Map<unknown, unknown>;
      return isMap(one) && isMap(other) && this.#maps(one as Any, other as Any) && this.#members(one, other);
    } else if (isAnyArrayBuffer(one) || isAnyArrayBuffer(other)) {
      if (!isAnyArrayBuffer(one) || !isAnyArrayBuffer(other)) return false;
      if (!this.#bytes(new Uint8Array(one as ArrayBuffer), new Uint8Array(other as ArrayBuffer)))
        return false;
    } else if (isBoxedPrimitive(one) || isBoxedPrimitive(other)) {
      if (!isBoxedPrimitive(one) || !isBoxedPrimitive(other) || !sameBoxed(one, other)) return false;
    } else if (one instanceof URL || other instanceof URL) {
      if (!(one instanceof URL && other instanceof URL) || one.href !== other.href) return false;
    } else if ([one, other].some((value) => isWeakMap(value) || isWeakSet(value) || isPromise(value))) {
      return false;
    }
    return this.#members(one, other);
  }

  /** Own enumerable members; of arrays and views also the elements, unless they were compared. */
  #members(one: object, other: object, compared = false): boolean {
    const names = (value: object): PropertyKey[] => {
      const symbols = this.#mode === 'loose' ? [] : Object.getOwnPropertySymbols(value);
      const all: PropertyKey[] = [...Object.keys(value), ...symbols.filter((symbol) => has(value, symbol))];
      return compared ? all.filter((name) => !isIndex(name)) : all;
    };
    const wanted = names(other);
    if (this.#mode !== 'partial' && names(one).length !== wanted.length) return false;
    const [left, right] = [one as Members, other as Members];
    return wanted.every((name) => has(one, name) && this.equal(left[name], right[name]));
  }

  /** Name, message and causes count although they cannot be enumerated. */
  #errors(one: object, other: object): boolean {
    return ['message', 'name', 'cause', 'errors'].every((name) => {
      if (has(one, name) && has(other, name)) return true;
      const [left, right] = [one as Members, other as Members];
      if (name === 'cause' && Object.hasOwn(one, name) !== Object.hasOwn(other, name)) {
        return this.#mode === 'partial' && !Object.hasOwn(other, name);
      }
      return this.equal(left[name], right[name]);
    });
  }

  #views(one: ArrayBufferView, other: ArrayBufferView): boolean {
    const bytesOf = (view: ArrayBufferView) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    const numbers = isTypedArray(one) && /Float/.test(tagOf(one)) && this.#mode === 'loose';
    const [left, right] = (numbers ? [one, other] : [bytesOf(one), bytesOf(other)]) as [
      Uint8Array,
      Uint8Array,
    ];
    return this.#bytes(left, right) && this.#members(one, other, true);
  }

  #bytes(one: Uint8Array, other: Uint8Array): boolean {
    if (one.length !== other.length && (this.#mode !== 'partial' || one.length < other.length)) return false;
    return other.every((byte, at) => byte === one[at]);
  }

  /** A list has the items of another one, in their order. */
  #hasItems(one: readonly unknown[], other: readonly unknown[]): boolean {
    let at = 0;
    return other.every((item) => {
      while (at < one.length && !this.equal(one[at], item)) at++;
      return at++ < one.length;
    });
  }

  #sets(one: Set<unknown>, other: Set<unknown>): boolean {
    if (one.size !== other.size && (this.#mode !== 'partial' || one.size < other.size)) return false;
    const left = [...one].filter((item) => !other.has(item));
    const right = [...other].filter((item) => !one.has(item));
    return this.#paired(left, right, (a, b) => this.equal(a, b));
  }

  #maps(one: Map<unknown, unknown>, other: Map<unknown, unknown>): boolean {
    if (one.size !== other.size && (this.#mode !== 'partial' || one.size < other.size)) return false;
    const left = [...one].filter(([key]) => !other.has(key));
    const right: [unknown, unknown][] = [];
    for (const pair of other) {
      if (!one.has(pair[0])) right.push(pair);
      else if (!this.equal(one.get(pair[0]), pair[1])) {
        // Loosely, another key may be equal to this one.
        if (this.#mode !== 'loose' || isComplex(pair[0])) return false;
        right.push(pair);
        left.push([pair[0], one.get(pair[0])]);
      }
    }
    return this.#paired(left, right, (a, b) => this.equal(a[0], b[0]) && this.equal(a[1], b[1]));
  }

  /** Each of the second items has one of the first ones for itself. */
  #paired<T>(left: T[], right: readonly T[], equal: (one: T, other: T) => boolean): boolean {
    return right.every((item) => {
      const at = left.findIndex((candidate) => equal(candidate, item));
      if (at >= 0) left.splice(at, 1);
      return at >= 0;
    });
  }
}

const sameRegExp = (one: RegExp, other: RegExp): boolean =>
  one.source === other.source && one.flags === other.flags && one.lastIndex === other.lastIndex;

/** A box gives its value by the `valueOf` of its own kind alone. */
function sameBoxed(one: object, other: object): boolean {
  return [Number, String, Boolean, BigInt, Symbol].some(({ prototype }) => {
    try {
      const valueIn = prototype.valueOf as () => unknown;
      return Object.is(valueIn.call(one), valueIn.call(other));
    } catch {
      return false;
    }
  });
}
