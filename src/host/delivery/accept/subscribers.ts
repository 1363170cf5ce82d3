/**
 * Finds the subscribers of a space or site: its targets in reach, with the event types that their
 * integrations' active versions handle. Caches versions, which never change; `recipients.ts` caches
 * the rest.
 *
 * A target whose settings or version cannot be read is left out and reported, so that one damaged
 * row does not fail every event of its organization.
 */

import { entryCache } from '../../../model/entry-cache.ts';
import { type DeclaredReach, includesType } from '../../../model/event-type.ts';
import { BUILT_IN_ORGANIZATION } from '../../../model/identifiers.ts';
import { type TargetName, wholeInstallation } from '../../../model/installation.ts';
import { missingScopes } from '../../../model/manifest/scope.ts';
import { storedManifest } from '../../../model/manifest/stored-manifest.ts';
import type { WebhookDeclaration } from '../../../model/manifest/webhook.ts';
import { scriptKey } from '../../../model/target.ts';
import type { DeliveryKind } from '../../database/tables.ts';
import type { Inactivity } from '../../store/events/event-rows.ts';
import type { SubscriberRow, SubscriberRows } from '../../store/events/subscriber-rows.ts';
import type { Scene } from '../../store/installations/reach-rule.ts';

const VERSIONS_CACHED = 20_000;
/** Attempts to read rows and their versions; a version may be pruned between the two reads. */
const READS_MAX = 3;

/** A target in reach of a space or site, or one that would be if it were active. */
export interface Subscriber extends TargetName {
  /** Absent if both the target and its installation are active. */
  readonly inactive?: Inactivity;
  readonly integration: string;
  readonly endpoint: string;
  readonly kind: DeliveryKind;
  /** Latest pause of the target or its installation; absent if neither was ever paused. */
  readonly pausedAt?: number;
  /** Whether its code handles this event type and has the scope for it. */
  handles(type: string, declared?: DeclaredReach): boolean;
  /** Whether its settings select this type; true if they have no selection. */
  selects(type: string, declared?: DeclaredReach): boolean;
}

/** Event types and webhook declaration of a version. */
interface VersionEvents {
  handles(type: string, declared?: DeclaredReach): boolean;
  readonly webhook?: WebhookDeclaration;
}

export class Subscribers {
  readonly #rows: SubscriberRows;
  readonly #onError: (error: unknown) => void;
  readonly #versions = entryCache<VersionEvents>(VERSIONS_CACHED);

  /** @param onError receives the errors of damaged rows, whose targets are left out */
  constructor(rows: SubscriberRows, onError: (error: unknown) => void) {
    this.#rows = rows;
    this.#onError = onError;
  }

  /** Sorted by the names of their integrations. */
  async at(scene: Scene): Promise<readonly Subscriber[]> {
    for (let attempt = 1; attempt <= READS_MAX; attempt += 1) {
      const subscribers = await this.#read(scene);
      if (subscribers !== undefined) return subscribers;
    }
    throw new Error('Integrations were published again and again while their versions were read.');
  }

  /**
   * @returns undefined if a version was pruned since its row was read: to leave it out would lose
   * an event
   */
  async #read(scene: Scene): Promise<readonly Subscriber[] | undefined> {
    const rows = await this.#rows.inReach(scene);
    const versions = await this.#versionsOf(rows);
    const found = rows.map((row) => ({
      row,
      version: versions.get(scriptKey(row.integration, row.number)),
    }));
    const posting = found.filter(({ row, version }) => row.there !== null && version?.webhook !== undefined);
    const settings = await this.#rows.settings(
      posting.map(({ row }) => row.installation_id),
      scene,
    );
    const subscribers: Subscriber[] = [];
    for (const { row, version } of found) {
      if (version === undefined) return undefined;
      const subscriber = this.#readable(row, scene, version, settings.get(row.installation_id));
      if (subscriber !== undefined) subscribers.push(subscriber);
    }
    return subscribers;
  }

  /** Events of versions, by script key: cached, or read. */
  async #versionsOf(rows: readonly SubscriberRow[]): Promise<ReadonlyMap<string, VersionEvents>> {
    const versions = new Map<string, VersionEvents>();
    const missing: SubscriberRow[] = [];
    for (const row of rows) {
      const key = scriptKey(row.integration, row.number);
      const known = this.#versions.get(key);
      if (known === undefined) missing.push(row);
      else versions.set(key, known);
    }
    for await (const read of this.#rows.versions(missing)) {
      for (const { integration, number, manifest, handled_events } of read) {
        const version = this.#readableVersion(integration, number, () =>
          versionEventsOf(manifest, handled_events),
        );
        this.#versions.set(scriptKey(integration, number), version);
        versions.set(scriptKey(integration, number), version);
      }
    }
    return versions;
  }

  /** The errors of the parser quote what they parse, so they are not reported. */
  #readableVersion(integration: string, number: number, read: () => VersionEvents): VersionEvents {
    try {
      return read();
    } catch {
      this.#onError(new Error(`Version ${number} of "${integration}" is damaged.`));
      return { handles: () => false };
    }
  }

  #readable(row: SubscriberRow, scene: Scene, version: VersionEvents, settings?: string) {
    try {
      return subscriberOf(row, scene, version, settings);
    } catch {
      const { level, place } = scene;
      const target = `installation ${row.installation_id} in the ${level} "${place}"`;
      this.#onError(new Error(`The configuration of ${target} is damaged.`));
      return undefined;
    }
  }
}

function versionEventsOf(manifest: string, handledEvents: string | null): VersionEvents {
  const stored = storedManifest(manifest);
  const { webhook } = stored;
  // Read now, so that a manifest without scopes is found here, and not at each event.
  const scopes = [...stored.scopes];
  // The built-in integrations cannot name the scopes of a product. Who installs selects the types.
  const isBuiltIn = stored.organization === BUILT_IN_ORGANIZATION;
  // If the handled types are unknown, every event goes to the code, which decides.
  const handled = handledEvents === null ? undefined : new Set<string>(JSON.parse(handledEvents));
  return {
    handles(type, declared) {
      if (declared === undefined)
        return handled?.has(type) !== false && missingScopes(type, scopes) === undefined;
      const { scope } = declared;
      const isGranted = scope === undefined || isBuiltIn || scopes.includes(scope);
      return isGranted && (handled === undefined || includesType(handled, type));
    },
    ...(webhook && { webhook }),
  };
}

/**
 * Undefined for a webhook integration without a target there: only settings of a space or site have
 * a receiver.
 *
 * @throws if the settings are needed and are no JSON
 */
function subscriberOf(
  row: SubscriberRow,
  { level, place }: Scene,
  { handles, webhook }: VersionEvents,
  settings = '{}',
): Subscriber | undefined {
  const { integration, installation_id: installationId, whole, there } = row;
  const all = { integration, handles, ...pausedAtOf(row), ...inactivityOf(row) };
  if (there === null) {
    if (webhook !== undefined) return undefined;
    const name = wholeInstallation(installationId);
    return { ...name, ...all, endpoint: whole, kind: 'handler', selects: () => true };
  }
  const own = { installationId, level, place, ...all, endpoint: there };
  if (webhook === undefined) return { ...own, kind: 'handler', selects: () => true };
  // A webhook that selects nothing of the organization posts nothing of it.
  const listed: unknown = JSON.parse(settings)[webhook.eventTypes];
  const types = new Set<unknown>(Array.isArray(listed) ? listed : []);
  return {
    ...own,
    kind: 'webhook',
    // A pattern selects what users may select, and no other type that it happens to fit.
    selects: (type, declared) =>
      declared === undefined ? types.has(type) : declared.webhook && includesType(types, type),
  };
}

function inactivityOf({ whole_status, there_status }: SubscriberRow): Pick<Subscriber, 'inactive'> {
  const statuses = [whole_status, there_status];
  const inactive = (['paused', 'pending'] as const).find((status) => statuses.includes(status));
  return inactive === undefined ? {} : { inactive };
}

function pausedAtOf({ whole_paused_at, there_paused_at }: SubscriberRow): Pick<Subscriber, 'pausedAt'> {
  const pauses = [whole_paused_at, there_paused_at].filter((at) => at !== null);
  return pauses.length === 0 ? {} : { pausedAt: Math.max(...pauses) };
}
