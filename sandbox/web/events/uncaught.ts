/**
 * Uncaught exceptions: "report an exception" (https://html.spec.whatwg.org/#report-an-exception) of
 * callbacks of timers, microtasks and listeners, and `reportError`.
 *
 * A listener for `error` at the global scope runs first, and keeps the exception out of the log by
 * `preventDefault()`. A script without listeners pays nothing: events are evaluated at the first
 * use of an interface of theirs.
 */
import { requireArguments } from '../web-idl.ts';

/** @returns true if a listener prevented the default */
export type ErrorDispatch = (thrown: unknown, from: Function | undefined) => boolean;

let log: (thrown: unknown) => void = () => {};
let dispatch: ErrorDispatch | undefined;
let reporting = false;

/** Sets the function that logs an exception. It receives any value, which may be hostile. */
export function setExceptionLog(write: (thrown: unknown) => void): void {
  log = write;
}

/** Sets the function that dispatches to the listeners of the global scope. */
export function setErrorDispatch(next: ErrorDispatch): void {
  dispatch = next;
}

/**
 * Reports a thrown value. Never throws.
 *
 * @param from function whose caller is the position of a value without a stack
 */
export function reportException(thrown: unknown, from?: Function): void {
  let handled = false;
  // Attack: a listener of `error` that throws, and receives its own exception forever. It is
  // logged.
  if (dispatch !== undefined && !reporting) {
    reporting = true;
    try {
      handled = dispatch(thrown, from);
    } catch {
      // The stack is exhausted: the exception is logged as without listeners.
    }
    reporting = false;
  }
  if (!handled) log(thrown);
}

/** The global of this name (https://html.spec.whatwg.org/#dom-reporterror). */
export function reportError(exception: unknown): void {
  requireArguments(arguments.length, 1, 'reportError');
  reportException(exception, reportError);
}
