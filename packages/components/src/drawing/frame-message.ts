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
