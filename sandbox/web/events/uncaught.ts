/**
 * Exceptions that nobody caught: "report an exception" (https://html.spec.whatwg.org/#report-an-exception) of callbacks of
 * timers, microtasks and listeners, and `reportError`.
 *
 * Where the script listens for `error` at the global scope, it is told first, and may keep the exception out of the log
 * by `preventDefault()`. A script that does not listen pays nothing for that: the events are evaluated only with the
 * first use of one of their interfaces.
 */
import { requireArguments } from '../web-idl.ts';

/** @returns true where a listener has prevented the default. */
export type ErrorDispatch = (thrown: unknown, from: Function | undefined) => boolean;

let log: (thrown: unknown) => void = () => {};
let dispatch: ErrorDispatch | undefined;
let reporting = false;

/** Hands in what writes an exception to the log: told any value, to be treated as hostile. */
export function setExceptionLog(write: (thrown: unknown) => void): void {
  log = write;
}

/** Hands in what tells the listeners of the global scope, once there may be any. */
export function setErrorDispatch(tell: ErrorDispatch): void {
  dispatch = tell;
}

/**
 * Reports what was thrown. Never throws.
 *
 * @param from the function whose caller stands for the place, where the value itself names none
 */
export function reportException(thrown: unknown, from?: Function): void {
  let handled = false;
  // Attack: a listener of `error` that throws would be told of its own exception for ever. That one goes to the log.
  if (dispatch !== undefined && !reporting) {
    reporting = true;
    try {
      handled = dispatch(thrown, from);
    } catch {
      // The stack is exhausted: it is logged as if nobody listened.
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
