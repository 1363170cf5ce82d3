/**
 * A table of every change of the store, and a store with rows in every table. Time stands still and
 * random bytes are counted, so that a change always writes the same bytes and its files can be
 * compared. Does not import vitest, because a process that is killed loads it, too.
 */
import { createHash } from 'node:crypto';
import { type DeliveryIntake, openIntake } from '../../../src/host/delivery/open-delivery.ts';
import type { PostedEvent } from '../../../src/host/store/deliveries/delivery.ts';
import type { ClaimedLifecycleEvent } from '../../../src/host/store/installations/lifecycle-events.ts';
import type { Publication } from '../../../src/host/store/integrations/registry.ts';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import type { Actor } from '../../../src/model/actor.ts';
import type { RandomBytes } from '../../../src/model/identifiers.ts';
import { type TargetName, wholeInstallation } from '../../../src/model/installation.ts';
import { parseManifest, publishedManifest } from '../../../src/model/manifest/manifest.ts';

const NOW = Date.UTC(2026, 0, 1);

export const BY: Actor = {
  principal: { kind: 'admin', tokenId: 'tok_operator' },
  requestId: 'req-crash',
  depth: 0,
};

/** @param seed stores of the same seed draw the same random bytes */
export const open = (folder: string, seed: string): Promise<Store> =>
  openStore({
    folder,
    // Three versions are one too many: the third publish prunes one.
    limits: { ...DEFAULT_LIMITS, versionsPerIntegration: 2 },
    wallNow: () => NOW,
    monotonicNow: () => performance.now(),
    randomBytes: counted(seed),
    onError(error) {
      throw error;
    },
  });

/** Acceptance of events into a store, without a worker. */
export const intakeOn = (store: Store): DeliveryIntake =>
  openIntake({
    store,
    worker: { add: () => undefined, addLater: () => undefined },
    limits: DEFAULT_LIMITS,
    wallNow: () => NOW,
    randomBytes: counted('intake'),
    onError(error) {
      throw error;
    },
  });

function counted(seed: string): RandomBytes {
  let count = 0;
  return (size) => {
    count += 1;
    return createHash('shake256', { outputLength: size }).update(`${seed} ${count}`).digest();
  };
}

function publication(name: string, secrets: Readonly<Record<string, string>>): Publication {
  const lines = [
    ...[`name: ${name}`, 'title: Title', 'description: An example.', 'organization: acme'],
    ...[
      'visibility: unlisted',
      'scopes: [space:content:read]',
      'configurations:',
      '  account:',
      '    properties:',
    ],
    ...['      region: {type: string, title: Region, enum: [eu, us]}', '    required: [region]', 'secrets:'],
    ...Object.keys(secrets).map((secret) => `  ${secret}: x`),
  ];
  const parsed = parseManifest(lines.join('\n'));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return {
    manifest: publishedManifest(parsed.manifest),
    script: 'script',
    sourceMap: '{}',
    secrets: new Map(Object.entries(secrets)),
    images: [{ path: 'icon.png', content: Buffer.from('png') }],
  };
}

/** Rows in every table. */
export async function fill(store: Store): Promise<void> {
  const { registry, secrets, installations, installLinks, tokens, logs, webhookSecrets } = store;
  await registry.publish(publication('hello', { OLD: '1', KEPT: '1' }), BY);
  await registry.publish(publication('hello', { KEPT: '2' }), BY);
  await registry.publish(publication('second', {}), BY);
  await secrets.set({ name: 'hello', organization: 'acme' }, { KEPT: '3' }, BY);
  await installLinks.create('hello', BY);
  await tokens.create({ kind: 'platform' }, BY);
  const request = { integration: 'hello', organization: 'acme', externalIds: ['a', 'b'] };
  const { installationId } = await installations.install(request, BY);
  const configuration = { region: 'eu', oauth_credentials: { access_token: 'x' } };
  await installations.edit(wholeInstallation(installationId), { configuration }, {}, BY);
  for (const level of ['space', 'site'] as const)
    await installations.installBelow({ installationId, level, place: 'p1', externalIds: ['c'] }, BY);
  await webhookSecrets.signing({ installationId, level: 'site', place: 'p1' });
  const first = await store.lifecycleEvents.first(installationId);
  if (first) await store.lifecycleEvents.claim(first);
  logs.append({ tenant: installationId, version: 1, requestId: 'r', level: 'info', text: 'line', at: NOW });
  await logs.pass();
}

/** Names that a change needs, looked up before it begins. */
export interface Found {
  readonly whole: TargetName;
  readonly space: TargetName;
  readonly tokenId: string;
  /** The lifecycle event in flight. */
  readonly claimed: ClaimedLifecycleEvent;
}

export async function look(store: Store): Promise<Found> {
  const [installation] = (await store.installations.list({ integration: 'hello', limit: 1 })).items;
  const [token] = (await store.tokens.list({ limit: 1 })).items;
  if (installation === undefined || token === undefined) throw new Error('The store was not filled.');
  const { installationId } = installation;
  const first = await store.lifecycleEvents.first(installationId);
  const event = first && (await store.lifecycleEvents.read(first.eventId));
  if (event === undefined) throw new Error('No event is in flight.');
  return {
    claimed: { ...event, fence: first?.fence ?? 0, record: () => ({ event: {} }) },
    whole: wholeInstallation(installationId),
    space: { installationId, level: 'space', place: 'p1' },
    tokenId: token.id,
  };
}

type StoreChange = (store: Store, found: Found) => Promise<unknown>;

/** An event in a space where the store has a target. */
const updated = (eventId: string): PostedEvent => ({
  ...{ eventId, organization: 'acme', type: 'space_content_updated', level: 'space', place: 'p1' },
  body: JSON.stringify({ eventId, type: 'space_content_updated', spaceId: 'p1', revisionId: 'r' }),
  bodyHash: 'hash',
});

const HELLO = { name: 'hello', organization: 'acme' };

export const CHANGES: Readonly<Record<string, StoreChange>> = {
  'first publish': ({ registry }) => registry.publish(publication('other', { NEW: '1' }), BY),
  'publish that prunes a version': ({ registry }) =>
    registry.publish({ ...publication('hello', { KEPT: '9', NEW: '1' }), overwriteSecrets: true }, BY),
  'activation of an older version': ({ registry }) => registry.activate('hello', 1, BY),
  'lowered limits': ({ registry }) => registry.lowerLimits('hello', { callWallMs: 500 }, BY),
  'deletion of an integration': ({ registry }) => registry.delete(HELLO, { cascade: true }, BY),
  'secret that is set': ({ secrets }) => secrets.set(HELLO, { KEPT: '8' }, BY),
  'secret that is deleted': ({ secrets }) => secrets.delete(HELLO, 'OLD', BY),
  'install link': ({ installLinks }) => installLinks.create('hello', BY),
  'removed install link': ({ installLinks }) => installLinks.remove('hello', BY),
  token: ({ tokens }) => tokens.create({ kind: 'organization', organization: 'acme' }, BY),
  'token that is revoked': ({ tokens }, { tokenId }) => tokens.revoke(tokenId, BY),
  install: ({ installations }) =>
    installations.install({ integration: 'second', organization: 'acme', externalIds: ['d', 'e'] }, BY),
  'install into a space': ({ installations }, { whole: { installationId } }) =>
    installations.installBelow({ installationId, level: 'space', place: 'p2', externalIds: ['d'] }, BY),
  edit: ({ installations }, { whole }) =>
    installations.edit(
      whole,
      {
        configuration: { region: 'us', oauth_credentials: { access_token: 'y' } },
        externalIds: ['b', 'z'],
        spaceSelection: 'selected',
      },
      { ifRevision: 2 },
      BY,
    ),
  pause: ({ installations }, { whole }) => installations.pause(whole, BY),
  'uninstall from a space': ({ installations }, { space }) => installations.uninstall(space, BY),
  'uninstall with targets below': ({ installations }, { whole }) => installations.uninstall(whole, BY),
  'first secret of a webhook': ({ webhookSecrets }, { space }) => webhookSecrets.signing(space),
  'revealed webhook secret': ({ webhookSecrets }, { space }) => webhookSecrets.reveal(space, BY),
  'rotated webhook secret': ({ webhookSecrets }, { whole: { installationId } }) =>
    webhookSecrets.rotate({ installationId, level: 'site', place: 'p1' }, { overlapMs: 60_000 }, BY),
  'test event of a webhook': (store, { whole: { installationId } }) =>
    intakeOn(store).testEvents.send(
      { installationId, level: 'site', place: 'p1', organization: 'acme', integration: 'hello' },
      'site_view',
      BY,
    ),
  'product events': (store) => intakeOn(store).acceptance.accept(['e1', 'e2'].map(updated)),
  'finished lifecycle event': ({ lifecycleEvents }, { claimed }) =>
    lifecycleEvents.finish(claimed, { state: 'delivered', outcome: 'ok', called: true }),
};
