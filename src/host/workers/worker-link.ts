/**
 * A worker's end of the channel to its supervisor: it reports where it listens, takes the order to
 * stop, and answers scrapes with the metrics of the whole machine.
 *
 * If the supervisor dies, Node ends the worker at once: without the supervisor it would not be
 * restarted, and its ports are those of the supervisor.
 */
import cluster from 'node:cluster';
import type { Registry } from '@prometheus-io/client';
import { INDEX_VARIABLE, type ListenerUrls, type ToSupervisor, type ToWorker } from './messages.ts';

/** The text that a scrape is answered with. */
interface MetricsText {
  readonly contentType: string;
  metrics(): Promise<string>;
}

type Settle = (text: string | undefined) => void;

export class WorkerLink {
  /** From 0; a worker that is started again keeps it. */
  readonly index: number;
  readonly #scrapes = new Map<number, Settle>();
  #scrapeIds = 0;
  #registry: Registry | undefined;
  #stop: (() => void) | undefined;

  /** Before the settings are read. @returns undefined in a process that is no worker */
  static open(): WorkerLink | undefined {
    if (!cluster.isWorker) return undefined;
    const index = Number(process.env[INDEX_VARIABLE]);
    // It is no setting, and children of the worker are no workers.
    delete process.env[INDEX_VARIABLE];
    return new WorkerLink(index);
  }

  private constructor(index: number) {
    this.index = index;
    process.on('message', (message: ToWorker) => void this.#receive(message));
  }

  /** The worker serves. */
  ready(urls: ListenerUrls): void {
    this.#send({ annex: 'ready', urls });
  }

  /**
   * Runs `stop` once, when the supervisor asks for it or a signal arrives. A terminal sends Ctrl-C
   * to the workers as well, so a second signal is no order to hurry: the supervisor ends workers
   * that take too long.
   */
  onStop(stop: () => void): void {
    let isStopping = false;
    this.#stop = () => {
      if (!isStopping) stop();
      isStopping = true;
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, this.#stop);
  }

  /** @returns answers scrapes with the sum over all workers, this one's registry included */
  machineMetrics(registry: Registry): MetricsText {
    this.#registry = registry;
    return { contentType: registry.contentType, metrics: () => this.#scrape() };
  }

  async #scrape(): Promise<string> {
    const id = this.#scrapeIds++;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#scrapes.set(id, resolve);
    this.#send({ annex: 'scrape', id });
    const text = await promise;
    if (text === undefined) throw new Error('The metrics of the workers could not be added up.');
    return text;
  }

  async #receive(message: ToWorker): Promise<void> {
    if (message.annex === 'stop') this.#stop?.();
    else if (message.annex === 'count') {
      // A worker does not end because of a number that cannot be read: it counts as at its last
      // scrape.
      const snapshot = await this.#registry?.getMetricsAsJSON().catch(() => undefined);
      this.#send({ annex: 'counted', id: message.id, ...(snapshot && { snapshot }) });
    } else if (message.annex === 'scraped') {
      this.#scrapes.get(message.id)?.(message.text);
      this.#scrapes.delete(message.id);
    }
  }

  #send(message: ToSupervisor): void {
    // A channel that has just closed ends this process; there is nothing else to do about it.
    process.send?.(message, () => {});
  }
}
