/**
 * Copies of errors (https://html.spec.whatwg.org/#structuredserializeinternal, the steps for
 * [[ErrorData]]).
 */
import { defineProperty, getOwnPropertyDescriptor } from '../primordials.ts';
import { toDOMString } from '../web-idl.ts';

/** Names that a copy keeps; any other becomes `Error`. */
const constructors: Readonly<Record<string, ErrorConstructor | undefined>> = Object.assign(
  Object.create(null),
  {
    Error,
    EvalError,
    RangeError,
    ReferenceError,
    SyntaxError,
    TypeError,
    URIError,
  },
);

/** Copies name, message and, as engines do, stack; no other property. */
export function copyError(error: object): Error {
  const name = toDOMString((error as { name?: unknown }).name);
  const message = ownValue(error, 'message');
  const text = message === undefined ? undefined : toDOMString(message.value);
  const { stack } = error as { stack?: unknown };
  const copy = new (constructors[name] ?? Error)();
  if (text !== undefined) {
    defineProperty(copy, 'message', { value: text, writable: true, configurable: true });
  }
  // An own property of the engine's form, whatever that of the copied error.
  if (typeof stack === 'string') copy.stack = stack;
  return copy;
}

/** The cause of an error, which engines clone too. */
export const errorCause = (error: object): { value: unknown } | undefined => ownValue(error, 'cause');

/** The value of an own data property. */
function ownValue(target: object, key: string): { value: unknown } | undefined {
  const descriptor = getOwnPropertyDescriptor(target, key);
  return descriptor !== undefined && 'value' in descriptor ? { value: descriptor.value } : undefined;
}
