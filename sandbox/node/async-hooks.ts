/**
 * `node:async_hooks`: `AsyncLocalStorage` and `AsyncResource`.
 *
 * V8 does not tell JavaScript when an async function continues. So in a bundle that has this module
 * each `await` says what it keeps (`src/bundle/async-contexts.ts`), and this module wraps
 * `Promise.prototype.then`: each callback runs with the values that were set when it was registered.
 *
 * The isolate holds the values: it carries them to timers and microtasks, and begins each entry
 * without any (`../web/current-call.ts`).
 *
 * It will not emit the hooks of `createHook`.
 */

import { AsyncResource, bound } from './async-resource.ts';
import { validateFunction } from './errors.ts';

/** The values of all storages for some code; undefined for none. */
type Values = ReadonlyMap<object, unknown> | undefined;

const current = (): Values => __context.get() as Values;
const follow = <T>(callback: T): T => (typeof callback === 'function' ? bound(callback) : callback);

const nativeThen = Promise.prototype.then;
const nativeFromAsync = Array.fromAsync;

Object.defineProperty(Promise.prototype, 'then', {
  value: function then<T>(this: Promise<T>, fulfilled?: never, rejected?: never) {
    return Reflect.apply(nativeThen, this, [follow(fulfilled), follow(rejected)]);
  },
  writable: true,
  configurable: true,
});
Object.defineProperty(Array, 'fromAsync', {
  value: function fromAsync(this: unknown, items: never, map?: never, self?: unknown) {
    return Reflect.apply(nativeFromAsync, this, [items, follow(map), self]);
  },
  writable: true,
  configurable: true,
});

export class AsyncLocalStorage<T> {
  static bind<F extends Function>(callback: F): F {
    validateFunction(callback, 'fn');
    return AsyncResource.bind(callback, 'bound-anonymous-fn');
  }

  static snapshot() {
    const values = current();
    return <R>(call: (...passed: unknown[]) => R, ...passed: unknown[]): R =>
      __context.run(values, () => call(...passed));
  }

  readonly name: string;
  readonly #defaultValue: T | undefined;

  constructor({ name = '', defaultValue }: { name?: string; defaultValue?: T } = {}) {
    this.name = name;
    this.#defaultValue = defaultValue;
  }

  getStore(): T | undefined {
    const values = current();
    return values?.has(this) === true ? (values.get(this) as T) : this.#defaultValue;
  }

  run<R>(store: T, call: (...passed: unknown[]) => R, ...passed: unknown[]): R {
    return __context.run(new Map(current()).set(this, store), () => call(...passed));
  }

  exit<R>(call: (...passed: unknown[]) => R, ...passed: unknown[]): R {
    return __context.run(this.#without(), () => call(...passed));
  }

  /** Sets the value until the code that runs gives way. */
  enterWith(store: T): void {
    enter(new Map(current()).set(this, store));
  }

  disable(): void {
    enter(this.#without());
  }

  #without(): Values {
    const values = new Map(current());
    values.delete(this);
    return values;
  }
}

/**
 * Sets the values until the code that runs gives way. Attack: a value that stays is seen by code of
 * another call. So what follows begins without any value, however many were set before.
 */
function enter(values: Values): void {
  __context.set(values);
  void Reflect.apply(nativeThen, Promise.resolve(), [() => __context.set(undefined)]);
}

export const createHook = (): object => {
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
};
/** No code of Node.js has asynchronous resources of its own here. */
export const asyncWrapProviders = Object.freeze(Object.create(null) as object);
export const executionAsyncId = (): number => 0;
export const triggerAsyncId = (): number => 0;
export const executionAsyncResource = (): object => ({});

export { AsyncResource };
export default {
  AsyncLocalStorage,
  AsyncResource,
  asyncWrapProviders,
  createHook,
  executionAsyncId,
  triggerAsyncId,
  executionAsyncResource,
};
