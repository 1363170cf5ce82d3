/** The schedules of the manifest: when each runs next, how its last run ended, and a run now. */
import { useSignal, useSignalEffect } from '@preact/signals';
import { read, type ScheduleView, write } from './page-api.ts';
import { session } from './page-state.ts';

export function SchedulesView() {
  const shown = useSignal<readonly ScheduleView[]>([]);
  const says = useSignal('');
  const look = async () => {
    const { items } = await read<{ items: readonly ScheduleView[] }>('schedules');
    shown.value = items;
  };
  useSignalEffect(() => {
    const { value } = session;
    if (value.live === null || !value.hasSchedules) shown.value = [];
    else void look().catch(({ message }: Error) => (says.value = message));
  });
  const run = async ({ id, level }: ScheduleView) => {
    try {
      const { delivery } = await write<{ readonly delivery: string }>('schedule', { id, level });
      says.value = `Runs as ${delivery}. The feed shows its outcome.`;
      await look();
    } catch (error) {
      says.value = (error as Error).message;
    }
  };
  if (shown.value.length === 0) return null;
  return (
    <section aria-labelledby="schedules">
      <h2 id="schedules">Schedules</h2>
      <ul>
        {shown.value.map((schedule) => (
          <li key={`${schedule.level} ${schedule.id}`}>
            <strong>{schedule.id}</strong> <code>{schedule.cron}</code> {schedule.timezone}
            {schedule.level === 'integration' && ', of the integration'}: next{' '}
            {schedule.nextRunAt ?? 'when the installation is active'}
            {schedule.lastRun && `, last ${schedule.lastRun.startedAt} (${schedule.lastRun.state})`}{' '}
            <button type="button" onClick={() => void run(schedule)}>
              Run {schedule.id} now
            </button>
          </li>
        ))}
      </ul>
      <p role="status">{says.value}</p>
    </section>
  );
}
