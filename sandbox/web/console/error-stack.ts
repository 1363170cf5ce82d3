/**
 * Reads stack, name and message of an error, however hostile it is.
 *
 * Attacks: `stack`, `message` or `name` as a getter that throws or returns an object,
 * `Error.prepareStackTrace` that returns no string, a Proxy around an error. A member is used only
 * if it is a primitive string. A getter that never returns is ended by the CPU limit of the call.
 */
import {
  captureStackTrace,
  getOwnPropertyDescriptor,
  indexOf,
  isError,
  objectCreate,
  slice,
} from '../primordials.ts';
import { isObject } from '../web-idl.ts';

/** Longest text taken from a single member. */
const MEMBER_CHARS_MAX = 4_096;

/**
 * Getter of the accessor `stack` that the engine gives errors, and objects by `captureStackTrace`.
 */
const engineGetter = getOwnPropertyDescriptor(new Error(), 'stack')?.get;

/** A genuine error, or an object with an own stack. Runs no getter except the engine's. */
export function isErrorLike(value: unknown): value is object {
  if (isError(value)) return true;
  if (!isObject(value)) return false;
  try {
    const stack = getOwnPropertyDescriptor(value, 'stack');
    return typeof stack?.value === 'string' || (stack?.get !== undefined && stack.get === engineGetter);
  } catch {
    return false;
  }
}

/** Stack, or name and message, of an error; never empty. */
export function readStack(error: object): string {
  const stack = readText(error, 'stack');
  if (stack !== undefined && stack !== '') return stack;
  const name = readText(error, 'name') || 'Error';
  const message = readText(error, 'message');
  return message === undefined || message === '' ? name : `${name}: ${message}`;
}

/** A position in the script. Its text is made when it is read. */
export type CallSite = object;

/** The place that called this function. */
export function placeBehind(called: Function): CallSite {
  const place = objectCreate(null) as CallSite;
  captureStackTrace(place, called);
  return place;
}

/**
 * The frames of a place, each on a line of its own behind a line break; empty if there are none.
 */
export function framesOf(place: CallSite): string {
  const stack = readText(place, 'stack') ?? '';
  return slice(stack, indexOf(`${stack}\n`, '\n'));
}

/** A member, own or inherited; undefined if reading it throws. */
export function readMember(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function readText(value: object, key: string): string | undefined {
  const member = readMember(value, key);
  return typeof member === 'string' ? slice(member, 0, MEMBER_CHARS_MAX) : undefined;
}
