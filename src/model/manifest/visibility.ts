/**
 * Visibility: which organizations may install an integration
 * (`docs/contract/manifest.md#visibility`).
 *
 * An `unlisted` integration needs the token of an install link, except for its owner. The store
 * verifies the token.
 */

export const VISIBILITIES = ['private', 'unlisted', 'public'] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/**
 * Whether `organization` may install an integration that `owner` published.
 *
 * @param byLink whether the request has a valid token of the integration's install link
 */
export const mayInstall = (
  visibility: Visibility,
  owner: string,
  organization: string,
  byLink = false,
): boolean => visibility === 'public' || organization === owner || (visibility === 'unlisted' && byLink);
