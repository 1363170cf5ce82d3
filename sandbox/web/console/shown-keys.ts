/**
 * Which own keys of a value a log shows, found without listing those of a long one.
 *
 * Attack, and accident: `console.log` of some megabytes of bytes. The engine lists the keys of an object at one stroke, makes a
 * string of each index, and can be interrupted by nothing meanwhile. So whether a value is long is asked first, of its length
 * or of one index; a long one is shown by its first indexes. That also holds for a Proxy, which stands for what it is
 * around, and for a typed array that has lost its prototype.
 *
 * Names that are no indexes can only be listed as a whole: `for…in`, too, lists them all before it begins, and nothing tells
 * how many there are. So an object of very many names is listed once, and its first names are remembered. Attack, and accident: a
 * cache of a million names that each call logs, or that stands in every row of a table. `Object.keys` is used because it takes
 * half of the time of `Reflect.ownKeys`: some 0.25 s for a million names, which is about what the heap of an isolate has room for.
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

/** Most elements of a value whose other keys are listed, too. */
const LISTED_LENGTH_MAX = 1_000;
/** Keys of an object that are listed each time. */
const LISTED_KEYS_MAX = 5_000;
/** Of an object that has more, those of each kind that are remembered: as many as are shown behind all indexes of a list. */
const REMEMBERED_KEYS = LISTED_LENGTH_MAX + 200;

/** Own keys of an object: names that are enumerable, symbols whether they are or not. */
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
 * Own names and symbols; of a long value the first indexes. Of an object of very many, the first ones that it had when it was first
 * shown: some may be gone since.
 *
 * @param most indexes of a long value
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
