/**
 * The targets that may hear of what happens in a space or a site, read from their rows and from what the active versions of their
 * integrations say. Caches versions alone, which never change; `recipients.ts` remembers the rest.
 */
import { LRUCache } from 'lru-cache';
import type { Database, DeliveryKind } from '../../database/tables.ts';
import { type InstallationStatus, type TargetName, wholeInstallation } from '../../model/installation.ts';
import { missingScopes } from '../../model/manifest/scope.ts';
import { storedManifest } from '../../model/manifest/stored-manifest.ts';
import type { WebhookDeclaration } from '../../model/manifest/webhook.ts';
import { scriptKey } from '../../model/target.ts';
import { inReachOnceActive, type Scene } from '../installations/in-reach.ts';

const VERSIONS_REMEMBERED = 20_000;
/** Rows that one statement asks for by their keys. */
const BATCH = 100;
/** How often rows are read anew where their versions are gone by the time that these are asked for. */
const READINGS_MAX = 3;

export interface SubscribersParts {
  readonly database: Database;
}

/** Why a target hears nothing. */
export type Inactivity = Exclude<InstallationStatus, 'active'>;

/** A target that is in reach of what happens there, or is once it is active. */
export interface Subscriber extends TargetName {
  /** Absent where it is active, as its installation is. */
  readonly inactive?: Inactivity;
  readonly integration: string;
  readonly endpoint: string;
  readonly kind: DeliveryKind;
  /** When it, or the installation that it is part of, was last paused; absent where neither ever was. */
  readonly pausedAt?: number;
  /** Whether its code has a handler for this type of event, and the scope to hear of it. */
  heard(type: string): boolean;
  /** Whether its settings ask for this type, where they can. */
  selected(type: string): boolean;
}

/** What a version says of itself. */
interface Hearing {
  heard(type: string): boolean;
  readonly webhook?: WebhookDeclaration;
}

/** A configuration. */
type Settings = Readonly<Record<string, unknown>>;

interface HearerRow {
  readonly integration: string;
  readonly installation_id: string;
  readonly number: number;
  /** Endpoint of the organization's target. */
  readonly whole: string;
  /** Endpoint of the one that is there; null where there is none. */
  readonly there: string | null;
  readonly whole_paused_at: number | null;
  readonly there_paused_at: number | null;
  readonly whole_status: InstallationStatus;
  readonly there_status: InstallationStatus | null;
}

export class Subscribers {
  readonly #database: Database;
  readonly #versions = new LRUCache<string, Hearing>({ max: VERSIONS_REMEMBERED });

  constructor({ database }: SubscribersParts) {
    this.#database = database;
  }

  /** By the names of their integrations. */
  async at(scene: Scene): Promise<readonly Subscriber[]> {
    for (let reading = 1; reading <= READINGS_MAX; reading += 1) {
      const hearers = await this.#read(scene);
      if (hearers !== undefined) return hearers;
    }
    throw new Error('Integrations were published again and again while their versions were read.');
  }

  /** @returns undefined where a version that was active a moment ago is forgotten: whoever left it out would lose an event */
  async #read(scene: Scene): Promise<readonly Subscriber[] | undefined> {
    const rows = await this.#rows(scene);
    const hearings = await this.#hearingsOf(rows);
    const heardBy = rows.map((row) => ({
      row,
      hearing: hearings.get(scriptKey(row.integration, row.number)),
    }));
    const posting = heardBy.filter(
      ({ row, hearing }) => row.there !== null && hearing?.webhook !== undefined,
    );
    const settings = await this.#settingsOf(
      posting.map(({ row }) => row.installation_id),
      scene,
    );
    const hearers: Subscriber[] = [];
    for (const { row, hearing } of heardBy) {
      if (hearing === undefined) return undefined;
      const hearer = hearerOf(row, scene, hearing, settings.get(row.installation_id));
      if (hearer !== undefined) hearers.push(hearer);
    }
    return hearers;
  }

  #rows(scene: Scene): Promise<HearerRow[]> {
    return inReachOnceActive(this.#database, scene)
      .select(['whole.endpoint_key as whole', 'there.endpoint_key as there'])
      .select(['whole.paused_at as whole_paused_at', 'there.paused_at as there_paused_at'])
      .select(['whole.status as whole_status', 'there.status as there_status'])
      .execute();
  }

  /** What versions say, by their key: from memory, or read. */
  async #hearingsOf(rows: readonly HearerRow[]): Promise<ReadonlyMap<string, Hearing>> {
    const hearings = new Map<string, Hearing>();
    const missing: HearerRow[] = [];
    for (const row of rows) {
      const key = scriptKey(row.integration, row.number);
      const known = this.#versions.get(key);
      if (known === undefined) missing.push(row);
      else hearings.set(key, known);
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
        const hearing = hearingOf(manifest, handled_events);
        this.#versions.set(scriptKey(integration, number), hearing);
        hearings.set(scriptKey(integration, number), hearing);
      }
    }
    return hearings;
  }

  /** Configurations of what installations have there, by installation. */
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

function hearingOf(manifest: string, handledEvents: string | null): Hearing {
  const { scopes, webhook } = storedManifest(manifest);
  // Where nobody knows, the code itself is asked.
  const handled = handledEvents === null ? undefined : new Set<string>(JSON.parse(handledEvents));
  return {
    heard: (type) => handled?.has(type) !== false && missingScopes(type, scopes) === undefined,
    ...(webhook && { webhook }),
  };
}

/** Undefined for one that posts webhooks and is not there: it is the settings of a space or a site that say what goes where. */
function hearerOf(
  row: HearerRow,
  { level, place }: Scene,
  { heard, webhook }: Hearing,
  settings: Settings = {},
): Subscriber | undefined {
  const { integration, installation_id: installationId, whole, there } = row;
  const all = { integration, heard, ...pausedAtOf(row), ...inactivityOf(row) };
  if (there === null) {
    if (webhook !== undefined) return undefined;
    const name = wholeInstallation(installationId);
    return { ...name, ...all, endpoint: whole, kind: 'handler', selected: () => true };
  }
  const own = { installationId, level, place, ...all, endpoint: there };
  if (webhook === undefined) return { ...own, kind: 'handler', selected: () => true };
  const listed = settings[webhook.eventTypes];
  const types = new Set<unknown>(Array.isArray(listed) ? listed : []);
  return { ...own, kind: 'webhook', selected: (type) => types.has(type) };
}

function inactivityOf({ whole_status, there_status }: HearerRow): Pick<Subscriber, 'inactive'> {
  const statuses = [whole_status, there_status];
  const inactive = (['paused', 'pending'] as const).find((status) => statuses.includes(status));
  return inactive === undefined ? {} : { inactive };
}

function pausedAtOf({ whole_paused_at, there_paused_at }: HearerRow): Pick<Subscriber, 'pausedAt'> {
  const pauses = [whole_paused_at, there_paused_at].filter((at) => at !== null);
  return pauses.length === 0 ? {} : { pausedAt: Math.max(...pauses) };
}
