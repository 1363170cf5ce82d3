/**
 * `node:assert` and `assert/strict` (https://nodejs.org/api/assert.html).
 *
 * The source of the code is not there at run time: the message of `ok` shows the value, and not the
 * expression.
 */
import { type AssertionDetails, AssertionError } from './assertion-error.ts';
import { isDeepEqual, isDeepStrictEqual, isPartOf } from './deep-equal.ts';
import {
  invalidArgType,
  invalidArgValue,
  invalidReturn,
  missingArgs,
  nodeError,
  validateFunction,
  validateObject,
  validateOneOf,
} from './errors.ts';
import { inspect } from './inspect.ts';
import { named } from './named.ts';
import { isPromise, isRegExp } from './types.ts';

type Message = string | Error | undefined;
type Expected = object | Function | RegExp | string | undefined;
type Values = Record<string, unknown>;
const EXPECTED = ['Object', 'Error', 'Function', 'RegExp'];
const NOTHING = Symbol('nothing was thrown');

function fails(details: AssertionDetails & { readonly generated?: boolean }): never {
  if (Error.isError(details.message)) throw details.message;
  const error = new AssertionError(details);
  if (details.generated !== undefined) error.generatedMessage = details.generated;
  throw error;
}

/** Comparisons: a failing one throws with both values. */
const compared = (
  operator: string,
  holds: (actual: unknown, expected: unknown) => boolean,
  name = operator,
): ((actual: unknown, expected: unknown, message?: Message) => void) => {
  const compare = {
    [name](...passed: [actual: unknown, expected: unknown, message?: Message]): void {
      const [actual, expected, message] = passed;
      if (passed.length < 2) throw missingArgs('actual', 'expected');
      if (holds(actual, expected)) return;
      fails({ actual, expected, message, operator, stackStartFn: compare });
    },
  }[name] as (actual: unknown, expected: unknown, message?: Message) => void;
  Object.defineProperty(compare, 'length', { value: 3 });
  return compare;
};
const same = (actual: unknown, expected: unknown): boolean => Object.is(actual, expected);
const like = (actual: unknown, expected: unknown): boolean =>
  // biome-ignore lint/suspicious/noDoubleEquals: the loose comparison is this operator.
  actual == expected || (Number.isNaN(actual) && Number.isNaN(expected));
const not =
  (holds: (one: unknown, other: unknown) => boolean) =>
  (one: unknown, other: unknown): boolean =>
    !holds(one, other);

function test(passed: readonly unknown[], start: Function): void {
  const [value, message] = passed;
  if (value) return;
  const generated = passed.length === 0 || message === undefined || message === null;
  const text = passed.length === 0 ? 'No value argument passed to `assert.ok()`' : message;
  fails({ actual: value, expected: true, message: text, operator: '==', stackStartFn: start, generated });
}

function ok(...passed: unknown[]): void {
  test(passed, ok);
}

function fail(message?: Message): never {
  const generated = message === undefined;
  return fails({ message: message ?? 'Failed', operator: 'fail', stackStartFn: fail, generated });
}

function thrownBy(fn: unknown): unknown {
  validateFunction(fn, 'fn');
  try {
    fn();
  } catch (error) {
    return error;
  }
  return NOTHING;
}

const isPromiseLike = (value: unknown): boolean =>
  isPromise(value) ||
  (typeof value === 'object' &&
    typeof (value as Values | null)?.['then'] === 'function' &&
    typeof (value as Values)['catch'] === 'function');

async function rejectionOf(given: unknown): Promise<unknown> {
  let promise = given;
  if (typeof given === 'function') {
    promise = given();
    if (!isPromiseLike(promise)) throw invalidReturn('instance of Promise', 'promiseFn', promise);
  } else if (!isPromiseLike(given)) {
    throw invalidArgType('promiseFn', ['Function', 'Promise'], given);
  }
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return NOTHING;
}

/** What was thrown must be as expected. */
function expects(start: Function, thrown: unknown, passed: readonly unknown[]): void {
  let [expected, message] = passed as [Expected, Message];
  if (typeof expected === 'string') {
    if (passed.length > 1) throw invalidArgType('error', EXPECTED, expected);
    refuseAmbiguity(thrown, expected);
    message = expected;
    expected = undefined;
  } else if (
    expected !== undefined &&
    expected !== null &&
    !['object', 'function'].includes(typeof expected)
  ) {
    throw invalidArgType('error', EXPECTED, expected);
  }
  if (thrown === NOTHING) {
    const name = (expected as { name?: string } | undefined)?.name;
    const kind = start === throwing.rejects ? 'rejection' : 'exception';
    const text = `Missing expected ${kind}${name ? ` (${name})` : ''}${message ? `: ${message}` : '.'}`;
    fails({ actual: undefined, expected, operator: start.name, message: text, stackStartFn: start });
  }
  if (expected) matches(thrown, expected, message, start);
}

function refuseAmbiguity(thrown: unknown, message: string): void {
  const object = typeof thrown === 'object' && thrown !== null;
  if ((object ? (thrown as Error).message : thrown) !== message) return;
  const what = object ? 'error message' : 'error';
  const text = `The "error/message" argument is ambiguous. The ${what} "${message}" is identical to the message.`;
  throw nodeError(TypeError, 'ERR_AMBIGUOUS_ARGUMENT', text, refuseAmbiguity);
}

function matches(thrown: unknown, expected: object | Function, message: Message, start: Function): void {
  const refuse = (text: string): never =>
    fails({
      actual: thrown,
      expected,
      message: message || text,
      operator: start.name,
      stackStartFn: start,
      generated: !message,
    });
  if (typeof expected !== 'function') {
    if (isRegExp(expected)) {
      const text = String(thrown);
      if ((expected as RegExp).exec(text) === null) refuse(mismatch(expected as RegExp, text));
    } else matchesMembers(thrown, expected as Values, message, start);
    return;
  }
  if (expected.prototype !== undefined && thrown instanceof expected) return;
  if (Object.prototype.isPrototypeOf.call(Error, expected)) {
    const { name, message: text } = thrown as Error;
    const found = Error.isError(thrown)
      ? `"${name}"\n\nError message:\n\n${text}`
      : `"${inspect(thrown, { depth: -1 })}"`;
    refuse(`The error is expected to be an instance of "${expected.name}". Received ${found}`);
  }
  const result: unknown = Reflect.apply(expected, {}, [thrown]);
  if (result === true) return;
  const name = expected.name ? `"${expected.name}" ` : '';
  const caught = Error.isError(thrown) ? `\n\nCaught error:\n\n${thrown}` : '';
  refuse(`The ${name}validation function is expected to return "true". Received ${inspect(result)}${caught}`);
}

const mismatch = (expression: RegExp, text: string): string =>
  `The input did not match the regular expression ${inspect(expression)}. Input:\n\n${inspect(text)}\n`;

function matchesMembers(thrown: unknown, expected: Values, message: Message, start: Function): void {
  if (typeof thrown !== 'object' || thrown === null) {
    const details = { actual: thrown, expected, message, operator: 'deepStrictEqual', stackStartFn: start };
    throw Object.assign(new AssertionError(details), { operator: start.name });
  }
  const names = Object.keys(expected);
  if (expected instanceof Error) names.push('name', 'message');
  else if (names.length === 0) throw invalidArgValue('error', expected, 'may not be an empty object');
  const actual = thrown as Values;
  const fits = (name: string): boolean =>
    typeof actual[name] === 'string' &&
    isRegExp(expected[name]) &&
    (expected[name] as RegExp).exec(actual[name]) !== null;
  for (const name of names) {
    if (fits(name) || (name in actual && isDeepStrictEqual(actual[name], expected[name]))) continue;
    if (message) fails({ actual, expected, message, operator: start.name, stackStartFn: start });
    named({ Comparison });
    const left = new Comparison(actual, names, () => false, actual);
    const right = new Comparison(expected, names, fits, actual);
    const details = { actual: left, expected: right, operator: 'deepStrictEqual', stackStartFn: start };
    throw Object.assign(new AssertionError(details), { actual, expected, operator: start.name });
  }
}

/** The members that are compared, under a name that a message shows. */
class Comparison {
  [name: string]: unknown;

  constructor(from: Values, names: readonly string[], fits: (name: string) => boolean, actual: Values) {
    for (const name of names) if (name in from) this[name] = fits(name) ? actual[name] : from[name];
  }
}

/** What was thrown must not be as described. */
function expectsNone(start: Function, thrown: unknown, passed: readonly unknown[]): void {
  if (thrown === NOTHING) return;
  const described = typeof passed[0] !== 'string';
  const [expected, message] = described ? (passed as [Expected, Message]) : [undefined, passed[0] as string];
  if (expected && !fitsDescription(thrown, expected)) throw thrown;
  const kind = start === throwing.doesNotReject ? 'rejection' : 'exception';
  const text = `Got unwanted ${kind}${message ? `: ${message}` : '.'}\nActual message: "${(thrown as Error | null)?.message}"`;
  fails({ actual: thrown, expected, operator: start.name, message: text, stackStartFn: start });
}

function fitsDescription(thrown: unknown, expected: unknown): boolean {
  if (isRegExp(expected)) return (expected as RegExp).exec(String(thrown)) !== null;
  if (typeof expected !== 'function') throw invalidArgType('expected', ['Function', 'RegExp'], expected);
  if (expected.prototype !== undefined && thrown instanceof expected) return true;
  if (Object.prototype.isPrototypeOf.call(Error, expected)) return false;
  return Reflect.apply(expected, {}, [thrown]) === true;
}

const throwing = {
  throws(fn: unknown, ...passed: unknown[]): void {
    expects(throwing.throws, thrownBy(fn), passed);
  },
  async rejects(promise: unknown, ...passed: unknown[]): Promise<void> {
    expects(throwing.rejects, await rejectionOf(promise), passed);
  },
  doesNotThrow(fn: unknown, ...passed: unknown[]): void {
    expectsNone(throwing.doesNotThrow, thrownBy(fn), passed);
  },
  async doesNotReject(promise: unknown, ...passed: unknown[]): Promise<void> {
    expectsNone(throwing.doesNotReject, await rejectionOf(promise), passed);
  },
};
const { throws, rejects, doesNotThrow, doesNotReject } = throwing;

function ifError(error: unknown): void {
  if (error === null || error === undefined) return;
  const { message, constructor: maker } = error as Error;
  const known = typeof error === 'object' && typeof message === 'string';
  const text = !known ? inspect(error) : message === '' && maker ? maker.name : message;
  const details = {
    actual: error,
    expected: null,
    operator: 'ifError',
    message: `ifError got unwanted exception: ${text}`,
    stackStartFn: ifError,
  };
  const made = new AssertionError(details);
  const frames =
    typeof (error as Error).stack === 'string' ? ((error as Error).stack as string).split('\n') : [];
  const first = frames.findIndex((line) => line.startsWith('    at'));
  if (first >= 0) made.stack = `${made.stack}\n${frames.slice(first).join('\n')}`;
  throw made;
}

/** @param passed text, expression and perhaps a message */
function matched(start: Function, wanted: boolean, passed: readonly unknown[]): void {
  const [text, expression, message] = passed as [unknown, RegExp, Message];
  if (!isRegExp(expression)) throw invalidArgType('regexp', 'RegExp', expression);
  if (typeof text === 'string' && (expression.exec(text) !== null) === wanted) return;
  let reason = `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`;
  if (typeof text === 'string') {
    reason = wanted
      ? mismatch(expression, text)
      : mismatch(expression, text).replace('did not match', 'was expected to not match');
  }
  const generated = !message;
  const operator = start.name;
  fails({
    actual: text,
    expected: expression,
    message: message || reason,
    operator,
    stackStartFn: start,
    generated,
  });
}
const matching = {
  match(...passed: unknown[]): void {
    matched(matching.match, true, passed);
  },
  doesNotMatch(...passed: unknown[]): void {
    matched(matching.doesNotMatch, false, passed);
  },
};
const { match, doesNotMatch } = matching;

const strictEqual = compared('strictEqual', same);
const notStrictEqual = compared('notStrictEqual', not(same));
const deepStrictEqual = compared('deepStrictEqual', isDeepStrictEqual);
const notDeepStrictEqual = compared('notDeepStrictEqual', not(isDeepStrictEqual));
const partialDeepStrictEqual = compared('partialDeepStrictEqual', isPartOf);
const equal = compared('==', like, 'equal');
const notEqual = compared('!=', not(like), 'notEqual');
const deepEqual = compared('deepEqual', isDeepEqual);
const notDeepEqual = compared('notDeepEqual', not(isDeepEqual));

const loose = { equal, notEqual, deepEqual, notDeepEqual };
const strictly = {
  equal: strictEqual,
  notEqual: notStrictEqual,
  deepEqual: deepStrictEqual,
  notDeepEqual: notDeepStrictEqual,
};
const common = /* @__PURE__ */ named({
  AssertionError,
  ok,
  fail,
  ...loose,
  deepStrictEqual,
  notDeepStrictEqual,
  strictEqual,
  notStrictEqual,
  partialDeepStrictEqual,
  match,
  doesNotMatch,
  throws,
  rejects,
  doesNotThrow,
  doesNotReject,
  ifError,
});

/** Assertions as an object, with `strict` ones under the short names. */
export class Assert {
  constructor(options: { strict?: boolean; diff?: string; skipPrototype?: boolean } = {}) {
    validateObject(options, 'options');
    if (options.diff !== undefined) validateOneOf(options.diff, 'options.diff', ['simple', 'full']);
    Object.assign(this, common, options.strict === false ? {} : strictly);
    if (options.skipPrototype !== true) return;
    const equalWithout = (one: unknown, other: unknown): boolean => isDeepStrictEqual(one, other, true);
    const deep = compared('deepStrictEqual', equalWithout);
    const notDeep = compared('notDeepStrictEqual', not(equalWithout));
    Object.assign(this, { deepStrictEqual: deep, notDeepStrictEqual: notDeep });
    if (options.strict !== false) Object.assign(this, { deepEqual: deep, notDeepEqual: notDeep });
  }
}

function makeStrict() {
  const made = function strict(...passed: unknown[]): void {
    test(passed, made);
  };
  Object.assign(made, common, strictly, { Assert, strict: made });
  return made as typeof made & typeof common & { Assert: typeof Assert; strict: unknown };
}
export const strict = /* @__PURE__ */ makeStrict();

function makeAssert() {
  const made = function assert(...passed: unknown[]): void {
    test(passed, made);
  };
  return Object.assign(made, common, { strict, Assert });
}
const assert = /* @__PURE__ */ makeAssert();

export {
  AssertionError,
  deepEqual,
  deepStrictEqual,
  doesNotMatch,
  doesNotReject,
  doesNotThrow,
  equal,
  fail,
  ifError,
  match,
  notDeepEqual,
  notDeepStrictEqual,
  notEqual,
  notStrictEqual,
  ok,
  partialDeepStrictEqual,
  rejects,
  strictEqual,
  throws,
};
export default assert;
