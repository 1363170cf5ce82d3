/**
 * Fixtures of installations: an integration with properties at every level, published into a real
 * store, and the lifecycle events of an installation as its integration receives them.
 */
import type { ClaimedLifecycleEvent } from '../../../src/host/store/installations/lifecycle-events.ts';
import type { Publication } from '../../../src/host/store/integrations/registry.ts';
import type { Store } from '../../../src/host/store/store.ts';
import { OPERATOR, published } from './temporary-store.ts';

/**
 * `region` has no default and is required at organization level; a space needs a `channel`, a site
 * needs nothing.
 */
export const CONFIGURATIONS = `configurations:
  account:
    properties:
      region: {type: string, title: Region, enum: [eu, us]}
      note: {type: string, title: Note, default: hello}
      count: {type: number, title: Count}
      oauth_credentials: {type: button, title: Connect, button_text: Connect, callback_url: /oauth}
    required: [region]
  space:
    properties:
      channel: {type: string, title: Channel}
    required: [channel]
  site:
    properties:
      label: {type: string, title: Label, default: none}
`;

type Fields = Parameters<typeof published>[0];

/** A version to publish. @param more YAML that is appended to the manifest */
export const publication = (more = CONFIGURATIONS, fields: Fields = {}): Publication => ({
  manifest: published(fields, more),
  script: '',
  sourceMap: '{}',
  secrets: new Map(),
});

/** Publishes `hello` and installs it into `acme`. @returns the installation's id */
export async function installed(store: Store, more?: string): Promise<string> {
  await store.registry.publish(publication(more), OPERATOR);
  const request = { integration: 'hello', organization: 'acme', externalIds: [] };
  return (await store.installations.install(request, OPERATOR)).installationId;
}

/** Claims the first lifecycle event that can be delivered; undefined if none can be claimed. */
export async function claimEvent(
  { lifecycleEvents }: Pick<Store, 'lifecycleEvents'>,
  installationId: string,
): Promise<ClaimedLifecycleEvent | undefined> {
  const first = await lifecycleEvents.first(installationId);
  return first && lifecycleEvents.claim(first);
}

/** Takes the pending lifecycle events in order, and finishes them. */
export async function takeEvents(store: Store, installationId: string): Promise<ClaimedLifecycleEvent[]> {
  const all: ClaimedLifecycleEvent[] = [];
  for (;;) {
    const next = await claimEvent(store, installationId);
    if (next === undefined) return all;
    all.push(next);
    await store.lifecycleEvents.finish(next, { state: 'delivered', outcome: 'ok', called: true });
  }
}

/** The events without their random ids. */
export async function takeEventBodies(
  store: Store,
  installationId: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return (await takeEvents(store, installationId)).map(({ record }) => {
    const { eventId, ...event } = record().event;
    return event;
  });
}
