/**
 * What the operator can measure of calls and cells, in Prometheus' text format.
 *
 * Labels are outcomes only: nothing a tenant can make up becomes a label, so their number is fixed.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallEnd } from '../wire.ts';
import type { Pool } from './pool.ts';

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

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  ended({ outcome, cpuMs }: CallEnd, wallMs: number): void {
    this.#calls.inc({ outcome });
    this.#wall.observe(wallMs / 1_000);
    this.#cpu.inc(cpuMs / 1_000);
  }

  cellReplaced(): void {
    this.#replaced.inc();
  }

  /** Gauges that are read when somebody asks for them. */
  watch(pool: Pool, inFlight: () => number): void {
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
    gauge('annex_calls_in_flight', 'Calls that have begun and not ended.', inFlight);
    gauge('annex_cells', 'Cells that take calls.', () => pool.cells.length);
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
