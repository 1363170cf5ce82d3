/**
 * `webhook` of a manifest (REFERENCE 7, an extension of 4): this integration does not post by itself what it makes of an event.
 * It says what goes where, and Annex signs, posts, judges and tries again.
 *
 * It names two settings, so that the host knows them without running the code: the URL can be checked when it is saved
 * (REFERENCE D29), and an event that nobody has selected costs no delivery (REFERENCE D33).
 */
import type { Level } from '../installation.ts';

/** Names of properties of the configuration of a space, and of that of a site. */
export interface WebhookDeclaration {
  /** Holds the URL of the receiver: a `string`. */
  readonly url: string;
  /** Holds the types of the events that are to be posted: a `string` with `enum` and `multiple`. */
  readonly eventTypes: string;
}

/** Types of events that can be selected where (SPEC "Webhook events", REFERENCE D33). */
export const WEBHOOK_EVENT_TYPES = {
  organization: [],
  space: ['space_content_updated'],
  site: ['site_view', 'page_feedback'],
} as const satisfies Readonly<Record<Level, readonly string[]>>;
