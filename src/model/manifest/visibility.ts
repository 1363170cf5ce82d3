/**
 * Who may install an integration (`docs/contract/manifest.md#visibility`).
 *
 * `unlisted` asks for the token of an install link from anybody but the owner. Whether a token is
 * the right one is found out by the store.
 */

export const VISIBILITIES = ['private', 'unlisted', 'public'] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/**
 * Whether `organization` may install an integration that `owner` published.
 *
 * @param byLink whether it came with the token of the integration's install link
 */
export const mayInstall = (
  visibility: Visibility,
  owner: string,
  organization: string,
  byLink = false,
): boolean => visibility === 'public' || organization === owner || (visibility === 'unlisted' && byLink);
