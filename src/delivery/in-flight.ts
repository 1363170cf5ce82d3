/** A delivery while somebody has it in hand: what is known of its claim, and how far it has come. Holds, decides nothing. */

import { Caller } from '../calls/call.ts';
import type { Target } from '../model/target.ts';
import type { Attempt, ClaimedDelivery } from '../store/deliveries/delivery.ts';
import type { DeliveryOutcome } from './retry.ts';

export class DeliveryInFlight {
  readonly claim: ClaimedDelivery;
  /** Ends its call, where one runs. */
  readonly caller = new Caller(0);
  /** When its attempt began. */
  readonly startedAt: number;
  /** When it was claimed, or its claim renewed, and until when that holds. */
  claimedAt: number;
  claimedUntil: number;
  /** Whom it is for, once that is known. */
  target: Target | undefined;
  /** Whether its receiver may have got it. */
  isPosted = false;
  /** Whether it has ended, and only waits to be put down. */
  isEnded = false;
  /** Whether the service stops before it has ended: what becomes of it was said without it. */
  isCut = false;

  /** @param leaseMs for how long it is claimed */
  constructor(claim: ClaimedDelivery, now: number, leaseMs: number) {
    this.claim = claim;
    this.startedAt = now;
    this.claimedAt = now;
    this.claimedUntil = now + leaseMs;
  }
}

/** What came of an attempt. */
export interface Attempted {
  readonly ending: DeliveryOutcome;
  /** What is to be kept of it; absent where nobody was called. */
  readonly noted?: Pick<Attempt, 'destination' | 'status' | 'response' | 'truncated'>;
  /** One sentence for the log, where the outcome alone does not say what to do about it. */
  readonly detail?: string;
}

/** Instead of an end, where somebody else has the delivery by now. */
export const LOST = 'lost';
