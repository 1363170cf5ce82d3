/**
 * Errors of Node.js: the built-in classes with a `code`, the messages of the codes that several
 * modules use, and the checks of arguments that throw them
 * (https://nodejs.org/api/errors.html#nodejs-error-codes).
 *
 * Code of npm compares codes and messages, so both are those of Node.js. It has no inspector of
 * values: a bundle that has only `events` must not carry the one of `util`.
 */

type ErrorClass = new (message?: string, options?: ErrorOptions) => Error;
export type CodedError = Error & { code: string };

/**
 * An error of a built-in class that has a code.
 *
 * @param above the function at which the stack begins: the frames of a check say nothing
 */
export function nodeError(
  Base: ErrorClass,
  code: string,
  message: string,
  above: Function = nodeError,
): CodedError {
  const error = new Base(message) as CodedError;
  Object.defineProperty(error, 'toString', {
    value(this: Error) {
      return `${this.name} [${code}]: ${this.message}`;
    },
    writable: true,
    configurable: true,
  });
  // The first line of the stack is made when it is captured: by the name of that time.
  Object.defineProperty(error, 'name', { value: `${error.name} [${code}]`, configurable: true });
  Error.captureStackTrace(error, above);
  void error.stack;
  delete (error as { name?: string }).name;
  error.code = code;
  return error;
}

/** Thrown where an `AbortSignal` ends an operation. */
export class AbortError extends Error {
  readonly code = 'ABORT_ERR';
  override readonly name = 'AbortError';

  constructor(message = 'The operation was aborted', options?: ErrorOptions) {
    if (options !== undefined && typeof options !== 'object') {
      throw invalidArgType('options', 'Object', options);
    }
    super(message, options);
  }
}

/** The error of an operation that the signal ends. */
export const aborted = (signal: AbortSignal): AbortError =>
  new AbortError(undefined, { cause: signal.reason });

const TYPES = ['string', 'function', 'number', 'object', 'Function', 'Object', 'boolean', 'bigint', 'symbol'];
const CLASS_NAME = /^[A-Z][a-zA-Z0-9]*$/;

/** `a`, `a or b`, `a, b, or c`. */
export function listed(words: readonly string[], last: string): string {
  if (words.length < 3) return words.join(` ${last} `);
  return `${words.slice(0, -1).join(', ')}, ${last} ${words.at(-1)}`;
}

/** @param expected names of types, of classes, or other descriptions */
export function invalidArgType(
  name: string,
  expected: string | readonly string[],
  actual: unknown,
): CodedError {
  const all = typeof expected === 'string' ? [expected] : expected;
  const classes = all.filter((one) => !TYPES.includes(one) && CLASS_NAME.test(one));
  const others = all.filter((one) => !TYPES.includes(one) && !CLASS_NAME.test(one));
  let types = all.filter((one) => TYPES.includes(one)).map((one) => one.toLowerCase());
  if (classes.length > 0 && types.includes('object')) {
    types = types.filter((one) => one !== 'object');
    classes.push('Object');
  }
  const parts: string[] = [];
  if (types.length > 0) parts.push(`${types.length > 1 ? 'one of type' : 'of type'} ${listed(types, 'or')}`);
  if (classes.length > 0) parts.push(`an instance of ${listed(classes, 'or')}`);
  if (others.length > 1) parts.push(`one of ${listed(others, 'or')}`);
  else if (others[0] !== undefined) parts.push(`${/[A-Z]/.test(others[0]) ? 'an ' : ''}${others[0]}`);
  const subject = name.endsWith(' argument') ? name : `"${name}" ${kindOf(name)}`;
  const message = `The ${subject} must be ${parts.join(' or ')}. Received ${received(actual)}`;
  return nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', message, invalidArgType);
}

export function invalidArgValue(
  name: string,
  value: unknown,
  reason = 'is invalid',
  Base: ErrorClass = TypeError,
): CodedError {
  const text = shown(value);
  const short = text.length > 128 ? `${text.slice(0, 128)}...` : text;
  const message = `The ${kindOf(name)} '${name}' ${reason}. Received ${short}`;
  return nodeError(Base, 'ERR_INVALID_ARG_VALUE', message, invalidArgValue);
}

/** @param range what the value must be: `>= 0 && <= 255` */
export function outOfRange(name: string, range: string, value: unknown): CodedError {
  const whole = typeof value === 'bigint' || Number.isInteger(value);
  const long = whole && (Number(value) > 2 ** 32 || Number(value) < -(2 ** 32));
  const text = long ? grouped(shown(value)) : shown(value);
  const message = `The value of "${name}" is out of range. It must be ${range}. Received ${text}`;
  return nodeError(RangeError, 'ERR_OUT_OF_RANGE', message, outOfRange);
}

/** The digits of an integer in groups of three. */
function grouped(text: string): string {
  const end = text.length - (text.endsWith('n') ? 1 : 0);
  let at = end - 3;
  let digits = text.slice(at);
  for (; at > (text.startsWith('-') ? 4 : 3); at -= 3) digits = `${text.slice(at - 3, at)}_${digits}`;
  return `${text.slice(0, at)}_${digits}`;
}

/** @param names an array among them names alternatives */
export function missingArgs(...names: (string | readonly string[])[]): CodedError {
  const words = names.map((name) =>
    typeof name === 'string' ? `"${name}"` : name.map((one) => `"${one}"`).join(' or '),
  );
  const message = `The ${listed(words, 'and')} argument${words.length > 1 ? 's' : ''} must be specified`;
  return nodeError(TypeError, 'ERR_MISSING_ARGS', message, missingArgs);
}

export const invalidThis = (expected: string): CodedError =>
  nodeError(TypeError, 'ERR_INVALID_THIS', `Value of "this" must be of type ${expected}`, invalidThis);

export const invalidReturn = (expected: string, name: string, value: unknown): CodedError =>
  nodeError(
    TypeError,
    'ERR_INVALID_RETURN_VALUE',
    `Expected ${expected} to be returned from the "${name}" function but got ${received(value)}.`,
    invalidReturn,
  );

export const notImplemented = (method: string): CodedError =>
  nodeError(Error, 'ERR_METHOD_NOT_IMPLEMENTED', `The ${method} method is not implemented`, notImplemented);

/**
 * A function of Node.js that an isolate cannot have.
 *
 * @param user the importing package, where it is known
 */
export function unavailable(name: string, user?: string): CodedError {
  const used =
    user === undefined ? '' : ` It was used by ${user}. Use fetch, or a client for the web platform.`;
  const message = `${name} of Node.js does not exist in an isolate.${used}`;
  return nodeError(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', message, unavailable);
}

const kindOf = (name: string): string => (name.includes('.') ? 'property' : 'argument');

/** What a message says after "Received". */
export function received(value: unknown): string {
  if (value === null || value === undefined) return `${value}`;
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value === 'object') {
    const { constructor: maker } = value as { constructor?: { name?: unknown } };
    return maker?.name !== undefined ? `an instance of ${maker.name}` : shown(value);
  }
  if (typeof value !== 'string') return `type ${typeof value} (${shown(value)})`;
  const text = value.length > 28 ? `${value.slice(0, 25)}...` : value;
  return `type string (${text.includes("'") ? JSON.stringify(text) : `'${text}'`})`;
}

/** A value in a message, on one line: exact for primitives, short for objects. */
export function shown(value: unknown, depth = 0): string {
  if (typeof value === 'string') {
    const text = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replace(/\\u00/g, '\\x');
    const mark = ["'", '"', '`'].find((one) => !text.includes(one)) ?? "'";
    return mark + (mark === "'" ? text.replaceAll("'", "\\'") : text) + mark;
  }
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'function')
    return `[Function${value.name === '' ? ' (anonymous)' : `: ${value.name}`}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Error || value instanceof RegExp) return String(value);
  if (Array.isArray(value)) {
    if (depth > 1) return '[Array]';
    const items = value.slice(0, 100).map((item) => shown(item, depth + 1));
    return items.length === 0 ? '[]' : `[ ${items.join(', ')} ]`;
  }
  const maker =
    (value as { constructor?: { name?: string } }).constructor?.name ?? '[Object: null prototype]';
  const title = maker === 'Object' ? '' : `${maker} `;
  if (depth > 1) return `[${title.trim() || 'Object'}]`;
  const names = Object.keys(value).slice(0, 100);
  const members = names.map(
    (name) => `${name}: ${shown((value as Record<string, unknown>)[name], depth + 1)}`,
  );
  return members.length === 0 ? `${title}{}` : `${title}{ ${members.join(', ')} }`;
}

export function validateString(value: unknown, name: string): asserts value is string {
  if (typeof value !== 'string') throw invalidArgType(name, 'string', value);
}

export function validateBoolean(value: unknown, name: string): asserts value is boolean {
  if (typeof value !== 'boolean') throw invalidArgType(name, 'boolean', value);
}

export function validateFunction(value: unknown, name: string): asserts value is Function {
  if (typeof value !== 'function') throw invalidArgType(name, 'Function', value);
}

/** A number, NaN only where no limit is given. */
export function validateNumber(
  value: unknown,
  name: string,
  min?: number,
  max?: number,
): asserts value is number {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  const below = min !== undefined && value < min;
  const above = max !== undefined && value > max;
  if (!below && !above && !(Number.isNaN(value) && (min ?? max) !== undefined)) return;
  const limits = [...(min === undefined ? [] : [`>= ${min}`]), ...(max === undefined ? [] : [`<= ${max}`])];
  throw outOfRange(name, limits.join(' && '), value);
}

export function validateInteger(
  value: unknown,
  name: string,
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value < min || value > max) throw outOfRange(name, `>= ${min} && <= ${max}`, value);
}

export function validateInt32(value: unknown, name: string, min = -(2 ** 31), max = 2 ** 31 - 1): void {
  validateInteger(value, name, min, max);
}

export function validateUint32(value: unknown, name: string, positive = false): void {
  validateInteger(value, name, positive ? 1 : 0, 2 ** 32 - 1);
}

/** An object that is no array and no function, unless the options allow it. */
export function validateObject(
  value: unknown,
  name: string,
  allow: { array?: boolean; function?: boolean; nullable?: boolean } = {},
): asserts value is object {
  const fits =
    (allow.nullable === true && value === null) ||
    (allow.function === true && typeof value === 'function') ||
    (typeof value === 'object' && value !== null && (allow.array === true || !Array.isArray(value)));
  if (!fits) throw invalidArgType(name, 'Object', value);
}

/** @param least how many elements it has at least */
export function validateArray(value: unknown, name: string, least = 0): asserts value is unknown[] {
  if (!Array.isArray(value)) throw invalidArgType(name, 'Array', value);
  if (value.length < least) throw invalidArgValue(name, value, `must be longer than ${least}`);
}

export function validateStringArray(value: unknown, name: string): asserts value is string[] {
  validateArray(value, name);
  for (let at = 0; at < value.length; at++) validateString(value[at], `${name}[${at}]`);
}

export function validateOneOf(value: unknown, name: string, allowed: readonly unknown[]): void {
  if (allowed.includes(value)) return;
  const texts = allowed.map((one) => (typeof one === 'string' ? `'${one}'` : String(one)));
  throw invalidArgValue(name, value, `must be one of: ${texts.join(', ')}`);
}

export function validateAbortSignal(value: unknown, name: string): asserts value is AbortSignal | undefined {
  const fits = value === undefined || (typeof value === 'object' && value !== null && 'aborted' in value);
  if (!fits) throw invalidArgType(name, 'AbortSignal', value);
}

export function validateBuffer(value: unknown, name = 'buffer'): asserts value is ArrayBufferView {
  if (!ArrayBuffer.isView(value)) {
    throw invalidArgType(name, ['Buffer', 'TypedArray', 'DataView'], value);
  }
}
