/**
 * A chart of some numbers over a time: one step of the time is one step of the line, so that a lone
 * point is seen and a gap is a gap. What the pointer or the arrow keys are at is said in words below.
 */
import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useState } from 'preact/hooks';

export interface ChartSeries {
  /** In the words below, after its number. */
  readonly name: string;
  readonly tone: 'accent' | 'danger' | 'quiet';
}

export interface ChartPoint {
  /** Beginning of its step, in milliseconds since 1970. */
  readonly at: number;
  /** Of each series; undefined where there is none. */
  readonly values: readonly (number | undefined)[];
}

export interface TimeChartProps {
  readonly label: string;
  readonly series: readonly ChartSeries[];
  readonly points: readonly ChartPoint[];
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  readonly shown: (value: number) => string;
  /** Enter or a press at a point. */
  readonly picked?: (point: ChartPoint) => void;
}

const [WIDTH, HEIGHT] = [1_000, 100];
const TIME = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const LABELS = 5;
/** Points that an arrow key with Shift passes. */
const LEAP = 12;

/** The next number of the form 1, 2 or 5 × 10ⁿ: an axis ends there. */
function roundUp(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

export function TimeChart({ label, series, points, from, to, stepMs, shown, picked }: TimeChartProps) {
  const [at, setAt] = useState<number>();
  const top = roundUp(Math.max(0, ...points.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const x = (time: number) => Math.min(WIDTH, Math.max(0, ((time - from) / (to - from)) * WIDTH));
  const y = (value: number) => HEIGHT - (value / top) * HEIGHT;
  const point = at === undefined ? undefined : points[at];
  const words = (one: ChartPoint) =>
    [
      TIME.format(one.at),
      ...series.flatMap(({ name }, index) => {
        const value = one.values[index];
        return value === undefined ? [] : [`${shown(value)} ${name}`];
      }),
    ].join(' · ');
  const nearest = (event: TargetedPointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const time = from + ((event.clientX - left) / width) * (to - from) - stepMs / 2;
    const distances = points.map((one) => Math.abs(one.at - time));
    return points.length === 0 ? undefined : distances.indexOf(Math.min(...distances));
  };
  const key = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const current = at ?? points.length - 1;
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -1,
      ArrowDown: -1,
      ArrowRight: 1,
      ArrowUp: 1,
    };
    const step = steps[event.key];
    if (event.key === 'Enter' && point) picked?.(point);
    if (event.key === 'Home') setAt(0);
    if (event.key === 'End') setAt(points.length - 1);
    if (step !== undefined)
      setAt(Math.min(points.length - 1, Math.max(0, current + step * (event.shiftKey ? LEAP : 1))));
    if (step !== undefined || event.key === 'Home' || event.key === 'End') event.preventDefault();
  };
  return (
    <div class="time-chart">
      <div
        class="plot"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, points.length - 1)}
        aria-valuenow={at ?? Math.max(0, points.length - 1)}
        aria-valuetext={point ? words(point) : 'No point is chosen: use the arrow keys.'}
        onPointerMove={(event) => setAt(nearest(event))}
        onPointerLeave={() => setAt(undefined)}
        onBlur={() => setAt(undefined)}
        onKeyDown={key}
        onClick={() => point && picked?.(point)}
      >
        <span class="plot-top" aria-hidden="true">
          {shown(top)}
        </span>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {[0, 0.5, 1].map((share) => (
            <line key={share} class="grid" x1={0} x2={WIDTH} y1={share * HEIGHT} y2={share * HEIGHT} />
          ))}
          {series.map(({ name, tone }, index) =>
            runsOf(points, index, stepMs).map((run) => {
              const line = run
                .map(
                  ([time, value], place) =>
                    `${place === 0 ? 'M' : 'L'}${x(time)} ${y(value)}H${x(time + stepMs)}`,
                )
                .join('');
              const [begin, end] = [x(run[0]?.[0] ?? 0), x((run.at(-1)?.[0] ?? 0) + stepMs)];
              return (
                <g key={`${name} ${begin}`} class={tone}>
                  {tone !== 'quiet' && <path class="area" d={`${line}V${HEIGHT}H${begin}Z`} />}
                  <path class="line" d={end - begin < 1 ? `${line}h1` : line} />
                </g>
              );
            }),
          )}
          {point && (
            <rect
              class="cursor"
              x={x(point.at)}
              width={Math.max(2, x(point.at + stepMs) - x(point.at))}
              height={HEIGHT}
            />
          )}
        </svg>
      </div>
      <div class="plot-foot" aria-hidden="true">
        {point
          ? words(point)
          : Array.from({ length: LABELS }, (_, index) => (
              <span key={index}>{TIME.format(from + ((to - from) * index) / (LABELS - 1))}</span>
            ))}
      </div>
    </div>
  );
}

/** The values of a series that follow each other without a gap, with their times. */
function runsOf(points: readonly ChartPoint[], index: number, stepMs: number): [number, number][][] {
  const runs: [number, number][][] = [];
  let before: number | undefined;
  for (const { at, values } of points) {
    const value = values[index];
    if (value === undefined) continue;
    if (before === undefined || at - before > stepMs) runs.push([]);
    runs.at(-1)?.push([at, value]);
    before = at;
  }
  return runs;
}
