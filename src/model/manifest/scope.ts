/**
 * Scopes: the permissions that an integration requests (`docs/contract/manifest.md#scopes`), and
 * those it needs to receive each event (`docs/contract/events.md#scopes`).
 */

/** Scope → what it allows. */
export const SCOPE_MEANINGS = {
  'space:content:read': 'Read the content of spaces.',
  'space:content:write': 'Write the content of spaces.',
  'space:metadata:read': 'Read the metadata of spaces.',
  'space:metadata:write': 'Write the metadata of spaces.',
  'space:git:sync': 'Manage Git sync within a space.',
  'site:metadata:read': 'Read the metadata of sites.',
  'site:views:read': 'Read site analytics.',
  'site:script:inject': 'Internal: inject scripts into sites.',
  'site:script:cookies': 'Internal: let scripts of sites use cookies.',
  'site:visitor:auth': 'Authenticated-access workflows.',
  'site:visitor:claims': 'Expose visitor claims to webframes.',
  'site:adaptive:read': 'Read claims of adaptive content.',
  'site:adaptive:write': 'Write claims of adaptive content.',
  'page:feedback:read': 'Read the feedback that visitors give on pages.',
  'openapi:read': 'Read OpenAPI specifications.',
  'openapi:write': 'Write OpenAPI specifications.',
  'conversations:ingest': 'Ingest conversations.',
} as const;

export type Scope = keyof typeof SCOPE_MEANINGS;

export const SCOPES = Object.keys(SCOPE_MEANINGS) as readonly Scope[];

/**
 * Scopes reserved for what the operator trusts (`--internal-organizations`), because they inject
 * JavaScript into sites.
 */
export const INTERNAL_SCOPES: readonly Scope[] = ['site:script:inject', 'site:script:cookies'];

/** Event type → scopes, any one of which is enough. */
const NEEDED = new Map<string, readonly Scope[]>([
  ['space_content_updated', ['space:content:read']],
  ['space_view', ['space:metadata:read']],
  ['space_visibility_updated', ['space:metadata:read']],
  ['space_gitsync_started', ['space:git:sync']],
  ['space_gitsync_completed', ['space:git:sync']],
  ['site_view', ['site:views:read']],
  ['page_feedback', ['site:views:read', 'page:feedback:read']],
  ['fetch_published_script', ['site:script:inject']],
  ['fetch_visitor_authentication', ['site:visitor:auth']],
]);

/**
 * Events that need no scope: lifecycle events of installations, the rendering of a component, tasks
 * of the integration itself, and the computing of content.
 */
const FREE = [
  'installation_setup',
  'space_installation_setup',
  'site_installation_setup',
  'installation_deleted',
  'space_installation_deleted',
  'site_installation_deleted',
  'ui_render',
  'task',
  'content_compute_revision',
  'content_compute_document',
] as const;

/**
 * Every event type that can have a handler (`docs/contract/calls.md#routing`) beside `fetch`.
 */
export const HANDLED_EVENTS: readonly string[] = [...FREE, ...NEEDED.keys()];

/**
 * @returns the scopes of which at least one is needed and none is granted, or undefined where the
 * event may be dispatched
 */
export function missingScopes(eventType: string, granted: readonly string[]): readonly Scope[] | undefined {
  const needed = NEEDED.get(eventType);
  return needed?.some((scope) => granted.includes(scope)) === false ? needed : undefined;
}
