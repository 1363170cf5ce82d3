/**
 * What happens in the life of a target, put down for its integration to hear (REFERENCE D4, D11): SQL, and nothing that
 * delivers or decides.
 *
 * An event is written in the transaction of the change that it tells of: there is no change without its event, and no
 * event of a change that was rolled back. Its record is sealed, because a configuration may hold credentials.
 */

import type { Database } from '../../database/tables.ts';
import { LEVELS, type Level, type TargetName } from '../../model/installation.ts';
import type { Vault, VaultPlace } from '../vault/vault.ts';
import { credentialsPlace, type SealedInstallation, signingSecretPlace } from './target-rows.ts';

/** A target as it was when it was deleted, for the environment of the call that tells its integration. */
export interface GoneTarget {
  /** Still sealed, as its row was. */
  readonly target: SealedInstallation;
  /** The installation that a space's or a site's target was below. */
  readonly installation?: SealedInstallation;
}

/** What is kept of an event, sealed. */
export interface LifecycleEventRecord {
  /** As the handler gets it, `eventId` and `type` included. */
  readonly event: Readonly<Record<string, unknown>>;
  readonly gone?: GoneTarget;
  /** It tells of edits that were made while the target was paused. */
  readonly held?: true;
}

export interface LifecycleEvent extends LifecycleEventRecord {
  readonly eventId: string;
  readonly type: string;
  readonly target: TargetName;
  readonly integration: string;
  readonly organization: string;
  readonly depth: number;
  readonly at: number;
}

/** Where the record of an event is sealed. */
export const lifecycleEventPlace = (eventId: string): VaultPlace => ['life_events', 'sealed_record', eventId];

/**
 * The text of a record, with what is sealed inside of it sealed by the key that seals now. A key that no row begins with
 * any more is then a key that nothing needs.
 */
export function renewedRecord(vault: Vault, text: string): string {
  const record = JSON.parse(text) as LifecycleEventRecord;
  return record.gone === undefined ? text : JSON.stringify({ ...record, gone: renewed(vault, record.gone) });
}

function renewed(vault: Vault, { target, installation }: GoneTarget): GoneTarget {
  const anew = (sealed: SealedInstallation): SealedInstallation => ({
    ...sealed,
    sealedSigningSecret: vault.renew(signingSecretPlace(sealed), sealed.sealedSigningSecret),
    sealedCredentials:
      sealed.sealedCredentials && vault.renew(credentialsPlace(sealed), sealed.sealedCredentials),
  });
  return { target: anew(target), ...(installation && { installation: anew(installation) }) };
}

/** Event type by what has happened and at which level (REFERENCE D4). */
export const lifecycleEventType = (what: 'setup' | 'deleted', level: Level): string =>
  `${level === 'organization' ? '' : `${level}_`}installation_${what}`;

/** Puts an event behind those of the same installation, in the transaction of what it tells. */
export async function insertLifecycleEvent(
  transaction: Database,
  vault: Vault,
  event: LifecycleEvent,
): Promise<void> {
  const { installationId, level, place } = event.target;
  const last = await transaction
    .selectFrom('life_events')
    .select('position')
    .where('installation_id', '=', installationId)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst();
  const record: LifecycleEventRecord = {
    event: event.event,
    ...(event.gone && { gone: renewed(vault, event.gone) }),
    ...(event.held && { held: true }),
  };
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
      sealed_record: vault.seal(lifecycleEventPlace(event.eventId), JSON.stringify(record)),
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

/** An event that waits until its target is resumed, and tells of all edits meanwhile. */
interface HeldEdit {
  readonly eventId: string;
  readonly record: LifecycleEventRecord;
}

/** The latest event of a target, where it is one that tells of edits while it was paused, and was never begun. */
async function heldEdit(
  transaction: Database,
  vault: Vault,
  { installationId, level, place }: TargetName,
): Promise<HeldEdit | undefined> {
  const row = await transaction
    .selectFrom('life_events')
    .select(['event_id', 'sealed_record'])
    .where('state', '=', 'pending')
    .where('installation_id', '=', installationId)
    .where('level', '=', level)
    .where('place', '=', place)
    .where('attempts', '=', 0)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const record = JSON.parse(
    vault.open(lifecycleEventPlace(row.event_id), row.sealed_record),
  ) as LifecycleEventRecord;
  return record.held ? { eventId: row.event_id, record } : undefined;
}

/**
 * Removes the event of an earlier edit while the target was paused, so that another takes its place. A row that is removed
 * cannot be marked as told by a call that began before.
 *
 * @returns what the other has to tell from it: how things were before the first of these edits
 */
export async function takeHeldEdit(
  transaction: Database,
  vault: Vault,
  target: TargetName,
): Promise<{ readonly event: Readonly<Record<string, unknown>> } | undefined> {
  const held = await heldEdit(transaction, vault, target);
  if (held === undefined) return undefined;
  await transaction.deleteFrom('life_events').where('event_id', '=', held.eventId).execute();
  const { previous } = held.record.event as { readonly previous?: unknown };
  return { event: { previous } };
}

/** Has the event that was held back while a target was paused tell the status that it has now. */
export async function renewHeldEdit(
  transaction: Database,
  vault: Vault,
  target: TargetName & { readonly status: string },
): Promise<void> {
  const held = await heldEdit(transaction, vault, target);
  if (held === undefined) return;
  const { eventId, record } = held;
  const renewed = { ...record, event: { ...record.event, status: target.status } };
  await transaction
    .updateTable('life_events')
    .set({ sealed_record: vault.seal(lifecycleEventPlace(eventId), JSON.stringify(renewed)) })
    .where('event_id', '=', eventId)
    .execute();
}

/** Whose events are counted: one installation's, or those of all that an organization ever had of an integration. */
export type LifecycleEventsOf =
  | Pick<TargetName, 'installationId'>
  | Pick<LifecycleEvent, 'integration' | 'organization'>;

/** Events that their integration has not heard yet. */
export async function countPendingLifecycleEvents(
  database: Database,
  of: LifecycleEventsOf,
): Promise<number> {
  const pending = database
    .selectFrom('life_events')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('state', '=', 'pending');
  const counted =
    'installationId' in of
      ? pending.where('installation_id', '=', of.installationId)
      : pending.where('integration', '=', of.integration).where('organization', '=', of.organization);
  const { count } = await counted.executeTakeFirstOrThrow();
  // PostgreSQL counts in 64 bits, which its driver hands over as text.
  return Number(count);
}

/**
 * Has an integration hear no more of how a target was set up: nobody is left to be told about. Of an installation, all that
 * is below it is meant, too. That something was deleted is still told.
 */
export async function cancelSetupEvents(
  transaction: Database,
  { installationId, level, place }: TargetName,
  at: number,
): Promise<void> {
  const levels = level === 'organization' ? LEVELS : [level];
  const types = levels.map((each) => lifecycleEventType('setup', each));
  let update = transaction
    .updateTable('life_events')
    .set({ state: 'canceled', finished_at: at, sealed_record: '' })
    .where('state', '=', 'pending')
    .where('installation_id', '=', installationId)
    .where('type', 'in', types);
  if (level !== 'organization') update = update.where('place', '=', place);
  await update.execute();
}
