/**
 * `node:async_hooks`: `AsyncLocalStorage` and `AsyncResource`.
 *
 * V8 does not tell JavaScript when an async function continues. So in a bundle that has this module
 * each `await` says what it keeps (`src/host/bundle/async-contexts.ts`), and this module wraps
 * `Promise.prototype.then`: each callback runs with the values that were set when it was
 * registered.
 *
 * The isolate holds the values: it carries them to timers and microtasks, and begins each entry
 * without any (`../web/current-call.ts`).
 *
 * The hooks of `createHook` hear of each `AsyncResource` of the bundle, and of nothing else.
 */

import {
  AsyncResource,
  bound,
  executionAsyncId,
  executionAsyncResource,
  hooks,
  triggerAsyncId,
} from './async-resource.ts';
import { nodeError, validateFunction } from './errors.ts';

/** The values of all storages for some code; undefined for none. */
type Values = Map<object, unknown> | undefined;

const current = (): Values => __context.get() as Values;

/** A thenable of a library: the engine calls its method later, with the values of now. */
function followed<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof Promise) return value;
  const { then } = value as { then?: unknown };
  if (typeof then !== 'function') return value;
  // biome-ignore lint/suspicious/noThenProperty: it stands for a thenable.
  return { then: bound(then).bind(value) } as T;
}

/** A callback of a promise. */
function follow<T>(callback: T): T {
  if (typeof callback !== 'function') return callback;
  return bound((value: unknown) => followed(callback(value))) as T;
}

const nativeThen = Promise.prototype.then;
const nativeResolve = Promise.resolve;
const nativeFromAsync = Array.fromAsync;

Object.defineProperty(Promise.prototype, 'then', {
  value: function then<T>(this: Promise<T>, fulfilled?: never, rejected?: never) {
    return Reflect.apply(nativeThen, this, [follow(fulfilled), follow(rejected)]);
  },
  writable: true,
  configurable: true,
});
Object.defineProperty(Promise, 'resolve', {
  value: function resolve(this: unknown, value: unknown) {
    return Reflect.apply(nativeResolve, this, [followed(value)]);
  },
  writable: true,
  configurable: true,
});
Object.defineProperty(Array, 'fromAsync', {
  value: function fromAsync(this: unknown, items: never, map?: never, self?: unknown) {
    return Reflect.apply(nativeFromAsync, this, [items, map && bound(map), self]);
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

  /** Drops the value, also for callbacks that were registered with it. */
  disable(): void {
    current()?.delete(this);
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

const HOOKS = ['init', 'before', 'after', 'destroy', 'promiseResolve'];

export function createHook(callbacks: Readonly<Record<string, unknown>>): object {
  for (const name of HOOKS) {
    if (callbacks[name] !== undefined && typeof callbacks[name] !== 'function')
      throw nodeError(TypeError, 'ERR_ASYNC_CALLBACK', `hook.${name} must be a function`);
  }
  const hook = {
    enable() {
      hooks.add(callbacks);
      return hook;
    },
    disable() {
      hooks.delete(callbacks);
      return hook;
    },
  };
  return hook;
}
/** No code of Node.js has asynchronous resources of its own here. */
export const asyncWrapProviders = Object.freeze(Object.create(null) as object);
export { AsyncResource, executionAsyncId, executionAsyncResource, triggerAsyncId };
export default {
  AsyncLocalStorage,
  AsyncResource,
  asyncWrapProviders,
  createHook,
  executionAsyncId,
  triggerAsyncId,
  executionAsyncResource,
};
