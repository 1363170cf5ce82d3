/**
 * Bindings to client state, `{"$state": key}` (docs/contract/components.md#bindings): replaced by
 * the value of that name, at any depth of an action.
 */
import { LIMITS } from '../limits.ts';
import { isObject } from './json.ts';

/** The name that a binding refers to; undefined if the value is not a binding. */
export function boundKey(value: unknown): string | undefined {
  if (!isObject(value) || !Object.hasOwn(value, '$state')) return undefined;
  const key = value['$state'];
  return typeof key === 'string' && Object.keys(value).length === 1 ? key : undefined;
}

/** Data that is nested too deep, has too many values or too long texts. */
export class DataTooLarge extends Error {
  override name = 'DataTooLarge';
}

/**
 * A copy with all bindings replaced. A binding without a value is left out of its object, and
 * `null` in a list. Bindings in a value that replaces one are data.
 *
 * Attack: data that is too deep or too large to copy, ten thousand bindings to one long text, or a
 * member `__proto__`. The copy is bounded, and its members are defined, not assigned.
 *
 * @throws DataTooLarge
 */
export function resolveBindings(data: unknown, valueOfKey: (key: string) => unknown): unknown {
  let values = 0;
  let chars = 0;
  const resolve = (value: unknown, depth: number, isBound = false): unknown => {
    values += 1;
    if (typeof value === 'string') chars += value.length;
    if (depth > LIMITS.dataDepth || values > LIMITS.dataValues || chars > LIMITS.drawingChars)
      throw new DataTooLarge();
    const key = isBound ? undefined : boundKey(value);
    if (key !== undefined) return resolve(valueOfKey(key), depth, true);
    if (Array.isArray(value)) return value.map((entry) => resolve(entry, depth + 1, isBound) ?? null);
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(
      ([name, held]) => [name, resolve(held, depth + 1, isBound)] as const,
    );
    return Object.fromEntries(entries.filter(([, held]) => held !== undefined));
  };
  return resolve(data, 0);
}
