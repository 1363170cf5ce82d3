/**
 * Reads the rows that determine the subscribers of a space or site: SQL only. What an event needs
 * of them is decided in `delivery/accept/`.
 */

import type { InstallationStatus } from '../../../model/installation.ts';
import type { Database } from '../../database/tables.ts';
import { inReachOnceActive, type Scene } from '../installations/reach-rule.ts';

/** Rows that one statement selects by key. */
const BATCH = 100;

/** A target in reach of a space or site, or one that would be if it were active. */
export interface SubscriberRow {
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

/** A version, with the event types that its code handles. */
export interface VersionRow {
  readonly integration: string;
  readonly number: number;
  readonly manifest: string;
  /** JSON list; null if the types are unknown. */
  readonly handled_events: string | null;
}

export class SubscriberRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Sorted by the names of their integrations. */
  inReach(scene: Scene): Promise<SubscriberRow[]> {
    return inReachOnceActive(this.#database, scene)
      .select(['whole.endpoint_key as whole', 'there.endpoint_key as there'])
      .select(['whole.paused_at as whole_paused_at', 'there.paused_at as there_paused_at'])
      .select(['whole.status as whole_status', 'there.status as there_status'])
      .execute();
  }

  /** Those of these versions that exist, some at a time: their manifests may be large. */
  async *versions(
    keys: readonly Pick<VersionRow, 'integration' | 'number'>[],
  ): AsyncGenerator<readonly VersionRow[], void, undefined> {
    for (const batch of batchesOf(keys)) {
      yield await this.#database
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
    }
  }

  /** Configurations of the installations' targets in this place, as JSON, by installation. */
  async settings(
    installationIds: readonly string[],
    { level, place }: Scene,
  ): Promise<ReadonlyMap<string, string>> {
    const settings = new Map<string, string>();
    for (const batch of batchesOf(installationIds)) {
      const read = await this.#database
        .selectFrom('targets')
        .select(['installation_id', 'configuration'])
        .where('installation_id', 'in', batch)
        .where('level', '=', level)
        .where('place', '=', place)
        .execute();
      for (const row of read) settings.set(row.installation_id, row.configuration);
    }
    return settings;
  }
}

function* batchesOf<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += BATCH) yield rows.slice(at, at + BATCH);
}
