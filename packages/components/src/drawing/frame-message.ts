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
