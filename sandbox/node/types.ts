/**
 * `node:util/types`: the kind of a built-in object, by its internal slots where JavaScript can see
 * them, and not by what its prototype says.
 */
import { isProxy } from './inspect.ts';
import { named } from './named.ts';

type Check = (value: unknown) => boolean;

/** Whether a method or a getter of the kind accepts the value. */
function accepts(member: Function | undefined, ...passed: unknown[]): Check {
  return (value) => {
    try {
      return Reflect.apply(member as Function, value, passed) !== undefined;
    } catch {
      return false;
    }
  };
}
const getter = (prototype: object, name: PropertyKey): Function | undefined =>
  Object.getOwnPropertyDescriptor(prototype, name)?.get;

const kindOfTypedArray = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag) as Function;
const typedArray =
  (name: string): Check =>
  (value) =>
    Reflect.apply(kindOfTypedArray, value, []) === name;
/** What a text of the engine says of an object without a tag of its own. */
const tagged =
  (tag: string): Check =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.prototype.toString.call(value) === `[object ${tag}]`;
/** A function of a kind that has a prototype of its own: compiled to plain ones, no function is. */
const inherits = (...examples: Function[]): Check => {
  const kinds = examples.map((example) => Object.getPrototypeOf(example) as object);
  const own = kinds.filter((kind) => kind !== Function.prototype);
  return (value) =>
    typeof value === 'function' && own.some((kind) => Object.prototype.isPrototypeOf.call(kind, value));
};

async function asynchronous(): Promise<void> {}
function* generator(): Generator {}
async function* asynchronousGenerator(): AsyncGenerator {}
const isObject: Check = (value) => typeof value === 'object' && value !== null;

const isDate = /* @__PURE__ */ accepts(Date.prototype.getTime);
const isRegExp = /* @__PURE__ */ accepts(getter(RegExp.prototype, 'global'));
const isMap = /* @__PURE__ */ accepts(getter(Map.prototype, 'size'));
const isSet = /* @__PURE__ */ accepts(getter(Set.prototype, 'size'));
const isWeakMap = /* @__PURE__ */ accepts(WeakMap.prototype.has, {});
const isWeakSet = /* @__PURE__ */ accepts(WeakSet.prototype.has, {});
const isArrayBuffer = /* @__PURE__ */ accepts(getter(ArrayBuffer.prototype, 'byteLength'));
const isDataView = (value: unknown): boolean => ArrayBuffer.isView(value) && !isTypedArray(value);
const isTypedArray: Check = (value) => Reflect.apply(kindOfTypedArray, value, []) !== undefined;
const isArrayBufferView = (value: unknown): value is ArrayBufferView => ArrayBuffer.isView(value);
const boxed = (prototype: { valueOf(): unknown }): Check => {
  const check = accepts(prototype.valueOf);
  return (value) => isObject(value) && check(value);
};
const isNumberObject = /* @__PURE__ */ boxed(Number.prototype);
const isStringObject = /* @__PURE__ */ boxed(String.prototype);
const isBooleanObject = /* @__PURE__ */ boxed(Boolean.prototype);
const isBigIntObject = /* @__PURE__ */ boxed(BigInt.prototype);
const isSymbolObject = /* @__PURE__ */ boxed(Symbol.prototype);
const isBoxedPrimitive: Check = (value) =>
  [isNumberObject, isStringObject, isBooleanObject, isBigIntObject, isSymbolObject].some((check) =>
    check(value),
  );
const isNativeError = (value: unknown): boolean => Error.isError(value);
/** `Promise.resolve` returns a promise of its own class as it is. */
const isPromise: Check = (value) => {
  if (!(value instanceof Promise)) return false;
  try {
    const found = Promise.resolve.call(value.constructor as PromiseConstructor, value);
    if (found === value) return true;
    found.then(undefined, () => {});
  } catch {
    // The constructor is none.
  }
  return false;
};
const isArgumentsObject: Check = (value) =>
  tagged('Arguments')(value) && !(Symbol.toStringTag in (value as object));
const isAsyncFunction = /* @__PURE__ */ inherits(asynchronous, asynchronousGenerator);
const isGeneratorFunction = /* @__PURE__ */ inherits(generator, asynchronousGenerator);
const isGeneratorObject: Check = (value) => tagged('Generator')(value) || tagged('AsyncGenerator')(value);
const isMapIterator = /* @__PURE__ */ tagged('Map Iterator');
const isSetIterator = /* @__PURE__ */ tagged('Set Iterator');
/** The tag of a namespace cannot be made by code: it is an own one that cannot be changed. */
const isModuleNamespaceObject: Check = (value) => {
  if (!isObject(value)) return false;
  const tag = Object.getOwnPropertyDescriptor(value, Symbol.toStringTag);
  return tag?.value === 'Module' && !tag.configurable && Object.getPrototypeOf(value) === null;
};
const isSharedArrayBuffer: Check = (value) =>
  typeof SharedArrayBuffer !== 'undefined' && value instanceof SharedArrayBuffer;
const isAnyArrayBuffer: Check = (value) => isArrayBuffer(value) || isSharedArrayBuffer(value);
const isExternal = (_value: unknown): boolean => false;
const isCryptoKey: Check = (value) => typeof CryptoKey !== 'undefined' && value instanceof CryptoKey;
const isKeyObject: Check = (value) =>
  isObject(value) && Object.getPrototypeOf(value)?.constructor?.name?.endsWith('KeyObject') === true;

const isUint8Array = /* @__PURE__ */ typedArray('Uint8Array');
const isUint8ClampedArray = /* @__PURE__ */ typedArray('Uint8ClampedArray');
const isUint16Array = /* @__PURE__ */ typedArray('Uint16Array');
const isUint32Array = /* @__PURE__ */ typedArray('Uint32Array');
const isInt8Array = /* @__PURE__ */ typedArray('Int8Array');
const isInt16Array = /* @__PURE__ */ typedArray('Int16Array');
const isInt32Array = /* @__PURE__ */ typedArray('Int32Array');
const isFloat16Array = /* @__PURE__ */ typedArray('Float16Array');
const isFloat32Array = /* @__PURE__ */ typedArray('Float32Array');
const isFloat64Array = /* @__PURE__ */ typedArray('Float64Array');
const isBigInt64Array = /* @__PURE__ */ typedArray('BigInt64Array');
const isBigUint64Array = /* @__PURE__ */ typedArray('BigUint64Array');

const types = /* @__PURE__ */ named({
  isExternal,
  isDate,
  isArgumentsObject,
  isBigIntObject,
  isBooleanObject,
  isNumberObject,
  isStringObject,
  isSymbolObject,
  isBoxedPrimitive,
  isNativeError,
  isRegExp,
  isAsyncFunction,
  isGeneratorFunction,
  isGeneratorObject,
  isPromise,
  isMap,
  isSet,
  isMapIterator,
  isSetIterator,
  isWeakMap,
  isWeakSet,
  isArrayBuffer,
  isDataView,
  isSharedArrayBuffer,
  isProxy,
  isModuleNamespaceObject,
  isAnyArrayBuffer,
  isCryptoKey,
  isKeyObject,
  isArrayBufferView,
  isTypedArray,
  isUint8Array,
  isUint8ClampedArray,
  isUint16Array,
  isUint32Array,
  isInt8Array,
  isInt16Array,
  isInt32Array,
  isFloat16Array,
  isFloat32Array,
  isFloat64Array,
  isBigInt64Array,
  isBigUint64Array,
});

export {
  isAnyArrayBuffer,
  isArgumentsObject,
  isArrayBuffer,
  isArrayBufferView,
  isAsyncFunction,
  isBigInt64Array,
  isBigIntObject,
  isBigUint64Array,
  isBooleanObject,
  isBoxedPrimitive,
  isCryptoKey,
  isDataView,
  isDate,
  isExternal,
  isFloat16Array,
  isFloat32Array,
  isFloat64Array,
  isGeneratorFunction,
  isGeneratorObject,
  isInt8Array,
  isInt16Array,
  isInt32Array,
  isKeyObject,
  isMap,
  isMapIterator,
  isModuleNamespaceObject,
  isNativeError,
  isNumberObject,
  isPromise,
  isProxy,
  isRegExp,
  isSet,
  isSetIterator,
  isSharedArrayBuffer,
  isStringObject,
  isSymbolObject,
  isTypedArray,
  isUint8Array,
  isUint8ClampedArray,
  isUint16Array,
  isUint32Array,
  isWeakMap,
  isWeakSet,
};
export default types;
