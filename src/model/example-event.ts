/**
 * Builds the test event of a webhook: it has the shape of a real event
 * (`docs/contract/events.md#types`) and recognisable test values. Names and addresses are those
 * reserved for examples (RFC 2606, RFC 5737).
 */
import { WEBHOOK_EVENT_TYPES } from './manifest/webhook.ts';

/** An event type that a webhook can select. */
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)['space' | 'site'][number];

const VISITED = {
  visitor: { anonymousId: 'test', userAgent: 'test', ip: '192.0.2.1', cookies: {} },
  url: 'https://example.com/test',
  referrer: '',
};

const MEMBERS: Readonly<Record<WebhookEventType, Readonly<Record<string, unknown>>>> = {
  space_content_updated: { revisionId: 'test' },
  site_view: { pageId: 'test', ...VISITED },
  page_feedback: { pageId: 'test', feedback: { rating: 'good', comment: 'This is a test.' }, ...VISITED },
};

/** @param place id of the space or the site of the event */
export function exampleEvent(
  type: WebhookEventType,
  { eventId, place }: { readonly eventId: string; readonly place: string },
): Readonly<Record<string, unknown>> {
  const isOfSpace = (WEBHOOK_EVENT_TYPES.space as readonly string[]).includes(type);
  return { eventId, type, ...(isOfSpace ? { spaceId: place } : { siteId: place }), ...MEMBERS[type] };
}
