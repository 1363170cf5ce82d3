/**
 * What becomes of an event after a call for it: one table, by the word in which the call ended (REFERENCE D2, D11).
 *
 * What the integration has answered, or has made of the call, is final: its author finds it in the log. What happened to the
 * call on the platform's side says nothing of the integration, so the event is tried again, a bounded number of times. Pure.
 */
import type { CallResult } from '../calls/call.ts';
import type { Outcome } from '../protocol/wire.ts';

/** What becomes of an event. */
export type HandlerOutcome =
  | { readonly next: 'delivered' | 'unhandled' | 'failed'; readonly outcome: string }
  /** @property leastMs how long there is no use in trying */
  | { readonly next: 'again'; readonly outcome: string; readonly leastMs: number };

/** Calls that are made for one event, at most. */
export const ATTEMPTS_MAX = 10;
const FIRST_DELAY_MS = 1_000;
/** Longest time between two attempts, chance left out. */
export const DELAY_MS_MAX = 60_000;
/** Chance adds up to this share: what failed together does not come back together. */
const JITTER = 0.1;
const MS_PER_S = 1_000;

/** Whose doing the end of a call without an answer was. */
const WITHOUT_ANSWER: Readonly<Record<Outcome, 'author' | 'platform'>> = {
  exception: 'author',
  exceededCpu: 'author',
  exceededMemory: 'author',
  exceededWallTime: 'author',
  responseTooLarge: 'author',
  // Nobody but this service itself goes away from such a call.
  canceled: 'platform',
  loadShed: 'platform',
  cellCrashed: 'platform',
  internalError: 'platform',
  // An end without an answer that says it had one is a fault of ours.
  ok: 'platform',
};

/** What the integration has heard but does not handle (REFERENCE D2). */
const NOT_HANDLED = 406;

/** What becomes of an event, by the result of the call that was to tell it. */
export function handlerOutcome({ outcome, response, refusal }: CallResult): HandlerOutcome {
  if (response !== undefined) {
    const { status } = response;
    const next =
      status === NOT_HANDLED ? 'unhandled' : status >= 200 && status < 300 ? 'delivered' : 'failed';
    return { next, outcome: `answered ${status}` };
  }
  if (WITHOUT_ANSWER[outcome] === 'author') return { next: 'failed', outcome };
  const leastMs = (refusal?.retryAfterS ?? 0) * MS_PER_S;
  return { next: 'again', outcome: refusal?.code ?? outcome, leastMs };
}

/**
 * How long to wait for the next attempt: 1 s, 2 s, 4 s … up to a minute, and a little more.
 *
 * @param attempts those made so far, from 1
 * @param leastMs how long there is no use in trying
 * @param chance from 0 to 1
 */
export function delayMs(attempts: number, leastMs: number, chance: number): number {
  const doubled = FIRST_DELAY_MS * 2 ** (attempts - 1);
  const base = Math.min(Math.max(doubled, leastMs), DELAY_MS_MAX);
  return Math.round(base * (1 + JITTER * chance));
}
