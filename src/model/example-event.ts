/**
 * An event for somebody who tries a webhook out: of the shape that real ones have
 * (`docs/contract/events.md#types`), with values that nobody takes for real ones. Names and
 * addresses are those that are reserved for examples (RFC 2606, RFC 5737).
 */
import { WEBHOOK_EVENT_TYPES } from './manifest/webhook.ts';

/** A type that a webhook can be for. */
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

/** @param place the space or the site that it is said to have happened in */
export function exampleEvent(
  type: WebhookEventType,
  { eventId, place }: { readonly eventId: string; readonly place: string },
): Readonly<Record<string, unknown>> {
  const isOfSpace = (WEBHOOK_EVENT_TYPES.space as readonly string[]).includes(type);
  return { eventId, type, ...(isOfSpace ? { spaceId: place } : { siteId: place }), ...MEMBERS[type] };
}
