/**
 * What a call means for its event: one table, by the outcome of the call
 * (docs/contract/events.md#handler-delivery).
 *
 * An answer of the integration, or an outcome that its code caused, is final: the author finds it
 * in the log. A fault of the platform says nothing of the integration, so the event is retried, a
 * bounded number of times. Pure.
 */
import type { CallResult } from '../calls/call.ts';
import type { Outcome } from '../protocol/wire.ts';

export type HandlerOutcome =
  | { readonly next: 'delivered' | 'unhandled' | 'failed'; readonly outcome: string }
  /** @property leastMs the shortest delay that is of use */
  | { readonly next: 'retry'; readonly outcome: string; readonly leastMs: number };

/** Most calls for one event. */
export const ATTEMPTS_MAX = 10;
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

/** The integration declines the event. */
const NOT_HANDLED = 406;

/** What becomes of an event after a call for it. */
export function handlerOutcome({ outcome, response, refusal }: CallResult): HandlerOutcome {
  if (response !== undefined) {
    const { status } = response;
    const next =
      status === NOT_HANDLED ? 'unhandled' : status >= 200 && status < 300 ? 'delivered' : 'failed';
    return { next, outcome: `answered ${status}` };
  }
  if (WITHOUT_ANSWER[outcome] === 'author') return { next: 'failed', outcome };
  const leastMs = (refusal?.retryAfterS ?? 0) * MS_PER_S;
  return { next: 'retry', outcome: refusal?.code ?? outcome, leastMs };
}
