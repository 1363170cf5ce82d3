/**
 * What the operator can measure of calls and cells, in Prometheus' text format.
 *
 * Labels are outcomes and names of limits only: nothing a tenant can make up becomes a label, so their number is fixed.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { DEATH_REASONS, type DeathReason } from '../cells/cell-death.ts';
import type { Pool } from '../cells/pool.ts';
import { DEFAULT_LIMITS, type LimitName } from '../limits.ts';
import type { CallEnd } from '../protocol/wire.ts';

const WALL_BUCKETS_S = [0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5, 30];

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
    help: 'Cells that died, by reason; those that were stopped because nobody needed them do not count.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  readonly #moved = new Counter({
    name: 'annex_calls_moved_total',
    help: 'Calls that had not begun when their cell died, and went on in another one.',
    registers: [this.registry],
  });

  readonly #limits = new Counter({
    name: 'annex_limits_met_total',
    help: 'Limits that something came up against, by limit: what was refused, ended, cut or had to wait.',
    labelNames: ['limit'],
    registers: [this.registry],
  });

  readonly #coolDowns = new Counter({
    name: 'annex_cool_downs_total',
    help: 'Times that an installation which kept passing its limits was left alone for a while.',
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // An alert on a limit that has never been met needs a series to look at.
    for (const limit of Object.keys(DEFAULT_LIMITS)) this.#limits.inc({ limit }, 0);
    for (const reason of DEATH_REASONS) this.#deaths.inc({ reason }, 0);
  }

  /** A call counts each limit once, however often it meets it. */
  limitMet(limit: LimitName): void {
    this.#limits.inc({ limit });
  }

  ended({ outcome, cpuMs }: CallEnd, wallMs: number): void {
    this.#calls.inc({ outcome });
    this.#wall.observe(wallMs / 1_000);
    this.#cpu.inc(cpuMs / 1_000);
  }

  /** A call was not begun. */
  shed(): void {
    this.#calls.inc({ outcome: 'loadShed' });
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

  /** Gauges that are read when somebody asks for them. */
  watch(pool: Pool, calls: { readonly inFlight: number; readonly waiting: number }): void {
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
    gauge('annex_calls_in_flight', 'Calls that have begun and not ended.', () => calls.inFlight);
    gauge('annex_calls_waiting', 'Calls that wait for a place.', () => calls.waiting);
    gauge('annex_cells', 'Cells that take calls.', () => pool.cells.length);
    gauge(
      'annex_installations_suspected',
      'Installations that may have crashed a cell and are tried, kept apart.',
      () => pool.suspected,
    );
    gauge(
      'annex_installations_quarantined',
      'Installations that keep crashing their cells and run alone.',
      () => pool.quarantined,
    );
    gauge(
      'annex_cell_rss_bytes',
      'Resident memory of all cells.',
      sum((cell) => cell.rssBytes),
    );
    gauge(
      'annex_isolate_heap_bytes',
      'V8 heaps of all isolates, as the cells tell it.',
      sum((cell) => cell.heapBytes),
    );
    gauge(
      'annex_isolates',
      'Isolates alive in all cells.',
      sum((cell) => cell.isolates),
    );
  }
}
