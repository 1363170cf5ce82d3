/**
 * What becomes of a delivery after an attempt: one table for what receivers answer, one for how an attempt can end
 * (SPEC "Errors" and "Limits", REFERENCE D20, D21, D22, D31). Pure: no clock and no chance but those it is told.
 */

import type { AttemptResult, DeliveryState } from '../database/tables.ts';
import type { PostResult } from '../egress/webhook/webhook-client.ts';
import { delayMs, ATTEMPTS_MAX as FAULTS_MAX } from './handler-outcome.ts';

export { FAULTS_MAX };

/** What comes before each retry, chance left out; there are as many retries as there are of these (SPEC "Retry schedule"). */
export const RETRY_DELAYS_MS = [1_000, 2_000, 4_000] as const;
/** Chance adds up to this share: no retry is early, and what failed together does not come back together (REFERENCE D20). */
const JITTER = 0.1;
/** Attempts whose end nobody knows that are repeated without using up a retry (REFERENCE D31). */
export const UNKNOWNS_MAX = 3;

/** Of the receivers' answers, by the first row that fits (SPEC "Errors", REFERENCE D21). */
const ANSWERS: readonly (readonly [from: number, to: number, end: 'delivered' | 'failed' | 'rejected'])[] = [
  [200, 299, 'delivered'],
  [429, 429, 'failed'],
  [500, 999, 'failed'],
  // 3xx is never followed: what is posted is for the URL that was configured, and for no other.
  [300, 499, 'rejected'],
];

/** How an attempt has ended. */
export interface DeliveryOutcome {
  /**
   * `delivered`, `unhandled`, `canceled`: there is no more to do. `rejected`: no use in trying again. `failed`: whoever was to take
   * it could not. `fault`: the platform could not. `unknown`: it may have been taken. `lapsed`: the last of too many of those.
   */
  readonly end:
    | 'delivered'
    | 'unhandled'
    | 'canceled'
    | 'rejected'
    | 'failed'
    | 'fault'
    | 'unknown'
    | 'lapsed';
  /** A few words. */
  readonly outcome: string;
  /** Of a fault: how long there is no use in trying. */
  readonly leastMs?: number;
}

/** What has been used up so far of a delivery's chances. */
export interface Budget {
  readonly retries: number;
  readonly unknowns: number;
  readonly faults: number;
}

/** What becomes of it. */
export interface Decision extends Budget {
  readonly state: DeliveryState;
  /** When it is tried next, where it stays `pending`. */
  readonly dueAt: number;
}

/** How an attempt to post ended. */
export function deliveryOutcome(result: PostResult): DeliveryOutcome {
  switch (result.kind) {
    case 'answered': {
      const { status } = result;
      const row = ANSWERS.find(([from, to]) => status >= from && status <= to);
      // What is no status of HTTP is broken HTTP.
      return { end: row?.[2] ?? 'failed', outcome: `answered ${status}` };
    }
    case 'failed':
      return { end: 'failed', outcome: result.reason };
    case 'blocked':
      return { end: 'rejected', outcome: 'blocked' };
    case 'fault':
      return { end: 'fault', outcome: 'platform fault' };
  }
}

/**
 * @param now when the attempt ended: that is what a retry counts from
 * @param chance from 0 to 1
 */
export function decide(
  budget: Budget,
  { end, leastMs = 0 }: DeliveryOutcome,
  now: number,
  chance: number,
): Decision {
  const { retries, unknowns, faults } = budget;
  switch (end) {
    case 'delivered':
    case 'unhandled':
    case 'canceled':
      return { ...budgetOf(budget), state: end, dueAt: now };
    case 'rejected':
      return { ...budgetOf(budget), state: 'failed', dueAt: now };
    case 'unknown':
      return { retries, unknowns: unknowns + 1, faults, state: 'pending', dueAt: now };
    case 'failed':
    case 'lapsed': {
      // One more that nobody knows the end of is one too many again.
      const kept = { unknowns: end === 'lapsed' ? UNKNOWNS_MAX : unknowns, faults };
      const baseMs = RETRY_DELAYS_MS[retries];
      if (baseMs === undefined) return { retries, ...kept, state: 'failed', dueAt: now };
      const dueAt = now + Math.round(baseMs * (1 + JITTER * chance));
      return { retries: retries + 1, ...kept, state: 'pending', dueAt };
    }
    case 'fault': {
      const count = faults + 1;
      if (count >= FAULTS_MAX) return { retries, unknowns, faults: count, state: 'failed', dueAt: now };
      return {
        retries,
        unknowns,
        faults: count,
        state: 'pending',
        dueAt: now + delayMs(count, leastMs, chance),
      };
    }
  }
}

/** How an attempt is noted; undefined where none was made, or nobody knows. */
export function resultOf({ end }: DeliveryOutcome): AttemptResult | undefined {
  switch (end) {
    case 'delivered':
    case 'unhandled':
      return 'succeeded';
    case 'rejected':
    case 'failed':
      return 'failed';
    case 'fault':
      return 'fault';
    default:
      return undefined;
  }
}

/** Without what else a delivery has. */
const budgetOf = ({ retries, unknowns, faults }: Budget): Budget => ({ retries, unknowns, faults });
