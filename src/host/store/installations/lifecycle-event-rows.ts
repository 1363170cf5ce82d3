/**
 * Rows of lifecycle events (docs/contract/configuration.md#lifecycle-events): SQL only, no delivery
 * and no decisions.
 *
 * An event is written in the transaction of its change: there is no change without its event, and
 * no event of a change that was rolled back. Its record is sealed, because a configuration may hold
 * credentials.
 */

import type { TargetName } from '../../../model/installation.ts';
import { LEVELS, type Level } from '../../../model/level.ts';
import type { Database } from '../../database/tables.ts';
import type { Vault, VaultPlace } from '../vault/vault.ts';
import { credentialsPlace, type SealedInstallation, signingSecretPlace } from './target-rows.ts';

/** A deleted target as it was, for the environment of the call that handles its deletion. */
export interface DeletedTarget {
  /** Its row, sealed as it was stored. */
  readonly target: SealedInstallation;
  /** Its installation, for a target in a space or a site. */
  readonly installation?: SealedInstallation;
}

/** The sealed content of an event. */
export interface LifecycleEventRecord {
  /** As the handler receives it, with `eventId` and `type`. */
  readonly event: Readonly<Record<string, unknown>>;
  readonly gone?: DeletedTarget;
  /** Set for an event of edits that were made during a pause. */
  readonly held?: true;
  /** How many tasks are behind the change; absent for 0. */
  readonly generation?: number;
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

/** The place of an event's record, for the vault. */
export const lifecycleEventPlace = (eventId: string): VaultPlace => ['life_events', 'sealed_record', eventId];

/**
 * Reseals the values inside a record under the sealing key. A key that no sealed value begins with
 * is then a key that no value needs.
 */
export function renewedRecord(vault: Vault, text: string): string {
  const record = JSON.parse(text) as LifecycleEventRecord;
  return record.gone === undefined ? text : JSON.stringify({ ...record, gone: renewed(vault, record.gone) });
}

function renewed(vault: Vault, { target, installation }: DeletedTarget): DeletedTarget {
  const resealed = (sealed: SealedInstallation): SealedInstallation => ({
    ...sealed,
    sealedSigningSecret: vault.renew(signingSecretPlace(sealed), sealed.sealedSigningSecret),
    sealedCredentials:
      sealed.sealedCredentials && vault.renew(credentialsPlace(sealed), sealed.sealedCredentials),
  });
  return { target: resealed(target), ...(installation && { installation: resealed(installation) }) };
}

/** Event type of a change at a level (docs/contract/configuration.md#lifecycle-events). */
export const lifecycleEventType = (what: 'setup' | 'deleted', level: Level): string =>
  `${level === 'organization' ? '' : `${level}_`}installation_${what}`;

/** Appends an event to those of its installation, in the transaction of its change. */
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
    ...(event.generation && { generation: event.generation }),
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

/** A pending event that is held until its target is resumed. */
interface HeldEdit {
  readonly eventId: string;
  readonly record: LifecycleEventRecord;
}

/** The latest event of a target, if it is held for the end of a pause and no attempt was made. */
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
 * Removes the held event of an earlier edit, which the event of the next edit replaces. One whose
 * call has begun stays: its lease keeps the next event of the installation waiting.
 *
 * @returns the state before the first of these edits, for the new event
 */
export async function takeHeldEdit(
  transaction: Database,
  vault: Vault,
  target: TargetName,
  now: number,
): Promise<{ readonly event: Readonly<Record<string, unknown>> } | undefined> {
  const held = await heldEdit(transaction, vault, target);
  if (held === undefined) return undefined;
  const { numDeletedRows } = await transaction
    .deleteFrom('life_events')
    .where('event_id', '=', held.eventId)
    .where((where) => where.or([where('lease_until', 'is', null), where('lease_until', '<=', now)]))
    .executeTakeFirst();
  if (Number(numDeletedRows) === 0) return undefined;
  const { previous } = held.record.event as { readonly previous?: unknown };
  return { event: { previous } };
}

/** Updates the status in the held event of a target that is resumed. */
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

/**
 * Events to count: of one installation, or of all that an organization ever had of an integration.
 */
export type LifecycleEventsOf =
  | Pick<TargetName, 'installationId'>
  | Pick<LifecycleEvent, 'integration' | 'organization'>;

/** Number of pending lifecycle events. */
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
  // PostgreSQL counts in 64 bits, which its driver returns as text.
  return Number(count);
}

/**
 * Cancels pending setup events of a removed target, and of all targets of a removed installation.
 * Events of deletions stay. An event whose call has begun keeps its lease, so that the deletion is
 * delivered after the call.
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
