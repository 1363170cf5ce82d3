/**
 * Puts together what tells integrations, and receivers, of what has happened: the courier of life events, and the worker with
 * the two kinds of attempt. A part of the composition root, with no decisions of its own.
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
import { watchDeliveries, watchLifecycleEvents } from './delivery-metrics.ts';
import { DeliveryWorker } from './delivery-worker.ts';
import { HandlerDelivery } from './handler-delivery.ts';
import { LifecycleWorker } from './lifecycle/lifecycle-worker.ts';
import { WebhookDelivery } from './webhook-delivery.ts';

/** Of this software, as its package says it. */
export const { version: VERSION } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as {
  version: string;
};
export const USER_AGENT = `Annex-Webhook/${VERSION}`;

export interface DeliveryParts {
  readonly store: Pick<Store, 'lifeEvents' | 'deliveries' | 'acceptedEvents' | 'webhookSecrets'>;
  readonly targets: TargetResolver;
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly posting: Pick<WebhookClient, 'post'>;
  readonly journal: Pick<CallLog, 'log'>;
  readonly metrics: MetricsRegistry;
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Milliseconds that only ever grow. */
  readonly ticks: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
  /** Runs something later. @returns what calls it off */
  readonly after: (ms: number, run: () => void) => () => void;
  limitMet(name: LimitName): void;
  onError(error: unknown, what: string): void;
}

export interface StartedDelivery {
  /** Begins nothing any more; what is under way has so much time. */
  stop(withinMs: number): Promise<void>;
}

/** Takes up what was left behind, and all that comes from now on. @throws where the store cannot be read */
export async function startDelivery(parts: DeliveryParts): Promise<StartedDelivery> {
  const { store, metrics } = parts;
  const { lifeEvents, deliveries, acceptedEvents } = store;
  const courier = new LifecycleWorker({
    ...parts,
    events: lifeEvents,
    settled: watchLifecycleEvents(metrics, lifeEvents),
    onError: (error) => parts.onError(error, 'a life event could not be read or marked'),
  });
  const worker = deliveryWorker(parts);
  const stop = async (withinMs: number) => {
    await Promise.all([courier.stop(), worker.stop(withinMs)]);
  };
  // Before what is there is read: what comes meanwhile is not in the answer.
  lifeEvents.onWritten = (installationId) => courier.tell(installationId);
  acceptedEvents.onAccepted = (made) => worker.tell(made);
  deliveries.onWaiting = (made) => worker.tell(made);
  try {
    await Promise.all([courier.start(), worker.start()]);
  } catch (cause) {
    await stop(0);
    throw cause;
  }
  return { stop };
}

function deliveryWorker(parts: DeliveryParts): DeliveryWorker {
  const { deliveries, webhookSecrets: secrets } = parts.store;
  const onError = (error: unknown) => parts.onError(error, 'a delivery could not be claimed or put down');
  const handlers = new HandlerDelivery(parts);
  const webhooks = new WebhookDelivery({ ...parts, deliveries, secrets, userAgent: USER_AGENT });
  const attempts = new Attempts({ targets: parts.targets, handlers, webhooks, onError });
  const inFlight = () => worker.inFlight;
  const watch = watchDeliveries(parts.metrics, deliveries, inFlight);
  const worker: DeliveryWorker = new DeliveryWorker({ ...parts, deliveries, attempts, watch, onError });
  return worker;
}
