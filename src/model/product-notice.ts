/**
 * Notices of what the host product has to know (docs/contract/notices.md): their types, and their
 * text as it is listed and posted. Pure.
 */
import type { TargetName } from './installation.ts';

export const NOTICE_TYPES = [
  ...(['webhook.failing', 'webhook.recovered', 'webhook.disabled'] as const),
  ...(['connection.lost', 'connection.restored'] as const),
  ...(['installation.pending', 'integration.published', 'integration.quarantined'] as const),
  ...(['integration.submitted', 'integration.approved', 'integration.refused'] as const),
] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

/** Something that happened once, and whom it is about. */
export interface ProductNotice {
  readonly type: NoticeType;
  /** The organization concerned: the one that installed, or that owns the integration. */
  readonly organization: string;
  readonly integration: string;
  readonly target?: TargetName | undefined;
  /** A few facts: words of Annex and names, never text of a receiver, a provider or code. */
  readonly details?: Readonly<Record<string, string | number>> | undefined;
}

/** In the place of an organization. No organization has it as its id. */
export const OF_NO_ORGANIZATION = '';

/** The lane of the deliveries of notices: one receiver, so one place among the endpoints. */
export const NOTICE_LANE = 'notices';

/** The JSON of a notice: the body of its post, and the item of the list. */
export function noticeBody(
  { type, organization, integration, target, details }: ProductNotice,
  { id, createdAt }: { readonly id: string; readonly createdAt: number },
): string {
  return JSON.stringify({
    ...{ id, type, createdAt: new Date(createdAt).toISOString(), organization, integration },
    ...(target && { installation: target.installationId }),
    ...(target && target.level !== 'organization' && { [target.level]: target.place }),
    ...(details && { details }),
  });
}
