/**
 * Review of public integrations by the operator (`docs/contract/manifest.md#review`): what becomes
 * of a version that is published or activated while the setting `marketplace` is `reviewed`. Pure.
 *
 * Attack: an author has harmless code approved, and then has other code run in the installations of
 * other organizations. So an integration that has been public is under review until it is deleted,
 * whatever visibility its later versions have: each of them waits, and runs only once approved.
 */
import { AnnexError } from '../errors.ts';
import type { Visibility } from './manifest/visibility.ts';
import type { Principal } from './principal.ts';

/** The words of the setting. */
export const MARKETPLACES = ['open', 'reviewed'] as const;
export type Marketplace = (typeof MARKETPLACES)[number];

/** `unreviewed`: passed over, as older than a version that was approved. */
export const REVIEW_STATES = ['waiting', 'approved', 'refused', 'unreviewed'] as const;
export type ReviewState = (typeof REVIEW_STATES)[number];

/** What the operator said of a version; a version without one never had to wait. */
export interface Review {
  readonly state: ReviewState;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The operator's, of a refusal. */
  readonly reason?: string;
}

/** The members of an integration that the rules need. */
interface Standing {
  readonly name: string;
  readonly visibility: Visibility;
  /** Whether it is, or has been, public while public integrations are reviewed. */
  readonly isUnderReview: boolean;
}

/** What a publish or an activation makes of an integration. */
export interface Placement {
  /** Whether the version becomes the active one. */
  readonly isActive: boolean;
  /** Of the integration; it differs from that of the manifest until the version is approved. */
  readonly visibility: Visibility;
  readonly isUnderReview: boolean;
  readonly review?: ReviewState;
}

export const isApproved = (review: Pick<Review, 'state'> | undefined): boolean =>
  review === undefined || review.state === 'approved';

/** Whether every version of an integration needs the operator's approval. */
export const isReviewed = ({ visibility, isUnderReview }: Standing): boolean =>
  isUnderReview || visibility === 'public';

/**
 * A version is published. The operator's own is approved at once.
 *
 * @param before absent for a new integration
 * @param wanted of the manifest
 */
export function placePublished(
  before: Standing | undefined,
  wanted: Visibility,
  { kind }: Principal,
): Placement {
  const isUnderReview = before !== undefined && isReviewed(before);
  if (kind === 'admin')
    return {
      ...{ isActive: true, visibility: wanted, review: 'approved' },
      isUnderReview: isUnderReview || wanted === 'public',
    };
  const { visibility = 'private' } = before ?? {};
  if (isUnderReview) return { isActive: false, visibility, isUnderReview, review: 'waiting' };
  if (wanted === 'public') return { isActive: true, visibility, isUnderReview, review: 'waiting' };
  return { isActive: true, visibility: wanted, isUnderReview };
}

/**
 * A version is activated. One that is not approved runs where no other organization finds it.
 *
 * @throws `VERSION_UNAPPROVED`
 */
export function placeActivated(
  before: Standing,
  { number, wanted, review }: { number: number; wanted: Visibility; review: Review | undefined },
): Placement {
  const isUnderReview = isReviewed(before);
  if (isUnderReview && !isApproved(review)) {
    const message = `Version ${number} of "${before.name}" is not approved, and other organizations may have the integration installed. The operator can approve it; an approved version can be activated.`;
    throw new AnnexError('VERSION_UNAPPROVED', message);
  }
  const isEffective = wanted !== 'public' || isUnderReview || review?.state === 'approved';
  const visibility = isEffective ? wanted : before.visibility;
  return { isActive: true, visibility, isUnderReview: isUnderReview || visibility === 'public' };
}
