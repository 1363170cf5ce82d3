/**
 * `AsyncResource` of `node:async_hooks`: keeps the asynchronous context in which it was made.
 *
 * It has a file of its own, so that `events` can carry it: only a bundle with `AsyncLocalStorage`
 * has contexts at all, and is compiled in another way for them (`async-hooks.ts`).
 */
import { invalidArgType, nodeError, validateFunction, validateString } from './errors.ts';

const isFollowed = typeof __context !== 'undefined';
export const currentValues = (): unknown => (isFollowed ? __context.get() : undefined);
export const runWith = <R>(values: unknown, call: () => R): R =>
  isFollowed ? __context.run(values, call) : call();

/** The same function, run with the values of now. */
export function bound<T extends Function>(callback: T): T {
  const values = currentValues();
  const wrapped = function (this: unknown, ...passed: unknown[]): unknown {
    return runWith(values, () => Reflect.apply(callback, this, passed));
  };
  return wrapped as unknown as T;
}

type Hook = Readonly<
  Partial<Record<'init' | 'before' | 'after' | 'destroy', (...values: unknown[]) => void>>
>;
/** The hooks that are enabled (`createHook`): they hear of objects of this class alone. */
export const hooks = new Set<Hook>();
function tell(event: keyof Hook, ...values: unknown[]): void {
  for (const hook of [...hooks]) hook[event]?.(...values);
}

/** 1 is the code of the call itself. */
let lastId = 1;
/** The resource whose code runs. */
let running: AsyncResource | undefined;

export const executionAsyncId = (): number => running?.asyncId() ?? 1;
export const triggerAsyncId = (): number => running?.triggerAsyncId() ?? 0;
export const executionAsyncResource = (): object => running ?? {};

export class AsyncResource {
  static bind<F extends Function>(callback: F, type?: string, self?: unknown): F {
    return new AsyncResource(type || callback?.name || 'bound-anonymous-fn').bind(callback, self);
  }

  readonly #values = currentValues();
  readonly #id: number;
  readonly #triggerId: number;

  constructor(type: string, options: number | { triggerAsyncId?: number } = {}) {
    validateString(type, 'type');
    if (type.length === 0)
      throw nodeError(TypeError, 'ERR_ASYNC_TYPE', `Invalid name for async "type": ${type}`);
    const triggerId = typeof options === 'number' ? options : (options?.triggerAsyncId ?? executionAsyncId());
    if (!Number.isSafeInteger(triggerId) || triggerId < -1) {
      const message = `Invalid triggerAsyncId value: ${String(triggerId)}`;
      throw nodeError(RangeError, 'ERR_INVALID_ASYNC_ID', message);
    }
    lastId += 1;
    this.#id = lastId;
    this.#triggerId = triggerId;
    tell('init', this.#id, type, triggerId, this);
  }

  runInAsyncScope<R>(call: (...passed: unknown[]) => R, self?: unknown, ...passed: unknown[]): R {
    const before = running;
    running = this;
    tell('before', this.#id);
    try {
      return runWith(this.#values, () => Reflect.apply(call, self, passed));
    } finally {
      tell('after', this.#id);
      running = before;
    }
  }

  bind<F extends Function>(callback: F, self?: unknown): F {
    validateFunction(callback, 'fn');
    const run = this.runInAsyncScope.bind(this, callback as never);
    const wrapped =
      self === undefined
        ? function (this: unknown, ...passed: unknown[]): unknown {
            return run(this, ...passed);
          }
        : (...passed: unknown[]): unknown => run(self, ...passed);
    const length = { value: callback.length, enumerable: false, writable: false, configurable: true };
    return Object.defineProperties(wrapped, { length }) as unknown as F;
  }

  emitDestroy(): this {
    if (!(this instanceof AsyncResource)) throw invalidArgType('this', 'AsyncResource', this);
    queueMicrotask(() => tell('destroy', this.#id));
    return this;
  }

  asyncId(): number {
    return this.#id;
  }

  triggerAsyncId(): number {
    return this.#triggerId;
  }
}
