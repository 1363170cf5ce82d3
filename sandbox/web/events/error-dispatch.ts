/**
 * Dispatches an ErrorEvent for an uncaught exception to the listeners of the global scope
 * (https://html.spec.whatwg.org/#report-an-exception). Evaluated together with the event
 * interfaces: before, there are no listeners.
 */

import { isErrorLike, readMember, readStack } from '../console/error-stack.ts';
import { inspect } from '../console/inspect.ts';
import { captureStackTrace, objectCreate, regExpExec, slice } from '../primordials.ts';
import { ErrorEvent } from './error-event.ts';
import { eventState } from './event.ts';
import { dispatch, hasListener } from './event-target.ts';
import { setErrorDispatch } from './uncaught.ts';

const MESSAGE_CHARS_MAX = 4_096;
/** The first frame of a stack: `at name (file:line:column)`, or without the name. */
const FRAME = /^ {4}at (?:[^\n]* \()?([^\n()]+):(\d+):(\d+)\)?$/m;

setErrorDispatch((thrown, from) => {
  if (!hasListener(globalThis, 'error')) return false;
  const frame = regExpExec(FRAME, stackOf(thrown, from));
  const event = new ErrorEvent('error', {
    cancelable: true,
    message: `Uncaught ${slice(describe(thrown), 0, MESSAGE_CHARS_MAX)}`,
    filename: frame?.[1] ?? '',
    lineno: +(frame?.[2] ?? 0),
    colno: +(frame?.[3] ?? 0),
    error: thrown,
  });
  eventState(event).trusted = true;
  return !dispatch(globalThis, event);
});

/** One line for an error; any other value as in a log. Runs no getter of other values. */
function describe(thrown: unknown): string {
  if (!isErrorLike(thrown)) return typeof thrown === 'string' ? thrown : inspect(thrown, 0);
  const name = readMember(thrown, 'name');
  const message = readMember(thrown, 'message');
  const text = typeof message === 'string' ? message : '';
  return typeof name === 'string' && name !== '' ? `${name}${text && ': '}${text}` : text;
}

/** The stack of the error, or of the code that reported another value. */
function stackOf(thrown: unknown, from: Function | undefined): string {
  if (isErrorLike(thrown)) return readStack(thrown);
  if (from === undefined) return '';
  const place: object = objectCreate(null) as object;
  captureStackTrace(place, from);
  return readStack(place);
}
