/**
 * `node:timers`: the timers of the isolate as the objects of Node.js. A bundle whose code takes a
 * timer for such an object gets these functions for the free names, too
 * (`src/imports/node-modules.ts`).
 *
 * A timer ends with its call, referenced or not. An interval, and a timer without a reference,
 * waits as an interval of the isolate, which no line of the log calls dropped work
 * (`sandbox/call.ts`).
 */
import { validateFunction } from './errors.ts';
import { runSoon } from './immediates.ts';
import { named } from './named.ts';
import promises from './timers-promises.ts';

type Task = (...values: unknown[]) => void;
/** The timers of the isolate, which the functions of this module hide. */
const {
  setTimeout: start,
  setInterval: repeat,
  clearTimeout: stop,
} = globalThis as unknown as {
  setTimeout(task: () => void, delayMs: number): number;
  setInterval(task: () => void, delayMs: number): number;
  clearTimeout(id: number): void;
};
const DELAY_MS_MAX = 2 ** 31 - 1;

/** Whole milliseconds; 1 where the number is no delay. */
const delayOf = (delay: unknown): number => {
  const ms = Number(delay);
  return ms >= 1 && ms <= DELAY_MS_MAX ? Math.trunc(ms) : 1;
};

/** A member as any other: code calls the methods for objects that are no timers. */
const REFERENCED = Symbol('refed');

/** What a timer and an immediate have in common. */
abstract class Handle {
  [REFERENCED] = true;

  abstract close(): unknown;

  ref(): this {
    this[REFERENCED] = true;
    return this;
  }

  unref(): this {
    this[REFERENCED] = false;
    return this;
  }

  hasRef(): boolean {
    return this[REFERENCED];
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

class Timeout extends Handle {
  _idleTimeout: number;
  _onTimeout: Task | null;
  readonly _timerArgs: readonly unknown[];
  _repeat: number | null;
  _destroyed = false;
  #id = 0;
  #dueAt = 0;
  #run: () => void = () => {};

  constructor(task: Task, delay: unknown, values: readonly unknown[], repeats: boolean) {
    super();
    this._idleTimeout = delayOf(delay);
    this._onTimeout = task;
    this._timerArgs = values;
    this._repeat = repeats ? this._idleTimeout : null;
    this.#start();
  }

  #start(): void {
    const run = () => {
      // What runs may call `refresh`, and is known by its timer.
      this._destroyed = !this._repeat;
      if (!this._destroyed) this.#start();
      this._onTimeout?.(...this._timerArgs);
      // It has become an interval.
      if (this._destroyed && this._repeat && this._idleTimeout !== -1) this.#start();
    };
    this._destroyed = false;
    this.#wait(run, this._repeat || this._idleTimeout);
  }

  #wait(run: () => void, delayMs: number): void {
    this.#dueAt = Date.now() + delayMs;
    this.#run = run;
    if (this._repeat === null && this[REFERENCED]) this.#id = start(run, delayMs);
    else
      this.#id = repeat(() => {
        stop(this.#id);
        run();
      }, delayMs);
  }

  override unref(): this {
    const waits = this[REFERENCED] && !this._destroyed;
    super.unref();
    if (!waits) return this;
    stop(this.#id);
    this.#wait(this.#run, Math.max(1, this.#dueAt - Date.now()));
    return this;
  }

  refresh(): this {
    if (this._onTimeout === null) return this;
    stop(this.#id);
    this.#start();
    return this;
  }

  close(): this {
    stop(this.#id);
    this._destroyed = true;
    this._onTimeout = null;
    this._idleTimeout = -1;
    this._repeat = null;
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.#id;
  }
}

class Immediate extends Handle {
  _onImmediate: Task | null;
  _destroyed = false;
  readonly #cancel: () => void;

  constructor(task: Task, values: readonly unknown[]) {
    super();
    this._onImmediate = task;
    this.#cancel = runSoon(() => {
      this._destroyed = true;
      this._onImmediate?.(...values);
    });
  }

  close(): void {
    this.#cancel();
    this._destroyed = true;
    this._onImmediate = null;
  }
}

/** @param promised what `util.promisify` makes of the function, which passes no error on */
const withPromise = <F extends object>(timer: F, promised: () => unknown): F =>
  Object.defineProperty(timer, Symbol.for('nodejs.util.promisify.custom'), {
    get: promised,
    enumerable: true,
  });

export const setTimeout = /* @__PURE__ */ withPromise(
  function setTimeout(task: Task, delay?: unknown, ...values: unknown[]): Timeout {
    validateFunction(task, 'callback');
    return new Timeout(task, delay, values, false);
  },
  () => promises.setTimeout,
);

export function setInterval(task: Task, delay?: unknown, ...values: unknown[]): Timeout {
  validateFunction(task, 'callback');
  return new Timeout(task, delay, values, true);
}

export const setImmediate = /* @__PURE__ */ withPromise(
  function setImmediate(task: Task, ...values: unknown[]): Immediate {
    validateFunction(task, 'callback');
    return new Immediate(task, values);
  },
  () => promises.setImmediate,
);

export function clearTimeout(timer?: unknown): void {
  if (timer instanceof Timeout) timer.close();
  else if (typeof timer === 'number' || typeof timer === 'string') stop(Number(timer));
}

export const clearInterval = (timer?: unknown): void => clearTimeout(timer);

export function clearImmediate(immediate?: unknown): void {
  if (immediate instanceof Immediate) immediate.close();
}

export { promises };
export default /* @__PURE__ */ named({
  setTimeout,
  clearTimeout,
  setImmediate,
  clearImmediate,
  setInterval,
  clearInterval,
  promises,
});
