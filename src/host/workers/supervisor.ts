/**
 * Runs several nodes on one machine behind one pair of ports, where one event loop is not enough:
 * each is a whole process with its own cells and its own connections to the database. The
 * supervisor starts them, starts them again, and stops them. It opens no database and reads no
 * byte of a client.
 *
 * `node:cluster` shares the ports, with its round robin (`SCHED_RR`): the supervisor accepts
 * connections and hands them on in turn, only to workers that have answered for the one before.
 * Two other ways to share a port are not used:
 * - Workers that accept from one socket (`SCHED_NONE`) are woken unevenly: a few get most
 *   connections.
 * - With `reusePort` each worker has a socket of its own, and connections that wait in it are lost
 *   with the worker. Any later process of the same user could bind the ports as well, and would get
 *   a part of the clients instead of an error. Port 0 would be another port for each worker.
 *
 * The cost of `SCHED_RR`: each new connection passes through the supervisor; its requests do not.
 * A proxy that keeps connections open makes few new ones.
 *
 * The first worker starts alone. It makes what a first start makes (keys, schema, admin token), and
 * what keeps it from starting is reported once.
 */
import cluster from 'node:cluster';
import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import { within } from '../../model/bounded-wait.ts';
import type { ListenerUrls, MetricSnapshot, ToSupervisor } from './messages.ts';
import { type RestartPace, type WorkerEnd, WorkerSlot } from './worker-slot.ts';

const PACE: RestartPace = { firstMs: 1_000, maxMs: 30_000, healthyMs: 60_000 };
/** How long a scrape waits for a worker; less than the 10 s after which Prometheus gives up. */
const COUNT_MS = 2_000;

export interface SupervisorDeps {
  /** Path of the program of a worker, and its arguments. */
  readonly program: string;
  readonly flags: readonly string[];
  readonly workers: number;
  /** Milliseconds that workers may take to stop before they are killed. */
  readonly killAfterMs: number;
  readonly log: Logger;
  readonly pace?: RestartPace;
}

/** There is one in a process, which cannot be a worker. */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #slots: readonly WorkerSlot[];
  readonly #metrics = new MachineMetrics();
  readonly #first = Promise.withResolvers<ListenerUrls>();
  /** Workers' answers that a scrape waits for, by their id. */
  readonly #counts = new Map<number, (snapshot: MetricSnapshot | undefined) => void>();
  #countIds = 0;
  #hasServed = false;
  #stopping: Promise<void> | undefined;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#slots = Array.from({ length: deps.workers }, (_, index) => this.#slot(index));
  }

  /**
   * Starts the first worker, and the others when it serves.
   *
   * @returns where the first worker listens; the others follow, and are started again if they fail
   * @throws if the first worker ends before it serves; why, it has printed itself
   */
  async start(): Promise<ListenerUrls> {
    const { program, flags } = this.#deps;
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // The default turns numbers that are none, as in a histogram without values, into null.
    cluster.setupPrimary({ exec: program, args: [...flags], serialization: 'advanced' });
    const [first, ...others] = this.#slots;
    first?.start();
    const urls = await this.#first.promise;
    if (this.#stopping === undefined) for (const slot of others) slot.start();
    return urls;
  }

  /** Stops the workers in order, and ends those that take too long. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    const { log, killAfterMs } = this.#deps;
    const stopped = Promise.all(this.#slots.map((slot) => slot.stop()));
    if (await within(killAfterMs, stopped)) return;
    const late = this.#slots.filter(({ pid }) => pid !== undefined);
    log.warn({ workers: late.map(({ index }) => index) }, 'workers did not stop in time and are killed');
    for (const slot of late) slot.kill();
    await stopped;
  }

  #slot(index: number): WorkerSlot {
    const { log, pace = PACE } = this.#deps;
    const slot: WorkerSlot = new WorkerSlot({
      index,
      pace,
      served: (urls) => {
        log.info({ worker: index, workerPid: slot.pid }, 'a worker serves');
        this.#hasServed = true;
        this.#first.resolve(urls);
      },
      said: (message) => void this.#hear(slot, message),
      ended: (id, end) => this.#ended(slot, id, end),
    });
    return slot;
  }

  #ended(slot: WorkerSlot, id: number | undefined, { exitCode, signal, served, restartMs }: WorkerEnd): void {
    if (id !== undefined) this.#metrics.ended(id);
    if (this.#stopping !== undefined) return;
    const how = { worker: slot.index, ...(signal === undefined ? { exitCode } : { signal }) };
    if (!this.#hasServed) {
      void this.stop();
      const cause = signal === undefined ? `exit code ${exitCode}` : signal;
      this.#first.reject(new Error(`The first worker ended before it served: ${cause}.`));
      return;
    }
    this.#metrics.restarted();
    this.#deps.log.warn({ ...how, served, restartMs }, 'a worker has ended and is started again');
  }

  async #hear(slot: WorkerSlot, message: ToSupervisor): Promise<void> {
    if (message.annex === 'counted') {
      this.#counts.get(message.id)?.(message.snapshot);
    } else if (message.annex === 'scrape') {
      const answer = { annex: 'scraped', id: message.id } as const;
      try {
        slot.send({ ...answer, text: await this.#metrics.text(this.#measured()) });
      } catch (cause) {
        this.#deps.log.error({ err: cause }, 'the metrics of the workers could not be added up');
        slot.send(answer);
      }
    }
  }

  #measured(): MeasuredWorker[] {
    return this.#slots.flatMap((slot) => {
      const { id, serves } = slot;
      return id !== undefined && serves ? [{ id, count: () => this.#count(slot) }] : [];
    });
  }

  async #count(slot: WorkerSlot): Promise<MetricSnapshot | undefined> {
    const id = this.#countIds++;
    const { promise, resolve } = Promise.withResolvers<MetricSnapshot | undefined>();
    this.#counts.set(id, resolve);
    slot.send({ annex: 'count', id });
    const isCounted = await within(COUNT_MS, promise);
    this.#counts.delete(id);
    return isCounted ? promise : undefined;
  }
}

/** Every node reads these from the database that all share: the sum would count them many times. */
const OF_THE_DATABASE = ['annex_life_events_waiting', 'annex_deliveries_waiting', 'annex_webhooks'];
const GROWING = ['counter', 'histogram', 'summary'];

/** A running worker process. */
interface MeasuredWorker {
  /** Unique over all processes of this supervisor. */
  readonly id: number;
  /** @returns undefined if the worker ends or does not answer in time */
  count(): Promise<MetricSnapshot | undefined>;
}

/**
 * The metrics of all workers of this machine as one text: a scrape reaches any worker, and must not
 * depend on which.
 *
 * Counters never fall between two scrapes, or Prometheus would read the fall as a restart and count
 * the rest twice. So the counters and histograms of a worker that has ended stay in the sum, as its
 * last scrape left them; its gauges do not.
 */
class MachineMetrics {
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
