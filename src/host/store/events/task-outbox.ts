/**
 * Inserts tasks: one row of an event and one of its delivery each, in one transaction, if their
 * target and their integration have room for another pending task (docs/contract/tasks.md#limits).
 *
 * The count and the insert share the transaction, so that tasks which are queued at the same time
 * cannot exceed the limits together.
 */

import type { LimitMet, Limits } from '../../../limits.ts';
import type { RandomBytes } from '../../../model/identifiers.ts';
import { Gathered, type GroupCommit } from '../../database/group-commit.ts';
import { lock } from '../../database/locks.ts';
import { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import type { Backlog } from '../deliveries/backlog.ts';
import type { EventRecord, WaitingDelivery } from '../deliveries/delivery.ts';
import type { CommittedSteps } from '../deliveries/delivery-feed.ts';
import { countTasksInLane, countTasksOf } from '../deliveries/task-rows.ts';
import { type Addressee, deliveryId, type EventRow, insertEvents } from './event-rows.ts';

/** Tasks of one transaction. */
const TASKS_GATHERED = 100;

export interface TaskOutboxDeps {
  readonly commits: GroupCommit;
  readonly backlog: Pick<Backlog, 'change'>;
  readonly deliveryFeed: CommittedSteps;
  readonly limits: Pick<Limits, 'tasksPendingPerTarget' | 'tasksPendingPerIntegration'>;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
}

/** A task to insert. */
export interface TaskRequest {
  readonly event: EventRecord;
  /** Its `endpoint` is the lane of tasks. */
  readonly addressee: Addressee;
  /** Milliseconds since 1970. */
  readonly arrivedAt: number;
  readonly dueAt: number;
}

export type TaskAnswer =
  | { readonly kind: 'accepted'; readonly waiting: WaitingDelivery }
  | { readonly kind: 'full'; readonly limit: LimitMet };

export class TaskOutbox {
  readonly #deps: TaskOutboxDeps;
  readonly #ids: Sequence;
  readonly #requests: Gathered<TaskRequest, TaskAnswer>;

  constructor(deps: TaskOutboxDeps) {
    this.#deps = deps;
    this.#ids = new Sequence(deps.randomBytes);
    this.#requests = new Gathered(
      deps.commits,
      TASKS_GATHERED,
      (transaction, requests) => this.#write(transaction, requests),
      { ownerOf: ({ event }) => event.organization },
    );
  }

  /** Inserts a task and its delivery. @returns once they are durable */
  async insert(request: TaskRequest): Promise<TaskAnswer> {
    const answer = await this.#requests.add(request);
    if (answer.kind !== 'accepted') return answer;
    const { backlog, deliveryFeed } = this.#deps;
    backlog.change(1);
    if (deliveryFeed.isFollowed) {
      const { id, organization } = answer.waiting;
      const { installationId } = request.addressee;
      deliveryFeed.committed([{ id, step: 'accepted', organization, installationId }]);
    }
    return answer;
  }

  async #write(transaction: Database, requests: readonly TaskRequest[]): Promise<readonly TaskAnswer[]> {
    // What another node queues meanwhile is counted.
    await lock(transaction, ...requests.map(({ addressee }) => `tasks of ${addressee.integration}`));
    const pending = new PendingTasks(transaction, this.#deps.limits);
    const rows: EventRow[] = [];
    const answers: TaskAnswer[] = [];
    const at = this.#deps.wallNow();
    for (const { event, addressee, arrivedAt, dueAt } of requests) {
      const limit = await pending.add(addressee);
      if (limit !== undefined) {
        answers.push({ kind: 'full', limit });
        continue;
      }
      const id = this.#ids.next(at);
      const { endpoint, integration } = addressee;
      const { organization } = event;
      rows.push({
        id,
        event,
        addressees: [addressee],
        absentees: [],
        armedAt: arrivedAt,
        dueAt,
        createdAt: at,
      });
      answers.push({
        kind: 'accepted',
        waiting: { id: deliveryId(id, 0), endpoint, organization, integration },
      });
    }
    await insertEvents(transaction, rows);
    return answers;
  }
}

/** Counts of pending tasks in one transaction: each is read once, and counts what is added. */
class PendingTasks {
  readonly #transaction: Database;
  readonly #limits: TaskOutboxDeps['limits'];
  readonly #counts = new Map<string, number>();

  constructor(transaction: Database, limits: TaskOutboxDeps['limits']) {
    this.#transaction = transaction;
    this.#limits = limits;
  }

  /** Counts another task. @returns the limit that it would exceed; nothing is counted then */
  async add({ endpoint, integration }: Addressee): Promise<LimitMet | undefined> {
    const { tasksPendingPerTarget: perTarget, tasksPendingPerIntegration: perIntegration } = this.#limits;
    const lane = `lane ${endpoint}`;
    const all = `integration ${integration}`;
    const inLane = this.#counts.get(lane) ?? (await countTasksInLane(this.#transaction, endpoint, perTarget));
    const ofAll =
      this.#counts.get(all) ?? (await countTasksOf(this.#transaction, integration, perIntegration));
    this.#counts.set(lane, inLane).set(all, ofAll);
    if (inLane >= perTarget) return { name: 'tasksPendingPerTarget', max: perTarget, used: inLane + 1 };
    if (ofAll >= perIntegration)
      return { name: 'tasksPendingPerIntegration', max: perIntegration, used: ofAll + 1 };
    this.#counts.set(lane, inLane + 1).set(all, ofAll + 1);
    return undefined;
  }
}
