/**
 * The own keys of a value that a log shows, found without listing all keys of a long value.
 *
 * Attack (and accident): `console.log` of megabytes of bytes. The engine lists all keys of an
 * object without interruption, and makes a string of each index. So its length, or one index, is
 * checked first; a long value is shown by its first indexes. That also holds for a Proxy, and for a
 * typed array without its prototype.
 *
 * Names that are not indexes can only be listed all at once, even by `for…in`, and their number is
 * unknown before. So an object of very many names is listed once, and its first names are
 * remembered. Attack (and accident): a cache of a million names that each call logs, or that is in
 * every row of a table. `Object.keys` takes half the time of `Reflect.ownKeys`: 0.25 s for a
 * million names, about what fits the heap of an isolate.
 */
import { List, push } from '../list.ts';
import {
  getOwnPropertyDescriptor,
  getOwnPropertySymbols,
  isArray,
  objectKeys,
  WeakMapIntrinsic,
  weakMapGet,
  weakMapSet,
} from '../primordials.ts';

/** Elements up to which the other keys of a value are listed too. */
const LISTED_LENGTH_MAX = 1_000;
/** Keys of an object that are listed each time. */
const LISTED_KEYS_MAX = 5_000;
/**
 * Keys of each kind that are remembered of an object with more: as many as are shown after all
 * indexes of a list.
 */
const REMEMBERED_KEYS = LISTED_LENGTH_MAX + 200;

/** Own keys of an object: enumerable names, and all symbols. */
interface Keys {
  readonly names: ArrayLike<string>;
  readonly symbols: ArrayLike<symbol>;
}

/** The first keys of objects that have very many. */
const remembered = new WeakMapIntrinsic<object, Keys>();

/** Whether a value has too many indexes for its keys to be listed. */
export function isLong(value: object): boolean {
  if (!isArray(value)) return getOwnPropertyDescriptor(value, LISTED_LENGTH_MAX) !== undefined;
  const length: unknown = getOwnPropertyDescriptor(value, 'length')?.value;
  return typeof length !== 'number' || length > LISTED_LENGTH_MAX;
}

/**
 * Own names and symbols; of a long value its first indexes; of an object with very many names, the
 * first ones when it was first shown, some of which may be deleted since.
 *
 * @param most how many indexes of a long value
 */
export function shownKeys(value: object, most: number): ArrayLike<string | symbol> {
  if (isLong(value)) return indexes(most);
  const { names, symbols } = keysOf(value);
  if (symbols.length === 0) return names;
  const keys = new List<string | symbol>();
  for (let i = 0; i < names.length; i++) push(keys, names[i] as string);
  for (let i = 0; i < symbols.length; i++) push(keys, symbols[i] as symbol);
  return keys;
}

/** The names among these. */
export const shownNames = (value: object, most: number): ArrayLike<string> =>
  isLong(value) ? indexes(most) : keysOf(value).names;

function keysOf(value: object): Keys {
  const known = weakMapGet(remembered, value);
  if (known !== undefined) return known;
  const names = objectKeys(value);
  const symbols = getOwnPropertySymbols(value);
  if (names.length + symbols.length <= LISTED_KEYS_MAX) return { names, symbols };
  const keys = { names: first(names), symbols: first(symbols) };
  weakMapSet(remembered, value, keys);
  return keys;
}

function first<K>(keys: ArrayLike<K>): ArrayLike<K> {
  const some = new List<K>();
  for (let i = 0; i < keys.length && i < REMEMBERED_KEYS; i++) push(some, keys[i] as K);
  return some;
}

function indexes(count: number): ArrayLike<string> {
  const keys = new List<string>();
  for (let i = 0; i < count; i++) push(keys, `${i}`);
  return keys;
}
