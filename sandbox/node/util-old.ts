/**
 * Functions of `node:util` that Node.js 23 removed, and that packages of npm still use.
 */
import { format } from './inspect.ts';
import { isNativeError } from './types.ts';

export { isDate, isRegExp } from './types.ts';

export const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
export const isBuffer = (value: unknown): boolean => value instanceof Uint8Array && '_isBuffer' in value;
export const isError = (value: unknown): boolean => isNativeError(value) || value instanceof Error;
export const isFunction = (value: unknown): boolean => typeof value === 'function';
export const isNull = (value: unknown): boolean => value === null;
export const isNullOrUndefined = (value: unknown): boolean => value === null || value === undefined;
export const isNumber = (value: unknown): boolean => typeof value === 'number';
export const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
export const isPrimitive = (value: unknown): boolean => Object(value) !== value;
export const isString = (value: unknown): boolean => typeof value === 'string';
export const isSymbol = (value: unknown): boolean => typeof value === 'symbol';
export const isUndefined = (value: unknown): boolean => value === undefined;

export function log(...values: unknown[]): void {
  console.log('%s - %s', new Date().toISOString(), format(...(values as [unknown])));
}

/** Copies the own members of an object into another one. */
export function _extend(target: object, source: unknown): object {
  if (source === null || typeof source !== 'object') return target;
  for (const name of Object.keys(source).reverse()) {
    (target as Record<string, unknown>)[name] = (source as Record<string, unknown>)[name];
  }
  return target;
}
