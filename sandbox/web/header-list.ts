/**
 * A header list (https://fetch.spec.whatwg.org/#concept-header-list): what a Headers object, a Request and a Response
 * hold. Names are kept in lower case, as HTTP/2 sends them; values are normalised when they come in.
 *
 * Everything in it is a primitive string that passed the checks below, whatever the tenant did to its built-ins; so a
 * list may leave the isolate without being looked at again. It knows nothing of guards or of JavaScript iteration.
 */
import { copyList, List, push, truncate } from './list.ts';
import { charCodeAt, mapGet, mapSet, mapSize, regExpExec, slice, toLowerCase } from './primordials.ts';
import { toByteString } from './web-idl.ts';

/** A token of RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** A character outside field-content (RFC 9110, section 5.5): needs a closer look. */
const UNUSUAL = /[^\t\x20-\x7e\x80-\xff]/;
/** What would end a header early: header injection. */
const FORBIDDEN = /[\0\r\n]/;

/** Valid names in lower case, by the spelling they came in. Bounded: a tenant may invent names without end. */
const knownNames = new Map<string, string>();
const KNOWN_NAMES_MAX = 256;

export class HeaderList {
  /** name, value, name, value, … */
  readonly flat: List<string>;
  /** Set once a value came in that the fetch standard allows and HTTP does not: a control character. */
  unsendable = false;
  /** Guard "immutable": answers of `Response.error()` and `Response.redirect()`. */
  immutable = false;
  /** Pairs in iteration order, until the next change. */
  sorted: readonly (readonly [string, string])[] | undefined;

  constructor(flat: List<string> = new List()) {
    this.flat = flat;
  }
}

/** @throws TypeError where `name` is not a header name. */
export function normalizeName(name: string): string {
  const known = mapGet(knownNames, name);
  if (known !== undefined) return known;
  if (regExpExec(TOKEN, name) === null) throw new TypeError(`Invalid header name: ${shown(name)}`);
  const lower = toLowerCase(name);
  if (mapSize(knownNames) < KNOWN_NAMES_MAX && lower.length <= 64) mapSet(knownNames, name, lower);
  return lower;
}

/** Adds one header, checked. */
export function appendHeader(list: HeaderList, name: string, value: string): void {
  appendNormalized(list, normalizeName(name), value);
}

/** Adds one header whose name has been through `normalizeName`. */
export function appendNormalized(list: HeaderList, lower: string, value: string): void {
  const normal = normalizeValue(list, lower, value);
  requireMutable(list);
  appendTrusted(list, lower, normal);
}

/** Adds a header whose name and value are known to be good. */
export function appendTrusted(list: HeaderList, lower: string, value: string): void {
  push(list.flat, lower);
  push(list.flat, value);
  list.sorted = undefined;
}

/** Replaces the first header of the name, drops the others; appends where there is none. */
export function setHeader(list: HeaderList, name: string, value: string): void {
  const lower = normalizeName(name);
  const normal = normalizeValue(list, lower, value);
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

/** Pairs in the order of iteration: sorted by name, values joined, each `set-cookie` apart. */
export function sortedPairs(list: HeaderList): readonly (readonly [string, string])[] {
  if (list.sorted !== undefined) return list.sorted;
  const values = new Map<string, string[]>();
  for (let i = 0; i < list.flat.length; i += 2) {
    const name = list.flat[i] as string;
    const same = values.get(name);
    if (same === undefined) values.set(name, [list.flat[i + 1] as string]);
    else same.push(list.flat[i + 1] as string);
  }
  const pairs: (readonly [string, string])[] = [];
  for (const name of [...values.keys()].sort()) {
    const own = values.get(name) ?? [];
    if (name === 'set-cookie') for (const value of own) pairs.push([name, value]);
    else pairs.push([name, own.join(', ')]);
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

/**
 * The list as `name\nvalue\nname\nvalue…`, which no name or value can break.
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

function normalizeValue(list: HeaderList, name: string, raw: string): string {
  const trimmed =
    isHttpSpace(charCodeAt(raw, 0)) || isHttpSpace(charCodeAt(raw, raw.length - 1))
      ? trimHttpSpace(raw)
      : raw;
  if (regExpExec(UNUSUAL, trimmed) === null) return trimmed;
  const value = toByteString(trimmed, `The value of header ${name}`);
  if (regExpExec(FORBIDDEN, value) !== null) {
    throw new TypeError(`The value of header ${name} holds a NUL, CR or LF: ${shown(value)}`);
  }
  list.unsendable = true;
  return value;
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

const isHttpSpace = (code: number): boolean =>
  code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
const shown = (text: string): string => `"${slice(text, 0, 64)}"`;
