/**
 * Acceptance of tasks (docs/contract/tasks.md#queuing): stores a task with its delivery to one
 * target, and passes the delivery on to the worker, which starts it at its time.
 */
import { hash } from 'node:crypto';
import type { LimitMet, Limits } from '../../../limits.ts';
import { productEventId, type RandomBytes } from '../../../model/identifiers.ts';
import type { Target } from '../../../model/target.ts';
import { TASK, taskBody, taskGeneration, taskLane } from '../../../model/task.ts';
import type { TaskOutbox } from '../../store/events/task-outbox.ts';
import type { DeliveryWorker } from '../delivery-worker.ts';

export interface TaskAcceptanceDeps {
  readonly outbox: Pick<TaskOutbox, 'insert'>;
  readonly worker: Pick<DeliveryWorker, 'addLater'>;
  readonly limits: Pick<Limits, 'taskGenerations'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
}

/** The members of a target that a task needs. */
export type TaskTarget = Pick<
  Target,
  'installationId' | 'level' | 'place' | 'organization' | 'integration' | 'endpointKey' | 'pausedAt'
>;

export class TaskAcceptance {
  readonly #deps: TaskAcceptanceDeps;

  constructor(deps: TaskAcceptanceDeps) {
    this.#deps = deps;
  }

  /**
   * Stores a task.
   *
   * @param task JSON text
   * @param delayMs how long to wait before it is delivered
   * @param behind generation of the call that queues it
   * @returns once it is durable; the limit that was met, if it was not stored
   */
  async accept(
    target: TaskTarget,
    task: string,
    delayMs: number,
    behind: number,
  ): Promise<LimitMet | undefined> {
    const { outbox, worker, wallNow, randomBytes, limits } = this.#deps;
    const generation = taskGeneration(behind, delayMs);
    // Attack: tasks that queue their like in many installations. Rates bound how many there are in
    // a minute; without an end, they take as much for ever.
    const { taskGenerations: max } = limits;
    if (generation > max) return { name: 'taskGenerations', max, used: generation };
    const { installationId, level, place, organization, integration, endpointKey, pausedAt } = target;
    const arrivedAt = wallNow();
    const dueAt = arrivedAt + delayMs;
    const eventId = productEventId(randomBytes);
    const body = taskBody(eventId, task);
    const answer = await outbox.insert({
      event: {
        ...{ eventId, organization, type: TASK, level, place, body, generation },
        ...(installationId !== '' && { installationId }),
        bodyHash: hash('sha256', body, 'base64url'),
      },
      addressee: {
        ...{ installationId, level, place, integration, endpoint: taskLane(endpointKey), kind: 'handler' },
        ...(pausedAt !== undefined && { pausedAt }),
      },
      arrivedAt,
      dueAt,
    });
    if (answer.kind === 'full') return answer.limit;
    worker.addLater(answer.waiting, dueAt);
    return undefined;
  }
}
