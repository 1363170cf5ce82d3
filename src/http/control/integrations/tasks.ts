/**
 * `POST /v1/integrations/{name}/tasks`: the code of an integration queues a task for itself
 * (docs/contract/tasks.md#queuing).
 *
 * Only for runtime tokens, of which each names the target that gets the task: code cannot queue for
 * another installation, and no caller outside can have code run as if it had asked for it.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { TaskAcceptance } from '../../../delivery/accept/task-acceptance.ts';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import { unpassable } from '../../../model/canonical-json.ts';
import { limitError } from '../../../model/limit-met.ts';
import { isRuntime, type RuntimePrincipal } from '../../../model/principal.ts';
import { RateLimit } from '../../../model/rate-limit.ts';
import type { Target } from '../../../model/target.ts';
import { TASK_SCHEDULE_S_MAX } from '../../../model/task.ts';
import { unknownIntegration, unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { actorOf, FOR_RUNTIME, principalOf } from '../authenticate.ts';
import { asLimitError } from '../body-limit.ts';
import { markCounted } from '../order-rate.ts';
import { ERRORS_VIEW, Name, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';

const MS_PER_S = 1_000;
const MINUTE_MS = 60_000;
/** Of a character that a client escapes: `a` may be sent as `\u0061`. */
const ESCAPED_BYTES_MAX = 6;
/** For the other members, and white space. */
const REST_BYTES_MAX = 4 * 1024;

const TaskBody = Type.Object(
  {
    task: Type.Unknown({ description: 'Any JSON value. The event `task` has it as it is here.' }),
    schedule: Type.Optional(
      Type.Number({
        description: 'Seconds until the task is delivered.',
        minimum: 0,
        maximum: TASK_SCHEDULE_S_MAX,
        default: 0,
      }),
    ),
  },
  { title: 'TaskToQueue', additionalProperties: false },
);

export interface TasksRouteParts {
  readonly taskAcceptance: Pick<TaskAcceptance, 'accept'>;
  readonly targets: Pick<TargetResolver, 'named' | 'ofIntegration'>;
  readonly limits: Pick<Limits, 'taskBytes' | TaskRateName>;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Called with each limit that a request met. */
  limitMet(limit: LimitName): void;
}

export function tasksRoutes(app: TypedApp, parts: TasksRouteParts): void {
  const { taskAcceptance, targets, limits, limitMet } = parts;
  const rate = new TaskRate(parts);
  app.post(
    '/integrations/:name/tasks',
    {
      config: FOR_RUNTIME,
      bodyLimit: ESCAPED_BYTES_MAX * limits.taskBytes + REST_BYTES_MAX,
      onRequest: async (request) => {
        markCounted(request);
        rate.take(await ownTarget(targets, request));
      },
      errorHandler(thrown) {
        const error = asLimitError(thrown, { name: 'taskBytes', max: limits.taskBytes });
        if (error instanceof AnnexError && error.limit) limitMet(error.limit.name);
        throw error;
      },
      schema: {
        summary: 'Queue a task',
        description:
          'Only for runtime tokens. The task comes back as an event `task` of the target of the token, at least once.',
        params: Type.Object({ name: Name }),
        querystring: NoQuery,
        body: TaskBody,
        response: { 204: Type.Null(), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { task, schedule = 0 } = request.body;
      const text = taskText(task, limits);
      const target = await ownTarget(targets, request);
      const delayMs = Math.round(schedule * MS_PER_S);
      const { generation = 0 } = actorOf(request);
      const met = await taskAcceptance.accept(target, text, delayMs, generation);
      if (met !== undefined)
        throw limitError(met.name === 'taskGenerations' ? 'CHAIN_TOO_LONG' : 'TASKS_FULL', met);
      return reply.code(204).send(null);
    },
  );
}

/** Whose tasks each rate counts, the narrowest first. */
const RATES = {
  // For the organization: an installation's id changes with each install.
  tasksPerMinutePerInstallation: ({ integration, level, organization }: Target) =>
    level === 'integration' ? integration : `${integration} ${organization}`,
  tasksPerMinutePerIntegration: ({ integration }: Target) => integration,
  tasksPerMinutePerOrganization: ({ organization }: Target) => organization,
} satisfies Partial<Record<LimitName, (target: Target) => string>>;

type TaskRateName = keyof typeof RATES;

/**
 * Attack: a task that queues two tasks, each of which queues two more, in twenty installations at
 * once. Pending tasks are bounded, but each that ends makes room for another, and every outcome is
 * kept for days. So the code of one installation, of one integration and for one organization may
 * queue so many in a minute. Counted before the body is read. What a narrower rate refuses is not
 * counted by the wider ones: one installation cannot use up what others have.
 */
class TaskRate {
  readonly #rates: readonly { readonly name: TaskRateName; readonly max: number; readonly rate: RateLimit }[];

  constructor({ limits, clock }: Pick<TasksRouteParts, 'limits' | 'clock'>) {
    this.#rates = (Object.keys(RATES) as TaskRateName[]).map((name) => {
      const max = limits[name];
      return { name, max, rate: new RateLimit({ timesMax: max, windowMs: MINUTE_MS, clock }) };
    });
  }

  /** @throws AnnexError REQUEST_RATE_EXCEEDED */
  take(target: Target): void {
    for (const { name, max, rate } of this.#rates)
      if (!rate.take(RATES[name](target))) throw limitError('REQUEST_RATE_EXCEEDED', { name, max });
  }
}

/**
 * The target of the token. @throws AnnexError TOKEN_FORBIDDEN, INTEGRATION_UNKNOWN,
 * INSTALLATION_UNKNOWN
 */
async function ownTarget(targets: TasksRouteParts['targets'], request: FastifyRequest): Promise<Target> {
  const { name } = request.params as { readonly name: string };
  const principal = runtimeOf(request);
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

function runtimeOf(request: FastifyRequest): RuntimePrincipal {
  const principal = principalOf(request);
  if (isRuntime(principal)) return principal;
  const message = `Queuing a task needs a runtime token; the request came with one of kind ${principal.kind}.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}

/** @throws AnnexError REQUEST_INVALID or REQUEST_TOO_LARGE */
function taskText(task: unknown, { taskBytes: max }: TasksRouteParts['limits']): string {
  const unfit = unpassable(task);
  if (unfit !== undefined) throw new AnnexError('REQUEST_INVALID', `body.task ${unfit}.`);
  const text = JSON.stringify(task);
  const used = Buffer.byteLength(text, 'utf8');
  if (used > max) throw limitError('REQUEST_TOO_LARGE', { name: 'taskBytes', max, used });
  return text;
}
