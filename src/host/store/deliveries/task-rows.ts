/**
 * Rows of tasks among the deliveries: counts and empties them. SQL only; each function runs in its
 * caller's transaction.
 */
import { type BulkStatement, bulk, runForEach, TEXT, WHOLE } from '../../database/bulk.ts';
import type { Database } from '../../database/tables.ts';
import { endRuns } from '../schedule-rows.ts';

/** Values: lane, largest count of use. */
const COUNT_IN_LANE = bulk`
  select count(*) as count from
    (select 1 from deliveries where state = 'pending' and endpoint = ${TEXT} limit ${WHOLE}) as pending`;

/** Values: integration, largest count of use. The literals are those of the partial index. */
const COUNT_OF_INTEGRATION = bulk`
  select count(*) as count from
    (select 1 from deliveries where state = 'pending' and type = 'task' and integration = ${TEXT} limit ${WHOLE}) as pending`;

/** Values: id of the delivery. */
const EMPTY = bulk`
  update events set body = '' where type = 'task' and id = (select event from deliveries where deliveries.id = ${TEXT})`;

/** Pending tasks of one target, counted up to `max`. */
export const countTasksInLane = (transaction: Database, lane: string, max: number): Promise<number> =>
  count(transaction, COUNT_IN_LANE, lane, max);

/** Pending tasks of all targets of an integration, counted up to `max`. */
export const countTasksOf = (transaction: Database, integration: string, max: number): Promise<number> =>
  count(transaction, COUNT_OF_INTEGRATION, integration, max);

/**
 * After deliveries of tasks have ended: writes how the runs of schedules ended, and removes the
 * content of the tasks. Attack: code that queues large tasks in
 * a loop, to fill the disk for as long as the outcomes of deliveries are kept.
 *
 * @param deliveries ids of the deliveries
 */
export async function endTasks(transaction: Database, deliveries: readonly string[]): Promise<void> {
  await runForEach(
    transaction,
    EMPTY,
    deliveries.map((id) => [id]),
  );
  await endRuns(transaction, deliveries);
}

async function count(
  transaction: Database,
  statement: BulkStatement,
  of: string,
  max: number,
): Promise<number> {
  const [row] = await runForEach<{ count: number | bigint }>(transaction, statement, [[of, max]]);
  return Number(row?.count ?? 0);
}
