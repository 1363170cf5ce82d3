/**
 * Reads the subscribers of a space or site: its targets in reach, with the event types that their
 * integrations' active versions handle. Caches versions, which never change; `recipients.ts` caches
 * the rest.
 */
import { LRUCache } from 'lru-cache';
import type { Database, DeliveryKind } from '../../database/tables.ts';
import { type InstallationStatus, type TargetName, wholeInstallation } from '../../model/installation.ts';
import { missingScopes } from '../../model/manifest/scope.ts';
import { storedManifest } from '../../model/manifest/stored-manifest.ts';
import type { WebhookDeclaration } from '../../model/manifest/webhook.ts';
import { scriptKey } from '../../model/target.ts';
import { inReachOnceActive, type Scene } from '../installations/in-reach.ts';

const VERSIONS_CACHED = 20_000;
/** Rows that one statement selects by key. */
const BATCH = 100;
/** Attempts to read rows and their versions; a version may be pruned between the two reads. */
const READS_MAX = 3;

export interface SubscribersParts {
  readonly database: Database;
}

/** Why a target receives no events. */
export type Inactivity = Exclude<InstallationStatus, 'active'>;

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
  handles(type: string): boolean;
  /** Whether its settings select this type; true if they have no selection. */
  selects(type: string): boolean;
}

/** Event types and webhook declaration of a version. */
interface VersionEvents {
  handles(type: string): boolean;
  readonly webhook?: WebhookDeclaration;
}

/** A configuration. */
type Settings = Readonly<Record<string, unknown>>;

interface SubscriberRow {
  readonly integration: string;
  readonly installation_id: string;
  readonly number: number;
  /** Endpoint of the installation. */
  readonly whole: string;
  /** Endpoint of its target in that place; null if it has none. */
  readonly there: string | null;
  readonly whole_paused_at: number | null;
  readonly there_paused_at: number | null;
  readonly whole_status: InstallationStatus;
  readonly there_status: InstallationStatus | null;
}

export class Subscribers {
  readonly #database: Database;
  readonly #versions = new LRUCache<string, VersionEvents>({ max: VERSIONS_CACHED });

  constructor({ database }: SubscribersParts) {
    this.#database = database;
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
    const rows = await this.#rows(scene);
    const versions = await this.#versionsOf(rows);
    const found = rows.map((row) => ({
      row,
      version: versions.get(scriptKey(row.integration, row.number)),
    }));
    const posting = found.filter(({ row, version }) => row.there !== null && version?.webhook !== undefined);
    const settings = await this.#settingsOf(
      posting.map(({ row }) => row.installation_id),
      scene,
    );
    const subscribers: Subscriber[] = [];
    for (const { row, version } of found) {
      if (version === undefined) return undefined;
      const subscriber = subscriberOf(row, scene, version, settings.get(row.installation_id));
      if (subscriber !== undefined) subscribers.push(subscriber);
    }
    return subscribers;
  }

  #rows(scene: Scene): Promise<SubscriberRow[]> {
    return inReachOnceActive(this.#database, scene)
      .select(['whole.endpoint_key as whole', 'there.endpoint_key as there'])
      .select(['whole.paused_at as whole_paused_at', 'there.paused_at as there_paused_at'])
      .select(['whole.status as whole_status', 'there.status as there_status'])
      .execute();
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
    for (const batch of batchesOf(missing)) {
      const read = await this.#database
        .selectFrom('versions')
        .select(['integration', 'number', 'manifest', 'handled_events'])
        .where((where) =>
          where.or(
            batch.map(({ integration, number }) =>
              where.and([where('integration', '=', integration), where('number', '=', number)]),
            ),
          ),
        )
        .execute();
      for (const { integration, number, manifest, handled_events } of read) {
        const version = versionEventsOf(manifest, handled_events);
        this.#versions.set(scriptKey(integration, number), version);
        versions.set(scriptKey(integration, number), version);
      }
    }
    return versions;
  }

  /** Configurations of the installations' targets in this place, by installation. */
  async #settingsOf(
    installationIds: readonly string[],
    { level, place }: Scene,
  ): Promise<ReadonlyMap<string, Settings>> {
    const settings = new Map<string, Settings>();
    for (const batch of batchesOf(installationIds)) {
      const read = await this.#database
        .selectFrom('targets')
        .select(['installation_id', 'configuration'])
        .where('installation_id', 'in', batch)
        .where('level', '=', level)
        .where('place', '=', place)
        .execute();
      for (const row of read) settings.set(row.installation_id, JSON.parse(row.configuration));
    }
    return settings;
  }
}

function* batchesOf<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += BATCH) yield rows.slice(at, at + BATCH);
}

function versionEventsOf(manifest: string, handledEvents: string | null): VersionEvents {
  const { scopes, webhook } = storedManifest(manifest);
  // If the handled types are unknown, every event goes to the code, which decides.
  const handled = handledEvents === null ? undefined : new Set<string>(JSON.parse(handledEvents));
  return {
    handles: (type) => handled?.has(type) !== false && missingScopes(type, scopes) === undefined,
    ...(webhook && { webhook }),
  };
}

/**
 * Undefined for a webhook integration without a target there: only settings of a space or site have
 * a receiver.
 */
function subscriberOf(
  row: SubscriberRow,
  { level, place }: Scene,
  { handles, webhook }: VersionEvents,
  settings: Settings = {},
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
  const listed = settings[webhook.eventTypes];
  const types = new Set<unknown>(Array.isArray(listed) ? listed : []);
  return { ...own, kind: 'webhook', selects: (type) => types.has(type) };
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
