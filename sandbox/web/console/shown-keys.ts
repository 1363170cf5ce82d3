/**
 * Which own keys of a value a log shows, found without listing those of a long one.
 *
 * Attack, and accident: `console.log` of some megabytes of bytes. The engine lists the keys of an object at one stroke, makes a
 * string of each index, and can be interrupted by nothing meanwhile. So whether a value is long is asked first, of its length
 * or of one index; a long one is shown by its first indexes. That also holds for a Proxy, which stands for what it is
 * around, and for a typed array that has lost its prototype.
 *
 * Names that are no indexes can only be listed as a whole: an object of a million of them costs what `Object.keys` costs.
 */
import { List, push } from '../list.ts';
import { getOwnPropertyDescriptor, isArray, objectKeys, ownKeys } from '../primordials.ts';

/** Most elements of a value whose other keys are listed, too. */
const LISTED_LENGTH_MAX = 1_000;

/** Whether a value has too many indexes for its keys to be listed. */
export function isLong(value: object): boolean {
  if (!isArray(value)) return getOwnPropertyDescriptor(value, LISTED_LENGTH_MAX) !== undefined;
  const length: unknown = getOwnPropertyDescriptor(value, 'length')?.value;
  return typeof length !== 'number' || length > LISTED_LENGTH_MAX;
}

/** Own keys, enumerable or not; of a long value the first indexes. @param most of these */
export const shownKeys = (value: object, most: number): ArrayLike<string | symbol> =>
  isLong(value) ? indexes(most) : ownKeys(value);

/** Own enumerable names; of a long value the first indexes. @param most of these */
export const shownNames = (value: object, most: number): ArrayLike<string> =>
  isLong(value) ? indexes(most) : objectKeys(value);

function indexes(count: number): ArrayLike<string> {
  const keys = new List<string>();
  for (let i = 0; i < count; i++) push(keys, `${i}`);
  return keys;
}
