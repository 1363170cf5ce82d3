/** `annex schedules`: what the service queues by itself for an installation, and a run now. */
import Type from 'typebox';
import type { Annex, Schedule, StartedRun } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../command.ts';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { EXIT } from '../terminal/failure.ts';
import { OUTCOMES_WAIT_MS, outcomesOf, rowOf, stateOf, TITLES } from '../traffic/deliveries.ts';
import { findInstallation, INSTALLATION } from '../traffic/installation.ts';
import { seconds } from '../traffic/option-values.ts';
import { DELIVERY } from './deliveries.ts';

const MS_PER_S = 1_000;
const SCHEDULE = Type.Object({
  id: Type.String(),
  cron: Type.String(),
  timezone: Type.String(),
  level: Type.String(),
  catchUp: Type.String(),
  task: Type.Unknown(),
  nextRunAt: Type.Optional(Type.String()),
  running: Type.Boolean(),
  lastRun: Type.Optional(
    Type.Object({
      at: Type.String(),
      startedAt: Type.String(),
      delivery: Type.String(),
      state: Type.String(),
      outcome: Type.Optional(Type.String()),
    }),
  ),
});
const OWN = {
  own: { help: "those of the level `integration`, of the integration's own endpoint" },
} as const;

const list: Command = defineCommand({
  name: 'list',
  summary: 'list the schedules of an installation, with their next runs and their last',
  arguments: { installation: INSTALLATION },
  options: OWN,
  examples: [
    { line: 'annex schedules list hello', does: 'see when they run next, and how the last run ended' },
  ],
  json: Type.Object({ items: Type.Array(SCHEDULE) }),
  async run(context, { installation: word, own }) {
    const client = await context.client();
    const { signal } = context;
    const { items } = own
      ? await client.integrations.listSchedules(integrationOf(word), { signal })
      : await ofInstallation(client, word, signal);
    context.output.list(
      { items },
      ['SCHEDULE', 'CRON', 'TIME ZONE', 'NEXT RUN', 'LAST RUN', 'STATE', 'OUTCOME'],
      ({ id, cron, timezone, nextRunAt = 'none', lastRun }: Schedule) => [
        ...[id, cron, timezone, nextRunAt, lastRun?.startedAt ?? 'never'],
        lastRun === undefined ? '' : stateOf(lastRun.state),
        lastRun?.outcome ?? '',
      ],
      'There are no schedules.',
    );
    return undefined;
  },
});

const run: Command = defineCommand({
  name: 'run',
  summary: 'run a schedule now and wait for its end',
  description: ['The next run stays as it is. A schedule of which a run is in flight is not run twice.'],
  arguments: { installation: INSTALLATION, schedule: { help: 'id of the schedule, as `list` shows it' } },
  options: {
    ...OWN,
    timeout: {
      value: 'seconds',
      help: `wait at most this long (default: ${OUTCOMES_WAIT_MS / MS_PER_S})`,
      parse: seconds,
    },
  },
  examples: [{ line: 'annex schedules run hello nightly', does: 'run it without waiting for the night' }],
  exits: { 1: 'it was refused, its task failed, or did not end in time' },
  json: Type.Object({
    eventId: Type.String(),
    delivery: Type.String(),
    outcomes: Type.Array(DELIVERY, { description: 'The delivery, as it was at the end.' }),
  }),
  async run(context, { installation: word, schedule, own, timeout = OUTCOMES_WAIT_MS }) {
    const { output } = context;
    const client = await context.client();
    const started = await start(context, client, { word, schedule, own });
    const awaited = { eventId: started.eventId, deliveries: 1, waitMs: timeout };
    const outcomes = await outcomesOf(context, client, awaited);
    output.result({ ...started, outcomes }, () => output.table(TITLES, outcomes.map(rowOf)));
    const isOver = outcomes.every(({ state }) => state !== 'pending');
    if (!isOver) output.talk(`After ${timeout / MS_PER_S} s, the run is still pending.`);
    return outcomes.some(({ state }) => state === 'delivered') ? EXIT.ok : EXIT.failed;
  },
});

interface Meant {
  readonly word: string;
  readonly schedule: string;
  readonly own: boolean;
}

async function start(
  { signal }: CommandContext,
  client: Annex,
  { word, schedule, own }: Meant,
): Promise<StartedRun> {
  if (own) return client.integrations.runSchedule(integrationOf(word), schedule, { signal });
  const { integration, id } = await findInstallation(client, word);
  return client.schedules.run(integration, id, schedule, { signal });
}

async function ofInstallation(client: Annex, word: string, signal: AbortSignal) {
  const { integration, id } = await findInstallation(client, word);
  return client.schedules.list(integration, id, { signal });
}

const integrationOf = (word: string): string => word.split('@')[0] ?? word;

export const schedules: CommandGroup = {
  name: 'schedules',
  summary: 'list and run the schedules of an installation',
  description: ['The manifest says which there are: `schedules`, each a cron with its task.'],
  examples: [{ line: 'annex schedules list hello', does: 'see when they run next' }],
  commands: [list, run],
};
