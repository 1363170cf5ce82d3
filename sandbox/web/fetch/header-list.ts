/**
 * A header list (https://fetch.spec.whatwg.org/#concept-header-list): the state of a Headers
 * object, a Request and a Response. Names are in lower case, as in HTTP/2; values are normalised
 * when they are added.
 *
 * Everything in it is a primitive string that passed the checks below, also if a script has
 * replaced built-ins. So a list leaves the isolate without another check. It knows no guards and no
 * JavaScript iteration.
 */
import { copyList, List, push, truncate } from '../list.ts';
import {
  arraySort,
  charCodeAt,
  indexOf,
  mapGet,
  mapSet,
  mapSize,
  regExpExec,
  slice,
  toLowerCase,
} from '../primordials.ts';
import { isObject, toByteString, toDOMString } from '../web-idl.ts';

/** A token of RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** A character outside field-content (RFC 9110, section 5.5), which needs another check. */
const UNUSUAL = /[^\t\x20-\x7e\x80-\xff]/;
/** Attack: header injection by a character that ends a header early. */
const FORBIDDEN = /[\0\r\n]/;

/**
 * Valid names in lower case, by their original spelling. Attack: an endless number of names;
 * bounded.
 */
const knownNames = new Map<string, string>();
const KNOWN_NAMES_MAX = 256;

/** A header as in an iteration. */
export type HeaderPair = readonly [name: string, value: string];

/** Checks a brand: `instanceof` would run the traps of a proxy. */
export let isHeaderList: (value: unknown) => value is HeaderList;

export class HeaderList {
  readonly #genuine = true;
  /** name, value, name, value, … */
  readonly flat: List<string>;
  /**
   * Set if a value may have a control character, which the fetch standard allows and HTTP does not.
   */
  unsendable = false;
  /** Set while there are names or values that `normalizeHeaders` has not checked. */
  unchecked = false;
  /**
   * Guard "immutable": answers of the network, of `Response.error()` and of `Response.redirect()`.
   */
  immutable = false;
  /** Pairs in iteration order, until the next change. */
  sorted: ArrayLike<HeaderPair> | undefined;

  static {
    isHeaderList = (value): value is HeaderList => isObject(value) && #genuine in value && value.#genuine;
  }

  constructor(flat: List<string> = new List()) {
    this.flat = flat;
  }
}

/** @throws TypeError if `name` is not a header name */
export function normalizeName(name: string): string {
  const known = mapGet(knownNames, name);
  if (known !== undefined) return known;
  if (regExpExec(TOKEN, name) === null) throw new TypeError(`Invalid header name: ${shown(name)}`);
  const lower = toLowerCase(name);
  if (mapSize(knownNames) < KNOWN_NAMES_MAX && lower.length <= 64) mapSet(knownNames, name, lower);
  return lower;
}

/**
 * Adds the name of a header as Web IDL converts it: a byte string, not yet checked as a name. Call
 * `appendRawValue` next, and `normalizeHeaders` before any other use of the list.
 */
export function appendRawName(list: HeaderList, name: unknown): void {
  const known = typeof name === 'string' ? mapGet(knownNames, name) : undefined;
  if (known === undefined) list.unchecked = true;
  push(list.flat, known ?? rawName(name));
}

/** Adds the value for the name that was just added, unchecked too. */
export function appendRawValue(list: HeaderList, value: unknown): void {
  push(list.flat, rawValue(list, value));
}

/** Web IDL `ByteString`, for the name of a header. */
export const rawName = (name: unknown): string => toByteString(name, 'A header name');

/** Web IDL `ByteString`, for a value of the list, without the white space around it. */
function rawValue(list: HeaderList, value: unknown): string {
  const text = toDOMString(value);
  if (regExpExec(UNUSUAL, text) !== null) {
    toByteString(text, 'A header value');
    list.unsendable = list.unchecked = true;
  }
  return isHttpSpace(charCodeAt(text, 0)) || isHttpSpace(charCodeAt(text, text.length - 1))
    ? trimHttpSpace(text)
    : text;
}

/** Checks and normalises everything that was added raw. @throws TypeError for an invalid header */
export function normalizeHeaders(list: HeaderList): void {
  if (!list.unchecked) return;
  const { flat } = list;
  for (let i = 0; i < flat.length; i += 2) {
    const name = normalizeName(flat[i] as string);
    checkValue(list, name, flat[i + 1] as string);
    flat[i] = name;
  }
  list.unchecked = false;
}

/** Adds one header, checked. `name` is a byte string. */
export function appendHeader(list: HeaderList, name: string, value: unknown): void {
  const normal = rawValue(list, value);
  const lower = normalizeName(name);
  checkValue(list, lower, normal);
  requireMutable(list);
  appendTrusted(list, lower, normal);
}

/** Adds a header whose name and value are checked. */
export function appendTrusted(list: HeaderList, lower: string, value: string): void {
  push(list.flat, lower);
  push(list.flat, value);
  list.sorted = undefined;
}

/** Replaces the first header of the name and drops the others, or appends. */
export function setHeader(list: HeaderList, name: string, value: unknown): void {
  const normal = rawValue(list, value);
  const lower = normalizeName(name);
  checkValue(list, lower, normal);
  requireMutable(list);
  const at = indexOfHeader(list, lower);
  if (at < 0) {
    push(list.flat, lower);
    push(list.flat, normal);
  } else {
    list.flat[at + 1] = normal;
    removeFrom(list, lower, at + 2);
  }
  list.sorted = undefined;
}

export function deleteHeader(list: HeaderList, name: string): void {
  const lower = normalizeName(name);
  requireMutable(list);
  removeFrom(list, lower, 0);
  list.sorted = undefined;
}

/** All values of a name, joined with a comma and a space, or null. `lower` is a normalised name. */
export function getHeader(list: HeaderList, lower: string): string | null {
  let joined: string | null = null;
  const { flat } = list;
  for (let i = 0; i < flat.length; i += 2) {
    if (flat[i] === lower) joined = joined === null ? (flat[i + 1] as string) : `${joined}, ${flat[i + 1]}`;
  }
  return joined;
}

export const hasHeader = (list: HeaderList, lower: string): boolean => indexOfHeader(list, lower) >= 0;

/** Pairs in the order of iteration: sorted by name, values joined, each `set-cookie` separate. */
export function sortedPairs(list: HeaderList): ArrayLike<HeaderPair> {
  if (list.sorted !== undefined) return list.sorted;
  const all = new List<HeaderPair>();
  for (let i = 0; i < list.flat.length; i += 2) {
    push(all, [list.flat[i] as string, list.flat[i + 1] as string]);
  }
  // Stable: values of one name keep their order.
  arraySort(all, (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  const pairs = new List<HeaderPair>();
  for (let i = 0; i < all.length; i++) {
    const pair = all[i] as HeaderPair;
    const last = pairs[pairs.length - 1];
    if (last === undefined || last[0] !== pair[0] || pair[0] === 'set-cookie') push(pairs, pair);
    else pairs[pairs.length - 1] = [pair[0], `${last[1]}, ${pair[1]}`];
  }
  list.sorted = pairs;
  return pairs;
}

/** A copy that may be changed. */
export function copyHeaders(list: HeaderList): HeaderList {
  const copy = new HeaderList(copyList(list.flat));
  copy.unsendable = list.unsendable;
  return copy;
}

/** Parses the text of `flatText` or of the host. @throws TypeError for an invalid header */
export function headersFromText(text: string): HeaderList {
  const list = new HeaderList();
  for (let at = 0; at < text.length; ) {
    const name = lineAt(text, at);
    const value = lineAt(text, at + name.length + 1);
    appendHeader(list, name, value);
    at += name.length + value.length + 2;
  }
  return list;
}

function lineAt(text: string, start: number): string {
  const end = indexOf(text, '\n', start);
  return slice(text, start, end < 0 ? text.length : end);
}

/**
 * The list as `name\nvalue\nname\nvalue…`, which no name or value can break up.
 *
 * @throws TypeError naming a header whose value HTTP cannot carry (RFC 9110, section 5.5).
 */
export function flatText(list: HeaderList): string {
  const { flat } = list;
  let text = '';
  for (let i = 0; i < flat.length; i += 2) {
    if (list.unsendable && regExpExec(UNUSUAL, flat[i + 1] as string) !== null) {
      throw new TypeError(
        `The value of header ${flat[i]} holds a control character, which HTTP cannot carry`,
      );
    }
    text += i === 0 ? `${flat[i]}\n${flat[i + 1]}` : `\n${flat[i]}\n${flat[i + 1]}`;
  }
  return text;
}

function checkValue(list: HeaderList, name: string, value: string): void {
  if (list.unsendable && regExpExec(FORBIDDEN, value) !== null)
    throw new TypeError(`The value of header ${name} holds a NUL, CR or LF: ${shown(value)}`);
}

function requireMutable(list: HeaderList): void {
  if (list.immutable) throw new TypeError('These headers are immutable');
}

function indexOfHeader(list: HeaderList, lower: string): number {
  for (let i = 0; i < list.flat.length; i += 2) if (list.flat[i] === lower) return i;
  return -1;
}

function removeFrom(list: HeaderList, lower: string, start: number): void {
  const { flat } = list;
  let kept = start;
  for (let i = start; i < flat.length; i += 2) {
    if (flat[i] === lower) continue;
    flat[kept++] = flat[i] as string;
    flat[kept++] = flat[i + 1] as string;
  }
  truncate(flat, kept);
}

/** Removes HTTP white space (tab, LF, CR, space) at both ends. */
export function trimHttpSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isHttpSpace(charCodeAt(text, start))) start++;
  while (end > start && isHttpSpace(charCodeAt(text, end - 1))) end--;
  return slice(text, start, end);
}

/** Removes HTTP white space at the end only. */
export function trimHttpSpaceEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isHttpSpace(charCodeAt(text, end - 1))) end--;
  return slice(text, 0, end);
}

const isHttpSpace = (code: number): boolean =>
  code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
const shown = (text: string): string => `"${slice(text, 0, 64)}"`;
