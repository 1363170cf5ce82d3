/**
 * What happens in the life of a target, put down for its integration to hear (REFERENCE D4, D11): SQL, and nothing that
 * delivers or decides.
 *
 * An event is written in the transaction of the change that it tells of: there is no change without its event, and no
 * event of a change that was rolled back. Its record is sealed, because a configuration may hold credentials.
 */
import type { Level, TargetName } from '../model/installation.ts';
import type { Database } from './tables.ts';
import type { SealedInstallation } from './target-rows.ts';
import type { Vault, VaultPlace } from './vault.ts';

/** A target as it was when it was deleted, for the environment of the call that tells its integration. */
export interface GoneTarget {
  /** Still sealed, as its row was. */
  readonly target: SealedInstallation;
  /** The installation that a space's or a site's target was below. */
  readonly installation?: SealedInstallation;
}

/** What is kept of an event, sealed. */
export interface LifeEventRecord {
  /** As the handler gets it, `eventId` and `type` included. */
  readonly event: Readonly<Record<string, unknown>>;
  readonly gone?: GoneTarget;
}

export interface LifeEvent extends LifeEventRecord {
  readonly eventId: string;
  readonly type: string;
  readonly target: TargetName;
  readonly integration: string;
  readonly organization: string;
  readonly depth: number;
  readonly at: number;
}

/** Where the record of an event is sealed. */
export const lifeEventPlace = (eventId: string): VaultPlace => ['life_events', 'sealed_record', eventId];

/** Event type by what has happened and at which level (REFERENCE D4). */
export const lifeEventType = (what: 'setup' | 'deleted', level: Level): string =>
  `${level === 'organization' ? '' : `${level}_`}installation_${what}`;

/** Puts an event behind those of the same installation, in the transaction of what it tells. */
export async function insertLifeEvent(transaction: Database, vault: Vault, event: LifeEvent): Promise<void> {
  const { installationId, level, place } = event.target;
  const last = await transaction
    .selectFrom('life_events')
    .select('position')
    .where('installation_id', '=', installationId)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst();
  const record: LifeEventRecord = { event: event.event, ...(event.gone && { gone: event.gone }) };
  await transaction
    .insertInto('life_events')
    .values({
      installation_id: installationId,
      position: (last?.position ?? 0) + 1,
      event_id: event.eventId,
      level,
      place,
      integration: event.integration,
      organization: event.organization,
      type: event.type,
      sealed_record: vault.seal(lifeEventPlace(event.eventId), JSON.stringify(record)),
      depth: event.depth,
      state: 'pending',
      attempts: 0,
      due_at: event.at,
      outcome: null,
      created_at: event.at,
      finished_at: null,
    })
    .execute();
}
