/**
 * The built-ins that must keep working after a tenant has replaced its own.
 *
 * Captured when the prelude runs, before any tenant code. What decides which value leaves the
 * isolate (the response, a log line, the text of an error) goes through these and never through a
 * method found on a prototype at the time of the call. Code that only serves the tenant itself may
 * use ordinary built-ins: a tenant that replaces them breaks only itself.
 *
 * Attack: `String.prototype.toLowerCase = () => hostile`, `RegExp.prototype.exec = …`,
 * `Array.prototype.push = …`, a setter on `Array.prototype[0]` that collects what internals store.
 */

/**
 * Turns a method into a function of its receiver, independent of `Function.prototype.call` at the
 * time of use.
 */
export const uncurryThis: <T, A extends unknown[], R>(
  method: (this: T, ...args: A) => R,
) => (self: T, ...args: A) => R = Function.prototype.bind.bind(Function.prototype.call) as never;

/**
 * The getter of an accessor as a function of its receiver: reads internal slots past any own
 * property.
 */
export function uncurryGetter<R>(prototype: object, key: PropertyKey): (self: unknown) => R {
  const getter = Object.getOwnPropertyDescriptor(prototype, key)?.get;
  if (getter === undefined) throw new TypeError(`The engine has no accessor ${String(key)}`);
  return uncurryThis(getter as (this: unknown) => R);
}

export const ErrorIntrinsic = Error;
export const MapIntrinsic = Map;
export const PromiseIntrinsic = Promise;
export const promiseThen = uncurryThis(Promise.prototype.then) as (
  promise: unknown,
  onFulfilled?: (value: unknown) => unknown,
  onRejected?: (reason: unknown) => unknown,
) => Promise<unknown>;
export const Uint8ArrayIntrinsic = Uint8Array;
export const Uint16ArrayIntrinsic = Uint16Array;
export const Uint32ArrayIntrinsic = Uint32Array;
export const WeakMapIntrinsic = WeakMap;
export const WeakRefIntrinsic = WeakRef;

export const {
  create: objectCreate,
  defineProperty,
  getOwnPropertyDescriptor,
  getOwnPropertySymbols,
  getPrototypeOf,
  keys: objectKeys,
  setPrototypeOf,
  values: objectValues,
} = Object;
export const { apply, construct, deleteProperty, ownKeys } = Reflect;
export const { isArray } = Array;
export const { isView } = ArrayBuffer;
export const { captureStackTrace, isError } = Error;
export const { parse: jsonParse, stringify: jsonStringify } = JSON;
export const { floor, min, random } = Math;
export const { now } = Date;
export const { fromCharCode } = String;
/** Whether V8 compiles scripts to machine code: without its compilers it has no WebAssembly. */
export const COMPILES = 'WebAssembly' in globalThis;

export const isEnumerable = uncurryThis(Object.prototype.propertyIsEnumerable);
export const functionToString = uncurryThis(Function.prototype.toString);

export const charCodeAt = uncurryThis(String.prototype.charCodeAt);
export const indexOf = uncurryThis(String.prototype.indexOf);
export const repeat = uncurryThis(String.prototype.repeat);
export const slice = uncurryThis(String.prototype.slice);
export const split = uncurryThis(String.prototype.split) as unknown as (
  text: string,
  separator: string,
) => string[];
export const toLowerCase = uncurryThis(String.prototype.toLowerCase);
export const toUpperCase = uncurryThis(String.prototype.toUpperCase);
export const toWellFormed = uncurryThis(String.prototype.toWellFormed);
/** `exec`, not `test`: `test` looks `exec` up on the prototype. */
export const regExpExec = uncurryThis(RegExp.prototype.exec);
export const bigIntToString = uncurryThis(BigInt.prototype.toString);
export const symbolToString = uncurryThis(Symbol.prototype.toString);

/** Also sorts a `List`: it reads only `length` and integer members. */
export const arraySort = uncurryThis(Array.prototype.sort) as <T>(
  list: ArrayLike<T>,
  compare: (a: T, b: T) => number,
) => unknown;

export const mapGet = uncurryThis(Map.prototype.get) as <K, V>(map: Map<K, V>, key: K) => V | undefined;
export const mapSet = uncurryThis(Map.prototype.set) as <K, V>(map: Map<K, V>, key: K, value: V) => Map<K, V>;
export const mapDelete = uncurryThis(Map.prototype.delete) as <K>(map: Map<K, unknown>, key: K) => boolean;
export const mapForEach = uncurryThis(Map.prototype.forEach) as <K, V>(
  map: Map<K, V>,
  callback: (value: V, key: K) => void,
) => void;
export const mapSize = uncurryGetter<number>(Map.prototype, 'size');
export const weakMapGet = uncurryThis(WeakMap.prototype.get) as <K extends WeakKey, V>(
  map: WeakMap<K, V>,
  key: K,
) => V | undefined;
export const weakMapSet = uncurryThis(WeakMap.prototype.set) as <K extends WeakKey, V>(
  map: WeakMap<K, V>,
  key: K,
  value: V,
) => WeakMap<K, V>;
export const weakRefDeref = uncurryThis(WeakRef.prototype.deref) as <T extends object>(
  reference: WeakRef<T>,
) => T | undefined;

const TypedArrayPrototype: object = Object.getPrototypeOf(Uint8Array.prototype);
/** `Uint8Array`, `Float16Array`, …; undefined for any other value. */
export const typedArrayName = uncurryGetter<string | undefined>(TypedArrayPrototype, Symbol.toStringTag);
export const typedArrayBuffer = uncurryGetter<ArrayBuffer>(TypedArrayPrototype, 'buffer');
export const typedArrayByteOffset = uncurryGetter<number>(TypedArrayPrototype, 'byteOffset');
export const typedArrayByteLength = uncurryGetter<number>(TypedArrayPrototype, 'byteLength');
export const typedArrayLength = uncurryGetter<number>(TypedArrayPrototype, 'length');
export const typedArrayIndexOf = uncurryThis(Uint8Array.prototype.indexOf);
export const typedArraySet = uncurryThis(Uint8Array.prototype.set) as (
  target: Uint8Array,
  source: Uint8Array,
  offset: number,
) => void;
/** Without options, so nothing is looked up on `Object.prototype`. */
export const toBase64 = uncurryThis(Uint8Array.prototype.toBase64) as (bytes: Uint8Array) => string;
export const setFromBase64 = uncurryThis(Uint8Array.prototype.setFromBase64) as (
  target: Uint8Array,
  text: string,
  options?: object,
) => { readonly read: number; readonly written: number };
export const dataViewBuffer = uncurryGetter<ArrayBuffer>(DataView.prototype, 'buffer');
export const dataViewByteOffset = uncurryGetter<number>(DataView.prototype, 'byteOffset');
export const dataViewByteLength = uncurryGetter<number>(DataView.prototype, 'byteLength');
export const arrayBufferByteLength = uncurryGetter<number>(ArrayBuffer.prototype, 'byteLength');
export const arrayBufferDetached = uncurryGetter<boolean>(ArrayBuffer.prototype, 'detached');

/** Reaches the engine's `Temporal` without the global. */
export const toTemporalInstant = uncurryThis(Date.prototype.toTemporalInstant);

/** The prototype of all iterators. */
export const IteratorPrototype: object = Iterator.prototype;
