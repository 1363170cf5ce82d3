/**
 * `POST /v1/integrations/{name}/tasks`: the code of an integration queues a task for itself
 * (docs/contract/tasks.md#queuing).
 *
 * Only for runtime tokens, of which each names the target that gets the task: code cannot queue for
 * another installation, and no caller outside can have code run as if it had asked for it.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import type { Limits } from '../../../../limits.ts';
import { unpassable } from '../../../../model/canonical-json.ts';
import { limitError } from '../../../../model/limit-met.ts';
import type { Target } from '../../../../model/target.ts';
import { TASK_SCHEDULE_S_MAX } from '../../../../model/task.ts';
import { unknownIntegration, unknownTarget } from '../../../../model/unknown-name-errors.ts';
import { actorOf, runtimeOf } from '../authenticate.ts';
import type { Control } from '../control.ts';
import { route } from '../route.ts';
import { closed, Name, NoQuery, optional } from '../schemas.ts';

const MS_PER_S = 1_000;
/** Of a character that a client escapes: `a` may be sent as `\u0061`. */
const ESCAPED_BYTES_MAX = 6;
/** For the other members, and white space. */
const REST_BYTES_MAX = 4 * 1024;

const TaskBody = closed('TaskToQueue', {
  task: Type.Unknown({ description: 'Any JSON value. The event `task` has it as it is here.' }),
  schedule: optional(
    Type.Number({ minimum: 0, maximum: TASK_SCHEDULE_S_MAX, default: 0 }),
    'Seconds until the task is delivered.',
  ),
});

export const TASK_ROUTES = [
  route({
    name: 'tasks.queue',
    at: 'POST /integrations/:name/tasks',
    summary: 'Queue a task',
    description:
      'Only for runtime tokens. The task comes back as an event `task` of the target of the token, at least once.',
    forRuntime: true,
    rate: async (request, control) => control.rates.task(await ownTarget(control, request)),
    params: { name: Name },
    query: NoQuery,
    body: TaskBody,
    bodyBytesMax: ({ taskBytes }) => ESCAPED_BYTES_MAX * taskBytes + REST_BYTES_MAX,
    bodyLimit: 'taskBytes',
    async handle(request, control) {
      const { task, schedule = 0 } = request.body;
      const text = taskText(task, control.limits);
      const target = await ownTarget(control, request);
      const delayMs = Math.round(schedule * MS_PER_S);
      const { generation = 0 } = actorOf(request);
      const met = await control.taskAcceptance.accept(target, text, delayMs, generation);
      if (met !== undefined)
        throw limitError(met.name === 'taskGenerations' ? 'CHAIN_TOO_LONG' : 'TASKS_FULL', met);
    },
  }),
];

/**
 * The target of the token. @throws AnnexError TOKEN_FORBIDDEN, INTEGRATION_UNKNOWN,
 * INSTALLATION_UNKNOWN
 */
async function ownTarget({ targets }: Control, request: FastifyRequest): Promise<Target> {
  const { name } = request.params as { readonly name: string };
  const principal = runtimeOf(request, 'Queuing a task needs a runtime token');
  if (principal.integration !== name) throw unknownIntegration(name);
  if (principal.kind === 'installation') {
    const target = await targets.named(principal.target);
    if (target?.integration !== name) throw unknownTarget(principal.target);
    return target;
  }
  const target = await targets.ofIntegration(name);
  if (target === undefined) throw unknownIntegration(name);
  return target;
}

/** @throws AnnexError REQUEST_INVALID or REQUEST_TOO_LARGE */
function taskText(task: unknown, { taskBytes: max }: Limits): string {
  const unfit = unpassable(task);
  if (unfit !== undefined) throw new AnnexError('REQUEST_INVALID', `body.task ${unfit}.`);
  const text = JSON.stringify(task);
  const used = Buffer.byteLength(text, 'utf8');
  if (used > max) throw limitError('REQUEST_TOO_LARGE', { name: 'taskBytes', max, used });
  return text;
}
