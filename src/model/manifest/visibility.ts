/**
 * Visibility: which organizations may install an integration
 * (`docs/contract/manifest.md#visibility`).
 *
 * An `unlisted` integration needs the token of an install link, except for its owner. The store
 * verifies the token.
 */

/** Visibility → what it allows. */
export const VISIBILITY_MEANINGS = {
  private: 'Only members of the organization named in the manifest can install.',
  unlisted: 'Members of any organization can install, with the shared install link.',
  public: 'Members of any organization can install.',
} as const;
export type Visibility = keyof typeof VISIBILITY_MEANINGS;
export const VISIBILITIES = Object.keys(VISIBILITY_MEANINGS) as readonly Visibility[];

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
