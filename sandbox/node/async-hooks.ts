/**
 * `node:async_hooks`: `AsyncLocalStorage` and `AsyncResource`.
 *
 * V8 does not tell JavaScript when an async function continues. So a bundle that has this module
 * is compiled without `async` functions: each `await` becomes a call of `Promise.prototype.then`,
 * which this module wraps, as it wraps the timers. Each callback runs with the values that were set
 * when it was registered. Bundles without this module keep their native functions.
 *
 * It will not follow a top-level `await`, nor emit the hooks of `createHook`.
 */

type Values = ReadonlyMap<object, unknown>;

/** The values of all storages for the code that runs. */
let current: Values = new Map();

function runWith<T>(values: Values, call: () => T): T {
  const before = current;
  current = values;
  try {
    return call();
  } finally {
    current = before;
  }
}

/** The same function, run with the values of now; anything else is returned as it is. */
function bound<T>(callback: T): T {
  if (typeof callback !== 'function') return callback;
  const values = current;
  const wrapped = function (this: unknown, ...passed: unknown[]): unknown {
    return runWith(values, () => Reflect.apply(callback, this, passed));
  };
  return wrapped as T;
}

const nativeThen = Promise.prototype.then;

function wrapSchedulers(): void {
  Object.defineProperty(Promise.prototype, 'then', {
    value: function then<T>(this: Promise<T>, fulfilled?: never, rejected?: never) {
      return Reflect.apply(nativeThen, this, [bound(fulfilled), bound(rejected)]);
    },
    writable: true,
    configurable: true,
  });
  const global = globalThis as unknown as Record<string, (...values: unknown[]) => unknown>;
  for (const name of ['queueMicrotask', 'setTimeout', 'setInterval']) {
    const schedule = global[name];
    if (schedule === undefined) continue;
    const value = (callback: unknown, ...rest: unknown[]): unknown => schedule(bound(callback), ...rest);
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
}
wrapSchedulers();

export class AsyncLocalStorage<T> {
  static bind<F>(callback: F): F {
    return bound(callback);
  }

  static snapshot() {
    const values = current;
    return <R>(call: (...passed: unknown[]) => R, ...passed: unknown[]): R =>
      runWith(values, () => call(...passed));
  }

  getStore(): T | undefined {
    return current.get(this) as T | undefined;
  }

  run<R>(store: T, call: (...passed: unknown[]) => R, ...passed: unknown[]): R {
    return runWith(new Map(current).set(this, store), () => call(...passed));
  }

  exit<R>(call: (...passed: unknown[]) => R, ...passed: unknown[]): R {
    return runWith(this.#without(), () => call(...passed));
  }

  /**
   * Sets the value until the code that runs gives way. Calls of an integration share an isolate:
   * a value that stayed would be seen by the next call.
   */
  enterWith(store: T): void {
    const before = current;
    const entered = new Map(current).set(this, store);
    current = entered;
    const leave = (): void => {
      if (current === entered) current = before;
    };
    void Reflect.apply(nativeThen, Promise.resolve(), [leave]);
  }

  disable(): void {
    current = this.#without();
  }

  #without(): Values {
    const values = new Map(current);
    values.delete(this);
    return values;
  }
}

export class AsyncResource {
  static bind<F>(callback: F): F {
    return bound(callback);
  }

  readonly type: string;
  readonly #values = current;

  constructor(type: string) {
    this.type = type;
  }

  runInAsyncScope<R>(call: (...passed: unknown[]) => R, self?: unknown, ...passed: unknown[]): R {
    return runWith(this.#values, () => Reflect.apply(call, self, passed));
  }

  bind<F>(callback: F): F {
    return runWith(this.#values, () => bound(callback));
  }

  emitDestroy(): this {
    return this;
  }

  asyncId(): number {
    return 0;
  }

  triggerAsyncId(): number {
    return 0;
  }
}

export const createHook = (): object => {
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
};
export const executionAsyncId = (): number => 0;
export const triggerAsyncId = (): number => 0;
export const executionAsyncResource = (): object => ({});

export default {
  AsyncLocalStorage,
  AsyncResource,
  createHook,
  executionAsyncId,
  triggerAsyncId,
  executionAsyncResource,
};
