/** The schedules of the manifest: when each runs next, how its last run ended, and a run now. */
import { useSignal, useSignalEffect } from '@preact/signals';
import { Time } from '../../ui/src/shown-values.tsx';
import { type LiveSession, read, type ScheduleView, write } from './page-api.ts';
import { generation } from './page-state.ts';
import { failed, type Outcome, Said } from './parts.tsx';

export function SchedulesView({ live }: { readonly live: LiveSession }) {
  const shown = useSignal<readonly ScheduleView[]>([]);
  const says = useSignal<Outcome>(undefined);
  const fail = (error: unknown) => {
    says.value = failed(error);
  };
  const look = async () => {
    const { items } = await read<{ items: readonly ScheduleView[] }>('schedules');
    shown.value = items;
  };
  useSignalEffect(() => {
    // A version may have others.
    if (generation.value >= 0) void look().catch(fail);
  });
  const run = async ({ id, level }: ScheduleView) => {
    const { delivery } = await write<{ readonly delivery: string }>('schedule', { id, level });
    says.value = { tone: 'good', words: `Runs as ${delivery}. The outcome follows beside.` };
    await look();
  };
  return (
    <section aria-labelledby="schedules">
      <h2 id="schedules">Schedules</h2>
      <p class="quiet-words">
        They run while <span dir="auto">{live.live.title}</span> is active.
      </p>
      <ul class="rows">
        {shown.value.map((schedule) => (
          <li key={`${schedule.level} ${schedule.id}`}>
            <strong>{schedule.id}</strong>
            <code>{schedule.cron}</code>
            <span class="fact">
              {schedule.timezone}
              {schedule.level === 'integration' && ', of the integration'}
            </span>
            <span class="fact">
              next{' '}
              {schedule.nextRunAt === undefined ? (
                'when the installation is active'
              ) : (
                <Time at={schedule.nextRunAt} />
              )}
              {schedule.lastRun && (
                <>
                  , last <Time at={schedule.lastRun.startedAt} /> ({schedule.lastRun.state})
                </>
              )}
            </span>
            <button type="button" class="button" onClick={() => void run(schedule).catch(fail)}>
              Run {schedule.id} now
            </button>
          </li>
        ))}
      </ul>
      <Said outcome={says.value} />
    </section>
  );
}
