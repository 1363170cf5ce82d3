/**
 * The metrics of all workers of this machine as one text: a scrape reaches any worker, and must not
 * depend on which.
 *
 * Counters never fall between two scrapes, or Prometheus would read the fall as a restart and count
 * the rest twice. So the counters and histograms of a worker that has ended stay in the sum, as its
 * last scrape left them; its gauges do not.
 */
import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type { MetricSnapshot } from './messages.ts';

/** Every node reads these from the database that all share: the sum would count them many times. */
const OF_THE_DATABASE = ['annex_life_events_waiting', 'annex_deliveries_waiting'];
const GROWING = ['counter', 'histogram', 'summary'];

/** A running worker process. */
export interface MeasuredWorker {
  /** Unique over all processes of this supervisor. */
  readonly id: number;
  /** @returns undefined if the worker ends or does not answer in time */
  count(): Promise<MetricSnapshot | undefined>;
}

export class MachineMetrics {
  readonly #own = new Registry();
  readonly #workers = new Gauge({
    name: 'annex_workers',
    help: 'Workers of this machine that serve.',
    registers: [this.#own],
  });
  readonly #restarts = new Counter({
    name: 'annex_worker_restarts_total',
    help: 'Workers that ended and are started again.',
    registers: [this.#own],
  });
  /** The last snapshot of each worker, by its id. */
  readonly #latest = new Map<number, MetricSnapshot>();
  /** What workers that have ended leave in the sum. */
  #ended: MetricSnapshot = [];

  restarted(): void {
    this.#restarts.inc();
  }

  /** A worker has ended. It is not started again under this id. */
  ended(id: number): void {
    const growing = (this.#latest.get(id) ?? []).filter(({ type }) => GROWING.includes(String(type)));
    this.#latest.delete(id);
    this.#ended = sumOf([this.#ended, growing]).getMetricsAsArray() as unknown as MetricSnapshot;
  }

  /**
   * Asks the workers, and adds up. A worker that does not answer counts as at its last scrape.
   *
   * @returns the text for Prometheus
   */
  async text(workers: readonly MeasuredWorker[]): Promise<string> {
    this.#workers.set(workers.length);
    await Promise.all(
      workers.map(async (worker) => {
        const snapshot = await worker.count();
        if (snapshot !== undefined) this.#latest.set(worker.id, snapshot);
      }),
    );
    const own = await this.#own.getMetricsAsJSON();
    return sumOf([this.#ended, ...this.#latest.values(), own]).metrics();
  }
}

function sumOf(snapshots: readonly MetricSnapshot[]): Registry {
  const withShared = snapshots.map((snapshot) =>
    snapshot.map((metric) =>
      OF_THE_DATABASE.includes(metric.name) ? { ...metric, aggregator: 'max' } : metric,
    ),
  );
  return Registry.aggregate(withShared);
}
