/**
 * Reads what the page of a `webframe` posts: `{version: 1, action: {action, …}}`
 * (docs/contract/components.md#messages-of-a-webframe). A page of a tenant posts anything.
 */

import { LIMITS } from '../limits.ts';
import type { Action } from '../transport.ts';
import { resolveBindings } from './bindings.ts';
import { isObject, member, objectMember, textMember } from './json.ts';

/** A message without a version is of this one. */
export const FRAME_VERSION = 1;

/**
 * The action of a message, as plain JSON without bindings; undefined if it is none, or is too
 * large.
 */
export function readFrameMessage(message: unknown): Action | undefined {
  if (!isObject(message) || (member(message, 'version') ?? FRAME_VERSION) !== FRAME_VERSION) return undefined;
  const action = objectMember(message, 'action');
  if (action === undefined || textMember(action, 'action') === undefined) return undefined;
  try {
    // Attack: a message that binds client state, to read what the user has typed elsewhere.
    const copy = resolveBindings(action, () => undefined);
    const text = JSON.stringify(copy);
    return text.length <= LIMITS.messageChars ? (JSON.parse(text) as Action) : undefined;
  } catch {
    return undefined;
  }
}

/** The size that a page asks for. */
export interface FrameSize {
  readonly aspectRatio?: number;
  /** In pixels; the most where there is a ratio, too. */
  readonly height?: number;
}

const HEIGHT_MIN = 32;
/** Attack: a frame of a million pixels, behind which the rest of the page is not found. */
const HEIGHT_MAX = 4_000;

/** Reads `size` of `@webframe.resize`; numbers may be text. `maxHeight` is a former name. */
export function readSize(action: Action): FrameSize | undefined {
  const size = objectMember(action, 'size') ?? {};
  const numberOf = (name: string): number | undefined => {
    const value = member(size, name);
    const number = typeof value === 'string' && value !== '' ? Number(value) : value;
    return typeof number === 'number' && Number.isFinite(number) && number > 0 ? number : undefined;
  };
  const aspectRatio = numberOf('aspectRatio');
  const height = numberOf('height') ?? numberOf('maxHeight');
  if (aspectRatio === undefined && height === undefined) return undefined;
  return {
    ...(aspectRatio !== undefined && { aspectRatio }),
    ...(height !== undefined && { height: Math.min(Math.max(height, HEIGHT_MIN), HEIGHT_MAX) }),
  };
}

/** A page of the product's site, and a place in it. */
export interface PagePlace {
  readonly path: string;
  readonly anchor?: string;
}

const PATH_CHARS_MAX = 2_048;
const ANCHOR_CHARS_MAX = 256;
/** A site that no path may leave. */
const SITE = 'https://site.invalid/site/';

/**
 * Reads `path` and `anchor` of `@webframe.navigate`.
 *
 * Attack: a path that is another site for a browser, such as `//attacker.example` or
 * `javascript:…`, or that leaves the site by dots. The product gets a path of its site alone, in the
 * normal form of URLs and without a query.
 */
export function readPlace(action: Action): PagePlace | undefined {
  const path = textMember(action, 'path');
  const anchor = textMember(action, 'anchor') ?? '';
  if (path === undefined || path.length > PATH_CHARS_MAX || anchor.length > ANCHOR_CHARS_MAX)
    return undefined;
  if (/[\\\p{Cc}?#]|^\/\//u.test(path) || /\p{Cc}/u.test(anchor)) return undefined;
  const relative = path.replace(/^\//, '');
  const url = /^[^/]*:/.test(relative) ? null : URL.parse(relative, SITE);
  if (url === null || !url.href.startsWith(SITE)) return undefined;
  const name = anchor.replace(/^#/, '');
  return { path: url.href.slice(SITE.length), ...(name !== '' && { anchor: name }) };
}

/**
 * Whether a message is larger than any that has a meaning. The size of a message is known only once
 * it is read, which takes the time that its size needs; so no second one of that page is read.
 */
export function isTooLarge(message: unknown): boolean {
  /** One more than there may be. */
  const seen = LIMITS.dataValues + 1;
  const waiting = [message];
  let chars = 0;
  for (let values = 0; waiting.length > 0; values += 1) {
    const value = waiting.pop();
    if (typeof value === 'string') chars += value.length;
    else if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) chars += value.byteLength;
    else if (value instanceof Map || value instanceof Set) waiting.push(...[...value].slice(0, seen).flat());
    else if (Array.isArray(value)) waiting.push(...value.slice(0, seen));
    else if (isObject(value))
      for (const name of Object.keys(value).slice(0, seen)) {
        chars += name.length;
        waiting.push(value[name]);
      }
    if (chars > LIMITS.messageChars || values + waiting.length >= seen) return true;
  }
  return false;
}
