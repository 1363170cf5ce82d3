/**
 * Metrics of calls and cells, in the text format of Prometheus.
 *
 * Labels are outcomes, reasons and names of limits only. No label comes from a tenant, so the
 * number of series is fixed.
 */
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from '@prometheus-io/client';
import { DEFAULT_LIMITS, type LimitName } from '../../limits.ts';
import type { CallEnd } from '../../protocol/wire.ts';
import { DEATH_REASONS, type DeathReason } from '../cells/cell-death.ts';
import type { Pool } from '../cells/pool.ts';
import type { Activity } from '../store/activity.ts';

const WALL_BUCKETS_S = [0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5, 30];

/**
 * Metrics of Node.js, made once for all services of a process: they observe the collector and the
 * event loop for as long as the process lives, and keep the registry in which they were made.
 */
let ofProcess: readonly Metric[] | undefined;

function processMetrics(): readonly Metric[] {
  if (ofProcess === undefined) {
    const register = new Registry();
    collectDefaultMetrics({ register });
    ofProcess = register.getMetricsAsArray() as unknown as Metric[];
  }
  return ofProcess;
}

export class CallMetrics {
  readonly registry = new Registry();
  readonly #calls = new Counter({
    name: 'annex_calls_total',
    help: 'Calls that have ended, by outcome.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });
  readonly #wall = new Histogram({
    name: 'annex_call_duration_seconds',
    help: 'Wall time of calls, from admission to their end.',
    buckets: WALL_BUCKETS_S,
    registers: [this.registry],
  });
  readonly #cpu = new Counter({
    name: 'annex_call_cpu_seconds_total',
    help: 'CPU that calls have used inside their isolates.',
    registers: [this.registry],
  });

  readonly #replaced = new Counter({
    name: 'annex_cell_restarts_total',
    help: 'Cells that were replaced.',
    registers: [this.registry],
  });

  readonly #deaths = new Counter({
    name: 'annex_cell_deaths_total',
    help: 'Cells that died, by reason; those that were stopped because they were not needed do not count.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  readonly #moved = new Counter({
    name: 'annex_calls_moved_total',
    help: 'Calls that had not begun when their cell died, and moved to another one.',
    registers: [this.registry],
  });

  readonly #limits = new Counter({
    name: 'annex_limits_met_total',
    help: 'Times that a limit was met, by limit: a call or request was refused, ended, cut or had to wait.',
    labelNames: ['limit'],
    registers: [this.registry],
  });

  readonly #coolDowns = new Counter({
    name: 'annex_cool_downs_total',
    help: 'Times that calls of an installation were refused for a while because it kept passing its limits.',
    registers: [this.registry],
  });

  #activity: Pick<Activity, 'call'> | undefined;

  constructor() {
    for (const metric of processMetrics()) this.registry.registerMetric(metric);
    // An alert on a limit that was never met needs an existing series.
    for (const limit of Object.keys(DEFAULT_LIMITS)) this.#limits.inc({ limit }, 0);
    for (const reason of DEATH_REASONS) this.#deaths.inc({ reason }, 0);
  }

  /** Counts a limit. A call counts each limit once, however often it meets it. */
  limitMet(limit: LimitName): void {
    this.#limits.inc({ limit });
  }

  ended({ outcome, cpuMs }: CallEnd, wallMs: number): void {
    this.#calls.inc({ outcome });
    this.#wall.observe(wallMs / 1_000);
    this.#cpu.inc(cpuMs / 1_000);
    this.#activity?.call(outcome === 'ok', wallMs);
  }

  /** A call was not begun. */
  shed(): void {
    this.#calls.inc({ outcome: 'loadShed' });
    this.#activity?.call(false, 0);
  }

  coolDownBegun(): void {
    this.#coolDowns.inc();
  }

  cellDied(reason: DeathReason): void {
    this.#replaced.inc();
    this.#deaths.inc({ reason });
  }

  callMoved(): void {
    this.#moved.inc();
  }

  /** Registers gauges that are read at each scrape, and with each minute of the activity. */
  watch(
    pool: Pool,
    calls: { readonly inFlight: number; readonly waiting: number },
    activity: Pick<Activity, 'call' | 'watch'>,
  ): void {
    this.#activity = activity;
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers: [this.registry],
        collect: function () {
          this.set(read());
        },
      });
    const sum = (read: (cell: Pool['cells'][number]) => number) => () =>
      pool.cells.reduce((total, cell) => total + read(cell), 0);
    const rss = sum((cell) => cell.rssBytes);
    activity.watch(() => ({
      cells: pool.cells.length,
      cellBytes: rss(),
      contained: pool.suspected + pool.quarantined,
    }));
    gauge('annex_calls_in_flight', 'Calls that have begun and not ended.', () => calls.inFlight);
    gauge('annex_calls_waiting', 'Calls that wait for a place.', () => calls.waiting);
    gauge('annex_cells', 'Cells that take calls.', () => pool.cells.length);
    gauge(
      'annex_installations_suspected',
      'Suspects: installations that may have crashed a cell and are kept apart.',
      () => pool.suspected,
    );
    gauge(
      'annex_installations_quarantined',
      'Installations that keep crashing their cells and run alone.',
      () => pool.quarantined,
    );
    gauge('annex_cell_rss_bytes', 'Resident memory of all cells.', rss);
    gauge(
      'annex_isolate_heap_bytes',
      'V8 heaps of all isolates, as the cells report them.',
      sum((cell) => cell.heapBytes),
    );
    gauge(
      'annex_isolates',
      'Isolates alive in all cells.',
      sum((cell) => cell.isolates),
    );
  }
}
