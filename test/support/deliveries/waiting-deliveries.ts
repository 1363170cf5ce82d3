/**
 * Fixtures for tests of the delivery store: a subscribed handler or webhook, and accepted events.
 */

import { onTestFinished } from 'vitest';
import type { ClaimedDelivery, Settlement } from '../../../src/host/store/deliveries/delivery.ts';
import type { Store } from '../../../src/host/store/store.ts';
import type { Limits } from '../../../src/limits.ts';
import { type PublishedManifest, publishedManifest } from '../../../src/model/manifest/manifest.ts';
import { CLOCK, manifestYaml, OPERATOR, parsed, temporaryStore } from '../store/temporary-store.ts';
import { intakeOf } from './intake.ts';

export const SITE = 'site_1';
export const DAY_MS = 24 * 60 * 60 * 1_000;

const WEBHOOK = `webhook: {url: url, eventTypes: events}
configurations:
  site:
    properties:
      url: {type: string, title: URL}
      events: {type: string, title: Events, multiple: true, enum: [site_view, page_feedback]}
    required: [url, events]
`;

const listening = (name: string, more: string): PublishedManifest => {
  const yaml = manifestYaml({ name }, more).replace('scopes: []', 'scopes: [site:views:read]');
  return publishedManifest(parsed(yaml).manifest);
};

/**
 * Publishes an integration of this name, and installs it into `organization`. @returns the
 * installation's id
 */
async function install(store: Store, name: string, organization: string, more = ''): Promise<string> {
  const manifest = listening(name, more);
  await store.registry.publish({ manifest, script: '', sourceMap: '{}', secrets: new Map() }, OPERATOR);
  const request = { integration: name, organization, externalIds: [] };
  return (await store.installations.install(request, OPERATOR)).installationId;
}

/** Installs an integration with a handler. */
export const installHandler = (store: Store, organization = 'acme', name = 'listener'): Promise<string> =>
  install(store, name, organization);

/** Installs an integration with a webhook in `SITE`. */
export async function installWebhook(store: Store, organization = 'acme', name = 'poster'): Promise<string> {
  const installationId = await install(store, name, organization, WEBHOOK);
  const target = { installationId, level: 'site', place: SITE } as const;
  await store.installations.installBelow({ ...target, externalIds: [] }, OPERATOR);
  const configuration = { url: 'https://receiver.example/hook', events: ['site_view', 'page_feedback'] };
  await store.installations.edit(target, { configuration }, {}, OPERATOR);
  return installationId;
}

/** A store with one installation of `acme` that has a handler. */
export async function listeningStore(limits: Partial<Limits> = {}): Promise<Store> {
  const store = await temporaryStore(limits);
  await installHandler(store);
  return store;
}

/** Advances the clock until the end of the test. */
export function later(ms: number): void {
  const { now } = CLOCK;
  CLOCK.now += ms;
  onTestFinished(() => {
    CLOCK.now = now;
  });
}

let count = 0;

/** Accepts events. @returns the ids of their deliveries, in order */
export async function deliveriesOf(
  store: Store,
  events: number,
  { organization = 'acme', type = 'site_view' } = {},
): Promise<string[]> {
  const posted = Array.from({ length: events }, () => {
    count += 1;
    const eventId = `evt_${count}`;
    const body = JSON.stringify({ eventId, type, siteId: SITE });
    return { eventId, organization, type, level: 'site', place: SITE, body, bodyHash: body } as const;
  });
  const { acceptance, woken } = intakeOf(store);
  const before = woken.length;
  await acceptance.accept(posted);
  return woken.slice(before).map(({ id }) => id);
}

/** Claims one delivery. */
export async function claimed({ deliveryClaims }: Store, id: string): Promise<ClaimedDelivery> {
  const [claim] = await deliveryClaims.claim([id]);
  if (claim === undefined) throw new Error(`${id} cannot be claimed.`);
  return claim;
}

/** An attempt that was answered 200. */
export const answered = (at = CLOCK.now) =>
  ({ at, durationMs: 12, result: 'succeeded', outcome: 'answered 200', status: 200 }) as const;

/** The settlement of a claim: delivered, unless changed. */
export const ending = (claim: ClaimedDelivery, change: Partial<Settlement> = {}): Settlement => ({
  claim,
  state: 'delivered',
  dueAt: claim.dueAt,
  retries: claim.retries,
  unknowns: claim.unknowns,
  faults: claim.faults,
  outcome: 'answered 200',
  attempt: answered(),
  ...change,
});

/** Claims and settles deliveries. */
export async function ended(
  store: Store,
  ids: readonly string[],
  change: Partial<Settlement> = {},
): Promise<void> {
  for (const claim of await store.deliveryClaims.claim(ids))
    if (!(await store.deliveryClaims.settle(ending(claim, change)))) throw new Error(`${claim.id} is lost.`);
}
