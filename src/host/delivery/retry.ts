/**
 * Retry policy: what becomes of a delivery after an attempt. One table for the answers of receivers
 * (docs/contract/webhooks.md#outcomes), one for the ends of attempts
 * (docs/contract/webhooks.md#retries). Pure: time and chance are parameters.
 */

import type { RetrySchedule } from '../../model/retry-schedule.ts';
import type { Outcome } from '../../protocol/wire.ts';
import type { CallResponse, CallResult } from '../calls/call.ts';
import type { AttemptResult, DeliveryState } from '../database/tables.ts';
import type { PostResult } from '../egress/webhook/webhook-client.ts';
import { delayMs, withJitter } from './delays.ts';
import type { EndpointSignal } from './scheduler/endpoint-queue.ts';

/** Attempts of unknown end that use up no retry (docs/contract/webhooks.md#crashes). */
export const UNKNOWNS_MAX = 3;

/** Answers of receivers; the first row that fits counts. */
const ANSWERS: readonly (readonly [from: number, to: number, end: 'delivered' | 'failed' | 'rejected'])[] = [
  [200, 299, 'delivered'],
  [429, 429, 'failed'],
  [500, 999, 'failed'],
  // Attack: a redirect leads the payload to another URL than the configured one. 3xx is never
  // followed.
  [300, 499, 'rejected'],
];

/** How an attempt ended. */
export interface DeliveryOutcome {
  /**
   * - `delivered`, `unhandled`, `canceled`: nothing is left to do.
   * - `held`: its webhook is disabled; kept for a replay.
   * - `rejected`: final; a retry would fail the same way.
   * - `failed`: the receiver failed; retried.
   * - `fault`: the platform failed; repeated without using up a retry.
   * - `unknown`: the receiver may have got it; repeated.
   * - `lapsed`: `unknown` too often; uses up a retry.
   */
  readonly end:
    | 'delivered'
    | 'unhandled'
    | 'canceled'
    | 'held'
    | 'rejected'
    | 'failed'
    | 'fault'
    | 'unknown'
    | 'lapsed';
  /** A few words, for the attempt and the log. */
  readonly outcome: string;
  /** Of a fault: the shortest delay that is of use. Of a failure: the delay that is asked for. */
  readonly leastMs?: number;
}

/** How many attempts of a delivery have failed so far, by kind. */
export interface Budget {
  readonly retries: number;
  readonly unknowns: number;
  readonly faults: number;
}

/** The next state of a delivery. */
export interface Decision extends Budget {
  readonly state: DeliveryState;
  /** When it is due again, if it stays `pending`. */
  readonly dueAt: number;
}

/**
 * How an attempt ended, by the result of its post.
 *
 * @param now when it ended, for a `Retry-After` that is a date
 * @param schedule the one that the delivery follows
 */
export function deliveryOutcome(
  result: PostResult,
  now: number,
  { retryAfterOf }: Pick<RetrySchedule, 'retryAfterOf'>,
): DeliveryOutcome {
  switch (result.kind) {
    case 'answered': {
      const { status, retryAfter } = result;
      const row = ANSWERS.find(([from, to]) => status >= from && status <= to);
      const isHeeded = retryAfter !== undefined && retryAfterOf.includes(status);
      const leastMs = isHeeded ? retryAfterMs(retryAfter, now) : 0;
      // A status outside the table is not HTTP.
      return {
        end: row?.[2] ?? 'failed',
        outcome: `answered ${status}`,
        ...(leastMs > 0 && { leastMs }),
      };
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
 * Decides the next state of a delivery.
 *
 * @param schedule the one that the delivery follows now; its retries are counted, however it was
 *   when they were made
 * @param now when the attempt ended; the delay of a retry counts from here
 * @param random from 0 to 1
 */
export function decide(
  budget: Budget,
  { end, leastMs = 0 }: DeliveryOutcome,
  { delaysMs, longestMs }: RetrySchedule,
  { now, random }: { readonly now: number; readonly random: number },
): Decision {
  const { retries, unknowns, faults } = budget;
  switch (end) {
    case 'delivered':
    case 'unhandled':
    case 'canceled':
    case 'held':
      return { ...budgetOf(budget), state: end, dueAt: now };
    case 'rejected':
      return { ...budgetOf(budget), state: 'failed', dueAt: now };
    case 'unknown':
      return { retries, unknowns: unknowns + 1, faults, state: 'pending', dueAt: now };
    case 'failed':
    case 'lapsed': {
      // The next attempt of unknown end is again one too many.
      const kept = { unknowns: end === 'lapsed' ? UNKNOWNS_MAX : unknowns, faults };
      const baseMs = delaysMs[retries];
      if (baseMs === undefined) return { retries, ...kept, state: 'failed', dueAt: now };
      // Attack: a receiver asks for years, so that its deliveries are never final.
      const askedMs = Math.min(leastMs, longestMs(baseMs));
      const dueAt = now + withJitter(Math.max(baseMs, askedMs), random);
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
        dueAt: now + delayMs(count, leastMs, random),
      };
    }
  }
}

/** The result to keep with an attempt; undefined if none was made, or its end is unknown. */
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

/** Leaves out the other members of a delivery. */
const budgetOf = ({ retries, unknowns, faults }: Budget): Budget => ({ retries, unknowns, faults });

/** What the end of an attempt says of its endpoint: none if the platform or a person ended it. */
export function signalOf({ end }: DeliveryOutcome): EndpointSignal {
  if (end === 'delivered' || end === 'unhandled') return 'succeeded';
  return end === 'rejected' || end === 'failed' || end === 'lapsed' ? 'failed' : 'none';
}

/** Attack: a header of kilobytes that is parsed as a date. Every date of the RFC is shorter. */
const CHARS_MAX = 40;
const SECONDS = /^\d+$/;
/** `Sun, 06 Nov 1994 08:49:37 GMT`, and the obsolete `Sunday, 06-Nov-94 08:49:37 GMT`. */
const DATE = /^[A-Z][a-z]+, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/;
/** The obsolete `Sun Nov  6 08:49:37 1994`, which is in GMT, too. */
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/**
 * The delay that a receiver asks for in `Retry-After` (RFC 9110, section 10.2.3). Pure.
 *
 * It reads only what the RFC allows: text of any other form is no delay.
 *
 * The delay in milliseconds; 0 for a time that has passed, and for text that is neither seconds nor
 * a date.
 *
 * @param now milliseconds since 1970
 */
function retryAfterMs(value: string, now: number): number {
  const text = value.slice(0, CHARS_MAX + 1).trim();
  if (text.length > CHARS_MAX) return 0;
  const ms = SECONDS.test(text) ? Number(text) * 1_000 : dateIn(text) - now;
  return ms > 0 ? ms : 0;
}

/** NaN if it is none. */
const dateIn = (text: string): number =>
  DATE.test(text) ? Date.parse(text) : ASCTIME.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;

export type HandlerOutcome =
  | { readonly next: 'delivered' | 'unhandled'; readonly outcome: string }
  | {
      readonly next: 'failed';
      readonly outcome: string;
      /**
       * Of a failure that another call may not have: the delay that the code asks for, or 0. What
       * the code has answered is final.
       */
      readonly againMs?: number;
    }
  /** @property leastMs the shortest delay that is of use */
  | { readonly next: 'retry'; readonly outcome: string; readonly leastMs: number };

/** Most calls for one event. */
export const FAULTS_MAX = 10;
const MS_PER_S = 1_000;

/** Whose fault a call without an answer is. */
const WITHOUT_ANSWER: Readonly<Record<Outcome, 'author' | 'platform'>> = {
  exception: 'author',
  exceededCpu: 'author',
  exceededMemory: 'author',
  exceededWallTime: 'author',
  responseTooLarge: 'author',
  // Only this service itself cancels such a call.
  canceled: 'platform',
  loadShed: 'platform',
  cellCrashed: 'platform',
  internalError: 'platform',
  // `ok` without an answer is a fault of the platform.
  ok: 'platform',
};

/** Header of a 5xx by which code asks for another attempt, after so many seconds. */
const RETRY_HEADER = 'annex-retry';

/** The value of a header of the integration's answer. */
export const headerOf = ({ headers }: CallResponse, wanted: string): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === wanted)?.[1];

/** The integration declines the event. */
const NOT_HANDLED = 406;

/**
 * What a call means for its event: one table, by the outcome of the call
 * (docs/contract/events.md#handler-delivery).
 *
 * An answer of the integration is final: the author finds it in the log. An error that the SDK
 * answers for the code, or a call that the code did not bring to an answer, may be retried by the
 * schedule of the integration. A fault of the platform says nothing of the integration, so the
 * event is retried, a bounded number of times. Pure.
 *
 * What becomes of an event after a call for it.
 */
export function handlerOutcome({ outcome, response, refusal }: CallResult): HandlerOutcome {
  if (response !== undefined) {
    const { status } = response;
    const answered = `answered ${status}`;
    if (status === NOT_HANDLED) return { next: 'unhandled', outcome: answered };
    if (status >= 200 && status < 300) return { next: 'delivered', outcome: answered };
    const asked = status >= 500 ? headerOf(response, RETRY_HEADER) : undefined;
    const isAsked = asked !== undefined && asked.length <= CHARS_MAX && SECONDS.test(asked);
    return { next: 'failed', outcome: answered, ...(isAsked && { againMs: Number(asked) * MS_PER_S }) };
  }
  if (outcome === 'responseTooLarge') return { next: 'failed', outcome };
  if (WITHOUT_ANSWER[outcome] === 'author') return { next: 'failed', outcome, againMs: 0 };
  const leastMs = (refusal?.retryAfterS ?? 0) * MS_PER_S;
  return { next: 'retry', outcome: refusal?.code ?? outcome, leastMs };
}
