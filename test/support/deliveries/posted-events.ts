/** Fixtures for tests of events: subscribed integrations, and valid events. */

import type { AcceptedEvent, PostedEvent } from '../../../src/host/store/deliveries/delivery.ts';
import type { Store } from '../../../src/host/store/store.ts';
import { publishedManifest } from '../../../src/model/manifest/manifest.ts';
import { manifestYaml, OPERATOR, parsed } from '../store/temporary-store.ts';
import { intakeOf } from './intake.ts';

/** Webhook settings in a manifest. */
export const WEBHOOK = `webhook: {url: webhook_url, eventTypes: event_types}
configurations:
  space:
    properties:
      webhook_url: {type: string, title: URL}
      event_types: {type: string, title: Events, multiple: true, enum: [space_content_updated]}
  site:
    properties:
      webhook_url: {type: string, title: URL}
      event_types: {type: string, title: Events, multiple: true, enum: [site_view, page_feedback]}
`;

export interface Listener {
  readonly name: string;
  readonly scopes?: readonly string[];
  /** Types with handlers; unknown if absent. */
  readonly handles?: readonly string[];
  /** YAML that is appended to the manifest. */
  readonly more?: string;
}

/** Publishes an integration of `acme` that subscribes to what its scopes allow. */
export async function publishListener(
  store: Store,
  { name, scopes, handles, more = '' }: Listener,
): Promise<void> {
  const granted = scopes ?? ['space:content:read', 'space:metadata:read', 'site:views:read'];
  const yaml = manifestYaml({ name }, `target: all\n${more}`).replace(
    'scopes: []',
    `scopes: [${granted.map((scope) => `'${scope}'`).join(', ')}]`,
  );
  const manifest = publishedManifest(parsed(yaml).manifest);
  const code = { script: '', sourceMap: '{}', ...(handles && { handles }) };
  await store.registry.publish({ manifest, ...code, secrets: new Map() }, OPERATOR);
}

/** @returns the installation's id */
export async function installListener(
  store: Store,
  integration: string,
  organization = 'acme',
): Promise<string> {
  const request = { integration, organization, externalIds: [] };
  return (await store.installations.install(request, OPERATOR)).installationId;
}

let count = 0;

/** An event in the space `garden` of `acme`, for the store. */
export function postedEvent(more: Partial<PostedEvent> = {}): PostedEvent {
  count += 1;
  const eventId = more.eventId ?? `event-${count}`;
  const type = more.type ?? 'space_content_updated';
  return {
    ...{ eventId, type, organization: 'acme', level: 'space', place: 'garden' },
    body: JSON.stringify({ eventId, type, spaceId: 'garden', revisionId: 'r1' }),
    bodyHash: 'hash',
    ...more,
  };
}

/** Accepts one event. */
export async function acceptOne(store: Store, event: PostedEvent): Promise<AcceptedEvent> {
  const [accepted] = await intakeOf(store).acceptance.accept([event]);
  if (accepted === undefined) throw new Error('Nothing was accepted.');
  return accepted;
}

const VISIT = {
  visitor: { anonymousId: 'v1', userAgent: 'test', ip: '192.0.2.1', cookies: { theme: 'dark' } },
  url: 'https://docs.example.com/a',
  referrer: '',
};

/** A valid event of each type, without the organization. */
export const SOUND_EVENTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  space_view: { spaceId: 'garden', pageId: 'p1', ...VISIT },
  space_content_updated: { spaceId: 'garden', revisionId: 'r1' },
  space_visibility_updated: { spaceId: 'garden', previousVisibility: 'private', visibility: 'public' },
  space_gitsync_started: { spaceId: 'garden', revisionId: 'r1', commitId: 'c1' },
  space_gitsync_completed: { spaceId: 'garden', revisionId: 'r1', commitId: 'c1', state: 'failure' },
  site_view: { siteId: 'shop', spaceId: 'garden', pageId: 'p1', ...VISIT },
  page_feedback: { siteId: 'shop', feedback: { rating: 'good', comment: 'Thanks' }, ...VISIT },
};
