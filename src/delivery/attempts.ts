/**
 * One attempt at a claimed delivery: for whom it is by now, and which of the two kinds of attempt is made.
 *
 * What holds is what the target is at this moment, not what it was when the event was accepted: one that is gone or paused
 * hears of nothing any more, also where it was resumed since (REFERENCE D29).
 */
import type { Target } from '../model/target.ts';
import type { ClaimedDelivery } from '../store/deliveries/delivery.ts';
import type { TargetResolver } from '../targets/target-resolver.ts';
import type { HandlerDelivery } from './handler-delivery.ts';
import type { Attempted, DeliveryInFlight, LOST } from './in-flight.ts';
import { type DeliveryOutcome, UNKNOWNS_MAX } from './retry.ts';
import type { WebhookDelivery } from './webhook-delivery.ts';

export interface AttemptsParts {
  readonly targets: Pick<TargetResolver, 'named'>;
  readonly handlers: Pick<HandlerDelivery, 'attempt'>;
  readonly webhooks: Pick<WebhookDelivery, 'attempt'>;
  /** Told when the store fails. */
  onError(error: unknown): void;
}

export class Attempts {
  readonly #parts: AttemptsParts;

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
  }

  /** Never rejects. */
  async make(way: DeliveryInFlight): Promise<Attempted | typeof LOST> {
    const { targets, handlers, webhooks, onError } = this.#parts;
    const { claim } = way;
    try {
      const target = await targets.named(claim.target);
      // One that is there anew has another endpoint.
      if (target === undefined || target.endpointKey !== claim.endpoint)
        return without({ end: 'canceled', outcome: 'deleted' });
      way.target = target;
      if (isPausedFor(target, claim)) return without({ end: 'canceled', outcome: 'paused' });
      // Nobody knows how its last claims have ended, and that has happened too often to be nobody's fault.
      if (claim.unknowns > UNKNOWNS_MAX) return without({ end: 'lapsed', outcome: 'end unknown' });
      // Where the code that is active by now posts no webhooks, the event is for its handlers.
      const isWebhook = claim.kind === 'webhook' && target.webhook !== undefined;
      return await (isWebhook ? webhooks : handlers).attempt(way, target);
    } catch (error) {
      onError(error);
      return without({ end: 'fault', outcome: 'platform fault' });
    }
  }
}

const without = (ending: DeliveryOutcome): Attempted => ({ ending });

const isPausedFor = ({ status, pausedAt }: Target, { armedAt }: ClaimedDelivery): boolean =>
  status === 'paused' || (pausedAt !== undefined && armedAt <= pausedAt);
