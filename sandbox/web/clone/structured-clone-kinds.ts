/**
 * What kind of object a value is to `structuredClone`, and copies of those that hold no other
 * objects (https://html.spec.whatwg.org/#structuredserializeinternal).
 *
 * Code cannot read all internal slots, so two rules stand in: an object inherits from the prototype
 * of its kind (a Map with another prototype counts as an ordinary object), and an object that
 * inherits from a prototype with a fixed `Symbol.toStringTag`, as those of engine and platform
 * have, is not ordinary. A Proxy cannot be distinguished from its target and is read through its
 * traps.
 */
import { DOMException } from '../dom-exception.ts';
import {
  arrayBufferByteLength,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  isArray,
  isError,
  isView,
  MapIntrinsic,
  mapGet,
  mapSet,
  mapSize,
  uncurryGetter,
  uncurryThis,
} from '../primordials.ts';
import { findSerializable } from './structured-clone-registry.ts';

export type Kind =
  | { readonly type: 'array' | 'buffer' | 'error' | 'map' | 'object' | 'set' | 'view' }
  /** The copy is complete. */
  | { readonly type: 'whole'; readonly copy: object };

const ARRAY: Kind = { type: 'array' };
const BUFFER: Kind = { type: 'buffer' };
const ERROR: Kind = { type: 'error' };
const MAP: Kind = { type: 'map' };
const OBJECT: Kind = { type: 'object' };
const SET: Kind = { type: 'set' };
const VIEW: Kind = { type: 'view' };

const ObjectPrototype = Object.prototype;
const objectToString = uncurryThis(ObjectPrototype.toString);
const RegExpIntrinsic = RegExp;
const DateIntrinsic = Date;
const box = Object;

const booleanValue = uncurryThis(Boolean.prototype.valueOf) as (value: unknown) => boolean;
const numberValue = uncurryThis(Number.prototype.valueOf) as (value: unknown) => number;
const stringValue = uncurryThis(String.prototype.valueOf) as (value: unknown) => string;
const bigIntValue = uncurryThis(BigInt.prototype.valueOf) as (value: unknown) => bigint;
const dateValue = uncurryThis(Date.prototype.getTime) as (value: unknown) => number;
const regExpHasIndices = uncurryGetter<boolean>(RegExp.prototype, 'hasIndices');
const setSize = uncurryGetter<number>(Set.prototype, 'size');

/** `kind`, for objects whose slot `read` finds. */
const where =
  (read: (value: object) => unknown, kind: Kind) =>
  (value: object): Kind => {
    read(value);
    return kind;
  };
const whole = (copy: object): Kind => ({ type: 'whole', copy });

/**
 * By prototype. Each reads an internal slot first; it throws a TypeError if the object only
 * inherits from the prototype.
 */
const kinds = new MapIntrinsic<object, (value: object) => Kind>();
// One by one: `new Map(list)` calls the list's iterator and `Map.prototype.set`, which a script can
// replace.
mapSet(kinds, Boolean.prototype, (value) => whole(box(booleanValue(value))));
mapSet(kinds, Number.prototype, (value) => whole(box(numberValue(value))));
mapSet(kinds, String.prototype, (value) => whole(box(stringValue(value))));
mapSet(kinds, BigInt.prototype, (value) => whole(box(bigIntValue(value))));
mapSet(kinds, Date.prototype, (value) => whole(new DateIntrinsic(dateValue(value))));
mapSet(kinds, RegExp.prototype, (value) => {
  regExpHasIndices(value);
  return whole(new RegExpIntrinsic(value as RegExp));
});
mapSet(kinds, Map.prototype, where(mapSize, MAP));
mapSet(kinds, Set.prototype, where(setSize, SET));
mapSet(kinds, ArrayBuffer.prototype, where(arrayBufferByteLength, BUFFER));

/**
 * By the result of `Object.prototype.toString`, which reads internal slots of objects without a
 * tag.
 */
const prototypesByName: Readonly<Record<string, object | undefined>> = {
  '[object Boolean]': Boolean.prototype,
  '[object Number]': Number.prototype,
  '[object String]': String.prototype,
  '[object Date]': Date.prototype,
  '[object RegExp]': RegExp.prototype,
};

/** @throws DOMException "DataCloneError" if the value cannot be cloned */
export function kindOf(value: object): Kind {
  if (typeof value === 'function') throw uncloneable('A function');
  if (isView(value)) return VIEW;
  if (isArray(value)) return ARRAY;
  let tag: string | undefined;
  const prototype = getPrototypeOf(value);
  for (let at = prototype; at !== null && at !== ObjectPrototype; at = getPrototypeOf(at)) {
    const kind = kindByPrototype(value, at);
    if (kind !== undefined) return kind;
    if (mapGet(kinds, at) === undefined) tag ??= fixedTag(at);
  }
  if (tag !== undefined) throw uncloneable(`#<${tag}>`);
  if (isError(value)) return ERROR;
  if (value === globalThis || (prototype === null && isNamespace(value))) throw uncloneable(describe(value));
  if (!(Symbol.toStringTag in value)) {
    const name = objectToString(value);
    if (name === '[object Arguments]') throw uncloneable('An arguments object');
    const builtIn = prototypesByName[name];
    if (builtIn !== undefined) return kindByPrototype(value, builtIn) ?? OBJECT;
  }
  return OBJECT;
}

/** @returns undefined if the object is not of the kind of `prototype` */
function kindByPrototype(value: object, prototype: object): Kind | undefined {
  const kind = mapGet(kinds, prototype);
  if (kind !== undefined) {
    try {
      return kind(value);
    } catch {
      return undefined;
    }
  }
  const serializable = findSerializable(prototype);
  return serializable?.is(value) ? whole(serializable.clone(value)) : undefined;
}

/** The fixed tag of a prototype of engine or platform; a script's class has none. */
function fixedTag(prototype: object): string | undefined {
  const tag = getOwnPropertyDescriptor(prototype, Symbol.toStringTag);
  return typeof tag?.value === 'string' && tag.writable === false ? tag.value : undefined;
}

/** A module namespace object: no prototype, and a tag that cannot change. */
const isNamespace = (value: object): boolean =>
  getOwnPropertyDescriptor(value, Symbol.toStringTag)?.configurable === false;

const describe = (value: object): string =>
  value === globalThis ? 'The global object' : 'A module namespace';

export const uncloneable = (what: string): DOMException =>
  new DOMException(`${what} could not be cloned.`, 'DataCloneError');
