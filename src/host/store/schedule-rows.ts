/**
 * Rows of schedules: SQL only. Each function runs in its caller's transaction.
 *
 * A row is the next run of one schedule at one endpoint, and what became of the last one. The
 * manifest says what the schedule is: a row has only what its times were computed from.
 */
import type { Selectable } from 'kysely';
import { nextRun, type Schedule, timing } from '../../model/manifest/schedule.ts';
import { bulk, type ColumnValue, runForEach, TEXT, WHOLE } from '../database/bulk.ts';
import type { Database, DeliveryState, Tables } from '../database/tables.ts';

/** Names a row. */
export interface ScheduleName {
  /** Key of the endpoint. */
  readonly endpoint: string;
  readonly id: string;
}

export interface ScheduleRow extends ScheduleName {
  readonly timing: string;
  readonly nextAt: number;
  readonly dueAt: number;
  /** Delivery of the run that has not ended. */
  readonly running?: string;
  readonly last?: LastRun;
}

export interface LastRun {
  /** The minute that the cron names; of a run by hand, when it was asked for. */
  readonly at: number;
  readonly startedAt: number;
  readonly delivery: string;
  readonly state: DeliveryState;
  readonly outcome?: string;
}

/** An endpoint with the schedules that it is to have. */
export interface ScheduledEndpoint {
  readonly endpoint: string;
  readonly integration: string;
  readonly schedules: readonly Schedule[];
  /** Whether it runs them now; if not, only what became of the last runs is kept. */
  readonly isActive: boolean;
}

/** The next run of a schedule that does not run now. */
export const PARKED = { timing: '', at: Number.MAX_SAFE_INTEGER, dueAt: Number.MAX_SAFE_INTEGER };

/** A schedule that has a row keeps its last run. */
const PUT = bulk`
  insert into schedules (endpoint, id, integration, timing, next_at, due_at)
  values (${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${WHOLE}, ${WHOLE})
  on conflict (endpoint, id) do update set
    integration = excluded.integration, timing = excluded.timing, next_at = excluded.next_at, due_at = excluded.due_at`;

const REMOVE = bulk`delete from schedules where endpoint = ${TEXT} and id = ${TEXT}`;

/** Values: next run, name of the row, and the due time that it had. */
const MOVE = bulk`
  update schedules set timing = ${TEXT}, next_at = ${WHOLE}, due_at = ${WHOLE}
  where endpoint = ${TEXT} and id = ${TEXT} and due_at = ${WHOLE} and running is null`;

const BEGUN = bulk`
  running = ${TEXT}, last_delivery = ${TEXT}, last_at = ${WHOLE}, last_started_at = ${WHOLE},
  last_state = 'pending', last_outcome = null`;

/**
 * The row is as it was read, no run of it is in flight, and the version that its task is of is the
 * active one: of two nodes, or of a run and a publish, the second one changes nothing.
 */
export const BEGIN_RUN = bulk`
  update schedules set next_at = ${WHOLE}, due_at = ${WHOLE}, ${BEGUN}
  where endpoint = ${TEXT} and id = ${TEXT} and due_at = ${WHOLE} and running is null
    and exists (select 1 from integrations where name = ${TEXT} and active_version = ${WHOLE})`;

/** By hand: the next run stays. */
export const BEGIN_RUN_NOW = bulk`
  update schedules set ${BEGUN} where endpoint = ${TEXT} and id = ${TEXT} and running is null`;

/** Values: id of the delivery, three times. */
const END_RUN = bulk`
  update schedules set running = null,
    last_state = (select state from deliveries where deliveries.id = ${TEXT}),
    last_outcome = (select outcome from deliveries where deliveries.id = ${TEXT})
  where running = ${TEXT}`;

/** The rows that are due and whose last run has ended, the longest due first. */
export async function dueSchedules(
  database: Database,
  now: number,
  limit: number,
): Promise<readonly ScheduleRow[]> {
  const rows = await database
    .selectFrom('schedules')
    .selectAll()
    .where('running', 'is', null)
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute();
  return rows.map(rowOf);
}

/** When the next row is due whose last run has ended. */
export async function nextDueAt(database: Database): Promise<number | undefined> {
  const row = await database
    .selectFrom('schedules')
    .select('due_at')
    .where('running', 'is', null)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst();
  return row?.due_at;
}

export async function schedulesOf(database: Database, endpoint: string): Promise<readonly ScheduleRow[]> {
  const rows = await database
    .selectFrom('schedules')
    .selectAll()
    .where('endpoint', '=', endpoint)
    .orderBy('id')
    .execute();
  return rows.map(rowOf);
}

/**
 * Gives endpoints the schedules that they are to have: those that they lack begin, those whose
 * times changed or that did not run begin anew, and others than these are removed.
 */
export async function writeSchedules(
  transaction: Database,
  endpoints: readonly ScheduledEndpoint[],
  now: number,
): Promise<void> {
  if (endpoints.length === 0) return;
  const keys = endpoints.map(({ endpoint }) => endpoint);
  const rows = await transaction
    .selectFrom('schedules')
    .select(['endpoint', 'id', 'timing'])
    .where('endpoint', 'in', keys)
    .execute();
  const stored = Map.groupBy(rows, ({ endpoint }) => endpoint);
  const put: ColumnValue[][] = [];
  const removed: ColumnValue[][] = [];
  for (const { endpoint, integration, schedules, isActive } of endpoints) {
    const timings = new Map((stored.get(endpoint) ?? []).map((row) => [row.id, row.timing]));
    for (const schedule of schedules) {
      const { id } = schedule;
      const before = timings.get(id);
      timings.delete(id);
      const next = isActive ? nextOf(schedule, endpoint, now) : PARKED;
      const isThere = before === next.timing || (before === undefined && !isActive);
      if (!isThere) put.push([endpoint, id, integration, next.timing, next.at, next.dueAt]);
    }
    for (const id of timings.keys()) removed.push([endpoint, id]);
  }
  await runForEach(transaction, PUT, put);
  await runForEach(transaction, REMOVE, removed);
}

/** The next run of a schedule, with what it is computed from. */
export function nextOf(schedule: Schedule, endpoint: string, now: number): typeof PARKED {
  const run = nextRun(schedule, endpoint, now);
  return run === undefined ? PARKED : { timing: timing(schedule), ...run };
}

/** Sets the next run of rows that are as they were read. */
export const moveSchedules = (
  transaction: Database,
  moves: readonly { readonly row: ScheduleRow; readonly to: typeof PARKED }[],
): Promise<unknown> =>
  runForEach(
    transaction,
    MOVE,
    moves.map(({ row: { endpoint, id, dueAt }, to }) => [to.timing, to.at, to.dueAt, endpoint, id, dueAt]),
  );

export const removeSchedules = (transaction: Database, names: readonly ScheduleName[]): Promise<unknown> =>
  runForEach(
    transaction,
    REMOVE,
    names.map(({ endpoint, id }) => [endpoint, id]),
  );

/** Writes how runs ended. @param deliveries ids of deliveries of tasks that have ended */
export async function endRuns(transaction: Database, deliveries: readonly string[]): Promise<void> {
  await runForEach(
    transaction,
    END_RUN,
    deliveries.map((id) => [id, id, id]),
  );
}

/** An installation is paused: what became of its last runs is kept. */
export async function restSchedules(transaction: Database, endpoint: string): Promise<void> {
  const { timing: none, at, dueAt } = PARKED;
  await transaction
    .updateTable('schedules')
    .set({ timing: none, next_at: at, due_at: dueAt })
    .where('endpoint', '=', endpoint)
    .execute();
}

/** An installation is removed. */
export async function endSchedules(transaction: Database, endpoint: string): Promise<void> {
  await transaction.deleteFrom('schedules').where('endpoint', '=', endpoint).execute();
}

/** An integration is deleted. */
export async function endSchedulesOf(transaction: Database, integration: string): Promise<void> {
  await transaction.deleteFrom('schedules').where('integration', '=', integration).execute();
  await transaction.deleteFrom('schedule_changes').where('integration', '=', integration).execute();
}

type StoredRow = Selectable<Tables['schedules']>;

const rowOf = (row: StoredRow): ScheduleRow => ({
  endpoint: row.endpoint,
  id: row.id,
  timing: row.timing,
  nextAt: row.next_at,
  dueAt: row.due_at,
  ...(row.running !== null && { running: row.running }),
  ...lastOf(row),
});

function lastOf(row: StoredRow): { readonly last?: LastRun } {
  const { last_at: at, last_started_at: startedAt, last_delivery: delivery, last_state: state } = row;
  if (at === null || startedAt === null || delivery === null || state === null) return {};
  return {
    last: { at, startedAt, delivery, state, ...(row.last_outcome !== null && { outcome: row.last_outcome }) },
  };
}
