/**
 * The store's side of schedules (docs/contract/schedules.md): finds what is due, and begins runs.
 *
 * A run begins in one transaction of the group commit: its task with its delivery is inserted, and
 * its row gets the next time. So no run is lost or doubled by a crash, and of several nodes one
 * begins it. From then on the run is a task like any other.
 */
import { hash } from 'node:crypto';
import type { Actor } from '../../model/actor.ts';
import { productEventId, type RandomBytes } from '../../model/identifiers.ts';
import { type Schedule, timing } from '../../model/manifest/schedule.ts';
import { installedName, type Target } from '../../model/target.ts';
import { TASK, taskBody, taskGeneration, taskLane } from '../../model/task.ts';
import { changeForEach } from '../database/bulk.ts';
import { Gathered, type GroupCommit } from '../database/group-commit.ts';
import { Sequence } from '../database/sequence.ts';
import type { Database } from '../database/tables.ts';
import { insertAudit } from './audit-rows.ts';
import type { Backlog } from './deliveries/backlog.ts';
import type { WaitingDelivery } from './deliveries/delivery.ts';
import type { CommittedSteps } from './deliveries/delivery-feed.ts';
import { deliveryId, type EventRow, insertEvents } from './events/event-rows.ts';
import { changeSome } from './integrations/schedule-changes.ts';
import {
  BEGIN_RUN,
  BEGIN_RUN_NOW,
  dueSchedules,
  moveSchedules,
  nextDueAt,
  nextOf,
  type PARKED,
  removeSchedules,
  type ScheduleName,
  type ScheduleRow,
  schedulesOf,
  writeSchedules,
} from './schedule-rows.ts';

/** Runs of one transaction. */
const RUNS_GATHERED = 250;
export interface SchedulesDeps {
  readonly database: Database;
  readonly commits: GroupCommit;
  readonly backlog: Pick<Backlog, 'change'>;
  readonly deliveryFeed: CommittedSteps;
  readonly auditIds: Sequence;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
  /** Whether other nodes use the database. */
  readonly isShared: boolean;
}

/** The members of a target that a run needs. */
export type ScheduledTarget = Pick<
  Target,
  | 'installationId'
  | 'level'
  | 'place'
  | 'organization'
  | 'integration'
  | 'endpointKey'
  | 'pausedAt'
  | 'version'
>;

/** A run that is due. */
export interface DueRun {
  readonly row: ScheduleRow;
  readonly target: ScheduledTarget;
  readonly schedule: Schedule;
  readonly next: typeof PARKED;
}

/** A run in its transaction. */
interface Begun {
  readonly event: EventRow;
  readonly waiting: WaitingDelivery;
}

export class Schedules {
  readonly #deps: SchedulesDeps;
  readonly #ids: Sequence;
  readonly #runs: Gathered<DueRun, WaitingDelivery | undefined>;

  constructor(deps: SchedulesDeps) {
    this.#deps = deps;
    this.#ids = new Sequence(deps.randomBytes);
    this.#runs = new Gathered(
      deps.commits,
      RUNS_GATHERED,
      (transaction, runs) => this.#beginAll(transaction, runs),
      { ownerOf: ({ target }) => target.organization },
    );
  }

  /** Rows that are due and whose last run has ended, the longest due first. */
  due(limit: number): Promise<readonly ScheduleRow[]> {
    return dueSchedules(this.#deps.database, this.#deps.wallNow(), limit);
  }

  /** When there is something to do; undefined if there is nothing. */
  async nextDueAt(): Promise<number | undefined> {
    const { database } = this.#deps;
    const changes = await database
      .selectFrom('schedule_changes')
      .select(({ fn }) => fn.min('due_at').as('at'))
      .executeTakeFirst();
    const times = [await nextDueAt(database), changes?.at ?? undefined].filter((at) => at !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Rows of one endpoint. */
  of(endpoint: string): Promise<readonly ScheduleRow[]> {
    return schedulesOf(this.#deps.database, endpoint);
  }

  /** When the next run begins: as its row says, unless a new version has not come to it. */
  nextAt(schedule: Schedule, endpoint: string, row: ScheduleRow | undefined): number {
    if (row?.timing === timing(schedule)) return row.dueAt;
    return nextOf(schedule, endpoint, this.#deps.wallNow()).dueAt;
  }

  /**
   * Begins a run, and sets the next one.
   *
   * @returns undefined if the row has changed: another node has begun it, or a version was
   *   published
   */
  async begin(run: DueRun): Promise<WaitingDelivery | undefined> {
    const waiting = await this.#runs.add(run);
    if (waiting !== undefined) this.#committed(waiting, run.target);
    return waiting;
  }

  /**
   * Begins a run now, unless one is in flight; the next one stays.
   *
   * @returns its delivery, with the id of its event; undefined if a run is in flight
   */
  async beginNow(
    target: ScheduledTarget & Pick<Target, 'schedules'>,
    schedule: Schedule,
    by: Actor,
  ): Promise<(WaitingDelivery & { readonly eventId: string }) | undefined> {
    const { commits, wallNow, auditIds } = this.#deps;
    const { endpointKey: endpoint, integration, organization, schedules = [] } = target;
    const begun = await commits.run(async (transaction) => {
      const now = wallNow();
      // A publish may not have reached this installation.
      await writeSchedules(transaction, [{ endpoint, integration, schedules, isActive: true }], now);
      const { event, waiting } = this.#made(target, schedule, { at: now, now });
      const { id } = waiting;
      const values = [id, id, now, now, endpoint, schedule.id];
      const [isBegun] = await changeForEach(transaction, BEGIN_RUN_NOW, [values]);
      if (!isBegun) return undefined;
      await insertEvents(transaction, [event]);
      const name = installedName(target);
      const about = { organization, integration, ...(name && { target: name }) };
      const entry = { action: 'schedule.run', ...about, details: { schedule: schedule.id } } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      return { ...waiting, eventId: event.event.eventId };
    });
    if (begun !== undefined) this.#committed(begun, target);
    return begun;
  }

  /** Sets the next runs of rows without running them; rows that changed meanwhile stay. */
  async move(moves: Parameters<typeof moveSchedules>[1]): Promise<void> {
    await this.#deps.commits.run((transaction) => moveSchedules(transaction, moves));
  }

  async remove(names: readonly ScheduleName[]): Promise<void> {
    await this.#deps.commits.run((transaction) => removeSchedules(transaction, names));
  }

  /** Gives some installations the schedules of a version. @returns whether there may be more */
  changeSome(): Promise<boolean> {
    return changeSome(this.#deps);
  }

  async #beginAll(
    transaction: Database,
    runs: readonly DueRun[],
  ): Promise<readonly (WaitingDelivery | undefined)[]> {
    const now = this.#deps.wallNow();
    const made = runs.map(({ row, target, schedule }) =>
      this.#made(target, schedule, { at: row.nextAt, now }),
    );
    const begun = await changeForEach(
      transaction,
      BEGIN_RUN,
      runs.map(({ row, target, next }, index) => {
        const id = made[index]?.waiting.id ?? '';
        const version = [target.integration, target.version];
        return [next.at, next.dueAt, id, id, row.nextAt, now, row.endpoint, row.id, row.dueAt, ...version];
      }),
    );
    await insertEvents(
      transaction,
      made.filter((_, index) => begun[index]).map(({ event }) => event),
    );
    return made.map(({ waiting }, index) => (begun[index] ? waiting : undefined));
  }

  /** The task of a run. @param at the minute that the cron names */
  #made(target: ScheduledTarget, schedule: Schedule, { at, now }: { at: number; now: number }): Begun {
    const { installationId, level, place, organization, integration, endpointKey, pausedAt } = target;
    const eventId = productEventId(this.#deps.randomBytes);
    const body = taskBody(eventId, JSON.stringify(schedule.task), { id: schedule.id, at });
    const id = this.#ids.next(now);
    const endpoint = taskLane(endpointKey);
    const event: EventRow = {
      id,
      event: {
        ...{ eventId, organization, type: TASK, level, place, body, generation: taskGeneration(0, 0) },
        ...(installationId !== '' && { installationId }),
        bodyHash: hash('sha256', body, 'base64url'),
      },
      addressees: [
        {
          ...{ installationId, level, place, integration, endpoint, kind: 'handler' },
          ...(pausedAt !== undefined && { pausedAt }),
        },
      ],
      absentees: [],
      armedAt: now,
      createdAt: now,
    };
    return { event, waiting: { id: deliveryId(id, 0), endpoint, organization, integration } };
  }

  #committed({ id, organization }: WaitingDelivery, { installationId }: ScheduledTarget): void {
    const { backlog, deliveryFeed } = this.#deps;
    backlog.change(1);
    if (deliveryFeed.isFollowed)
      deliveryFeed.committed([{ id, step: 'accepted', organization, installationId }]);
  }
}
