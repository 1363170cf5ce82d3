/**
 * `node:util`: the module of `@jspm/core`, with functions that later versions of Node.js added.
 */
import util from '@jspm/core/nodelibs/util';

type Values = Record<PropertyKey, unknown>;

/** Compares as `assert.deepStrictEqual` does; values of Map and Set by their order. */
export function isDeepStrictEqual(one: unknown, other: unknown): boolean {
  return equal(one, other, new Map());
}

function equal(one: unknown, other: unknown, known: Map<unknown, unknown>): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  // Two circles are equal where they close at the same place.
  if (known.has(one)) return known.get(one) === other;
  known.set(one, other);
  if (one instanceof Date) return one.getTime() === (other as Date).getTime();
  if (one instanceof RegExp) return String(one) === String(other);
  if (one instanceof Error && one.message !== (other as Error).message) return false;
  if (one instanceof Map || one instanceof Set) {
    return equal([...one], [...(other as Iterable<unknown>)], known);
  }
  const names = Reflect.ownKeys(one);
  if (names.length !== Reflect.ownKeys(other).length) return false;
  const [left, right] = [one as Values, other as Values];
  return names.every((name) => Object.hasOwn(right, name) && equal(left[name], right[name], known));
}

/** Removes the codes that colour a terminal. */
export const stripVTControlCharacters = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the codes begin with one.
  text.replace(/\u001B\[[0-?]{0,32}[ -/]{0,8}[@-~]/g, '');
export const toUSVString = (text: string): string => text.toWellFormed();
export const styleText = (_format: unknown, text: string): string => text;
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
export const formatWithOptions = (_options: unknown, ...values: unknown[]): unknown =>
  (util['format'] as (...values: unknown[]) => unknown)(...values);
const { TextDecoder, TextEncoder } = globalThis as unknown as Record<string, unknown>;

const all = Object.assign(util, {
  TextDecoder,
  TextEncoder,
  aborted,
  debug: util['debuglog'],
  formatWithOptions,
  isDeepStrictEqual,
  stripVTControlCharacters,
  styleText,
  toUSVString,
});

export const { _extend, callbackify, debug, debuglog, deprecate, format, inherits, inspect, log } = all;
export const { promisify, types } = all;
export const { isArray, isBoolean, isBuffer, isDate, isError, isFunction, isNull } = all;
export const { isNullOrUndefined, isNumber, isObject, isPrimitive, isRegExp, isString, isSymbol } = all;
export const { isUndefined } = all;
export { TextDecoder, TextEncoder };
export default all;
