/**
 * A growable list that a tenant cannot observe.
 *
 * Attack: a setter on `Array.prototype[0]`, which `array[array.length] = x` runs with the array as
 * receiver. This list has integer members like an array, but its prototype chain ends before
 * `Object.prototype`. It is never handed out; `toArray` makes an array for that.
 */
import { setPrototypeOf } from './primordials.ts';

export class List<T> {
  [index: number]: T;
  length = 0;
}
setPrototypeOf(List.prototype, null);

export function push<T>(list: List<T>, item: T): void {
  list[list.length++] = item;
}

const { prototype: ArrayPrototype } = Array;

/**
 * An ordinary array of the same items. It has no prototype until it is filled, so no setter of a
 * script runs.
 */
export function toArray<T>(list: List<T>): T[] {
  const array: T[] = [];
  setPrototypeOf(array, null);
  for (let i = 0; i < list.length; i++) array[i] = list[i] as T;
  return setPrototypeOf(array, ArrayPrototype) as T[];
}

/** Drops everything from `length` on. */
export function truncate<T>(list: List<T>, length: number): void {
  for (let i = length; i < list.length; i++) delete list[i];
  list.length = length;
}

/** A copy that shares the items. */
export function copyList<T>(list: List<T>): List<T> {
  const copy = new List<T>();
  for (let i = 0; i < list.length; i++) push(copy, list[i] as T);
  return copy;
}
