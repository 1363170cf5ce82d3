/**
 * What becomes of schedules when something else changes: a version becomes active, an installation
 * becomes active or is removed, an integration is deleted.
 *
 * A publish writes the rows of the integration's own endpoint. Its installations follow in a walk,
 * whose state is a row, so that a crash ends none. Until the walk has come to an installation, a
 * run that is due there is checked against the active version before it begins.
 */

import type { PublishedManifest } from '../../../model/manifest/manifest.ts';
import { type Schedule, schedulesAt, timing } from '../../../model/manifest/schedule.ts';
import { lock } from '../../database/locks.ts';
import type { Database } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import { writeSchedules } from '../schedule-rows.ts';
import { integrationLock, readActiveVersion, readIntegration, readVersion } from './integration-rows.ts';

/** Installations that get the schedules of a version in one transaction. */
const INSTALLATIONS_CHANGED = 200;
/**
 * Where other nodes use the database, installations are walked a second time so long after a
 * publish: an install that began before it, and committed after, has read the version before.
 */
const SECOND_WALK_MS = 10_000;
/** Begins `after` in the second walk. No id of an installation begins with it. */
const SECOND = '2 ';

/**
 * A version becomes active. Attack: a publish whose transaction writes rows for each of a hundred
 * thousand installations, for which all other writers wait.
 *
 * @param before number of the version that was active; undefined if there was none
 */
export async function changeVersion(
  transaction: Database,
  manifest: PublishedManifest,
  { before, now }: { readonly before: number | undefined; readonly now: number },
): Promise<void> {
  const { name: integration } = manifest;
  const replaced = before === undefined ? undefined : await readVersion(transaction, integration, before);
  if (manifest.schedules === undefined && replaced?.manifest.schedules === undefined) return;
  const active = await readIntegration(transaction, integration);
  if (active === undefined) return;
  const schedules = schedulesAt(manifest, 'integration');
  await writeSchedules(
    transaction,
    [{ endpoint: active.endpointKey, integration, schedules, isActive: true }],
    now,
  );
  if (replaced === undefined || timings(replaced.manifest) === timings(manifest)) return;
  await transaction
    .insertInto('schedule_changes')
    .values({ integration, after: '', due_at: now })
    .onConflict((conflict) => conflict.column('integration').doUpdateSet({ after: '', due_at: now }))
    .execute();
}

const timings = (manifest: PublishedManifest): string =>
  JSON.stringify(schedulesAt(manifest, 'installation').map((schedule) => [schedule.id, timing(schedule)]));

/** An installation, as far as its schedules go. */
interface Scheduled {
  readonly endpointKey: string;
  readonly integration: string;
  readonly level: string;
  readonly status: string;
}

/** An installation has become active, or is not active any more: its schedules begin, or rest. */
export async function changeInstallation(
  transaction: Database,
  manifest: PublishedManifest,
  { endpointKey: endpoint, integration, level, status }: Scheduled,
  now: number,
): Promise<void> {
  if (manifest.schedules === undefined || level !== 'organization') return;
  const schedules = schedulesAt(manifest, 'installation');
  await writeSchedules(
    transaction,
    [{ endpoint, integration, schedules, isActive: status === 'active' }],
    now,
  );
}

interface WalkDeps {
  readonly database: Database;
  readonly wallNow: () => number;
  /** Whether other nodes use the database. */
  readonly isShared: boolean;
}

/** Goes one page further in one walk. @returns whether there was one */
export async function changeSome({ database, wallNow, isShared }: WalkDeps): Promise<boolean> {
  const now = wallNow();
  const waiting = await database
    .selectFrom('schedule_changes')
    .select('integration')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst();
  if (waiting === undefined) return false;
  const { integration } = waiting;
  await inTransaction(database, async (transaction) => {
    // No version is published meanwhile, and no other node walks.
    await lock(transaction, integrationLock(integration));
    const change = await transaction
      .selectFrom('schedule_changes')
      .selectAll()
      .where('integration', '=', integration)
      .executeTakeFirst();
    if (change !== undefined && change.due_at <= now)
      await changePage(transaction, change, { now, isShared });
  });
  return true;
}

/** Writes the rows of the next installations, and how far the walk has come. */
async function changePage(
  transaction: Database,
  { integration, after }: { readonly integration: string; readonly after: string },
  { now, isShared }: { readonly now: number; readonly isShared: boolean },
): Promise<void> {
  const active = await readActiveVersion(transaction, integration);
  const schedules: readonly Schedule[] = active ? schedulesAt(active.version.manifest, 'installation') : [];
  const isSecond = after.startsWith(SECOND);
  const installations = await transaction
    .selectFrom('targets')
    .select(['installation_id', 'endpoint_key', 'status'])
    .where('integration', '=', integration)
    .where('level', '=', 'organization')
    .where('installation_id', '>', isSecond ? after.slice(SECOND.length) : after)
    .orderBy('installation_id')
    .limit(INSTALLATIONS_CHANGED)
    .execute();
  const endpoints = installations.map(({ endpoint_key: endpoint, status }) => ({
    ...{ endpoint, integration, schedules },
    isActive: status === 'active',
  }));
  await writeSchedules(transaction, endpoints, now);
  const last = installations.at(-1)?.installation_id;
  const change = transaction.updateTable('schedule_changes').where('integration', '=', integration);
  if (last !== undefined && installations.length === INSTALLATIONS_CHANGED)
    await change.set({ after: `${isSecond ? SECOND : ''}${last}` }).execute();
  else if (isShared && !isSecond) await change.set({ after: SECOND, due_at: now + SECOND_WALK_MS }).execute();
  else await transaction.deleteFrom('schedule_changes').where('integration', '=', integration).execute();
}
