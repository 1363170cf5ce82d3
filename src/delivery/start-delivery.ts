/**
 * Starts the lifecycle worker and the delivery worker with its two kinds of attempt. A part of the
 * composition root, without decisions of its own.
 */
import { readFileSync } from 'node:fs';
import type { Registry as MetricsRegistry } from '@prometheus-io/client';
import type { CallLog } from '../calls/call-log.ts';
import type { Dispatch } from '../calls/dispatch.ts';
import type { WebhookClient } from '../egress/webhook/webhook-client.ts';
import type { LimitName, Limits } from '../limits.ts';
import type { Store } from '../store/store.ts';
import type { TargetResolver } from '../targets/target-resolver.ts';
import { Attempts } from './attempts.ts';
import { deliveryMetrics, lifecycleMetrics } from './delivery-metrics.ts';
import { DeliveryWorker } from './delivery-worker.ts';
import { HandlerDelivery } from './handler-delivery.ts';
import { LifecycleWorker } from './lifecycle/lifecycle-worker.ts';
import { WebhookDelivery } from './webhook-delivery.ts';

/** Version of Annex, from `package.json`. */
export const { version: VERSION } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as {
  version: string;
};
export const USER_AGENT = `Annex-Webhook/${VERSION}`;

export interface DeliveryParts {
  readonly store: Pick<Store, 'lifecycleEvents' | 'deliveries' | 'acceptedEvents' | 'webhookSecrets'>;
  readonly targets: TargetResolver;
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly webhookClient: Pick<WebhookClient, 'post'>;
  readonly callLog: Pick<CallLog, 'log'>;
  readonly metrics: MetricsRegistry;
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Monotonic clock, in milliseconds. */
  readonly ticks: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  limitMet(name: LimitName): void;
  onError(error: unknown, what: string): void;
}

export interface StartedDelivery {
  /** Starts nothing any more; deliveries in flight have this time to end. */
  stop(withinMs: number): Promise<void>;
}

/**
 * Delivers what the last process left, and all that is added. @throws if the store cannot be read
 */
export async function startDelivery(parts: DeliveryParts): Promise<StartedDelivery> {
  const { store, metrics } = parts;
  const { lifecycleEvents, deliveries, acceptedEvents } = store;
  const lifecycle = new LifecycleWorker({
    ...parts,
    events: lifecycleEvents,
    settled: lifecycleMetrics(metrics, lifecycleEvents),
    onError: (error) => parts.onError(error, 'a lifecycle event could not be read or settled'),
  });
  const worker = deliveryWorker(parts);
  const stop = async (withinMs: number) => {
    await Promise.all([lifecycle.stop(), worker.stop(withinMs)]);
  };
  // Before the store is read: the answer lacks what is added meanwhile.
  lifecycleEvents.onWritten = (installationId) => lifecycle.add(installationId);
  acceptedEvents.onAccepted = (added) => worker.add(added);
  deliveries.onWaiting = (added) => worker.add(added);
  try {
    await Promise.all([lifecycle.start(), worker.start()]);
  } catch (cause) {
    await stop(0);
    throw cause;
  }
  return { stop };
}

function deliveryWorker(parts: DeliveryParts): DeliveryWorker {
  const { deliveries, webhookSecrets: secrets } = parts.store;
  const onError = (error: unknown) => parts.onError(error, 'a delivery could not be claimed or settled');
  const handlers = new HandlerDelivery(parts);
  const webhooks = new WebhookDelivery({ ...parts, deliveries, secrets, userAgent: USER_AGENT });
  const attempts = new Attempts({ targets: parts.targets, handlers, webhooks, onError });
  const inFlight = () => worker.inFlight;
  const metrics = deliveryMetrics(parts.metrics, deliveries, inFlight);
  const worker: DeliveryWorker = new DeliveryWorker({ ...parts, deliveries, attempts, metrics, onError });
  return worker;
}
