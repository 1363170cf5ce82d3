/**
 * Which scope an event needs before it may reach a handler (REFERENCE D5).
 *
 * Events that are not listed (setup, deletion, `ui_render`, `fetch`) need none.
 */

/** Event type → scopes, any one of which is enough. */
const NEEDED = new Map<string, readonly string[]>([
  ['space_content_updated', ['space:content:read']],
  ['space_view', ['space:metadata:read']],
  ['space_visibility_updated', ['space:metadata:read']],
  ['space_gitsync_started', ['space:git:sync']],
  ['space_gitsync_completed', ['space:git:sync']],
  ['site_view', ['site:views:read']],
  ['page_feedback', ['site:views:read', 'page:feedback:read']],
]);

/** @returns the scopes of which the integration lacks one, or undefined where the event may be dispatched to it. */
export function missingScopes(eventType: string, granted: readonly string[]): readonly string[] | undefined {
  const needed = NEEDED.get(eventType);
  return needed?.some((scope) => granted.includes(scope)) === false ? needed : undefined;
}
