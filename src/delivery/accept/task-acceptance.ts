/**
 * Acceptance of tasks (docs/contract/tasks.md#queuing): stores a task with its delivery to one
 * target, and passes the delivery on to the worker, which starts it at its time.
 */
import { hash } from 'node:crypto';
import type { LimitMet } from '../../limits.ts';
import { productEventId, type RandomBytes } from '../../model/identifiers.ts';
import type { Target } from '../../model/target.ts';
import { TASK, taskLane } from '../../model/task.ts';
import type { TaskOutbox } from '../../store/events/task-outbox.ts';
import type { DeliveryWorker } from '../delivery-worker.ts';

export interface TaskAcceptanceParts {
  readonly outbox: Pick<TaskOutbox, 'insert'>;
  readonly worker: Pick<DeliveryWorker, 'addLater'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
}

/** The members of a target that a task needs. */
export type TaskTarget = Pick<
  Target,
  'installationId' | 'level' | 'place' | 'organization' | 'integration' | 'endpointKey' | 'pausedAt'
>;

export class TaskAcceptance {
  readonly #parts: TaskAcceptanceParts;

  constructor(parts: TaskAcceptanceParts) {
    this.#parts = parts;
  }

  /**
   * Stores a task.
   *
   * @param task JSON text
   * @param delayMs how long to wait before it is delivered
   * @returns once it is durable; the limit of pending tasks that was met, if it was not stored
   */
  async accept(target: TaskTarget, task: string, delayMs: number): Promise<LimitMet | undefined> {
    const { outbox, worker, clock, randomBytes } = this.#parts;
    const { installationId, level, place, organization, integration, endpointKey, pausedAt } = target;
    const arrivedAt = clock();
    const dueAt = arrivedAt + delayMs;
    const eventId = productEventId(randomBytes);
    const body = `{"eventId":${JSON.stringify(eventId)},"type":"${TASK}","task":${task}}`;
    const answer = await outbox.insert({
      event: {
        ...{ eventId, organization, type: TASK, level, place, body },
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
