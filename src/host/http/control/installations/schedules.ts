/**
 * `…/installations/{id}/schedules` and `/v1/integrations/{name}/schedules`: the schedules of an
 * installation, and those of an integration's own endpoint (docs/contract/schedules.md#api). Shows
 * the next run and the last, and runs one now.
 */
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import type { Actor } from '../../../../model/actor.ts';
import type { Schedule } from '../../../../model/manifest/schedule.ts';
import type { Target } from '../../../../model/target.ts';
import { unknownIntegration, unknownTarget } from '../../../../model/unknown-name-errors.ts';
import { DELIVERY_STATES } from '../../../database/tables.ts';
import { PARKED, type ScheduleRow } from '../../../store/schedule-rows.ts';
import { actorOf } from '../authenticate.ts';
import type { Control } from '../control.ts';
import { ownIntegration } from '../integrations/integrations.ts';
import { route } from '../route.ts';
import { isoTime, Name, NoQuery, named, Time } from '../schemas.ts';
import { countedEdit, INSTALLATION, INSTALLATION_PARAMS, targetNameOf, visibleTarget } from './targets.ts';

const INTEGRATION = '/integrations/:name/schedules';

const RunView = named('ScheduleRun', {
  at: Type.With(Time, {
    description: 'The minute that the cron names; of a run by hand, when it was asked for.',
  }),
  startedAt: Time,
  delivery: Type.String({ description: 'Id of the delivery of its task.' }),
  state: Type.Enum([...DELIVERY_STATES]),
  outcome: Type.Optional(Type.String({ description: 'How it ended.' })),
});

const ScheduleView = named('Schedule', {
  id: Type.String(),
  cron: Type.String(),
  timezone: Type.String(),
  level: Type.Enum(['installation', 'integration']),
  catchUp: Type.Enum(['one', 'none']),
  task: Type.Unknown({ description: 'What its code gets.' }),
  nextRunAt: Type.Optional(
    Type.With(Time, { description: 'Absent while the installation is paused or pending.' }),
  ),
  running: Type.Boolean({ description: 'Whether a run has not ended. The next one begins after it.' }),
  lastRun: Type.Optional(RunView),
});

const SchedulesView = named('Schedules', { items: Type.Array(ScheduleView) });

const StartedView = named('StartedRun', {
  eventId: Type.String(),
  delivery: Type.String({ description: 'Id of the delivery of its task.' }),
});

export const SCHEDULE_ROUTES = [
  route({
    name: 'schedules.list',
    at: `GET ${INSTALLATION}/schedules`,
    summary: 'List the schedules of an installation',
    params: INSTALLATION_PARAMS,
    query: NoQuery,
    answer: SchedulesView,
    async handle(request, control) {
      const { endpointKey } = await visibleTarget(control, request, 'organization');
      return schedulesView(
        control,
        await control.targets.named(targetNameOf(request, 'organization')),
        endpointKey,
      );
    },
  }),
  route({
    name: 'schedules.run',
    at: `POST ${INSTALLATION}/schedules/:schedule/run`,
    right: 'install',
    summary: 'Run a schedule of an installation now',
    description: 'The next run stays. Refused while a run is in flight.',
    rate: countedEdit('organization'),
    params: { ...INSTALLATION_PARAMS, schedule: Name },
    query: NoQuery,
    answer: StartedView,
    status: 202,
    async handle(request, control) {
      await visibleTarget(control, request, 'organization');
      const name = targetNameOf(request, 'organization');
      const target = await control.targets.named(name);
      if (target === undefined) throw unknownTarget(name);
      if (target.status === 'active') return run(control, target, request.params.schedule, actorOf(request));
      const message = `The installation is ${target.status}: its schedules do not run.`;
      throw new AnnexError('INSTALLATION_INACTIVE', message);
    },
  }),
  route({
    name: 'integrations.listSchedules',
    at: `GET ${INTEGRATION}`,
    summary: 'List the schedules of an integration’s own endpoint',
    params: { name: Name },
    query: NoQuery,
    answer: SchedulesView,
    async handle(request, control) {
      const { name, endpointKey } = await ownIntegration(control, request);
      return schedulesView(control, await control.targets.ofIntegration(name), endpointKey);
    },
  }),
  route({
    name: 'integrations.runSchedule',
    at: `POST ${INTEGRATION}/:schedule/run`,
    right: 'publish',
    summary: 'Run a schedule of an integration’s own endpoint now',
    params: { name: Name, schedule: Name },
    query: NoQuery,
    answer: StartedView,
    status: 202,
    async handle(request, control) {
      const { name } = await ownIntegration(control, request);
      const target = await control.targets.ofIntegration(name);
      if (target === undefined) throw unknownIntegration(name);
      return run(control, target, request.params.schedule, actorOf(request));
    },
  }),
];

/** @param endpoint key of the endpoint of the target */
async function schedulesView(
  { schedules }: Pick<Control, 'schedules'>,
  target: Target | undefined,
  endpoint: string,
): Promise<Static<typeof SchedulesView>> {
  const rows = new Map((await schedules.of(endpoint)).map((row) => [row.id, row]));
  const isActive = target?.status === 'active';
  return {
    items: (target?.schedules ?? []).map((schedule) => {
      const row = rows.get(schedule.id);
      const dueAt = isActive ? schedules.nextAt(schedule, endpoint, row) : PARKED.dueAt;
      return {
        ...scheduleMembers(schedule),
        ...(dueAt !== PARKED.dueAt && { nextRunAt: isoTime(dueAt) }),
        running: row?.running !== undefined,
        ...(row?.last && { lastRun: lastRun(row.last) }),
      };
    }),
  };
}

const scheduleMembers = ({ id, cron, timezone, level, catchUp, task }: Schedule) => ({
  ...{ id, cron, timezone, level, catchUp, task },
});

const lastRun = ({ at, startedAt, ...rest }: NonNullable<ScheduleRow['last']>) => ({
  ...{ at: isoTime(at), startedAt: isoTime(startedAt) },
  ...rest,
});

/** @throws AnnexError SCHEDULE_UNKNOWN, SCHEDULE_RUNNING */
async function run(
  { runSchedule }: Pick<Control, 'runSchedule'>,
  target: Target,
  id: string,
  by: Actor,
): Promise<Static<typeof StartedView>> {
  const schedule = target.schedules?.find((one) => one.id === id);
  if (schedule === undefined) {
    const level = target.level === 'integration' ? 'integration' : 'installation';
    throw new AnnexError(
      'SCHEDULE_UNKNOWN',
      `The manifest of "${target.integration}" has no schedule "${id}" of the level "${level}".`,
    );
  }
  const begun = await runSchedule(target, schedule, by);
  if (begun === undefined)
    throw new AnnexError('SCHEDULE_RUNNING', `A run of the schedule "${id}" has not ended.`);
  return { eventId: begun.eventId, delivery: begun.id };
}
