/** A delivery in flight: its claim, and how far its attempt has come. Holds, decides nothing. */

import { RETRY_SCHEDULES, type RetrySchedule } from '../../model/retry-schedule.ts';
import type { Target } from '../../model/target.ts';
import { Caller } from '../calls/call.ts';
import type { Attempt, ClaimedDelivery, Settlement } from '../store/deliveries/delivery.ts';
import type { DeliveryOutcome } from './retry.ts';

export class DeliveryInFlight {
  readonly claim: ClaimedDelivery;
  /** Cancels the call of the attempt, if one runs. */
  readonly caller: Caller;
  /** When the attempt started. */
  readonly startedAt: number;
  /** When the delivery was claimed, or its lease renewed, and when the lease expires. */
  claimedAt: number;
  claimedUntil: number;
  /** The target as it is now, once it has been read. */
  target: Target | undefined;
  /** When the next request to a receiver with a rate may be sent, in milliseconds since 1970. */
  nextAt: number | undefined;
  /** Whether the receiver may have got the request. */
  isPosted = false;
  /** Whether the attempt has ended, and its outcome is being written. */
  isEnded = false;
  /** Whether the stop of the service has settled it before the attempt ended. */
  isAbandoned = false;

  /** Times are milliseconds since 1970; `claimedAt` is before the claim was sent to the store. */
  constructor(
    claim: ClaimedDelivery,
    {
      now,
      claimedAt,
      leaseMs,
    }: { readonly now: number; readonly claimedAt: number; readonly leaseMs: number },
  ) {
    this.claim = claim;
    this.caller = new Caller(0, claim.generation);
    this.startedAt = now;
    this.claimedAt = claimedAt;
    this.claimedUntil = claimedAt + leaseMs;
  }

  /** Time between two requests to its receiver; undefined where that has no rate. */
  get intervalMs(): number | undefined {
    const rate = this.claim.kind === 'webhook' ? this.target?.webhookRate : undefined;
    return rate && Math.ceil(1_000 / rate);
  }

  /** The schedule that it follows: the one of its target as it is now; of a notice, of days. */
  get schedule(): RetrySchedule {
    const { kind } = this.claim;
    if (kind === 'notice') return RETRY_SCHEDULES.days;
    const { webhookRetries, handlerRetries } = this.target ?? {};
    const own = kind === 'webhook' ? (webhookRetries ?? handlerRetries) : handlerRetries;
    return own ?? RETRY_SCHEDULES.contract;
  }
}

/** How an attempt ended. */
export interface Attempted {
  readonly ending: DeliveryOutcome;
  /** What is kept with the attempt; absent if nothing was called or posted. */
  readonly recorded?: Pick<Attempt, 'destination' | 'status' | 'response' | 'truncated' | 'reason'>;
  /** What the answer of a webhook's receiver says of it; absent if nothing was posted. */
  readonly sign?: Settlement['sign'];
  /** One sentence for the log, if the outcome alone does not say what to do about it. */
  readonly detail?: string;
}

/** Instead of an outcome: another claim has the delivery by now. */
export const LOST = 'lost';
/** Instead of an outcome: the database did not answer, and nothing was posted. */
export const UNREAD = 'unread';
