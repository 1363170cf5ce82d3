/**
 * `util.promisify` and `util.callbackify`.
 */
import { nodeError, validateFunction } from './errors.ts';
import { process } from './process.ts';
import timers from './timers-promises.ts';

type Done = (error: unknown, ...values: unknown[]) => void;
type Method = (this: unknown, ...passed: unknown[]) => unknown;

const custom = /* @__PURE__ */ Symbol.for('nodejs.util.promisify.custom');
/** Functions of the platform that pass no error to their callback. */
const PLATFORM = /* @__PURE__ */ new Map<unknown, unknown>([[globalThis.setTimeout, timers.setTimeout]]);

function promisified(original: Method & { [custom]?: unknown }): Method {
  validateFunction(original, 'original');
  const given = original[custom] ?? PLATFORM.get(original);
  if (given) {
    validateFunction(given, 'util.promisify.custom');
    return Object.defineProperty(given as unknown as Method, custom, { value: given, configurable: true });
  }
  const promised: Method = function (...passed) {
    return new Promise((resolve, reject) => {
      const done: Done = (error, value) => (error ? reject(error) : resolve(value));
      const returned = Reflect.apply(original, this, [...passed, done]);
      if (returned instanceof Promise) {
        process.emitWarning(
          'Calling promisify on a function that returns a Promise is likely a mistake.',
          'DeprecationWarning',
          'DEP0174',
        );
      }
    });
  };
  Object.setPrototypeOf(promised, Object.getPrototypeOf(original));
  Object.defineProperty(promised, custom, { value: promised, configurable: true });
  return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(original));
}

export const promisify: typeof promisified & { custom: symbol } = /* @__PURE__ */ Object.assign(promisified, {
  custom,
});

export function callbackify(original: Method): Method {
  validateFunction(original, 'original');
  const called: Method = function (...passed) {
    const last = passed.pop();
    validateFunction(last, 'last argument');
    // An error of the callback is one of the code, and not a rejection of the promise.
    const tell = (...values: unknown[]): void => queueMicrotask(() => Reflect.apply(last, this, values));
    (Reflect.apply(original, this, passed) as Promise<unknown>).then(
      (value) => tell(null, value),
      (reason) => tell(reason || falsy(reason)),
    );
  };
  const own = Object.getOwnPropertyDescriptors(original) as Record<string, PropertyDescriptor>;
  if (typeof own['length']?.value === 'number') own['length'].value++;
  if (typeof own['name']?.value === 'string') own['name'].value += 'Callbackified';
  return Object.defineProperties(called, own);
}

const falsy = (reason: unknown): Error =>
  Object.assign(
    nodeError(Error, 'ERR_FALSY_VALUE_REJECTION', 'Promise was rejected with falsy value', falsy),
    { reason },
  );
