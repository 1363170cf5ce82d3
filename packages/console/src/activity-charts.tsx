/** The last day as charts: calls, how long they took, deliveries, what waits. */
import type { ComponentChildren } from 'preact';
import type { Activity } from '../../client/src/generated.ts';
import { type ChartSeries, TimeChart } from '../../ui/src/time-chart.tsx';
import { numberText } from './parts.tsx';
import { addressOf, go } from './place.ts';

const DAY_MS = 86_400_000;
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 2 });

const milliseconds = (value: number): string =>
  value < 1_000 ? `${Math.round(value)} ms` : `${numberText(value / 1_000)} s`;

type Point = Activity['points'][number];

interface ChartProps {
  readonly title: string;
  readonly activity: Activity;
  readonly series: readonly (ChartSeries & { readonly of: (point: Point) => number | undefined })[];
  readonly shown?: (value: number) => string;
  /** Address of what a point leads to. @param to end of its step, in ISO 8601 */
  readonly leadsTo?: (to: string) => string;
  /** The numbers of the day. */
  readonly children: ComponentChildren;
}

function Chart({ title, activity, series, shown = numberText, leadsTo, children }: ChartProps) {
  const stepMs = activity.stepSeconds * 1_000;
  const to = (Math.floor(Date.now() / stepMs) + 1) * stepMs;
  const points = activity.points.map((point) => ({
    at: Date.parse(point.at),
    values: series.map(({ of }) => of(point)),
  }));
  return (
    <article class="chart" aria-label={title}>
      <h2>{title}</h2>
      <p>{children}</p>
      <TimeChart
        label={`${title} of the last day`}
        {...{ series, points, to, stepMs, shown, from: to - DAY_MS }}
        {...(leadsTo && { picked: ({ at }) => go(leadsTo(new Date(at + stepMs).toISOString())) })}
      />
    </article>
  );
}

const failedUntil = (to?: string): string => addressOf('deliveries', { state: 'failed', to });

export function ActivityCharts({ activity }: { readonly activity: Activity }) {
  const { points } = activity;
  const sum = (of: (point: Point) => number) => points.reduce((total, point) => total + of(point), 0);
  const [calls, errors] = [sum((point) => point.calls), sum((point) => point.errors)];
  const [delivered, failed] = [sum((point) => point.delivered), sum((point) => point.failed)];
  const last = points.at(-1);
  const timed = points.findLast(({ p99Ms }) => p99Ms !== undefined);
  return (
    <div class="charts">
      <Chart
        title="Calls"
        activity={activity}
        series={[
          { name: 'calls', tone: 'accent', of: (point) => point.calls },
          { name: 'errors', tone: 'danger', of: (point) => point.errors },
        ]}
      >
        <strong>{numberText(calls)}</strong>
        <a href={addressOf('logs', { level: 'error' })}>
          {numberText(errors)} {errors === 1 ? 'error' : 'errors'}
          {errors > 0 && ` (${PERCENT.format(errors / calls)})`}
        </a>
      </Chart>
      <Chart
        title="Time of a call"
        activity={activity}
        shown={milliseconds}
        series={[
          { name: 'at 99 %', tone: 'accent', of: ({ p99Ms }) => p99Ms },
          { name: 'at half', tone: 'quiet', of: ({ p50Ms }) => p50Ms },
        ]}
      >
        <strong>{timed === undefined ? 'No calls' : milliseconds(timed.p99Ms ?? 0)}</strong>
        {timed !== undefined && <span>99 % are as fast; half take {milliseconds(timed.p50Ms ?? 0)}</span>}
      </Chart>
      <Chart
        title="Deliveries"
        activity={activity}
        leadsTo={failedUntil}
        series={[
          { name: 'delivered', tone: 'accent', of: (point) => point.delivered },
          { name: 'failed', tone: 'danger', of: (point) => point.failed },
        ]}
      >
        <strong>{numberText(delivered)}</strong>
        <a href={failedUntil()}>{numberText(failed)} failed</a>
      </Chart>
      <Chart
        title="Waiting deliveries"
        activity={activity}
        series={[{ name: 'waiting', tone: 'accent', of: (point) => point.waiting }]}
      >
        <strong>{numberText(last?.waiting ?? 0)}</strong>
        <a href={addressOf('deliveries', { state: 'pending' })}>Pending deliveries</a>
      </Chart>
    </div>
  );
}
