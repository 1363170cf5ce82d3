/**
 * Detects that the isolate had no memory for a buffer, even if the script catches the `RangeError`.
 *
 * The engine ends an isolate whose heap is full, but only refuses a buffer that does not fit; the
 * script decides how it answers. For the author and the operator, the call ran out of memory.
 */
import { apply, defineProperty, getOwnPropertyDescriptor, isError } from '../primordials.ts';

/** The engine's message, for every kind of buffer. */
const REFUSED = 'Array buffer allocation failed';

let notify: () => void = () => undefined;

/** @param listener called for each refusal */
export function setRefusalListener(listener: () => void): void {
  notify = listener;
}

/** @param thrown any value; a script that makes such an error blames only itself */
export function noteRefusal(thrown: unknown): void {
  if (isError(thrown) && getOwnPropertyDescriptor(thrown, 'message')?.value === REFUSED) notify();
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Replaces a built-in method by one of the same name and length.
 *
 * @param run the replacement; `native` is the engine's method
 */
export function wrapMethod(
  holder: object,
  key: PropertyKey,
  run: (native: Function, self: unknown, args: unknown[]) => unknown,
): void {
  const descriptor = getOwnPropertyDescriptor(holder, key);
  const native: unknown = descriptor?.value;
  if (typeof native !== 'function') return;
  const { method } = {
    method(this: unknown, ...args: unknown[]): unknown {
      return run(native, this, args);
    },
  } satisfies { method: Method };
  named(method, native);
  defineProperty(holder, key, { ...descriptor, value: method });
}

/** Gives a function the name and length of the one that it replaces. */
export function named<T extends Function>(made: T, { name, length }: Function): T {
  defineProperty(made, 'name', { value: name, configurable: true });
  return defineProperty(made, 'length', { value: length, configurable: true });
}

/** Runs a built-in that may allocate a buffer, and notes a refusal. */
export function calling(native: Function, self: unknown, args: unknown[]): unknown {
  try {
    return apply(native, self, args);
  } catch (thrown) {
    noteRefusal(thrown);
    throw thrown;
  }
}
