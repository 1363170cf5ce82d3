/**
 * What the supervisor and its workers say to each other, over the channel that `node:cluster` opens
 * between them. Both ends run code of the host, so messages are typed and not checked.
 */
import type { MetricObjectWithValues, MetricValue } from '@prometheus-io/client';

/** Where a worker listens, as seen from this machine: the same for all workers. */
export interface ListenerUrls {
  readonly control: string;
  readonly public: string;
}

/** All metrics of one process, at one time. */
export type MetricSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

export type ToSupervisor =
  /** The worker serves both listeners. */
  | { readonly annex: 'ready'; readonly urls: ListenerUrls }
  /** A client asks this worker for the metrics of the machine. */
  | { readonly annex: 'scrape'; readonly id: number }
  /** Answers `count`. */
  | { readonly annex: 'counted'; readonly id: number; readonly snapshot?: MetricSnapshot };

export type ToWorker =
  /** Finish what is in flight, and exit. */
  | { readonly annex: 'stop' }
  | { readonly annex: 'count'; readonly id: number }
  /** Answers `scrape`; without a text if the metrics could not be added up. */
  | { readonly annex: 'scraped'; readonly id: number; readonly text?: string };

/** Variable in which the supervisor passes a worker its index. It is no setting. */
export const INDEX_VARIABLE = 'ANNEX_WORKER_INDEX';
