/**
 * `node:timers/promises`: timers of the isolate as promises, which a signal ends early. An iterator
 * of `setInterval` has no timer while nobody waits for it.
 */
import {
  aborted,
  invalidThis,
  nodeError,
  validateAbortSignal,
  validateBoolean,
  validateNumber,
  validateObject,
} from './errors.ts';
import { asyncIterator } from './events-waiting.ts';
import { runSoon } from './immediates.ts';

interface Options {
  readonly signal?: AbortSignal;
  readonly ref?: boolean;
}

function checkOptions(options: Options): AbortSignal | undefined {
  validateObject(options, 'options');
  validateAbortSignal(options.signal, 'options.signal');
  if (options.ref !== undefined) validateBoolean(options.ref, 'options.ref');
  return options.signal;
}

/**
 * Waits, unless the signal is or gets aborted.
 *
 * @param schedule calls back later, and returns what takes that back
 */
function wait<T>(
  schedule: (task: () => void) => () => void,
  value: T,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal?.aborted) return Promise.reject(aborted(signal));
  const waiting = Promise.withResolvers<T>();
  const abort = (): void => {
    cancel();
    waiting.reject(aborted(signal as AbortSignal));
  };
  const cancel = schedule(() => {
    signal?.removeEventListener('abort', abort);
    waiting.resolve(value);
  });
  signal?.addEventListener('abort', abort, { once: true });
  return waiting.promise;
}

const after = (delay: number) => (task: () => void) => {
  const timer = globalThis.setTimeout(task, delay);
  return () => globalThis.clearTimeout(timer);
};

export async function setTimeout<T>(delay?: number, value?: T, options: Options = {}): Promise<T> {
  if (delay !== undefined) validateNumber(delay, 'delay');
  return wait(after(delay ?? 1), value as T, checkOptions(options));
}

export async function setImmediate<T>(value?: T, options: Options = {}): Promise<T> {
  return wait(runSoon, value as T, checkOptions(options));
}

/**
 * Yields the value each time the interval has passed, also for the times that nobody waited for.
 * Each request waits for itself: one whose timer ended with its call does not hold up the next.
 */
export function setInterval<T>(
  delay = 1,
  value?: T,
  options: Options = {},
): AsyncIterableIterator<T, undefined> {
  validateNumber(delay, 'delay');
  const signal = checkOptions(options);
  const everyMs = Math.max(1, delay);
  let due = Date.now() + everyMs;
  let finished = false;
  const done = { value: undefined, done: true } as const;
  return asyncIterator<T>({
    async next() {
      if (finished) return done;
      const restMs = due - Date.now();
      due += everyMs;
      try {
        if (restMs > 0) await wait(after(restMs), undefined, signal);
        else if (signal?.aborted) throw aborted(signal);
      } catch (error) {
        finished = true;
        throw error;
      }
      return finished ? done : { value: value as T, done: false };
    },
    async return() {
      finished = true;
      return done;
    },
  });
}

const made = new WeakSet<object>();
class Scheduler {
  constructor() {
    throw nodeError(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
  }

  wait(delay: number, options?: Options): Promise<undefined> {
    if (!made.has(this)) throw invalidThis('Scheduler');
    return setTimeout(delay, undefined, options);
  }

  yield(): Promise<undefined> {
    if (!made.has(this)) throw invalidThis('Scheduler');
    return setImmediate(undefined);
  }
}
export const scheduler: Scheduler = Object.create(Scheduler.prototype);
made.add(scheduler);

export default { setTimeout, setImmediate, setInterval, scheduler };
