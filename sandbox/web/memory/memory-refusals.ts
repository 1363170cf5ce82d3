/**
 * Learns that the isolate had no memory left for a buffer, also where the script catches the `RangeError` and goes on.
 *
 * The engine ends an isolate whose heap is full. A buffer that does not fit is refused instead, and the script decides what
 * its users see of that. What the author and the operator see is decided here: the call ran out of memory.
 */
import { apply, defineProperty, getOwnPropertyDescriptor, isError } from '../primordials.ts';

/** The engine's own words, for every kind of buffer. */
const REFUSED = 'Array buffer allocation failed';

let tell: () => void = () => undefined;

/** @param listener hears of each refusal */
export function setRefusalListener(listener: () => void): void {
  tell = listener;
}

/** @param thrown any value; what a script has made itself can only accuse the script */
export function noteRefusal(thrown: unknown): void {
  if (isError(thrown) && getOwnPropertyDescriptor(thrown, 'message')?.value === REFUSED) tell();
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Replaces a built-in method by one of the same name and length.
 *
 * @param run answers for it; `native` is the engine's
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

/** Gives a function the name and length of the one that it stands for. */
export function named<T extends Function>(made: T, { name, length }: Function): T {
  defineProperty(made, 'name', { value: name, configurable: true });
  return defineProperty(made, 'length', { value: length, configurable: true });
}

/** Runs a built-in that may need a buffer. */
export function calling(native: Function, self: unknown, args: unknown[]): unknown {
  try {
    return apply(native, self, args);
  } catch (thrown) {
    noteRefusal(thrown);
    throw thrown;
  }
}
