/**
 * Schedule worker: begins the runs of schedules at their times (docs/contract/schedules.md), and
 * walks through the installations of an integration whose schedules a new version has changed.
 *
 * The database is the queue. What is due is read in pages, by an index; each run is checked against
 * the active version and the state of its target, and begins in the group commit. From then on it
 * is a delivery, and the delivery worker's. One timer waits for the next due time, and looks again
 * every few seconds: for runs whose predecessor has ended, for rows that an install or another node
 * has written, and after a change of the clock.
 */
import { timing } from '../../model/manifest/schedule.ts';
import type { Target } from '../../model/target.ts';
import { DatabaseUnavailable } from '../database/unavailable.ts';
import type { WaitingDelivery } from '../store/deliveries/delivery.ts';
import { nextOf, PARKED, type ScheduleRow } from '../store/schedule-rows.ts';
import type { DueRun, Schedules } from '../store/schedules.ts';
import type { TargetResolver } from '../targets/target-resolver.ts';
import { withJitter } from './delays.ts';
import { PAGE, STORE_BACK_OFF_MS, WorkerLoop, type WorkerLoopDeps } from './worker-loop.ts';

/** Longest wait without a look at the store. */
const LOOK_MS = 5_000;
/** A run that would begin later than this after its time was missed. */
const LATE_MS = 5 * 60_000;
/** Rows that another node is at work on are looked at again after this, with jitter. */
const OUTRUN_MS = 200;
/** A run of a target that cannot be read is tried again after this. */
const UNREAD_MS = 60_000;
/** Targets that are read at once: each may be three statements. */
const TARGETS_AT_ONCE = 25;

/** What becomes of a run that is due. */
export const RUN_FATES = ['begun', 'late', 'left out'] as const;
export type RunFate = (typeof RUN_FATES)[number];

export interface ScheduleWorkerDeps extends WorkerLoopDeps {
  readonly schedules: Pick<Schedules, 'due' | 'nextDueAt' | 'begin' | 'move' | 'remove' | 'changeSome'>;
  readonly targets: Pick<TargetResolver, 'get'>;
  /** Receives the deliveries of runs. */
  add(deliveries: readonly WaitingDelivery[]): void;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Receives what became of each run: `late` if it makes up for others. */
  counted(fate: RunFate): void;
  /** Receives failures of the store; what is due is read again. */
  onError(error: unknown): void;
}

/** What is done with a row that is due. */
type Plan =
  | { readonly do: 'begin'; readonly run: DueRun; readonly isLate: boolean }
  | {
      readonly do: 'move';
      readonly row: ScheduleRow;
      readonly to: typeof PARKED;
      readonly isLeftOut: boolean;
    }
  | { readonly do: 'remove'; readonly row: ScheduleRow };

export class ScheduleWorker {
  readonly #deps: ScheduleWorkerDeps;
  readonly #loop: WorkerLoop;
  #isPassing = false;
  #passAgain = false;

  constructor(deps: ScheduleWorkerDeps) {
    this.#deps = deps;
    this.#loop = new WorkerLoop(deps, () => void this.#pass());
  }

  /** Runs that were missed while no node was there are due now. */
  start(): void {
    if (this.#loop.start()) void this.#pass();
  }

  /** Looks at the store now: a version was published, or the database is back. */
  look(): void {
    void this.#pass();
  }

  /** Begins nothing any more. @returns when nothing is in progress */
  async stop(): Promise<void> {
    this.#loop.stop();
    await this.#loop.idle();
  }

  /** Never rejects. */
  async #pass(): Promise<void> {
    if (!this.#loop.isRunning) return;
    this.#passAgain = true;
    if (this.#isPassing) return;
    this.#isPassing = true;
    this.#loop.begin();
    let waitMs = LOOK_MS;
    while (this.#passAgain && this.#loop.isRunning) {
      this.#passAgain = false;
      try {
        waitMs = await this.#do();
      } catch (error) {
        waitMs = STORE_BACK_OFF_MS;
        this.#deps.onError(error);
      }
    }
    this.#isPassing = false;
    this.#loop.setTimer(this.#deps.monotonicNow() + waitMs);
    this.#loop.end();
  }

  /** Does what is due. @returns how long nothing is due */
  async #do(): Promise<number> {
    const { schedules, wallNow, random } = this.#deps;
    while (this.#loop.isRunning) {
      const isWalking = await schedules.changeSome();
      const rows = await schedules.due(PAGE);
      if (rows.length === 0 && !isWalking) break;
      const isDone = (await this.#page(rows)) || isWalking;
      // Another node is at work on them.
      if (!isDone) return withJitter(OUTRUN_MS, random());
    }
    const at = await schedules.nextDueAt();
    return at === undefined ? LOOK_MS : Math.min(LOOK_MS, Math.max(1, at - wallNow()));
  }

  /** @returns whether a row was changed */
  async #page(rows: readonly ScheduleRow[]): Promise<boolean> {
    const { schedules, add, counted, onError } = this.#deps;
    const plans: Plan[] = [];
    for (let at = 0; at < rows.length; at += TARGETS_AT_ONCE)
      plans.push(...(await Promise.all(rows.slice(at, at + TARGETS_AT_ONCE).map((row) => this.#plan(row)))));
    const begins = plans.filter((plan) => plan.do === 'begin');
    const moves = plans.filter((plan) => plan.do === 'move');
    const removed = plans.filter((plan) => plan.do === 'remove');
    if (moves.length > 0) await schedules.move(moves);
    for (const { isLeftOut } of moves) if (isLeftOut) counted('left out');
    if (removed.length > 0) await schedules.remove(removed.map(({ row }) => row));
    const answers = await Promise.allSettled(begins.map(({ run }) => schedules.begin(run)));
    const begun: WaitingDelivery[] = [];
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 'rejected') onError(answer.reason);
      else if (answer.value !== undefined) {
        begun.push(answer.value);
        counted(begins[index]?.isLate ? 'late' : 'begun');
      }
    }
    add(begun);
    const failed = answers.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected' && begun.length === 0) throw failed.reason;
    return begun.length + moves.length + removed.length > 0;
  }

  async #plan(row: ScheduleRow): Promise<Plan> {
    const { targets, wallNow, onError } = this.#deps;
    let target: Target | undefined;
    try {
      target = await targets.get(row.endpoint);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error;
      // Its rows are damaged. Others that are due do not wait for it.
      onError(error);
      const to = { timing: row.timing, at: row.nextAt, dueAt: wallNow() + UNREAD_MS };
      return { do: 'move', row, to, isLeftOut: false };
    }
    const schedule = target?.schedules?.find(({ id }) => id === row.id);
    if (target === undefined || schedule === undefined) return { do: 'remove', row };
    if (target.status !== 'active') return { do: 'move', row, to: PARKED, isLeftOut: false };
    const now = wallNow();
    const next = nextOf(schedule, row.endpoint, now);
    // The walk of a new version has not come here.
    if (row.timing !== timing(schedule)) return { do: 'move', row, to: next, isLeftOut: false };
    const isLate = now - row.dueAt > LATE_MS;
    if (isLate && schedule.catchUp === 'none') return { do: 'move', row, to: next, isLeftOut: true };
    return { do: 'begin', run: { row, target, schedule, next }, isLate };
  }
}
