/**
 * Who may install an integration (SPEC "visibility values", REFERENCE D12).
 *
 * `unlisted` asks for the token of an install link from anybody but the owner; there are no install links, so it
 * admits the owner alone, which errs on the side of refusing.
 */

export const VISIBILITIES = ['private', 'unlisted', 'public'] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/** Whether `organization` may install an integration that `owner` published. */
export const mayInstall = (visibility: Visibility, owner: string, organization: string): boolean =>
  visibility === 'public' || organization === owner;
