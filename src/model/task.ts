/**
 * Tasks: events that the code of an integration queues for itself (docs/contract/tasks.md).
 *
 * A task is stored and delivered as an event is. Its delivery waits in a lane of its own beside the
 * endpoint of its target: attack, an integration that queues thousands of tasks, behind which the
 * product's events for the same endpoint would wait.
 */

/** Type of the event. */
export const TASK = 'task';
/** A task that is queued so far ahead begins a new chain. */
const NEW_CHAIN_MS = 60_000;
/** Longest delay of a task. */
export const TASK_SCHEDULE_S_MAX = 86_400;

/** No key of an endpoint has a slash. */
const LANE = '/tasks';

/** The lane of an endpoint's tasks, in the place of the endpoint's key. */
export const taskLane = (endpointKey: string): string => `${endpointKey}${LANE}`;

/**
 * The generation of a task: its number in a chain of which each task was queued by the call of the
 * one before (docs/contract/tasks.md#chains).
 *
 * @param behind generation of the call that queues it: 0 if no task is behind the call
 */
export const taskGeneration = (behind: number, delayMs: number): number =>
  delayMs < NEW_CHAIN_MS ? behind + 1 : 1;

/**
 * The event of a task, as the code gets it.
 *
 * @param task JSON text
 * @param schedule of a task that a schedule has queued: its id, and the time of the run
 */
export const taskBody = (
  eventId: string,
  task: string,
  schedule?: { readonly id: string; readonly at: number },
): string => {
  const of = schedule && { id: schedule.id, at: new Date(schedule.at).toISOString() };
  const more = of === undefined ? '' : `,"schedule":${JSON.stringify(of)}`;
  return `{"eventId":${JSON.stringify(eventId)},"type":"${TASK}","task":${task}${more}}`;
};

export const isTaskLane = (lane: string): boolean => lane.endsWith(LANE);

/** Key of the endpoint that a lane belongs to; the lane of its events is the key itself. */
export const endpointOfLane = (lane: string): string =>
  isTaskLane(lane) ? lane.slice(0, -LANE.length) : lane;
