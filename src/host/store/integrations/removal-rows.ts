/**
 * Rows removed when a version is pruned or an integration deleted: SQL only, no decisions.
 *
 * Each function runs in its caller's transaction. Statements are bounded, so
 * that each is short.
 */
import { sql } from 'kysely';
import { TASK } from '../../../model/task.ts';
import { inBatches, ROWS_PER_BATCH } from '../../database/batches.ts';
import type { Database } from '../../database/tables.ts';
import { endSchedulesOf } from '../schedule-rows.ts';

/**
 * Removes the oldest versions beyond `max`, with their images.
 *
 * @param kept versions that stay whatever their age: the active one, and the previously active one,
 * which calls in flight still
 * run and to which a roll-back returns
 */
export async function pruneVersions(
  database: Database,
  integration: string,
  { max, kept }: { readonly max: number; readonly kept: readonly number[] },
): Promise<void> {
  const others = database
    .selectFrom('versions')
    .where('integration', '=', integration)
    .where('number', 'not in', kept);
  const newestPruned = await others
    .select('number')
    .orderBy('number', 'desc')
    .offset(Math.max(0, max - kept.length))
    .limit(1)
    .executeTakeFirst();
  if (newestPruned === undefined) return;
  await database
    .deleteFrom('versions')
    .where('integration', '=', integration)
    .where('number', '<=', newestPruned.number)
    .where('number', 'not in', kept)
    .execute();
}

/**
 * Deletes an integration with its versions, secrets and installations. Their pending lifecycle
 * events are canceled, because the code that would handle them is deleted, too.
 *
 * @param latestVersion the number from which the next integration of this name continues
 */
export async function deleteIntegration(
  database: Database,
  name: string,
  { latestVersion, now }: { readonly latestVersion: number; readonly now: number },
): Promise<void> {
  await cancelEvents(database, name, now);
  await deleteTargets(database, name);
  await endSchedulesOf(database, name);
  // Images are removed with their versions, by the foreign key.
  await database.deleteFrom('secrets').where('integration', '=', name).execute();
  await database.deleteFrom('versions').where('integration', '=', name).execute();
  await database.deleteFrom('integrations').where('name', '=', name).execute();
  await database
    .insertInto('deleted_integrations')
    .values({ name, latest_version: latestVersion })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ latest_version: latestVersion }))
    .execute();
}

const cancelEvents = (database: Database, integration: string, now: number): Promise<void> =>
  inBatches(async () => {
    const some = database
      .selectFrom('life_events')
      .select('event_id')
      .where('integration', '=', integration)
      .where('state', '=', 'pending')
      .limit(ROWS_PER_BATCH);
    const { numUpdatedRows } = await database
      .updateTable('life_events')
      .set({ state: 'canceled', sealed_record: '', outcome: 'integration deleted', finished_at: now })
      .where('event_id', 'in', some)
      .executeTakeFirst();
    return Number(numUpdatedRows);
  });

/** A task that was canceled, with what its followers are found by. */
export interface CanceledTask {
  readonly id: string;
  readonly organization: string;
  /** Empty at the level of the integration. */
  readonly installationId: string;
}

/**
 * Cancels the pending tasks of an integration, and removes their content. A claim of one is lost.
 */
export async function cancelTasks(
  database: Database,
  integration: string,
  now: number,
): Promise<CanceledTask[]> {
  const canceled: CanceledTask[] = [];
  await inBatches(async () => {
    // Literals, as in the partial index of pending tasks.
    const rows = await database
      .selectFrom('deliveries')
      .select(['id', 'event', 'organization', 'installation_id as installationId'])
      .where('state', '=', sql.lit('pending'))
      .where('type', '=', sql.lit(TASK))
      .where('integration', '=', integration)
      .limit(ROWS_PER_BATCH)
      .execute();
    if (rows.length === 0) return 0;
    await database
      .updateTable('deliveries')
      .set({ state: 'canceled', outcome: 'deleted', lease_until: null, finished_at: now })
      .set((column) => ({ fence: column('fence', '+', 1) }))
      .where(
        'id',
        'in',
        rows.map(({ id }) => id),
      )
      .execute();
    await database
      .updateTable('events')
      .set({ body: '' })
      .where(
        'id',
        'in',
        rows.map(({ event }) => event),
      )
      .execute();
    canceled.push(...rows.map(({ event: _, ...task }) => task));
    return rows.length;
  });
  return canceled;
}

/** Their external ids are removed by the foreign key. */
async function deleteTargets(database: Database, integration: string): Promise<void> {
  await inBatches(async () => {
    const some = database
      .selectFrom('targets')
      .select('endpoint_key')
      .where('integration', '=', integration)
      .limit(ROWS_PER_BATCH);
    const { numDeletedRows } = await database
      .deleteFrom('targets')
      .where('endpoint_key', 'in', some)
      .executeTakeFirst();
    return Number(numDeletedRows);
  });
}

/** The latest version of a deleted integration of this name; 0 if there was none. */
export async function lastVersionBefore(database: Database, name: string): Promise<number> {
  const row = await database
    .selectFrom('deleted_integrations')
    .select('latest_version')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.latest_version ?? 0;
}
