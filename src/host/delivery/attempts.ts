/**
 * One attempt at a claimed delivery: reads the target, and chooses between a call and a post.
 *
 * The target counts as it is at the attempt, not as it was when the event was accepted: one that is
 * deleted or paused, or was paused since, gets nothing
 * (docs/contract/webhooks.md#pause-and-removal). It is looked at again before a post: the code may
 * have taken half a minute for the payload.
 */

import { installedName, type Target } from '../../model/target.ts';
import { endpointOfLane } from '../../model/task.ts';
import { DatabaseUnavailable } from '../database/unavailable.ts';
import type { ClaimedDelivery } from '../store/deliveries/delivery.ts';
import type { TargetResolver } from '../targets/target-resolver.ts';
import type { HandlerDelivery } from './handler-delivery.ts';
import { type Attempted, type DeliveryInFlight, type LOST, UNREAD } from './in-flight.ts';
import type { NoticeDelivery } from './notice-delivery.ts';
import { type DeliveryOutcome, UNKNOWNS_MAX } from './retry.ts';
import type { WebhookDelivery } from './webhook-delivery.ts';

export interface AttemptsDeps {
  readonly targets: Pick<TargetResolver, 'named' | 'ofIntegration'>;
  readonly handlers: Pick<HandlerDelivery, 'attempt'>;
  readonly webhooks: Pick<WebhookDelivery, 'attempt'>;
  readonly notices: Pick<NoticeDelivery, 'attempt'>;
  /** Receives failures of the store. */
  onError(error: unknown): void;
}

const LAPSED: DeliveryOutcome = { end: 'lapsed', outcome: 'end unknown' };

export class Attempts {
  readonly #deps: AttemptsDeps;

  constructor(deps: AttemptsDeps) {
    this.#deps = deps;
  }

  /** Never rejects. */
  async make(delivery: DeliveryInFlight): Promise<Attempted | typeof LOST | typeof UNREAD> {
    const { targets, handlers, webhooks, onError } = this.#deps;
    const { claim } = delivery;
    try {
      if (claim.kind === 'notice') return await this.#notice(delivery);
      const target = await currentTarget(targets, claim);
      if ('ending' in target) return target;
      delivery.target = target;
      // Too many attempts of unknown end: the delivery itself may be what ends the process.
      if (claim.unknowns > UNKNOWNS_MAX) return unrecorded(LAPSED);
      // If the active version no longer posts webhooks, the event goes to its handlers.
      const isWebhook = claim.kind === 'webhook' && target.webhook !== undefined;
      if (!isWebhook) return await handlers.attempt(delivery, target);
      if (claim.webhook?.state === 'disabled') return unrecorded({ end: 'held', outcome: 'disabled' });
      return await webhooks.attempt(delivery, target, () => currentTarget(targets, claim));
    } catch (error) {
      onError(error);
      // No fault that counts: a database that is away again and again would use up all repetitions.
      if (error instanceof DatabaseUnavailable && !delivery.isPosted) return UNREAD;
      return unrecorded({ end: 'fault', outcome: 'platform fault' });
    }
  }

  #notice(delivery: DeliveryInFlight): Promise<Attempted | typeof LOST> | Attempted {
    if (delivery.claim.unknowns > UNKNOWNS_MAX) return unrecorded(LAPSED);
    return this.#deps.notices.attempt(delivery);
  }
}

/** The target as it is now; the end of the delivery if it gets nothing. */
async function currentTarget(
  targets: AttemptsDeps['targets'],
  claim: ClaimedDelivery,
): Promise<Target | Attempted> {
  const target = await targetOf(targets, claim);
  // A target that was deleted and installed again has another endpoint.
  if (target === undefined || target.endpointKey !== endpointOfLane(claim.endpoint))
    return unrecorded({ end: 'canceled', outcome: 'deleted' });
  return isPausedFor(target, claim) ? unrecorded({ end: 'canceled', outcome: 'paused' }) : target;
}

function targetOf(
  targets: AttemptsDeps['targets'],
  { integration, target }: ClaimedDelivery,
): Promise<Target | undefined> {
  const name = installedName(target);
  return name === undefined ? targets.ofIntegration(integration) : targets.named(name);
}

const unrecorded = (ending: DeliveryOutcome): Attempted => ({ ending });

const isPausedFor = ({ status, pausedAt }: Target, { armedAt }: ClaimedDelivery): boolean =>
  status === 'paused' || (pausedAt !== undefined && armedAt <= pausedAt);

/**
 * The log line of a delivery that has failed for good: what, where, why, and what to do about it.
 * Retries have no line. Pure.
 */
export function failureText(
  {
    id,
    type,
    eventId,
    retries,
    faults,
  }: Pick<ClaimedDelivery, 'id' | 'type' | 'eventId' | 'retries' | 'faults'>,
  { ending: { end, outcome }, recorded, detail }: Attempted,
): string {
  const destination = recorded?.destination;
  // Only the origin: the path of a receiver's URL may hold a key.
  const where = destination === undefined ? '' : ` to ${new URL(destination).origin}`;
  const times = end === 'fault' ? faults + 1 : retries + 1;
  const often = times === 1 ? '' : ` in the last of ${times} attempts`;
  return (
    `${type} (${eventId}) was not delivered${where}: ${outcome}${often}${whyText(detail, destination)} ` +
    `This is final. Once the cause is fixed, POST /v1/deliveries/${id}/redeliver delivers it again.`
  );
}

/** Network errors repeat the origin in front, which is cut off; a blocked URL has a sentence. */
function whyText(detail: string | undefined, destination: string | undefined): string {
  if (detail === undefined) return '.';
  const from = destination === undefined ? '' : `${new URL(destination).origin}: `;
  const text = detail.startsWith(from) && from !== '' ? `: ${detail.slice(from.length)}` : `. ${detail}`;
  return text.endsWith('.') ? text : `${text}.`;
}
